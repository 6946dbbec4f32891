"""Several judges of a run, through the command line: real HTTP judges on loopback, and a fake OpenClaw."""

import json
import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from command_line import Completed, call, clean_environment
from fake_judge import Answer, FakeJudge, fake_judge, good, served
from fakes import MODEL, fake_openclaw, make_suite
from pinchbench.config.asked_models import JudgeConfig
from pinchbench.model.grade import JudgeGrade
from pinchbench.results.paths import find_run
from pinchbench.serve.disagreements import disagreements_of
from pinchbench.serve.live_run import LiveRun

pytestmark = pytest.mark.usefixtures("checks_in_process")

STRICT = good(0.4, {"clear": 0.2, "short": 0.6}, "Too long.")
LENIENT = good(1.0, {"clear": 1.0, "short": 1.0})
UNREADABLE = Answer(text="I would rather not say.")
BOTH = ("--judge", "one/strict", "--judge", "two/lenient")


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """A folder with tasks, a fake OpenClaw and the endpoints `one` and `two`."""

    folder: Path
    judges: tuple[FakeJudge, FakeJudge]

    def call(self, *args: str, code: int = 0) -> Completed:
        done = call(*args, cwd=self.folder, env=clean_environment(self.folder))
        assert done.returncode == code, done.stderr
        return done

    def run(self, *args: str, code: int = 0) -> dict[str, Any]:
        program = str(self.folder / "bin" / "openclaw")
        where = ("--tasks-dir", "tasks", "--openclaw", program, "--no-preflight", "--isolation", "private")
        done = self.call("--model", MODEL, *where, "--json", *args, code=code)
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def regrade(self, run: str, *args: str) -> dict[str, Any]:
        result: dict[str, Any] = json.loads(self.call("regrade", run, "--json", *args).stdout)
        return result

    @property
    def asked(self) -> list[int]:
        return [len(one.requests) for one in self.judges]


@contextmanager
def _setting(folder: Path, first: Answer, *second: Answer, tasks: int = 1) -> Iterator[Setting]:
    fake_openclaw(folder)
    make_suite(folder, {f"task_{n}": f"Write out.txt {n} times." for n in range(tasks)})
    with ExitStack() as stack:
        one, two = (stack.enter_context(served(fake_judge(*answers))) for answers in ((first,), second))
        text = f"endpoints:\n  one: {{base-url: '{one.base_url}'}}\n  two: {{base-url: '{two.base_url}'}}\n"
        (folder / "pinchbench.yaml").write_text(text, encoding="utf-8")
        yield Setting(folder=folder, judges=(one, two))


def _grades(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [trial["grade"]["judge"] for task in result["tasks"] for trial in task["runs"]]


def test_the_mean_of_two_judges_counts_and_each_ones_grade_and_replies_are_kept(tmp_path: Path) -> None:
    with _setting(tmp_path, STRICT, LENIENT) as setting:
        result = setting.run(*BOTH)
        assert setting.asked == [1, 1]

    [grade] = _grades(result)
    assert grade["score"] == result["score"]["mean"] == pytest.approx(0.7)
    assert grade["breakdown"] == pytest.approx({"clear": 0.6, "short": 0.8})
    strict, lenient = grade["judges"]
    assert (strict["model"], strict["score"], strict["breakdown"]) == ("strict", 0.4, {"clear": 0.2, "short": 0.6})
    assert (lenient["model"], lenient["score"]) == ("lenient", 1.0)
    folder = tmp_path / "results" / result["run"] / "trials" / "task_0" / "1"
    kept = {one.name for one in folder.glob("judge-*.json")}
    assert kept == {f"judge-{one['replies_digest'][:16]}.json" for one in (strict, lenient)}
    totals = result["judge"]
    assert (totals["models"], totals["calls"], totals["usage"]["total_tokens"]) == (["lenient", "strict"], 2, 240)
    few = {"trials": 1, "alpha": None}
    assert totals["agreement"] == few | {"criteria": {"clear": few, "short": few}}


def test_a_single_judge_can_be_named_by_its_url(tmp_path: Path) -> None:
    with _setting(tmp_path, STRICT, LENIENT) as setting:
        url = setting.judges[0].base_url
        result = setting.run("--judge", "strict", "--judge-base-url", url)
        other = setting.judges[1].base_url
        again = setting.regrade(result["run"], "--judge", "lenient", "--judge-base-url", other)

    assert [(one["model"], one["score"]) for one in _grades(result)] == [("strict", 0.4)]
    assert [(one["model"], one["score"]) for one in _grades(again)] == [("lenient", 1.0)]


def test_a_judge_that_cannot_be_read_leaves_the_trial_ungraded_until_it_is_asked_again(tmp_path: Path) -> None:
    with _setting(tmp_path, STRICT, UNREADABLE, UNREADABLE, LENIENT) as setting:
        result = setting.run(*BOTH, code=5)
        [grade] = _grades(result)
        assert (grade["score"], grade["ungraded"]) == (None, "judge_unreadable")
        assert [one["score"] for one in grade["judges"]] == [0.4, None]
        assert result["judge"]["usage"]["total_tokens"] == 360

        again = setting.regrade(result["run"], "--only-ungraded")

        assert setting.asked == [1, 3], "the readable reply of the first judge is in the cache"
    assert [one["score"] for one in _grades(again)] == pytest.approx([0.7])


def test_regrading_asks_the_judges_that_are_named_and_else_those_of_the_run(tmp_path: Path) -> None:
    with _setting(tmp_path, STRICT, LENIENT) as setting:
        result = setting.run("--judge", "one/strict")
        assert setting.asked == [1, 0]

        both = setting.regrade(result["run"], *BOTH)
        assert setting.asked == [1, 1], "the cache is each judge's own"
        as_before = setting.regrade(result["run"])
        assert setting.asked == [1, 1]
        last = setting.regrade(result["run"], *BOTH, "--no-judge-cache")
        assert setting.asked == [2, 2]
        setting.call("verify", result["run"])

    for one in (both, as_before, last):
        assert [judge["model"] for judge in _grades(one)[0]["judges"]] == ["strict", "lenient"]
    assert last["judge"]["calls"] == 1 + 1 + 2, "all that was ever asked was paid"


def test_agreement_is_in_the_result_and_in_the_summary(tmp_path: Path) -> None:
    with _setting(tmp_path, STRICT, LENIENT, tasks=2) as setting:
        result = setting.run("--runs", "5", "--concurrency", "4", *BOTH)
        page = setting.call("report", result["run"]).stdout.strip()

    sentence = "Agreement of the judges on 10 trials (Krippendorff's alpha): -0.90 (95% interval"
    sentence += " -0.90 to -0.90); by criterion: clear -0.90, short"
    assert sentence in unescape(Path(page).read_text("utf-8"))
    # twenty values, ten of 0.4 and ten of 1: observed 0.36, expected 2 · 100 · 0.36 / (20 · 19)
    assert result["judge"]["agreement"]["trials"] == 10
    assert result["judge"]["agreement"]["alpha"] == pytest.approx(1 - 19 / 10)


def test_a_run_with_one_judge_has_the_keys_that_it_always_had(tmp_path: Path) -> None:
    with _setting(tmp_path, STRICT, LENIENT) as setting:
        result = setting.run("--judge", "one/strict")

    [grade] = _grades(result)
    optional = {"certificate", "judges"}
    assert grade.keys() == {one.name for one in fields(JudgeGrade)} - optional
    assert "agreement" not in result["judge"]
    run_json = json.loads((tmp_path / "results" / result["run"] / "run.json").read_text("utf-8"))
    assert list(run_json["config"]["judge"]) == [one.name for one in fields(JudgeConfig) if one.name != "further"]
    journal = (tmp_path / "results" / result["run"] / "journal.jsonl").read_text("utf-8")
    assert '"judges"' not in journal


def test_judges_are_named_in_the_settings_file_as_a_list(tmp_path: Path) -> None:
    with _setting(tmp_path, STRICT, LENIENT) as setting:
        path = tmp_path / "pinchbench.yaml"
        path.write_text(f"run: {{judge: [one/strict, two/lenient]}}\n{path.read_text('utf-8')}", encoding="utf-8")
        result = setting.run()
        alone = setting.run("--judge", "two/lenient")

    assert [one["model"] for one in _grades(result)[0]["judges"]] == ["strict", "lenient"]
    assert _grades(alone)[0]["model"] == "lenient"


def test_a_judge_that_is_named_twice_and_two_for_a_certificate_are_errors(tmp_path: Path) -> None:
    with _setting(tmp_path, STRICT, LENIENT) as setting:
        twice = setting.call("--model", MODEL, "--judge", "one/a", "--judge", "one/a", code=2)
        both = setting.call("judge", "check", *BOTH, code=2)

    assert "--judge a is given twice" in twice.stderr
    assert "one judge at a time" in both.stderr


def test_a_dry_run_says_what_judging_will_use_going_by_earlier_runs(tmp_path: Path) -> None:
    priced = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "cost": 0.25}
    with _setting(tmp_path, replace(STRICT, usage=priced), LENIENT, tasks=2) as setting:
        plan = ("--model", MODEL, "--tasks-dir", "tasks", "--dry-run", *BOTH)
        before = setting.call(*plan).stdout
        setting.run("--runs", "1", *BOTH)
        after = setting.call(*plan, "--runs", "3").stdout
        forecast = json.loads(setting.call(*plan, "--judge-votes", "2", "--json").stdout)["judging"]
        several = setting.call("--model", "mock/m2", *plan).stdout

    assert "Judging 2 trials comes on top; its cost is unknown, since no earlier run was judged by strict and" in before
    sentence = "Judging 6 trials takes about $1.50 and about 1.4k tokens, going by earlier runs. The price of lenient"
    assert sentence in " ".join(after.split())
    assert forecast == {"trials": 2, "tokens": 960, "cost_usd": 1.0, "unknown": [], "unpriced": ["lenient"]}
    assert "Judging 4 trials takes about $1.00 and about 960 tokens, going by earlier runs." in several


def test_a_person_s_score_of_a_disagreement_counts_next_to_the_judges(tmp_path: Path) -> None:
    with _setting(tmp_path, STRICT, LENIENT) as setting:
        files = find_run(setting.run(*BOTH)["run"], tmp_path / "results")
        live = LiveRun(files)
        live.read()
        [found] = disagreements_of(live)
        _, *command = shlex.split(found.note.replace("REASON", "it is clear").replace(" X", " 0.9"))
        setting.call(*command)
        result = setting.regrade(files.name)

    assert found.difference == pytest.approx(0.6)
    [own] = result["control"]["overridden"]
    assert (own["score"], own["measured"], own["reason"]) == (0.9, pytest.approx(0.7), "it is clear")
    assert result["score"]["mean"] == pytest.approx(0.7)
    assert result["control"]["score_with_overrides"]["mean"] == 0.9
