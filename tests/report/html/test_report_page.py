"""What a report is made of: its numbers, its bounds, and that the same run gives the same page."""

import html
import json
import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from hostile_transcripts import HOSTILE
from past_runs import BEGAN, Made, PlannedRun, random_trials, write_run
from pinchbench.defaults import FailureEvent
from pinchbench.model.ending import Reason
from pinchbench.model.facts import PromptFacts, WireFacts
from pinchbench.model.grade import Ungraded
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.report.html.report_page import run_values, write_report
from pinchbench.report.html.task_rows import Stage
from pinchbench.report.html.trial_page import Json
from pinchbench.results.finished_run import PastRun, read_run
from pinchbench.results.journal.journal import JournalWriter
from pinchbench.results.records import RunFinished, TrialStarted

DATA = re.compile(r'<script type="application/json" class="trial-data" data-anchor="([^"]*)">(.*?)</script>', re.DOTALL)


def _write(folder: Path, run: PlannedRun, **settings: int) -> str:
    write_report([read_run(write_run(folder, run))], folder / "report.html", **settings)
    return (folder / "report.html").read_text(encoding="utf-8")


def _trials(page: str) -> dict[str, Json]:
    return {anchor: json.loads(told) for anchor, told in DATA.findall(page)}


def _part(run: PastRun) -> SimpleNamespace:
    return SimpleNamespace(**run_values(run, ""))


def test_the_page_holds_nothing_that_its_policy_forbids(tmp_path: Path) -> None:
    page = _write(tmp_path, PlannedRun(trials=random_trials(tasks=2, repetitions=1)))

    markup = DATA.sub("", page)
    assert ' style="' not in markup
    assert "https://" not in markup.replace("http-equiv", "")
    assert " onclick=" not in markup
    assert "default-src 'none'" in html.unescape(markup)
    assert "unsafe-inline" not in markup


def test_transcripts_beyond_the_bound_are_left_out_and_named(tmp_path: Path) -> None:
    page = _write(tmp_path, PlannedRun(trials=random_trials(tasks=3, repetitions=2)), total_bytes=600)

    trials = _trials(page)
    assert len(trials) == 6
    for trial in trials.values():
        assert trial["sessions"] == []
        assert str(tmp_path) in str(trial["cut"])
        assert str(trial["cut"]).endswith("/transcript.jsonl")


def test_a_long_text_of_a_trial_gives_way_and_the_rest_stays(tmp_path: Path) -> None:
    event = {"type": "message", "message": {"role": "user", "content": "x" * 50_000 + "END"}}
    transcript = (
        json.dumps(event) + "\n" + json.dumps({"type": "message", "message": {"role": "user", "content": "short"}})
    )
    page = _write(tmp_path, PlannedRun(trials={"task_a": (Made(transcript=transcript),)}), total_bytes=9_000)

    trial = _trials(page)["trial/task_a"]
    sessions = trial["sessions"]
    assert isinstance(sessions, list)
    long, short = (message["text"] for message in sessions[0])
    assert len(long) < 9_200
    assert "characters left out" in long
    assert long.endswith("END")
    assert short == "short"
    assert "transcript.jsonl" in str(trial["cut"])


def test_answers_stand_with_their_calls_and_what_is_damaged_is_shown(tmp_path: Path) -> None:
    page = _write(tmp_path, PlannedRun(trials={"task_a": (Made(transcript=HOSTILE),)}))

    sessions = _trials(page)["trial/task_a"]["sessions"]
    assert isinstance(sessions, list)
    assert len(sessions) == 2
    calls = [call for message in sessions[0] for call in message["calls"]]
    assert [call["result"] for call in calls] == ["one", "two"]
    assert [call["error"] for call in calls] == [False, True]
    roles = [message["role"] for message in sessions[0]]
    assert roles.count("tool") == 2  # answers to no call
    assert "note" in roles


def test_what_the_wire_measured_is_shown_next_to_what_openclaw_says(tmp_path: Path) -> None:
    facts = WireFacts(calls=4, failed=(429, 0), first_token_s=0.42, output_tokens_per_s=31.4, model_s=12.0, between_s=8)
    page = _write(tmp_path, PlannedRun(trials={"with": (Made(wire=facts),), "without": (Made(),)}))
    facts_of = [[*map(tuple, cast("list[list[str]]", trial["facts"]))] for trial in _trials(page).values()]
    shown = [value for told in facts_of for name, value in told if name == "At the provider"]

    speed = "first token after 0.42 s, 31 tokens per second, 12.0 s in the model, 8.0 s between"
    assert shown == [f"4 calls, 2 failed (429, no reply), {speed}"]


def test_what_went_wrong_and_why_it_costs_what_it_costs_have_sections_and_pass_k_is_next_to_the_passed(
    tmp_path: Path,
) -> None:
    wire = WireFacts(calls=4, prompts=PromptFacts(tools=30, system=10))
    lied = Made(events={FailureEvent.FALSE_CLAIM: (1, 4)}, wire=wire)
    page = _write(tmp_path, PlannedRun(trials={"task_a": (lied, lied), "task_b": (Made(), Made(score=0.0))}))

    assert '<section class="card" id="wrong">' in page
    assert '<td data-label="in these tasks">task_a: 2 of 8</td>' in page
    assert '<th scope="col" class="number">how often (95%)</th>' in page
    assert "What went wrong most: claimed success falsely 2 of 8." in page
    assert '<section class="card" id="why">' in page
    assert "<td>tools 75%, system prompt 25%" in page
    assert "claimed success falsely: 1 of 4" in page  # on the page of a trial
    assert ", and both trials of 50% of the tasks." in page
    never = PlannedRun(trials={"task_a": (Made(), Made(score=0.0))})
    assert ", and both trials of no task." in _write(tmp_path / "never", never)


def test_a_run_in_which_nothing_went_wrong_says_so_without_a_table(tmp_path: Path) -> None:
    honest = Made(events={FailureEvent.FALSE_CLAIM: (0, 4)})
    part = _part(read_run(write_run(tmp_path, PlannedRun(trials={"task_a": (honest,)}))))
    assert part.wrong is not None
    assert part.wrong.sentences == ("Nothing that the tasks' checks count.", "Not once: claimed success falsely.")
    assert not part.wrong.columns


def test_a_run_that_was_interrupted_in_its_last_trial_says_so_and_how_it_goes_on(tmp_path: Path) -> None:
    stopped = Made(score=None, reason=Reason.INTERRUPTED)
    files = write_run(tmp_path, PlannedRun(trials={"task_a": (Made(), stopped)}, has_ended=False))
    with JournalWriter(files.journal, go_on=True) as journal:
        journal.append([RunFinished(at=BEGAN + 60, interrupted="SIGINT")])

    notices = [sentence for _, sentence in _part(read_run(files)).notices]

    assert any(one.startswith("Incomplete: the run was interrupted, and 1 of 2 trials is left") for one in notices), (
        notices
    )


def test_what_openclaw_hides_of_a_runs_calls_is_a_notice(tmp_path: Path) -> None:
    wire = WireFacts(calls=3, failed=(500,), unreported=1, models=("<b>",), model_s=12.0, between_s=3.0)
    page = _write(tmp_path, PlannedRun(trials={"task_a": (Made(wire=wire),)}))

    told = "3 model calls: 1 failed in 1 trial (500); models that answered instead of mock/m1: &lt;b&gt; (1 trial)."
    assert f'<p class="notice warn">{told}</p>' in page
    assert "in all: 12.0 s in the model, 3.0 s between its replies (tools and OpenClaw)" in page


def test_what_is_left_out_is_counted_by_its_reason(tmp_path: Path) -> None:
    trials = {
        "task_a": (Made(), Made(reason=Reason.NO_TRANSCRIPT, score=None)),
        "task_b": (Made(score=None, ungraded=Ungraded.JUDGE_UNREACHABLE), Made(score=None)),
    }
    part = _part(read_run(write_run(tmp_path, PlannedRun(trials=trials, planned_beyond=1))))

    assert part.left_out == "2 ungraded, 1 failed for infrastructure reasons, 2 not run; 1 task without any score"
    assert part.causes == "not in the score: 2 ungraded, 1 no transcript."
    assert [task.states for task in part.tasks] == [
        (("excluded", 1), ("stopped", 1), ("passed", 1)),
        (("ungraded", 2), ("stopped", 1)),
    ]


def test_a_journal_does_not_lead_out_of_its_run(tmp_path: Path) -> None:
    (tmp_path / "transcript.jsonl").write_text('{"type":"message","message":{"role":"user","content":"SECRET"}}\n')
    run = read_run(write_run(tmp_path, PlannedRun(trials={"task_a": (Made(),)})))
    (attempts,) = run.attempts.values()
    elsewhere = replace(attempts.outcomes[0], evidence="..")
    leading = replace(run, attempts={elsewhere.key: replace(attempts, outcomes=(elsewhere,))}, outcomes=(elsewhere,))

    write_report([leading], tmp_path / "report.html")

    assert "SECRET" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_cost_that_is_not_known_says_how_to_give_a_price(tmp_path: Path) -> None:
    for model, cost, said in (("mock/free", 0.0, "--price-in and --price-out"), ("mock/paid", 0.5, "as OpenClaw")):
        planned = PlannedRun(model=model, trials={"t": (Made(cost_usd=cost),)}, grading=GradingType.AUTOMATED)
        write_report([read_run(write_run(tmp_path, planned))], tmp_path / "page.html")

        assert said in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_page_begins_with_the_answer_and_says_what_failed_and_why(tmp_path: Path) -> None:
    said = [{"type": "text", "text": "## Sum\nAll **<b>done</b>**: `a.txt`."}]
    last = json.dumps({"type": "message", "message": {"role": "assistant", "content": said}}) + "\n"
    trials = {
        "task_good": (Made(cost_usd=0.5),),
        "task_low": (Made(score=0.25, transcript=last, cost_usd=0.5),),
        "task_lost": (Made(score=None, reason=Reason.NO_TRANSCRIPT),),
    }
    run = read_run(
        write_run(
            tmp_path,
            PlannedRun(
                trials=trials,
                titles={"task_low": "Sort a pile"},
                config={"concurrency": 4, "infra_retries": 2, "wire": False, "upload": True},
            ),
        )
    )
    part = _part(run)

    assert part.answer == "Passed 1 of 2 trials (score 0.5 or more). A passed trial cost $1.01."
    assert [(one["title"], one["name"], one["last_words"]) for one in part.failures] == [
        ("Sort a pile", "task_low", "Sum All <b>done</b>: `a.txt`."),
        ("", "task_lost", ""),
    ]
    assert part.failures[0]["why"].startswith("score 0.25: file there 0.25, is clear (judge) 0.25")
    assert ("--concurrency", "4") in part.settings
    assert ("--no-wire", "true") in part.settings
    assert not {"--infra-retries", "--no-upload"} & set(dict(part.settings))
    assert not {one for _, one in part.notices} & set(part.remarks)


def test_the_first_failures_have_as_many_causes_as_possible_and_last_words_have_their_code_marked(
    tmp_path: Path,
) -> None:
    late = Made(score=0.0, reason=Reason.TIMED_OUT)
    said = [{"type": "text", "text": "See `<b>.txt`."}]
    low = json.dumps({"type": "message", "message": {"role": "assistant", "content": said}}) + "\n"
    trials = {f"task_{number}": (late,) for number in range(9)}
    trials["task_low"] = (Made(score=0.2, transcript=low),)
    trials["task_lost"] = (Made(score=None, reason=Reason.PROVIDER_ERROR, note="429 Out of quota."),)
    page = _write(tmp_path, PlannedRun(trials=trials))

    listed = page[page.index("Trials that did not pass") : page.index("The table of tasks has 3 more.")]
    assert re.findall(r'href="#trial/(\w+)"', listed)[:4] == ["task_0", "task_low", "task_lost", "task_1"]
    assert "429 Out of quota." in listed
    assert "The model’s last message: “See <code>&lt;b&gt;.txt</code>.”" in listed


def test_what_is_not_in_the_score_of_a_run_that_goes_on_may_still_come(tmp_path: Path) -> None:
    files = write_run(tmp_path, PlannedRun(trials={"task_a": (Made(),)}, planned_beyond=1, has_ended=False))
    pages = []
    for goes_on in (True, False):
        with JournalWriter(files.journal, go_on=True) if goes_on else nullcontext():
            write_report([read_run(files)], tmp_path / "report.html")
        pages.append((tmp_path / "report.html").read_text(encoding="utf-8"))

    assert ["<dt>Not in the score yet</dt>" in page for page in pages] == [True, False]


def test_a_trial_that_runs_while_the_report_is_written_is_running(tmp_path: Path) -> None:
    files = write_run(tmp_path, PlannedRun(trials={"task_a": (Made(),)}, planned_beyond=2, has_ended=False))
    started = TrialStarted(key=TrialKey(task_id="task_a", repetition=2), slot=1, attempt=1, at=BEGAN)
    with JournalWriter(files.journal, go_on=True) as journal:
        journal.append([started])
        part = _part(read_run(files))
    dead = _part(read_run(files))

    assert [trial.state for trial in part.tasks[0].trials] == [Stage.PASSED, Stage.RUNNING, Stage.WAITING]
    assert part.tasks[0].trials[1].href == ""
    assert ("", "The run goes on: 2 of 3 trials are left, 1 of them running.") in part.notices
    assert [trial.state for trial in dead.tasks[0].trials] == [Stage.PASSED, Stage.STOPPED, Stage.STOPPED]


def test_of_a_run_without_a_score_nothing_can_be_said(tmp_path: Path) -> None:
    trials = {"task_lost": (Made(score=None, reason=Reason.NO_TRANSCRIPT),)}

    part = _part(read_run(write_run(tmp_path, PlannedRun(trials=trials))))

    assert part.answer == "No trial has a score."
