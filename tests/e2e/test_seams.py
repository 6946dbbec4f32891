"""Every seam to real OpenClaw, once: what `make test` runs there. The other files of this folder are long.

All but the last test look at one run: of a task with a service and a follow-up, and of one that never ends, during
which the runner is killed.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL

import psutil
import pytest
from playwright.sync_api import expect

from browser import chromium, opened
from chaos.session import Place, Session, wait_until_gone
from fake_judge import fake_judge, good, served
from fakes import OLD_RELEASE
from pinchbench import Isolation, JudgeConfig, Reason, RegradeConfig, regrade, run_benchmark
from pinchbench.config.rerun_configs import ReplayConfig
from pinchbench.config.run_config import ReplaySettings
from pinchbench.files.user_data import cache_dir
from pinchbench.model.outcome import Outcome
from pinchbench.openclaw.command import OpenClaw
from pinchbench.process.leftovers import find_marked
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.finished_run import Result, derive_result, read_run
from pinchbench.results.paths import RunFiles
from pinchbench.runner.again.rerun import replay
from real_openclaw import Step, TaskFile, UserHome, calls_of, make_home, older_release_is_long, run_config, write_suite
from site_server import serving
from suite_packs import put

pytestmark = pytest.mark.real_openclaw

LOOK_S = 0.2  # between two looks at a run of minutes
SECRET = "the expected answer is 42"
LEDGER = """
    import http.server, itertools, os

    numbers = itertools.count(1)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            if self.path != "/health":
                number = next(numbers)
                print("entry", number, self.path, flush=True)
                self.wfile.write(f"entry {number}".encode())

        def log_message(self, *args):
            pass

    http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
SERVICE: dict[str, object] = {
    "name": "ledger",
    "command": ["python3", "ledger.py"],
    "folder": "ledger",
    "port": 8020,
    "ready": "/health",
    "limit": 240,
}
CHECK = """
from pathlib import Path

def grade(transcript, workspace_path):
    entries = Path(workspace_path, ".services", "ledger.log").read_text().splitlines()
    receipt = Path(workspace_path, "receipt.txt")
    return {
        "entered": float(entries == ["entry 1 /rent", "entry 2 /heat"]),
        "receipt": float(receipt.exists() and receipt.read_text() == "entry 2"),
    }
"""
HIDDEN = "ls /service; ls -A /workspace/.services"  # what belongs to the service, and what only the check gets


def tag(number: int) -> int:
    """Return a number of seconds to sleep that no other process has at the same time."""
    return os.getpid() * 10 + number


def stay(number: int) -> Step:
    """Start children that stay: in the background, in a session of their own, without the trial's environment."""
    command = f"sleep {number}1 & setsid sleep {number}2 & (setsid env -i /bin/sleep {number}3 &) ; echo started"
    return "exec", {"command": command, "yieldMs": 1000}  # OpenClaw would wait for the children's output


def hang(command: str) -> Step:
    """Run a command in the foreground for longer than a trial may take; OpenClaw's own limit is 10 s."""
    return "exec", {"command": command, "yieldMs": 120_000}


def asleep(number: int) -> list[str]:
    """Return the command lines of living processes that a task with this tag has started."""
    wanted = {f"{number}{last}" for last in range(1, 10)}
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        arguments = process.info["cmdline"] or []
        if process.info["status"] != psutil.STATUS_ZOMBIE and wanted & set(arguments):
            found.append(" ".join(arguments))
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """A run, and what was outside of it. `left` are processes that outlived their trial or their runner."""

    release: str
    result: Result
    attempts: dict[str, int]
    judge_read: str
    home_changed: bool
    left: list[str]

    def outcome(self, task_id: str) -> Outcome:
        return next(one for one in self.result.outcomes if one.key.task_id == task_id)

    def said(self, task_id: str) -> str:
        """Return the transcript of a task's trial."""
        return Evidence(folder=self.result.folder / self.outcome(task_id).evidence).transcript.read_text("utf-8")


def books(secret: Path) -> TaskFile:
    """Return a task of two turns that looks for what it should not find, and leaves a process in the background.

    Its commands have one stream of output: two would come in any order, and a replay would differ.
    """
    enter = "curl -sS http://127.0.0.1:8020"
    stays = f"(setsid env -i /bin/sleep {tag(2)}1 > /dev/null 2>&1 &)"
    return TaskFile(
        task_id="task_books",
        turns=[
            (
                "Enter the rent.",
                [("exec", {"command": f"({enter}/rent; {HIDDEN}; cat {secret}; echo tried) 2>&1"})],
                "Entered the rent.",
            ),
            ("Enter the heating.", [("exec", {"command": f"{enter}/heat > receipt.txt; {stays}"})], "Entered both."),
        ],
        timeout_s=300,
        check=CHECK,
        rubric="The receipt is that of the heating.",
        services=[SERVICE],
    )


def watch_and_kill(place: Place) -> list[str]:
    """Begin a run, look at its page during its second trial, and kill it; return which processes were left."""
    with chromium() as browser, Session(place, 1) as runner:
        assert runner.wait(lambda: any(place.run_root.glob("*/task_late/reached")), look_s=LOOK_S)
        assert runner.code is None, runner.shown()
        assert place.run is not None
        left = asleep(tag(2))
        with (
            serving(place.output_dir) as site,
            opened(browser, f"{site.url}/run/{place.run.name}") as watched,
        ):
            expect(watched.page.locator("[data-running]")).to_have_text("running")
            expect(watched.page.locator("[data-slots]")).to_contain_text("task_late")
            expect(watched.page.get_by_role("row", name="task_books")).to_contain_text("0.75")
            assert runner.hit(SIGKILL)
            expect(watched.page.locator("[data-running]")).to_have_text("unfinished")
            assert (watched.complaints, watched.requests) == ([], [])
        runner.wait()
        return left + wait_until_gone(runner.survivors) + asleep(tag(1))


@pytest.fixture(scope="module")
def seen(openclaw: OpenClaw, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """Yield a run in namespaces, with a judge, of a task that solves everything and then of one that never ends.

    It was killed in its second trial, and resumed.
    """
    folder = tmp_path_factory.mktemp("seams")
    secret = folder / "answers" / "expected.txt"
    put(secret, SECRET)
    late = [stay(tag(1)), hang(f"touch reached; sleep {tag(1)}4")]
    tasks = [books(secret), TaskFile(task_id="task_late", turns=[("Stay.", late, "Never said.")], timeout_s=120)]
    suite = write_suite(folder / "suite", tasks)
    put(suite / "assets" / "ledger" / "ledger.py", LEDGER)
    with pytest.MonkeyPatch.context() as patch:
        home = make_home(folder / "home", patch)
        before = home.snapshot()
        with served(fake_judge(good(0.5))) as judge:
            options = ("--model=demo/oracle", f"--openclaw={openclaw.version}", f"--tasks-dir={suite}")
            judged = ("--judge=judge-1", f"--judge-base-url={judge.base_url}", "--no-judge-cache")
            contained = ("--isolation=private", "--sandbox=namespaces", "--concurrency=1")
            place = Place(folder=folder, options=(*options, *judged, *contained), cache=cache_dir())
            left = watch_and_kill(place)
            with Session(place, 2) as runner:
                assert runner.wait(look_s=LOOK_S)
                assert runner.code == 0, runner.shown()
        assert place.run is not None
        files = RunFiles(output_dir=place.output_dir, name=place.run.name)
        result = derive_result(files)
        yield Seen(
            release=openclaw.version,
            result=result,
            attempts={str(key): len(one.outcomes) for key, one in read_run(files).attempts.items()},
            judge_read="\n".join(str(one.messages) for one in judge.requests),
            home_changed=home.snapshot() != before,
            left=left + asleep(tag(1)) + asleep(tag(2)) + [str(one) for one in find_marked(result.run_id)],
        )


@older_release_is_long
def test_a_run_in_the_sandbox_is_checked_and_judged_and_finds_nothing_outside(seen: Seen) -> None:
    outcome = seen.outcome("task_books")
    grade = seen.result.grades[outcome.key]
    assert (outcome.reason, outcome.level) == (Reason.COMPLETED, "namespaces"), outcome.note
    assert (grade.check and grade.check.breakdown) == {"entered": 1.0, "receipt": 1.0}
    assert grade.score == 0.75
    assert "entry 2" in seen.judge_read
    assert "tried" in seen.said("task_books")
    assert SECRET not in seen.said("task_books")
    assert not seen.home_changed


@older_release_is_long
def test_a_follow_up_goes_on_with_the_conversation_and_every_call_is_counted(seen: Seen) -> None:
    outcome = seen.outcome("task_books")
    calls = calls_of(seen.result, outcome)
    told = [" ".join(one.text for one in call.request.messages) for call in calls]
    assert len(told) == 4  # each turn has a tool call and an answer
    assert "Entered the rent." in told[2]
    assert len(outcome.session_ids) == 1
    assert outcome.store == ("jsonl" if seen.release == OLD_RELEASE else "sqlite")
    assert outcome.wire is not None
    assert outcome.wire.calls == 4
    for name in ("requests", "input_tokens", "output_tokens", "cache_read_tokens"):
        assert getattr(outcome.wire.usage, name) == getattr(outcome.usage, name) > 0, name


@older_release_is_long
def test_a_service_is_one_for_all_turns_and_hidden_from_the_agent(seen: Seen) -> None:
    text = seen.said("task_books")
    assert "entered the rent" in text.lower()
    assert "ledger" not in text  # neither the service's program nor its log


@older_release_is_long
def test_a_timeout_ends_all_that_the_agent_has_started(seen: Seen) -> None:
    assert seen.outcome("task_late").reason is Reason.TIMED_OUT
    assert (seen.result.folder.parent.parent / "runs" / seen.result.run_id / "task_late" / "reached").exists()
    assert seen.left == []


@older_release_is_long
async def test_a_replay_needs_no_model_and_comes_to_the_same(seen: Seen) -> None:
    config = ReplayConfig(run=str(seen.result.folder), suite="task_books", replay=ReplaySettings(folder=""))
    again = await replay(config)
    [outcome] = again.outcomes
    assert (outcome.reason, outcome.note) == (Reason.COMPLETED, "")
    assert outcome.replay is not None
    assert (outcome.replay.served, outcome.replay.live, outcome.replay.divergences, outcome.replay.unused) == (
        *(4, 0),
        *(0, 0),
    )
    first, second = seen.result.grades[outcome.key].check, again.grades[outcome.key].check
    assert first is not None
    assert second is not None
    assert second.breakdown == first.breakdown


@older_release_is_long
async def test_a_regrade_asks_another_judge_about_what_was_kept(seen: Seen) -> None:
    async with fake_judge(good(1.0)) as judge:
        again = await regrade(
            RegradeConfig(
                run=str(seen.result.folder),
                judge=JudgeConfig(model="judge-2", base_url=judge.base_url, cache=False),
                suite="task_books",
            )
        )
    assert [one.score for one in again.grades.values() if one.key.task_id == "task_books"] == [1.0]
    assert "entry 2" in str([one.messages for one in judge.requests])


@older_release_is_long
def test_a_run_is_seen_live_in_a_browser_killed_and_resumed(seen: Seen) -> None:
    """What the page must show, `watch_and_kill` says."""
    assert seen.attempts == {"task_books": 1, "task_late": 1}


@pytest.mark.parametrize("openclaw", [OLD_RELEASE], indirect=True)
async def test_the_older_release_works_in_the_sandbox(openclaw: OpenClaw, home: UserHome, tmp_path: Path) -> None:
    before = home.snapshot()
    steps: list[Step] = [("exec", {"command": "echo done > receipt.txt"})]
    check = "def grade(transcript, workspace_path):\n    return {'asked': 'receipt' in str(transcript)}\n"
    result = await run_benchmark(
        run_config(
            tmp_path,
            openclaw,
            [TaskFile(task_id="task_a", turns=[("Do it.", steps, "Done.")], check=check)],
            isolation=Isolation.PRIVATE,
        )
    )
    [outcome] = result.outcomes
    assert (outcome.reason, outcome.level, outcome.store) == (Reason.COMPLETED, "namespaces", "jsonl"), outcome.note
    assert result.grades[outcome.key].score == 1.0
    assert outcome.usage.requests == 2
    assert home.snapshot() == before
