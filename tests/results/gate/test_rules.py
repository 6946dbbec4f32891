"""The options of a gate."""

from __future__ import annotations

import pytest

from pinchbench.errors import ConfigError
from pinchbench.results.gate.rules import Rules, parse_rules


def _rules(
    *fail_if: str, fail_under: float | None = None, baseline: str | None = None, margin: float = 0.05
) -> Rules | None:
    return parse_rules(fail_under=fail_under, fail_if=fail_if, baseline=baseline, margin=margin)


def test_without_options_there_is_no_gate() -> None:
    assert _rules() is None


def test_a_baseline_alone_means_worse() -> None:
    expected = Rules(least_score=None, has_baseline=True, margin=0.05)
    assert _rules(baseline="b.json") == _rules("worse", baseline="b.json") == expected


def test_of_several_scores_the_highest_counts() -> None:
    assert _rules("score<0.8", "score < .5", fail_under=0.6) == Rules(least_score=0.8, has_baseline=False, margin=0.05)


@pytest.mark.parametrize("said", ["better", "score<", "score<1.5", "score<nan", "score>0.5", "score<-1", "", "worse"])
def test_what_is_no_rule_is_refused(said: str) -> None:
    with pytest.raises(ConfigError, match="--fail-if"):
        _rules(said)


@pytest.mark.parametrize("value", [float("nan"), -0.1, 1.1, float("inf")])
def test_what_is_no_share_is_refused(value: float) -> None:
    with pytest.raises(ConfigError, match="--fail-under"):
        _rules(fail_under=value)
    with pytest.raises(ConfigError, match="--margin"):
        _rules(baseline="b.json", margin=value)
