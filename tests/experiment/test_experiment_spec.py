"""An experiment's file: what it means, and every problem with its line."""

from pathlib import Path

import pytest

from pinchbench.config.run_config import RunConfig
from pinchbench.defaults import Isolation
from pinchbench.errors import ConfigError, ExperimentError
from pinchbench.experiment.experiment_spec import of_models, read_experiment
from pinchbench.runner.scheduling.meter import BudgetLimits

HEAD = "model: demo/oracle\nvariants:\n"
TWO = "  a: {thinking: low}\n  b: {thinking: high}\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "which-one.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_variants_have_the_settings_of_the_experiment_and_their_own(tmp_path: Path) -> None:
    text = """\
name: thinking
suite: core
runs: 3
concurrency: 4
seed: 7
tasks-dir: tasks
infra-retries: 1
baseline: high
variants:
  low: {model: local/qwen, base-url: "http://127.0.0.1:1/v1", infra-retries: 0, no-wire: true}
  high: {model: demo/oracle, isolation: private, pass-env: [HOME]}
"""
    experiment = read_experiment(write(tmp_path, text))

    assert (experiment.name, experiment.seed) == ("thinking", 7)
    high, low = experiment.variants  # the baseline first
    assert (high.name, low.name) == ("high", "low")
    assert dict(high.differs) == {"model": "demo/oracle", "isolation": "private", "pass-env": ["HOME"]}
    assert high.config == RunConfig(
        model="demo/oracle",
        suite="core",
        runs=3,
        concurrency=4,
        seed=7,
        tasks_dir=tmp_path / "tasks",
        infra_retries=1,
        isolation=Isolation.PRIVATE,
        pass_env=("HOME",),
    )
    assert (low.config.infra_retries, low.config.wire, low.config.base_url) == (0, False, "http://127.0.0.1:1/v1")


def test_a_judge_is_the_same_for_all_variants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", "k")
    endpoint = "endpoints:\n  own: {base-url: http://127.0.0.1:1/v1, api-key-env: JUDGE_KEY}\n"
    head = f"{endpoint}judge: own/m\nno-judge-cache: true\n"
    experiment = read_experiment(write(tmp_path, head + HEAD + TWO))
    [judge] = {one.config.judge for one in experiment.variants}
    assert judge is not None
    assert (judge.model, judge.cache) == ("m", False)

    several = read_experiment(write(tmp_path, head.replace("own/m", "[own/m, own/n]") + HEAD + TWO))
    [judge] = {one.config.judge for one in several.variants}
    assert judge is not None
    assert [(one.model, one.cache) for one in judge.each] == [("m", False), ("n", False)]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", 1, "`key: value` lines"),
        ("variants: [", 1, "not valid YAML"),
        ("model: demo/oracle\n", 1, "`variants:` must map"),
        (HEAD + "  a: {}\n", 3, "2 to 20 variants"),
        (HEAD + TWO + "  c: {modle: x}\n", 5, "did you mean `model`?"),
        (HEAD + TWO + "  c: {runs: 3}\n", 5, "stands above `variants`"),
        (HEAD + TWO + "  c: 3\n", 5, "must hold `key: value` lines"),
        (HEAD + TWO + "  c: {thinking: low}\n", 3, "the variants a and c are the same"),
        (HEAD + TWO + "  c/d: {thinking: max}\n", 5, "the variant's name 'c/d'"),
        (HEAD + TWO + "  c: {thinking: deep}\n", 5, "`thinking` deep is not one of its values; they are off"),
        (HEAD + TWO + "  c: {isolation: none}\n", 5, "they are private, shared"),
        (HEAD + TWO + "  c: {infra-retries: many}\n", 5, "takes a whole number"),
        (HEAD + TWO + "  c: {no-wire: 1}\n", 5, "takes true or false"),
        (HEAD + TWO + "  c: {pass-env: HOME}\n", 5, "takes a list of texts"),
        (HEAD + TWO + "  c: {max-cost: free}\n", 5, "takes a number"),
        (HEAD + TWO + "  c: {model: {}}\n", 5, "takes text"),
        ("runs: 0\n" + HEAD + TWO, 1, "`runs` 0 is out of range; it goes from 1 to 1000"),
        ("tasks-dir: []\n" + HEAD + TWO, 1, "takes a path"),
        ("name: a b\n" + HEAD + TWO, 1, "the experiment's name 'a b'"),
        ("baseline: c\n" + HEAD + TWO, 1, "`baseline` names no variant"),
        ("budget: {max-costs: 1}\n" + HEAD + TWO, 1, "`max-costs` is not a limit of a budget"),
        ("budget: {max-tokens: 0}\n" + HEAD + TWO, 1, "`max-tokens` 0 is out of range; it is at least 1"),
        ("budget: {max-hours: long}\n" + HEAD + TWO, 1, "takes a number"),
        ("budget: 5\n" + HEAD + TWO, 1, "`budget` has at least one of"),
        (
            "budget: {max-cost: 5}\n" + HEAD + TWO + "  c: {model: a/b, base-url: 'http://127.0.0.1:1/v1'}\n",
            1,
            "needs the prices of the endpoint of c",
        ),
        (HEAD + TWO + "  c: {budget: {max-cost: 5}}\n", 5, "`budget` is not a setting of a variant"),
        (
            HEAD + TWO + "  c: {openclaw-config: {gateway: {port: 1}}}\n",
            5,
            "gateway can't be set: no trial is reached",
        ),
        (HEAD + TWO + "  c: {openclaw-config: x}\n", 5, "takes settings by name"),
        (HEAD + TWO + "  c: {env: {PATH: /bin}}\n", 5, "--env PATH can't be set"),
        (HEAD + TWO + "  c: {env: [A]}\n", 5, "takes values by name"),
        (HEAD + TWO + "  c: {workspace-files: [A]}\n", 5, "takes a folder, or files by their places"),
        ("until: done\n" + HEAD + TWO, 1, "`until` is `decided`, or is left out to make every trial"),
        ("margin: 0.1\n" + HEAD + TWO, 1, "`margin` needs `until: decided`"),
        ("until: decided\nmargin: 2\n" + HEAD + TWO, 2, "`margin` takes a number from 0 to 1"),
        ("until: decided\nmargin: wide\n" + HEAD + TWO, 2, "`margin` takes a number from 0 to 1"),
        ("judge-votes: 3\n" + HEAD + TWO, 1, "needs `judge: MODEL`"),
        ("variants:\n" + TWO, 2, "the variant a has no `model`"),
        ("concurency: 4\n" + HEAD + TWO, 1, "did you mean `concurrency`?"),
    ],
)
def test_each_problem_has_its_line_and_says_what_to_do(tmp_path: Path, text: str, line: int, reason: str) -> None:
    with pytest.raises(ExperimentError) as raised:
        read_experiment(write(tmp_path, text))
    found = raised.value.problems
    assert any(at == line and reason in said for at, said in found), found


def test_a_file_that_can_not_be_read_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"missing\.yaml"):
        read_experiment(tmp_path / "missing.yaml")
    path = tmp_path / "bytes.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ExperimentError, match="not text in UTF-8"):
        read_experiment(path)


def test_models_alone_are_an_experiment_too() -> None:
    experiment = of_models([RunConfig(model=one, runs=2) for one in ("demo/oracle", "demo/null")])
    assert [(one.name, one.config.model, one.config.runs) for one in experiment.variants] == [
        ("demo-oracle", "demo/oracle", 2),
        ("demo-null", "demo/null", 2),
    ]
    with pytest.raises(ConfigError, match="given twice"):
        of_models([RunConfig(model="demo/oracle")] * 2)


def test_what_variants_add_is_relative_to_the_file_and_a_budget_is_for_all(tmp_path: Path) -> None:
    text = """\
model: demo/oracle
budget: {max-cost: 20, max-tokens: 1000000, max-hours: 2.5}
variants:
  a: {skills: skills, workspace-files: files}
  b: {workspace-files: {AGENTS.md: rules/a.md}, openclaw-config: {tools: {deny: [exec]}}, env: {PORT: 8080, EMPTY: ""}}
"""
    experiment = read_experiment(write(tmp_path, text))
    assert experiment.budget == BudgetLimits(max_cost=20, max_tokens=1_000_000, max_hours=2.5)
    first, second = (one.config for one in experiment.variants)
    assert first.skills == tmp_path / "skills"
    assert first.workspace_files == {".": str(tmp_path / "files")}
    assert second.workspace_files == {"AGENTS.md": str(tmp_path / "rules" / "a.md")}
    assert second.openclaw_config == {"tools": {"deny": ["exec"]}}
    assert second.env == {"PORT": "8080", "EMPTY": ""}
