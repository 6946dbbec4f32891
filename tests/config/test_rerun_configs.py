"""The options of a run that is resumed, and of what is graded again."""

from pathlib import Path

import pytest

from pinchbench.config.rerun_configs import RegradeConfig, ResumeConfig
from pinchbench.config.run_config import ReplaySettings
from pinchbench.errors import ConfigError

URL = "http://127.0.0.1:8000/v1"


def test_a_resumed_run_takes_the_settings_of_a_run_but_not_what_its_plan_was_made_of(tmp_path: Path) -> None:
    config = ResumeConfig(output_dir=tmp_path, settings={"concurrency": 4})

    assert config.settings == {"concurrency": 4}
    for fixed in ("suite", "runs", "output_dir"):
        with pytest.raises(ConfigError, match=f"A resumed run takes no {fixed}; it takes accept_unknown_model, "):
            ResumeConfig(output_dir=tmp_path, settings={fixed: 1})


def test_the_place_of_runs_is_absolute_and_a_run_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert ResumeConfig(output_dir=Path("mine")).output_dir == tmp_path / "mine"
    with pytest.raises(ConfigError, match="RUN is not valid UTF-8"):
        ResumeConfig(run="caf\udce9")


def test_what_is_graded_again_has_absolute_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = RegradeConfig(run="r", tasks_dir=Path("mine"))
    assert (config.tasks_dir, config.output_dir) == (tmp_path / "mine", tmp_path / "results")
    with pytest.raises(ConfigError, match="RUN is not valid UTF-8"):
        RegradeConfig(run="caf\udce9")


def test_a_model_is_asked_from_a_fork_on() -> None:
    assert not ReplaySettings(folder="r").asks_model
    assert ReplaySettings(folder="r", fork_at=1).asks_model
    assert ReplaySettings(folder="r", fork_turn=1).asks_model


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fork_at": 1, "fork_turn": 1}, "--fork-at and --fork-turn don't go together"),
        ({"model": "local/m"}, "--model is asked from a fork on"),
        ({"base_url": URL}, "--base-url is asked from a fork on"),
        ({"fork_at": 1, "model": "local/m"}, "--model local/m needs --base-url"),
    ],
)
def test_what_can_not_be_asked_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ReplaySettings(folder="r", **options)  # type: ignore[arg-type]


def test_a_built_in_model_needs_no_endpoint_at_a_fork() -> None:
    assert ReplaySettings(folder="r", fork_at=1, model="demo/oracle").model == "demo/oracle"
