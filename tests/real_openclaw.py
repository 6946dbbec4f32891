"""What the tests on real OpenClaw share: a home with something in it, and small suites with solutions."""

import json
import os
import signal
import subprocess
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import pytest
import yaml

from fakes import NEW_RELEASE, OLD_RELEASE
from pinchbench import RunConfig
from pinchbench.files.user_data import cache_dir
from pinchbench.model.outcome import Outcome
from pinchbench.openclaw.command import OpenClaw
from pinchbench.process.leftovers import MARKER, end_marked
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.finished_run import Result
from pinchbench.wire.exchange_facts import facts_of
from pinchbench.wire.protocols.call_facts import ExchangeFacts
from pinchbench.wire.recording import RecordingReader

Step = tuple[str, dict[str, object]]

GATEWAY = "e2e-gateway"

# What is not known to depend on the release is shown on the newest one, or there first.
newest_release = pytest.mark.parametrize("openclaw", [NEW_RELEASE], indirect=True)
older_release_is_long = pytest.mark.parametrize(
    "openclaw", [NEW_RELEASE, pytest.param(OLD_RELEASE, marks=pytest.mark.long)], indirect=True
)


@dataclass(frozen=True)
class UserHome:
    """A home folder of its own for the tests, with an OpenClaw state in it that must stay as it is."""

    path: Path

    @property
    def state(self) -> Path:
        return self.path / ".openclaw"

    def snapshot(self) -> dict[str, bytes | None]:
        """Every file of the OpenClaw state with its bytes, every folder with None."""
        return {
            str(entry.relative_to(self.state)): entry.read_bytes() if entry.is_file() else None
            for entry in self.state.rglob("*")
        }

    def configure(self, config: dict[str, object]) -> None:
        """Write openclaw.json the way people do: with a comment, which is JSON5."""
        text = json.dumps(config, indent=2)
        (self.state / "openclaw.json").write_text(f"// mine\n{text}\n", encoding="utf-8")


@dataclass(frozen=True)
class TaskFile:
    """A task with its solution: for each turn the message, the steps and the answer.

    It is graded by `check`, by a judge with `rubric`, or by both. With neither, it stays ungraded.
    """

    task_id: str
    turns: Sequence[tuple[str, Sequence[Step], str]]
    timeout_s: float = 240
    new_session: frozenset[int] = frozenset()
    check: str = ""
    rubric: str = ""
    network: bool = False
    services: Sequence[dict[str, object]] = ()
    abilities: Sequence[str] = ()
    files: Sequence[dict[str, str]] = ()


def write_suite(root: Path, tasks: Sequence[TaskFile]) -> Path:
    """Write task files and solutions into a new folder."""
    (root / "solutions").mkdir(parents=True)
    for task in tasks:
        head: dict[str, object] = {
            "id": task.task_id,
            "name": task.task_id,
            "category": "e2e",
            "grading_type": _grading_type(task),
            "timeout_seconds": task.timeout_s,
            "network": task.network,
        }
        further = {"services": task.services, "abilities": task.abilities, "workspace_files": task.files}
        head |= {name: list(value) for name, value in further.items() if value}
        prompts = [message for message, _, _ in task.turns]
        if len(prompts) > 1:
            head["sessions"] = [
                {"prompt": prompt, "new_session": number in task.new_session} for number, prompt in enumerate(prompts)
            ]
        text = f"---\n{yaml.safe_dump(head)}---\n\n## Prompt\n\n{prompts[0]}\n"
        if task.check:
            text += f"\n## Automated Checks\n\n```python\n{task.check.strip()}\n```\n"
        if task.rubric:
            text += f"\n## LLM Judge Rubric\n\n{task.rubric}\n"
        (root / f"{task.task_id}.md").write_text(text, encoding="utf-8")
        solution = {
            "turns": [
                {"steps": [{"tool": tool, "args": args} for tool, args in steps], "answer": answer}
                for _, steps, answer in task.turns
            ]
        }
        (root / "solutions" / f"{task.task_id}.yaml").write_text(yaml.safe_dump(solution), encoding="utf-8")
    return root


def run_config(
    folder: Path, openclaw: OpenClaw | str, tasks: Sequence[TaskFile] | Path, **options: object
) -> RunConfig:
    """Return a config for a run of these tasks by their solutions, everything below a folder."""
    config = RunConfig(
        model="demo/oracle",
        tasks_dir=tasks if isinstance(tasks, Path) else write_suite(folder / "suite", tasks),
        openclaw=openclaw if isinstance(openclaw, str) else openclaw.version,
        output_dir=folder / "results",
        run_root=folder / "runs",
    )
    return replace(config, **options)  # type: ignore[arg-type]


def calls_of(result: Result, outcome: Outcome) -> list[ExchangeFacts]:
    """Return what the model was asked in a trial and what it replied, in the order of its calls."""
    recording = RecordingReader(Evidence(folder=result.folder / outcome.evidence).wire)
    return [facts_of(one) for one in sorted(recording, key=lambda one: one.number)]


def _grading_type(task: TaskFile) -> str:
    if task.check:
        return "hybrid" if task.rubric else "automated"
    return "llm_judge"


def make_home(folder: Path, patch: pytest.MonkeyPatch) -> UserHome:
    """Make `folder` the `$HOME` of somebody who uses OpenClaw, with a state in it."""
    patch.setenv("PINCHBENCH_CACHE", str(cache_dir()))
    for name in [name for name in os.environ if name.startswith("OPENCLAW_")]:
        patch.delenv(name)
    user = UserHome(folder)
    user.state.mkdir(parents=True)
    patch.setenv("HOME", str(user.path))
    (user.state / "agents" / "main" / "sessions").mkdir(parents=True)
    (user.state / "agents" / "main" / "sessions" / "old.jsonl").write_text('{"type":"session"}\n', encoding="utf-8")
    (user.state / "workspace").mkdir()
    (user.state / "workspace" / "SOUL.md").write_text("mine\n", encoding="utf-8")
    user.configure({"agents": {"defaults": {"workspace": str(user.state / "workspace")}}})
    return user


@asynccontextmanager
async def running_gateway(openclaw: OpenClaw, home: Path) -> AsyncGenerator[None]:
    """Run the gateway of the user who lives in `home`, until the block ends."""
    env = {"HOME": str(home), "PATH": openclaw.path(os.environ["PATH"]), "TMPDIR": str(home), MARKER: GATEWAY}
    argv = [str(openclaw.program), "gateway", "run"]
    async with await anyio.open_process(argv, env=env, stderr=subprocess.STDOUT, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            said = ""
            with anyio.fail_after(120):
                while "[gateway] ready" not in said:
                    said += (await process.stdout.receive()).decode("utf-8", "replace")
            async with anyio.create_task_group() as group:
                group.start_soon(_drain, process)
                yield
                os.killpg(process.pid, signal.SIGTERM)
                with anyio.fail_after(30):
                    await process.wait()
                group.cancel_scope.cancel()
        finally:
            with anyio.move_on_after(30, shield=True):
                await anyio.to_thread.run_sync(end_marked, GATEWAY)


async def _drain(process: anyio.abc.Process) -> None:
    assert process.stdout is not None
    async for _ in process.stdout:
        pass
