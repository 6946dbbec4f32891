"""Every command of the documentation is run, page by page, with a fake OpenClaw, judge and leaderboard.

`tests/e2e/test_tutorial.py` runs the tutorial, and what needs a real OpenClaw.
"""

import gc
import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from anyio.lowlevel import checkpoint

from bundled_suite import ROOT, SUITE
from docs.pages import PAGES, commands, named
from fake_judge import fake_judge, good
from fake_leaderboard import fake_leaderboard
from fakes import fake_openclaw
from history_states import state_with_a_conversation
from leaderboard_runs import planned
from past_runs import Made, write_run
from pinchbench.cli import main
from pinchbench.defaults import DEFAULT_MIN_TRIALS
from pinchbench.results.evidence_files import Evidence
from pinchbench.serve.app import SiteServer
from pinchbench.wire.exchange import Chunk, Exchange
from pinchbench.wire.recording import RecordingWriter
from published_runs import with_digests
from sampling import sampled
from suite_packs import write_qwenclaw

pytestmark = pytest.mark.usefixtures("checks_in_process")

MODEL = "local/qwen3"
NEED_OPENCLAW = ("openclaw install", "openclaw exec", "openclaw models")
USUAL = {0, 5}  # an agent that does nothing leaves trials that nobody has graded
BUDGET = 8
SHORT = ("README.md",)
EXPECTED = {
    "resume": {*USUAL, BUDGET},  # where the unfinished run's own limit still holds
    "regrade": {*USUAL, 10},  # a bundle of the made-up run, whose scores do not follow from its evidence
    "tasks": {0, 3},  # the fake judge takes a solution and a near miss for equally good
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Reader:
    """Somebody who types what a page says, in a folder with a finished run and one that can be resumed."""

    endpoint: str
    finished: str
    unfinished: str

    def type(self, command: str) -> int | str | None:
        """Run a command, with the name of a run for RUN and an address on this machine for an endpoint's."""
        return run_program(*(self._real(word, command) for word in shlex.split(command)[1:]))

    def _real(self, word: str, command: str) -> str:
        if word in ("RUN", "$RUN"):
            return self.unfinished if " resume " in command else self.finished
        if word == "/data/results":
            return "results"
        return self.endpoint if word.startswith("http://127.0.0.1:") else word


def run_program(*words: str) -> int | str | None:
    """Run `pinchbench-async` in this process; return its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["pinchbench-async", *words])
        try:
            main()
        except SystemExit as exit_:
            return exit_.code
    return 0


def _small_suite(folder: Path) -> Path:
    """Two tasks of the bundled suite, both in its core: the whole would take a minute a command."""
    tasks = ("task_00_sanity", "task_09_conflicting_sources")
    folder.mkdir()
    for task in tasks:
        (folder / task).symlink_to(ROOT / task)
    (folder / "manifest.yaml").write_text(f"core: [{', '.join(tasks)}]\n", encoding="utf-8")
    return folder


def _record(run: Path, task_id: str) -> None:
    """Add the recording of three calls to a trial of a made-up run."""
    evidence = Evidence(folder=run / "trials" / task_id / "1")
    with RecordingWriter(evidence.wire) as recording:
        for number in range(1, 4):
            recording.append(
                Exchange(
                    number=number,
                    began_at=0.0,
                    provider="mock",
                    method="POST",
                    path="/v1/chat/completions",
                    request=b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}',
                    status=200,
                    chunks=(Chunk(at_s=0.1, data=b'{"choices": [{"message": {"content": "hello"}}]}'),),
                    ended_s=0.2,
                )
            )


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Reader]:
    """Make the reader, who is the user of this test."""
    monkeypatch.chdir(tmp_path)
    write_qwenclaw(tmp_path / "QwenClawBench")
    monkeypatch.setattr(SiteServer, "main_loop", lambda _: checkpoint())  # of `serve`, which would wait for a signal
    for module, name in ((os, "nice"), (gc, "set_threshold")):  # of this process, for good
        monkeypatch.setattr(module, name, lambda _: 0)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(fake_judge(choose=lambda _: good())) as judge,
        portal.wrap_async_context_manager(fake_leaderboard()) as server,
    ):
        variables = {
            "CONFIG": str(tmp_path / "config"),
            "DATA": str(tmp_path / "data"),
            "OPENCLAW": str(fake_openclaw(tmp_path)),
            "RUN_ROOT": str(tmp_path / "run-root"),
            "TASKS_DIR": str(_small_suite(tmp_path / "small")),
            "SERVER_URL": server.url,
            "NO_REPORT": "1",
            "PORT": "0",
        }
        for name, value in variables.items():
            monkeypatch.setenv(f"PINCHBENCH_{name}", value)
        served = "".join(f"  {name}: {{base-url: '{judge.base_url}'}}\n" for name in ("openai", "local"))
        (tmp_path / "config").mkdir()
        (tmp_path / "config" / "pinchbench.yaml").write_text(f"endpoints:\n{served}", encoding="utf-8")
        for name in ("MY_KEY", "JUDGE_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
            monkeypatch.setenv(name, "sk-of-a-test")
        # as many repetitions as a baseline needs
        made = (Made(score=0.75),) * DEFAULT_MIN_TRIALS
        finished = write_run(tmp_path / "results", planned(SUITE, *made))
        _record(finished.folder, "task_05_outage_brief")
        with_digests(finished, tmp_path / "workspace")
        prices = ["--price-in", "1", "--price-out", "1"]
        limited = ["--base-url", judge.base_url, *prices, "--runs", "2", "--max-tokens", "100"]
        assert run_program("--model", MODEL, *limited) == BUDGET
        yield Reader(endpoint=judge.base_url, finished=finished.name, unfinished=capfd.readouterr().out.strip())


@pytest.mark.usefixtures("user")
@pytest.mark.parametrize(
    "page",
    sampled([page for page in PAGES if commands(page)], [page for page in PAGES if named(page) in SHORT]),
    ids=named,
)
def test_the_commands_of_a_page_work_when_they_are_typed_one_after_the_other(
    page: Path, reader: Reader, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for command in commands(page):
        if any(command.startswith(f"pinchbench-async {words}") for words in NEED_OPENCLAW):
            continue
        if "--cluster" in command:  # tests/cluster has one
            continue
        if "--form" in command:  # tests/suite/test_form.py; twenty forms of all tasks take an hour
            continue
        if command.startswith("pinchbench-async suite qwen"):  # its tasks are named from here on, not the folder's
            monkeypatch.delenv("PINCHBENCH_TASKS_DIR")
        if command == "pinchbench-async tasks from-history":
            monkeypatch.delenv("PINCHBENCH_TASKS_DIR")
            monkeypatch.setenv("OPENCLAW_STATE_DIR", str(state_with_a_conversation(Path("state").absolute())))
        code = reader.type(command)

        assert code in EXPECTED.get(command.split()[1], USUAL), f"{command}\n{capfd.readouterr().err}"
