from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.soundness import Planted, drift_found
from past_runs import BEGAN, Made, PlannedRun, write_run
from pinchbench.results.finished_run import read_run
from pinchbench.results.journal.journal import JournalWriter
from pinchbench.results.journal.records import ProbeEnded
from pinchbench.results.probe_json import ProbeFacts
from pinchbench.results.soundness.drift import Measure, drift_of
from pinchbench.results.soundness.probes import points_of, stated_changes
from pinchbench.results.soundness.soundness import soundness_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

POINTS = 12


def _probes(
    *, first_token_s: Sequence[float] = (), fingerprints: Sequence[str] = (), failed: int = -1
) -> list[ProbeFacts]:
    """Return three probes a point, of these times and fingerprints, the values repeated as often as it takes."""
    return [
        ProbeFacts(
            at=BEGAN + 100.0 * point + number,
            point=point,
            duration_s=2.0 + (first_token_s[point] if first_token_s else 0.0),
            first_token_s=(first_token_s[point] if first_token_s else 1.0) * (9 if number == 2 else 1),
            answer="a",
            fingerprint=fingerprints[(3 * point + number) % len(fingerprints)] if fingerprints else "",
            error="out of order" if point == failed else "",
        )
        for point in range(POINTS)
        for number in range(3)
    ]


def test_a_point_has_the_medians_of_its_probes_and_failed_ones_tell_nothing() -> None:
    points = points_of("v", _probes(failed=4))

    assert len(points) == POINTS - 1
    assert points[4].at == BEGAN + 500
    assert points[0].values == {Measure.PROBE_LATENCY: 1.0, Measure.PROBE_TIME: 2.0, Measure.PROBE_ANSWER: 1.0}


def test_probes_that_become_slow_name_the_trials_between_which_that_was(tmp_path: Path) -> None:
    files = write_run(tmp_path, PlannedRun(trials={"task": (Made(took_s=90.0),) * POINTS}, slots=1))
    times = [1 + 0.01 * (point % 3) for point in range(POINTS)]
    probes = _probes(first_token_s=[one + (5 if point > 6 else 0) for point, one in enumerate(times)])
    with JournalWriter(files.journal, go_on=True) as journal:
        journal.append([ProbeEnded(at=one.at + 1, probe=one) for one in probes])
    data = read_run(files).data

    changes = soundness_of({"v": data}, is_shuffled=True).drift.changes

    assert {one.measure for one in changes} == {Measure.PROBE_LATENCY, Measure.PROBE_TIME}
    assert {(one.last_at, one.at) for one in changes} == {(BEGAN + 600, BEGAN + 700)}
    (between,) = {one.between for one in changes}
    started = {f"task@{one.repetition}": one.started_at for one in data.trials}
    assert started[between[0]] <= BEGAN + 600 < BEGAN + 700 <= started[between[1]]
    assert not [at for at in started.values() if started[between[0]] < at <= BEGAN + 600]


def test_a_fingerprint_that_changes_for_good_is_named_and_others_are_not() -> None:
    once = ["fp-1"] * 18 + ["fp-2"] * 18
    (change,) = stated_changes("v", _probes(fingerprints=once))

    assert (change.before, change.after, change.is_fingerprint) == (("fp-1",), ("fp-2",), True)
    assert (change.last_at, change.at) == (BEGAN + 502, BEGAN + 600)
    for others in (["fp-1", "fp-2"], [f"fp-{n}" for n in range(36)], ["fp-1"] * 35 + ["fp-2"]):
        assert stated_changes("v", _probes(fingerprints=others)) == []


def test_a_few_points_tell_nothing() -> None:
    points = points_of("v", _probes())

    found = [drift_of([], probes=own) for own in (points, points[:4])]

    assert [(one.examined, one.unexamined, one.has_probes) for one in found] == [(3, 4, True), (0, 7, False)]


@pytest.mark.parametrize("planted", [Planted(latency=3), Planted(model=True)])
def test_what_a_simulated_provider_changes_is_found_by_probes(planted: Planted) -> None:
    _, placed = drift_found((1, 43, 3), memory=0.2, planted=planted, every=2, experiments=3)

    assert placed >= 0.8
