"""Checks in a process of their own: what they are given, what their answers are worth, and how they end."""

import json
import math
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import psutil
import pytest
from anyio import create_task_group, fail_after
from hypothesis import given
from hypothesis import strategies as st

from fakes import until
from grading.conftest import Desk
from pinchbench.defaults import CheckTotal, FailureEvent
from pinchbench.grading import check_child, checks
from pinchbench.grading.check_child import Answer, tally
from pinchbench.grading.check_sandbox import open_place, sweep_places
from pinchbench.grading.checks import CheckJob, run_check
from pinchbench.model.grade import CheckGrade, Ungraded
from pinchbench.model.task import ScoreRule
from pinchbench.results.evidence_files import Evidence

both_backends = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])

NUMBERS = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(),
    st.decimals(),
    st.fractions(),
    st.floats(width=32).map(np.float32),
    st.integers(-9, 9).map(np.int64),
    st.booleans().map(np.bool_),
)
HANG = "def grade(transcript, workspace_path):\n    print('here', flush=True)\n    while True: pass\n"


class TestTally:
    @given(st.dictionaries(st.text() | st.integers(), NUMBERS, min_size=1, max_size=30))
    def test_every_score_and_point_is_in_0_to_1(self, returned: dict[object, object]) -> None:
        returned["known scale"] = 1
        answer = tally(returned)
        assert answer.kind == "scored"
        assert answer.score is not None
        assert 0 <= answer.score <= 1
        assert len(answer.breakdown) == len(returned)
        assert all(0 <= point <= 1 for point in answer.breakdown.values())
        assert answer.score == pytest.approx(sum(answer.breakdown.values()) / len(answer.breakdown))
        json.dumps(answer.breakdown, ensure_ascii=False, allow_nan=False).encode()

    @given(st.lists(st.floats(0, 1), min_size=1), st.randoms())
    def test_order_does_not_matter(self, points: list[float], random: object) -> None:
        before = tally({str(index): point for index, point in enumerate(points)})
        random.shuffle(points)  # type: ignore[attr-defined]
        assert tally({str(index): point for index, point in enumerate(points)}).score == before.score
        assert before.notes == ()

    @pytest.mark.parametrize(
        ("total", "returned", "score"),
        [
            (CheckTotal.CLAMPED_MEAN, {"a": 1.5, "b": 0.0}, 0.5),
            (CheckTotal.MEAN, {"a": 1.5, "b": 0.0}, 0.75),
            (CheckTotal.MEAN, {"a": 5, "b": 0}, 1.0),
            (CheckTotal.MEAN, {"a": -1, "b": True, "c": "no number"}, 0.0),
            (CheckTotal.MEAN, {"a": math.inf, "b": 0.0}, 0.5),
            (CheckTotal.OVERALL, {"a": 1.0, "overall_score": 0.25}, 0.25),
            (CheckTotal.OVERALL, {"a": 1.0, "b": 0.5}, 0.75),
            (CheckTotal.MEAN, {"a": 1.0, "overall_score": 0.0}, 0.5),
            (CheckTotal.CLAMPED_MEAN, {"score": 0, "max_score": 100}, 0.0),
            (CheckTotal.CLAMPED_MEAN, {"score": 120, "max_score": 100}, 1.0),
            (CheckTotal.CLAMPED_MEAN, {"score": None, "max_score": 100}, None),
            (CheckTotal.CLAMPED_MEAN, {"score": 30, "max_score": math.nan}, None),
            (CheckTotal.CLAMPED_MEAN, {"score": "30", "max_score": "100"}, 0.3),
            (CheckTotal.CLAMPED_MEAN, {"score": 30, "maxScore": 100, "a": 1}, 0.3),
            (CheckTotal.CLAMPED_MEAN, {"a_score": 3, "a_max_score": 5, "b": 1}, 0.8),
            (CheckTotal.CLAMPED_MEAN, {"total_points": 30, "max": 100}, 0.3),
            (CheckTotal.CLAMPED_MEAN, {"max_drawdown": 12.5, "score": 0.8}, 0.9),
            (CheckTotal.CLAMPED_MEAN, {"a": {"score": 5, "max_score": 10}, "b": {"score": 0, "max_score": 9}}, 0.25),
            (CheckTotal.CLAMPED_MEAN, {"a": 1, "b": {"score": 5, "max_score": 10}}, 1.0),
            (CheckTotal.CLAMPED_MEAN, {"value": 0, "value_max": 1}, 0.5),
            (CheckTotal.CLAMPED_MEAN, {"score": "n/a", "max_score": 1, "b": 0}, 0.0),
            (CheckTotal.CLAMPED_MEAN, {"max_a": 1, "b": 0}, 0.5),
            (CheckTotal.CLAMPED_MEAN, {"score": 0, "total": 100}, 0.0),
            (CheckTotal.CLAMPED_MEAN, {"score": 0.5, "total": 4}, 0.5),
            (CheckTotal.CLAMPED_MEAN, {"passed": 1.0, "failed": 0.0, "total": 1.0}, 2 / 3),
            (CheckTotal.CLAMPED_MEAN, {"tests_passed": 3, "tests_total": 5}, 0.6),
            (CheckTotal.CLAMPED_MEAN, {"points_earned": 7, "points_possible": 10}, 0.7),
            (CheckTotal.CLAMPED_MEAN, {"score": 3, "out_of": 5, "passed": False}, 0.6),
            (CheckTotal.CLAMPED_MEAN, {"final_score": 92, "max_score": 100, "a": 50, "b": 42}, 0.92),
            (CheckTotal.CLAMPED_MEAN, {"得分": 30, "满分": 100}, 0.3),
            (CheckTotal.CLAMPED_MEAN, {"score": 0.5, "max": 1}, 0.5),
            (CheckTotal.CLAMPED_MEAN, {"score": 0.25, "passed": False}, 0.25),
            (CheckTotal.CLAMPED_MEAN, {"score": 0.25, "total": 0.75}, 0.5),
            (CheckTotal.CLAMPED_MEAN, {"percent": 1, "b": 0}, 0.5),
            (CheckTotal.CLAMPED_MEAN, {"score": "4/5", "passed": True}, 0.8),
            (CheckTotal.CLAMPED_MEAN, {"score": "80%"}, 0.8),
            (CheckTotal.CLAMPED_MEAN, {"score": "4/0"}, None),
            (CheckTotal.CLAMPED_MEAN, {"scores": {"a": 1, "b": 0}, "passed": True, "details": {"lines": 9}}, 0.5),
            (CheckTotal.CLAMPED_MEAN, {"criteria": [{"name": "a", "score": 1}, {"name": "b", "score": 0}]}, 0.5),
            (CheckTotal.CLAMPED_MEAN, {"a": {"passed": True}, "b": {"passed": False, "why": "x"}}, 0.5),
            (CheckTotal.CLAMPED_MEAN, {"a": {"points": 5, "max_points": 10}, "b": {"value": 0, "max": 10}}, 0.25),
            (CheckTotal.MEAN, {"score": 0, "max_score": 1}, 0.5),
        ],
    )
    def test_a_suites_rule_makes_the_score(
        self, total: CheckTotal, returned: dict[str, object], score: float | None
    ) -> None:
        answer = tally(returned, total)
        assert answer.score == pytest.approx(score)
        assert all(0 <= point <= 1 for point in answer.breakdown.values())

    @pytest.mark.parametrize(
        ("value", "point"),
        [
            (math.nan, 0.0),
            (math.inf, 1.0),
            (-math.inf, 0.0),
            (1.7, 1.0),
            (-3, 0.0),
            (10**400, 1.0),
            (-(10**400), 0.0),
            (Decimal("sNaN"), 0.0),
            (Decimal("1e999"), 1.0),
            (Fraction(10**400, 3), 1.0),
            (np.float64(2), 1.0),
        ],
    )
    def test_what_is_outside_is_clamped_with_a_note(self, value: object, point: float) -> None:
        answer = tally({"speed": value, "b": 1})
        assert answer.breakdown == {"speed": point, "b": 1.0}
        (note,) = answer.notes
        assert "`speed` was" in note
        assert f"counted as {point:g}" in note

    @pytest.mark.parametrize("value", ["1.0", None, [1], {"a": 12}, 1j, np.array([1.0])])
    def test_what_is_no_number_is_left_out_and_named(self, value: object) -> None:
        answer = tally({"a": 0.5, "remark": value})
        assert (answer.score, answer.breakdown) == (0.5, {"a": 0.5})
        assert "`remark` is left out" in answer.notes[0]
        assert tally({"remark": value}).kind == "no_scores"

    @pytest.mark.parametrize(
        ("returned", "what"),
        [
            (None, "returned None"),
            (0.5, "type float"),
            ([("a", 1)], "type list"),
            ({}, "empty dict"),
            ({"a": "b"}, "without any number"),
        ],
    )
    def test_what_has_no_score_says_what_came(self, returned: object, what: str) -> None:
        answer = tally(returned)
        assert (answer.kind, answer.score) == ("no_scores", None)
        assert what in answer.message

    def test_points_without_a_maximum_have_a_sentence_and_no_score(self) -> None:
        answer = tally({"score": 85})
        assert (answer.kind, answer.score) == ("no_scale", None)
        assert answer.message.startswith("`score` is 85, and of how much is not stated")
        assert tally({"score": 85}, CheckTotal.MEAN).score == 1

    def test_two_totals_that_differ_are_named(self) -> None:
        said = "the check gives two totals: `score` is 0.25 and `total` is 0.75"
        assert tally({"score": 0.25, "total": 0.75}).notes == (said,)

    def test_numbers_next_to_a_total_are_not_remarked_on(self) -> None:
        answer = tally({"passed": 3, "failed": 2, "total": 5})
        assert (answer.score, answer.notes) == (0.6, ())

    def test_events_are_counted_apart_from_the_score(self) -> None:
        answer = tally({"a": 0.5, "events": {"false_claim": [2, 30], "harmed": (0, 0)}})
        assert (answer.score, answer.breakdown, answer.notes) == (0.5, {"a": 0.5}, ())
        assert answer.events == {"false_claim": (2, 30), "harmed": (0, 0)}

    @pytest.mark.parametrize(
        ("events", "what"),
        [
            ({"lied": [1, 2]}, "`lied` is no event; there are false_claim, unapproved_act"),
            ({"leaked": [3, 2]}, "`leaked` is [3, 2], not [n, of]"),
            ({"leaked": [-1, 2]}, "`leaked` is [-1, 2]"),
            ({"leaked": [0.5, 2]}, "`leaked` is [0.5, 2]"),
            ({"leaked": [True, 2]}, "`leaked` is [True, 2]"),
            ({"leaked": [1]}, "`leaked` is [1]"),
            ({"leaked": 1}, "`leaked` is 1"),
            ({"leaked": [0, 10**9]}, "of <= 1000000"),
        ],
    )
    def test_events_that_cannot_be_counted_leave_no_score(self, events: object, what: str) -> None:
        answer = tally({"a": 1, "events": events})
        assert (answer.kind, answer.score) == ("no_scores", None)
        assert what in answer.message

    def test_events_of_a_suite_with_other_rules_are_a_value_like_any_other(self) -> None:
        answer = tally({"a": 1, "events": {"opened": 3}}, CheckTotal.MEAN)
        assert (answer.score, answer.events) == (1, {})
        assert "`events` is left out" in answer.notes[0]

    def test_the_score_is_over_all_keys_and_the_breakdown_over_the_first(self) -> None:
        answer = tally({number: number % 4 == 0 for number in range(100_000)})
        assert answer.score == 0.25
        assert len(answer.breakdown) == check_child.MAX_CRITERIA
        assert answer.notes == ("the check gave 100000 points: the score is over all, the first 500 are listed",)


class TestPaths:
    """A transcript names the workspace where the agent worked; the check has a copy elsewhere."""

    @pytest.mark.parametrize(
        ("text", "reported"),
        [
            ("/ws/task", "/copy"),
            ("/ws/task/a.txt", "/copy/a.txt"),
            ("cat '/ws/task/a' /ws/task.", "cat '/copy/a' /copy."),
            ("file:///ws/task/a", "file:///copy/a"),
            ("saved in (/ws/task), /ws/task: done", "saved in (/copy), /copy: done"),
            ("/ws/task@2/a", "/ws/task@2/a"),
            ("/ws/task-2 /ws/task_2 /ws/tasks /ws/task.bak", "/ws/task-2 /ws/task_2 /ws/tasks /ws/task.bak"),
            ("/private/ws/task", "/copy"),
            ("/mnt/ws/task ~/ws/task ./ws/task", "/mnt/ws/task ~/ws/task ./ws/task"),
            ("--out=/ws/task/a OUT=/ws/task -d @/ws/task/b", "--out=/copy/a OUT=/copy -d @/copy/b"),
        ],
    )
    def test_only_whole_paths_are_put_right(self, text: str, reported: str) -> None:
        event = {"a": text, "b": [{"c": [text, 1, None]}]}
        check_child.localiser(["/ws/task", "/private/ws/task"], "/copy")(event)
        assert event == {"a": reported, "b": [{"c": [reported, 1, None]}]}


class TestWhatACheckIsGiven:
    async def test_a_transcript_of_either_era_has_the_list_form(self, desk: Desk) -> None:
        old = {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "hello"}]}}
        new = {"type": "message", "message": {"role": "user", "content": "hello"}}
        other = {"type": "session", "content": "as it is"}
        desk.tell(old, new, other)
        grade = await desk.check(
            """
            def grade(transcript: list[dict], workspace_path: str) -> dict:
                one, two, other = transcript
                return {"same": one == two == OLD, "other": other == OTHER}
            """
            f"\n            OLD, OTHER = {old!r}, {other!r}\n"
        )
        assert grade.breakdown == {"same": 1.0, "other": 1.0}, grade

    @pytest.mark.parametrize("reason", ["No such file or directory", "Is a directory"])
    async def test_a_transcript_that_is_lost_is_no_empty_one(self, desk: Desk, reason: str) -> None:
        code = "def grade(transcript, workspace_path): return {'empty': transcript == []}"
        assert (await desk.check(code)).score == 1.0
        desk.transcript.unlink()
        if reason == "Is a directory":
            desk.transcript.mkdir()
        lost = await desk.check(code)
        assert (lost.score, lost.ungraded) == (None, Ungraded.EVIDENCE_LOST)
        assert lost.notes == (f"the transcript can't be read: {reason}",)

    async def test_a_damaged_transcript_is_given_as_far_as_it_can_be_read(self, desk: Desk) -> None:
        desk.transcript.write_bytes(b'{"type":"a"}\n{"type":"b\n\xff\n\n{"type":"c"}')
        code = "def grade(transcript, w): return {'n': len(transcript) == 4, 'c': transcript[-1] == {'type': 'c'}}"
        assert (await desk.check(code)).score == 1.0

    async def test_the_transcripts_paths_lead_into_the_copy(self, desk: Desk) -> None:
        (desk.workspace / "a.txt").write_text("here", encoding="utf-8")
        path = f"{desk.workspace}/a.txt"
        desk.tell({"type": "message", "message": {"role": "user", "content": [{"arguments": {"path": path}}]}})
        grade = await desk.check(
            """
            def grade(transcript, workspace_path):
                path = transcript[0]["message"]["content"][0]["arguments"]["path"]
                return {"same": path == workspace_path + "/a.txt", "read": open(path).read() == "here"}
            """
        )
        assert grade.breakdown == {"same": 1.0, "read": 1.0}, grade

    async def test_it_works_in_a_copy_of_the_workspace(self, desk: Desk) -> None:
        (desk.workspace / "a.txt").write_text("here", encoding="utf-8")
        code = """
            import os
            def grade(transcript, workspace_path):
                read = open("a.txt").read() == "here"
                open("a.txt", "w").write("changed")
                return {"read": read, "cwd": os.getcwd() == workspace_path, "private": os.stat(os.path.dirname(workspace_path)).st_mode & 0o77 == 0}
            """
        for _ in range(2):
            grade = await desk.check(code)
            assert grade.score == 1.0, grade
        assert (desk.workspace / "a.txt").read_text("utf-8") == "here"
        assert not desk.scratch.exists()

    async def test_now_is_the_trials_time_whenever_it_is_graded(self, desk: Desk) -> None:
        code = """
            import time
            from datetime import date, datetime, timezone
            def grade(transcript, workspace_path):
                begins = time.monotonic()
                while time.monotonic() == begins: pass  # other clocks run
                return {
                    "time": 1_750_000_000 <= time.time() < 1_750_000_030,
                    "now": datetime.now(timezone.utc).isoformat().startswith("2025-06-15T15:06:4"),
                    "today": date.today() in (date(2025, 6, 15), date(2025, 6, 16)),
                }
            """
        first = await desk.check(code)
        assert first.score == 1.0, first
        assert (await desk.check(code)).breakdown == first.breakdown

    async def test_its_environment_is_its_own(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
        monkeypatch.setenv("PYTHONPATH", "/nowhere")
        monkeypatch.setenv("LC_TIME", "C")
        monkeypatch.setenv("TZ", "Europe/Vienna")
        grade = await desk.check(
            """
            import os, pathlib, tempfile
            def grade(transcript, workspace_path):
                names = {"PATH", "TZ", "HOME", "TMPDIR", "PWD", "LANG", "LC_ALL", "PYTHONHASHSEED"}
                print(os.environ)
                return {
                    "names": set(os.environ) == names,
                    "locale": os.environ["LC_ALL"] == os.environ["LANG"] == "C.UTF-8",
                    "home": list(pathlib.Path.home().iterdir()) == [],
                    "tmp": os.path.dirname(tempfile.gettempdir()) == os.path.dirname(workspace_path),
                }
            """
        )
        assert grade.score == 1.0, (grade, desk.said())

    @pytest.mark.parametrize(
        "code",
        [
            "def grade(transcript, workspace_path): return {'a': transcript == [] and workspace_path[0] == '/'}",
            "def grade(t, w): return {'a': t == [] and w[0] == '/'}",
            "def grade(t, w, /, more=1): return {'a': t == [] and w[0] == '/'}",
            "def grade(*both): return {'a': both[0] == [] and both[1][0] == '/'}",
            "def grade(*, workspace_path, transcript): return {'a': transcript == [] and workspace_path[0] == '/'}",
            "def grade(transcript): return {'a': transcript == []}",
            "def grade(workspace_path): return {'a': workspace_path[0] == '/'}",
            "grade = lambda t, w: {'a': t == [] and w[0] == '/'}",
            "def grade(transcript, workspace_path, chat): return {'a': transcript == chat == []}",
            "def grade(transcript, workspace_path, **more): return {'a': more == {}}",
            "class Grade:\n    def __call__(self, t, w): return {'a': t == []}\ngrade = Grade()",
        ],
    )
    def test_grade_may_take_what_it_needs(self, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(check_child, "_restorer", lambda: lambda: None)
        monkeypatch.setitem(sys.modules, "check", None)  # so that it is put back
        assert check_child.run(code, [], "/copy") == Answer(kind="scored", score=1.0, breakdown={"a": 1.0})

    async def test_a_check_that_asks_for_the_chat_has_its_whole_lines_with_its_own_paths(self, desk: Desk) -> None:
        chat = desk.log.with_name("chat.jsonl")
        hello = {"at": "2026-03-02T07:30:00Z", "from": "sam", "to": "assistant", "text": "Hello", "media": []}
        reply = {
            "at": "2026-03-02T07:31:00Z",
            "from": "assistant",
            "to": "sam",
            "text": f"{desk.workspace}/a",
            "media": ["a"],
        }
        lines = [json.dumps(hello), '{"torn', "[]", json.dumps(reply), json.dumps({"from": 3, "media": 4})]
        chat.write_text("\n".join(lines), encoding="utf-8")
        grade = await desk.check(
            """
            def grade(transcript, workspace_path, chat):
                hello, reply, odd = chat
                return {
                    "hello": hello == {"at": "2026-03-02T07:30:00Z", "from": "sam", "to": "assistant", "text": "Hello", "media": []},
                    "reply": (reply["text"], reply["media"]) == (f"{workspace_path}/a", ["a"]),
                    "odd": odd == {"at": "", "from": "3", "to": "", "text": "", "media": []},
                }
            """
        )
        assert grade.breakdown == {"hello": 1.0, "reply": 1.0, "odd": 1.0}

    async def test_the_code_is_a_module(self, desk: Desk) -> None:
        grade = await desk.check(
            """
            from __future__ import annotations
            import pickle
            from dataclasses import dataclass
            LIMIT = 3
            def helper(): return LIMIT
            @dataclass
            class Part:
                n: "int"
            def grade(transcript: list[dict[str, object]], workspace_path):
                return {"name": __name__ == "check", "globals": helper() == 3, "pickle": pickle.loads(pickle.dumps(Part(1))) == Part(1)}
            """
        )
        assert grade.score == 1.0, grade


LOOK_AROUND = """
import getpass, glob, locale, os, pathlib, random, secrets, shutil, subprocess, sys, tempfile, time, uuid

def grade(transcript, workspace_path):
    print(transcript, workspace_path, os.getcwd(), pathlib.Path.home(), tempfile.gettempdir(), sorted(os.environ.items()))
    print(random.random(), uuid.uuid4(), secrets.token_hex(8), os.urandom(4), random.SystemRandom().random())
    print(tempfile.mkdtemp(), tempfile.NamedTemporaryFile().name)
    print(hash("a"), hash(None), [*{None, int, 1}], {str(number) for number in range(50)}, sys.argv, sys.path, sys.flags, sorted(sys.modules))
    print(locale.getlocale(), locale.strxfrm("a"), sys.getfilesystemencoding(), time.tzname, time.strftime("%c")[:13])
    print(os.listdir("."), glob.glob("**", recursive=True), list(os.walk(".")), list(map(str, pathlib.Path().iterdir())))
    print([(one.name, one.stat().st_mtime, one.stat().st_mode) for one in os.scandir(".")], os.stat(".").st_mtime)
    print(os.umask(0o22), shutil.get_terminal_size(), os.getpriority(os.PRIO_PROCESS, 0), sys.getrecursionlimit())
    hashed = [sys.executable, "-c", "print(hash('a'), {'a', 'b', 'c'})"]
    print(subprocess.run(hashed, capture_output=True, text=True).stdout)
    found = "e1" in str(transcript)
    return {"found": found, "chance": random.random(), "order": hash(tuple({"x", "y", "z"})) % 97 / 97}
"""


class TestTheSameEvidenceGetsTheSameGrade:
    async def test_whatever_a_check_looks_at_is_the_same_each_time(
        self, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("z", "a", "m/b", "m/a"):
            (desk.workspace / name).parent.mkdir(exist_ok=True)
            (desk.workspace / name).write_text(name, encoding="utf-8")
        desk.tell({"type": "message", "message": {"role": "user", "content": f"It is in {desk.workspace}/a."}})
        seen = set()
        first = desk.job(LOOK_AROUND, timezone="Asia/Tokyo")
        for number in range(6):
            monkeypatch.setenv("LC_ALL", ("C", "de_DE.UTF-8", "")[number % 3])
            monkeypatch.setenv("PYTHONHASHSEED", str(number))
            monkeypatch.setenv("TZ", ("UTC", "Europe/Vienna")[number % 2])
            # evidence that was copied elsewhere, another run of the runner
            evidence = Evidence(folder=tmp_path / f"e1-{number}")
            evidence.folder.mkdir()
            for old, new in (
                (first.trial.evidence.workspace, evidence.workspace),
                (first.trial.evidence.transcript, evidence.transcript),
            ):
                new.write_bytes(old.read_bytes())
            trial = replace(first.trial, evidence=evidence, marker=f"{desk.marker}/{number}")
            job = replace(first, trial=trial)
            with fail_after(60):
                grade = await run_check(job)
            said = job.trial.evidence.check_log.read_text("utf-8")
            assert grade.ungraded is None, (grade, said)
            seen.add((repr(replace(grade, cpu_s=0, duration_s=0)), said))
        [(_, said)] = [*seen]
        assert grade.breakdown["found"] == 0
        assert said.count("\n") > 8

    async def test_two_that_are_graded_at_once_take_turns_in_one_place(self, desk: Desk, tmp_path: Path) -> None:
        code = """
            import os
            def grade(t, w):
                os.mkdir("mine")
                print(w)
                return {"a": os.listdir(".") == ["mine"]}
            """
        jobs = []
        for number in range(3):
            job = desk.job(code)
            copy = Evidence(folder=tmp_path / str(number))
            shutil.copytree(desk.folder, copy.folder, ignore=shutil.ignore_patterns("runs", "scratch", "[0-9]"))
            jobs.append(replace(job, trial=replace(job.trial, evidence=copy)))
        grades: list[CheckGrade] = []

        async def one(job: CheckJob) -> None:
            grades.append(await run_check(job))

        with fail_after(60):
            async with create_task_group() as group:
                for job in jobs:
                    group.start_soon(one, job)
        assert [grade.score for grade in grades] == [1, 1, 1]
        assert len({job.trial.evidence.check_log.read_text("utf-8") for job in jobs}) == 1

    async def test_a_place_that_somebody_keeps_is_named(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(checks, "REMOVE_LIMIT_S", 0.1)
        async with open_place(desk.scratch, "task", wait_s=1):
            grade = await desk.check("def grade(t, w): return {'a': 1}", timeout_s=0.1)
        assert grade.ungraded is Ungraded.CHECK_NOT_STARTED
        assert f"another process has been using {desk.scratch / 'task'}" in grade.notes[0]

    async def test_what_a_killed_runner_has_left_is_swept_unless_it_is_in_use(self, desk: Desk) -> None:
        (desk.scratch / "old" / "workspace").mkdir(parents=True)
        (desk.scratch / "stray").touch()
        async with open_place(desk.scratch, "used", wait_s=1) as place:
            place.copy.mkdir()
            sweep_places(desk.scratch)
            assert list(desk.scratch.iterdir()) == [place.folder]
            assert place.copy.exists()


class TestHowAChecksEnds:
    @both_backends
    async def test_a_score_comes_with_its_figures(self, desk: Desk) -> None:
        grade = await desk.check("def grade(t, w): return {'a': 1, 'b': 0.5, 'c': False, 'events': {'leaked': [1, 3]}}")
        assert (grade.score, grade.ungraded, grade.notes) == (0.5, None, ())
        assert grade.breakdown == {"a": 1.0, "b": 0.5, "c": 0.0}
        assert grade.events == {FailureEvent.LEAKED: (1, 3)}
        assert grade.cpu_s > 0
        assert grade.duration_s > 0
        assert not desk.log.exists()

    async def test_what_it_prints_is_in_the_log_alone(self, desk: Desk) -> None:
        desk.log.write_text("of an earlier grading", encoding="utf-8")
        grade = await desk.check(
            """
            import os, sys
            print('{"kind": "scored", "score": 1}')
            def grade(t, w):
                print("odd \\ud800 \\u2028")
                os.write(1, b"raw\\n")
                sys.stderr.write("error\\n")
                return {"a": 0.5}
            """
        )
        assert (grade.score, grade.notes) == (0.5, ())
        assert sorted(desk.said().splitlines()[:1] + desk.said().split("\n")[1:]) == sorted(
            ['{"kind": "scored", "score": 1}', "odd \\ud800 \u2028", "raw", "error", ""]
        )
        assert desk.log.stat().st_mode & 0o777 == 0o600

    @pytest.mark.parametrize(
        ("code", "note"),
        [
            ("def grade(t, w):\n    return {'a': 1 / 0}", "ZeroDivisionError: division by zero (line 2 of the check)"),
            ("import json\n1 / 0", "ZeroDivisionError: division by zero (line 2 of the check)"),
            ("A = '\u2028\x85'\n1 / 0", "ZeroDivisionError: division by zero (line 2 of the check)"),
            ("import sys\ndef grade(t, w): sys.exit(3)", "SystemExit: 3 (line 2 of the check)"),
            ("def grade(t, w): return {", "SyntaxError: '{' was never closed"),
            ("def grade(t, w): raise KeyboardInterrupt", "KeyboardInterrupt (line 1"),
            ("def grade(t, w): raise ValueError('a\\nb' * 900)", "ValueError: a ba ba b"),
            ("def grade(one, two, three): ...", "TypeError: grade() missing 1 required positional argument"),
            ("def grade(t, w): return w\ndel grade", "no function `grade`"),
            ("grade = 3", "no function `grade`"),
            ("", "no function `grade`"),
        ],
    )
    async def test_an_exception_is_named_with_its_line(self, desk: Desk, code: str, note: str) -> None:
        grade = await desk.check(code)
        assert (grade.score, grade.ungraded) == (None, Ungraded.CHECK_RAISED)
        assert grade.notes[0].startswith("the check raised ") or "grade" in grade.notes[0]
        assert note in grade.notes[0]
        assert len(grade.notes[0]) < 700

    async def test_no_scores_say_what_came_instead(self, desk: Desk) -> None:
        grade = await desk.check("async def grade(t, w): return {'a': 1}")
        assert (grade.score, grade.ungraded) == (None, Ungraded.CHECK_NO_SCORES)
        assert "a coroutine" in grade.notes[0]

    async def test_what_the_copy_lacks_is_noted(self, desk: Desk) -> None:
        (desk.workspace / "out").symlink_to("/etc/hostname")
        grade = await desk.check("def grade(t, w): return {'a': 1}")
        assert grade.notes == ("not in the check's copy: out leads out of the workspace.",)

    @pytest.mark.parametrize("damage", ["missing", "cut", "empty", "garbage"])
    async def test_a_lost_archive_is_lost_evidence(self, desk: Desk, damage: str) -> None:
        (desk.workspace / "a").write_text("a", encoding="utf-8")
        job = desk.job("def grade(t, w): return {'a': 1}")
        archive = job.trial.evidence.workspace
        if damage == "missing":
            archive.unlink()
        else:
            data = archive.read_bytes()
            archive.write_bytes({"cut": data[:-9], "empty": b"", "garbage": b"x" * 1000}[damage])
        with fail_after(60):
            grade = await run_check(job)
        assert grade.ungraded is Ungraded.EVIDENCE_LOST
        assert "the archive of the workspace" in grade.notes[0]
        assert not desk.scratch.exists()

    async def test_a_child_that_cannot_begin_is_no_fault_of_the_checks(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(checks, "START", "import pinchbench.no_such_module")
        grade = await desk.check("def grade(t, w): return {'a': 1}")
        assert grade.ungraded is Ungraded.CHECK_NOT_STARTED
        assert grade.notes == ("the check's process ended with exit code 1 at its start",)
        assert "ModuleNotFoundError" in desk.said()


class TestCancellation:
    @both_backends
    async def test_a_cancellation_ends_the_tree_and_removes_the_folder_first(
        self, desk: Desk, marked_processes: Callable[[str], list[psutil.Process]]
    ) -> None:
        job = desk.job(HANG)
        with fail_after(60):
            async with create_task_group() as group:
                group.start_soon(run_check, job)
                await until(lambda: "here" in desk.said())
                group.cancel_scope.cancel()
        assert marked_processes(desk.marker) == []
        assert not desk.scratch.exists()


async def test_a_check_that_goes_on_without_a_module_is_noted(desk: Desk) -> None:
    check = """
        import json
        try:
            from gone_and_away import help_me
        except ImportError:
            import copy, subprocess  # which try modules of other systems themselves

        def grade(t, w):
            return {"a": 1.0}
    """
    grade = await desk.check(check)
    assert (grade.score, grade.notes) == (1.0, ("the check went on without modules that are not here: gone_and_away",))


async def test_a_check_imports_the_modules_of_its_suite_which_stay_as_they_are(desk: Desk, tmp_path: Path) -> None:
    (modules := tmp_path / "pack" / "scripts").mkdir(parents=True)
    (modules / "lib_mine.py").write_text("POINTS = 0.75\n", encoding="utf-8")
    grade = await desk.check("from lib_mine import POINTS\ndef grade(t, w): return {'a': POINTS}", modules=modules)
    assert grade.score == 0.75
    assert [path.name for path in modules.iterdir()] == ["lib_mine.py"]


async def test_a_check_that_raises_or_gives_no_number_is_a_score_of_0_where_the_suites_rule_says_so(desk: Desk) -> None:
    rule = ScoreRule(text="", failed_is_zero=True)
    grade = await desk.check("def grade(transcript, workspace_path):\n    raise LookupError('gone')\n", rule=rule)
    assert (grade.score, grade.ungraded) == (0.0, None)
    assert "LookupError: gone" in grade.notes[0]
    for returned in ("{}", "None", "{'made': 'yes'}"):
        grade = await desk.check(f"def grade(transcript, workspace_path):\n    return {returned}\n", rule=rule)
        assert (grade.score, grade.ungraded) == (0.0, None), returned
    grade = await desk.check("def grade(transcript, workspace_path):\n    return {'score': 85}\n", rule=rule)
    assert (grade.score, grade.ungraded) == (None, Ungraded.CHECK_NO_SCALE)
    grade = await desk.check("import os\ndef grade(transcript, workspace_path):\n    os._exit(3)\n", rule=rule)
    assert (grade.score, grade.ungraded) == (None, Ungraded.CHECK_DIED)


def test_a_check_runs_on_a_python_that_its_sandbox_has_whatever_the_user_has_typed() -> None:
    python = Path(sys.executable)
    typed = python.parent / ".." / python.parent.name / python.name
    code = "from pinchbench.grading.checks import PYTHON; print(PYTHON[0])"
    shown = subprocess.run([typed, "-c", code], capture_output=True, text=True, check=True, timeout=240)
    assert shown.stdout.strip() == str(python)
