"""The summary for GitHub tells what matters, fits, and takes nothing from outside for markup."""

import re
from html import unescape
from pathlib import Path

from past_runs import Made, PlannedRun, random_trials, write_run
from pinchbench.model.ending import Reason
from pinchbench.model.grade import Ungraded
from pinchbench.report.export.github import MAX_BYTES, github_lines
from pinchbench.results.compare.samples import side_of
from pinchbench.results.finished_run import read_run
from pinchbench.results.gate.baseline_file import Stability
from pinchbench.results.gate.gate_record import write_gate
from pinchbench.results.gate.gate_run import Gate

HOSTILE = "| x | <script>alert(1)</script></details> @someone #12 [a](http://b.c) `c` **d** $e$ :tada:\n\n# f"
CODE = re.compile(r"<code>[^<>`|*_\[\]()@$:~!\\\n]*</code>")


def _summary(folder: Path, run: PlannedRun) -> str:
    return "".join(github_lines(read_run(write_run(folder, run))))


def test_the_score_stands_first_with_its_interval_and_what_it_leaves_out(tmp_path: Path) -> None:
    trials = random_trials(tasks=8, repetitions=4, trouble=0.5)
    run = read_run(write_run(tmp_path, PlannedRun(trials=trials, model="mock/m1", planned_beyond=1)))
    lines = unescape("".join(github_lines(run))).splitlines()
    score, left = run.data.score, run.data.left_out

    assert lines[0] == "## PinchBench: <code>mock/m1</code>"
    assert lines[2].startswith(
        f"- **Score {score.mean:.3f} (95% interval {score.low:.3f} to {score.high:.3f}), the mean of"
    )
    assert f"{left.ungraded} ungraded, {left.infrastructure} failed for infrastructure reasons" in lines[3]
    assert f"{left.not_run} not run" in lines[3]
    assert "> The run is unfinished: " in "\n".join(lines)


def test_every_category_has_a_line_whose_numbers_are_the_aggregates(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, PlannedRun(trials=random_trials(tasks=8, repetitions=3, trouble=0.3))))
    categories = run.data.categories
    table = [line.split(" | ") for line in "".join(github_lines(run)).splitlines() if line.startswith("| <code>")][:4]

    assert [cells[0] for cells in table] == [f"| <code>{name}</code>" for name in categories]
    for cells, its in zip(table, categories.values(), strict=True):
        assert cells[1] == f"{its.score.mean:.3f}"
        assert cells[3] == str(its.score.trials)
        assert int(cells[4]) <= its.score.trials


def test_what_was_not_passed_is_folded_the_worst_first(tmp_path: Path) -> None:
    trials = {
        "ok": (Made(score=0.9),),
        "bad": (Made(score=0.3), Made(score=0.1)),
        "ungraded": (Made(score=None, ungraded=Ungraded.JUDGE_UNREACHABLE, notes=("No answer.",)),),
        "broken": (Made(score=None, reason=Reason.PROVIDER_ERROR),),
        "cut": (Made(score=None, reason=Reason.INTERRUPTED),),
        "false": (Made(score=None, reason=Reason.TAMPERED),),
    }
    text = _summary(tmp_path, PlannedRun(trials=trials))
    folded = unescape(text[text.index("<details>") :])

    assert "<summary>6 trials that did not pass</summary>" in folded
    assert folded.index("bad@2") < folded.index("<code>bad</code>") < folded.index("ungraded, judge unreachable")
    assert "provider error (infrastructure failure" in folded
    assert "interrupted (not in the score)" in folded
    assert "(its evidence can't be trusted; not in the score)" in folded
    assert "score 0.30: file there 0.30, is clear (judge) 0.30" in folded
    assert "<code>ok</code>" not in folded
    assert folded.count("<details>") == folded.count("</details>") == 1


def test_time_tokens_and_cost_are_those_of_the_attempts_that_count_and_unknown_prices_are_unknown(
    tmp_path: Path,
) -> None:
    known = _summary(tmp_path / "known", PlannedRun(trials={"a": (Made(retried=(Reason.PROVIDER_ERROR,)), Made())}))
    unknown = _summary(tmp_path / "unknown", PlannedRun(trials={"a": (Made(cost_usd=0.0),)}))

    assert "- Agents: 1 min 00 s, 10.0k tokens, cost $0.0300." in unescape(known)
    assert "| 1 min 00 s | $0.0300 |" in unescape(known)
    assert "cost unknown." in unknown
    assert "| unknown |" in unknown
    assert "$" not in known + unknown  # two on a line would be a formula


def test_hostile_text_is_neither_markup_nor_a_mention(tmp_path: Path) -> None:
    trials = {"a": (Made(score=0.1, notes=(HOSTILE,)), Made(score=None, reason=Reason.RUNNER_BUG, note=HOSTILE))}
    text = _summary(tmp_path, PlannedRun(trials=trials, categories={"a": HOSTILE}))
    rest = CODE.sub("", text)

    assert "script" not in rest
    assert "someone" not in rest
    assert "tada" not in rest
    assert all(line.count("|") in (0, 4, 9) for line in text.splitlines())


def test_a_summary_is_never_longer_than_github_takes(tmp_path: Path) -> None:
    trials = {f"task_{n:04d}": (Made(score=0.0, notes=("😀<" * 200,)),) for n in range(700)}
    categories = {task: f"category {task} {'<' * 150}" for task in trials}
    text = _summary(tmp_path, PlannedRun(trials=trials, categories=categories, slots=16))

    assert len(text.encode()) <= MAX_BYTES
    assert "more trials; all are in the results" in text
    assert "more categories; all are in the results" in text
    assert text.count("<details>") == text.count("</details>") == 1


def test_the_gate_names_its_baseline_its_margin_and_what_was_not_compared(tmp_path: Path) -> None:
    steady = {f"task_{number}": (Made(score=0.9),) * 5 for number in range(8)}
    before = read_run(write_run(tmp_path, PlannedRun(trials={**steady, "flaky": (Made(score=1.0),)})))
    trials = {task: (Made(score=0.1),) for task in (*steady, "flaky", "new")}
    run = read_run(write_run(tmp_path, PlannedRun(trials=trials, run_id="20260103-030000-0002")))
    gate = Gate(
        least_score=0.5,
        margin=0.02,
        name=HOSTILE,
        baseline=side_of([before]),
        stability=Stability(),
    )
    write_gate(run.files, gate.judge(run, is_complete=False))
    summary = "".join(github_lines(run))

    assert "### Gate: failed\n\n- <code>score&#60;0&#46;5</code>: **failed**. The score 0&#46;100 is below" in summary
    assert "**failed**. Worse than the baseline&#58; the difference is −0&#46;800 &#40;" in summary
    assert "of <code>mock/m1</code>, margin 0.02." in summary
    assert "<summary>Not compared: 2 tasks</summary>" in summary
    assert "in quarantine; too few repetitions&#58; 1 with a score instead of 5" in summary
    assert "only in this run" in summary
    assert "The run is incomplete" in summary
    assert not re.search(r"<script>|\(http://|@someone|</details> ", summary)
