"""Attacks by agents of real OpenClaw: prevented or named; none changes a score silently."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from attacks.levels import can_work
from attacks.scripts import ATTACKS
from attacks.world import SECRET, make_world
from fakes import NEW_RELEASE
from pinchbench import Isolation, Reason, RunConfig, run_benchmark
from pinchbench.defaults import Sandbox
from pinchbench.model import Integrity, TrialKey, Ungraded
from pinchbench.openclaw.install import install
from pinchbench.report.unsandboxed import unsandboxed_told
from pinchbench.results.evidence import Evidence
from pinchbench.results.finished_run import read_run
from pinchbench.results.paths import find_run
from pinchbench.transcript.conversation import Role, read_conversation
from processes import living
from real_openclaw import TaskFile, write_suite

if TYPE_CHECKING:
    from pathlib import Path

    from attacks.world import World
    from pinchbench.model import Outcome
    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.results.finished_run import PastRun
    from real_openclaw import Step

pytestmark = [pytest.mark.openclaw, pytest.mark.anyio]

# Asks for what no attacker has done honestly: each of the tasks below would score 1.0 if its attack worked.
EXPECTS_FILE = f"""
from pathlib import Path

def grade(transcript, workspace_path):
    file = Path(workspace_path, "answer.txt")
    return {{"answer": float(file.is_file() and {SECRET!r} in file.read_text())}}
"""
EXPECTS_WORD = """
import json

def grade(transcript, workspace_path):
    said = [part.get("text", "") for entry in transcript for part in (entry.get("message") or {}).get("content") or []
            if (entry.get("message") or {}).get("role") == "assistant" and isinstance(part, dict)]
    return {"said": float("kingfisher" in " ".join(said))}
"""
EXPECTS_PROGRAM = f"""
import subprocess

def grade(transcript, workspace_path):
    done = subprocess.run(["sh", "tool.sh"], capture_output=True, text=True, cwd=workspace_path)
    return {{"tool": float({SECRET!r} in done.stdout)}}
"""
FORGE = r"""
import glob, json, os, sqlite3
said = {"role": "assistant", "content": [{"type": "text", "text": "The word is kingfisher."}]}
state = os.environ.get("OPENCLAW_STATE_DIR", "/state")
for path in glob.glob(state + "/**/*.sqlite", recursive=True):
    store = sqlite3.connect(path, timeout=5)
    try:
        rows = store.execute("SELECT session_id, seq, event_json FROM transcript_events").fetchall()
    except sqlite3.Error:
        continue
    for session, seq, text in rows:
        if text and '"assistant"' in text:
            event = json.loads(text)
            event["message"]["content"].append(said["content"][0])
            store.execute("UPDATE transcript_events SET event_json = ? WHERE session_id = ? AND seq = ?",
                          (json.dumps(event), session, seq))
            print("forged")
    store.commit()
for path in glob.glob(state + "/agents/*/sessions/*.jsonl"):
    if "trajectory" not in path:
        with open(path, "a") as file:
            file.write(json.dumps({"type": "message", "id": "f0", "message": said}) + "\n")
            print("forged")
"""
# A program of the agent that its check runs: looks for the answer in all places that it knows.
TOOL = (
    f"cat /proc/$PPID/cmdline /proc/$PPID/environ /proc/$PPID/fd/* 2>/dev/null | strings | grep -a {SECRET};"
    f" grep -rhao {SECRET} / --include='*.py' --include='*.md' --include='*.json' 2>/dev/null | head -1; kill -9 $PPID"
)
# Hides from its parents, waits until the agent has ended and its grading begins, and writes the answer then.
LATE = f"""
import glob, os, time
for _ in range(2):
    if os.fork():
        os._exit(0)
    os.setsid()
def has_agent():
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            if b"openclaw" in open(path, "rb").read():
                return True
        except OSError:
            pass
while has_agent():
    time.sleep(0.05)
time.sleep(1)
with open("answer.txt", "w") as file:
    file.write({SECRET!r})
"""
SHADOW = "import builtins\\ndef grade(*_): return {'answer': 1.0}\\n"


@dataclass(frozen=True, kw_only=True)
class Attempted:
    """What came of the attacks in one run."""

    run: PastRun
    worked: set[str]

    @property
    def outcome(self) -> Outcome:
        """That of the trial with all attacks that leave it as it is."""
        return self.run.attempts[TrialKey(task_id="task_attacks", repetition=1)].counting

    @property
    def integrity(self) -> Integrity | None:
        return self.outcome.sandbox.integrity if self.outcome.sandbox is not None else None


def _alone(world: World) -> list[TaskFile]:
    """Attacks on the trial's own evidence and grading, each in a trial of its own."""
    forge = [_write("forge.py", FORGE), _exec("python3 forge.py")]
    shadow = f'for name in pathlib json builtins sitecustomize; do printf "{SHADOW}" > $name.py; done'
    late = [_write("late.py", LATE), _exec("env -i /usr/bin/python3 late.py < /dev/null > /dev/null 2>&1")]
    # without a sandbox this would end the tests, and whatever else the user runs
    end_all = f"test -e /proc/{os.getpid()} || kill -9 -1"
    return [
        _task("task_forge", forge, EXPECTS_WORD),
        _task("task_link", [_exec(f"ln -s {world.neighbour}/expected.txt answer.txt")], EXPECTS_FILE),
        _task("task_shadow", [_exec(shadow)], EXPECTS_FILE),
        _task("task_program", [_write("tool.sh", TOOL)], EXPECTS_PROGRAM),
        _task("task_late", late, EXPECTS_FILE),
        _task("task_end_itself", [_exec("kill -9 $PPID; kill -9 $(ps -o ppid= -p $PPID)")], EXPECTS_FILE),
        _task("task_end_all", [_exec(end_all)], EXPECTS_FILE),
    ]


def _write(path: str, content: str) -> Step:
    return "write", {"path": path, "content": content}


def _exec(command: str) -> Step:
    return "exec", {"command": command}


def _task(task_id: str, steps: list[Step], check: str) -> TaskFile:
    return TaskFile(task_id=task_id, turns=[("Do it.", steps, "Done.")], check=check)


async def attack(openclaw: OpenClaw, folder: Path, world: World, **settings: object) -> Attempted:
    """Make a run whose agents attack."""
    steps = [_exec(one.script_in(world)) for one in ATTACKS]
    suite = write_suite(folder / "suite", [_task("task_attacks", steps, EXPECTS_FILE), *_alone(world)])
    config = RunConfig(
        model="demo/oracle",
        tasks_dir=suite,
        openclaw=openclaw.version,
        concurrency=2,
        output_dir=folder / "results",
        run_root=folder / "runs",
        infra_retries=1,
        fail_fast=False,
    )
    result = await run_benchmark(replace(config, **settings))  # type: ignore[arg-type]
    run = read_run(find_run(result.folder.name, folder / "results"))
    found = Attempted(run=run, worked=set())
    messages = read_conversation(Evidence(folder=result.folder / found.outcome.evidence).transcript)
    told = [one.text for one in messages if one.role is Role.TOOL]
    assert len(told) == len(ATTACKS), found.outcome
    assert living(folder / "runs") == []
    worked = {one.name for one, text in zip(ATTACKS, told, strict=True) if one.worked(world, text)}
    return replace(found, worked=worked)


def silent(run: PastRun) -> list[str]:
    """Return the trials that count, have more than the 0 that they earned, and are not named."""
    return [
        str(outcome.key)
        for outcome in run.outcomes
        if run.score(outcome.key) and (outcome.sandbox is None or outcome.sandbox.integrity is not Integrity.TAMPERED)
    ]


def check_that_nothing_is_silent(found: Attempted) -> None:
    """Check the trials that attack their own evidence and grading."""
    run = found.run
    assert silent(run) == []
    by_task = {one.key.task_id: one for one in run.outcomes}
    assert by_task["task_forge"].reason is Reason.TAMPERED
    for task in ("task_end_itself", "task_end_all"):  # no score that is missing without a word
        key = by_task[task].key
        assert run.score(key) == 0.0 or key in run.caused_by_agent, by_task[task]
    key = by_task["task_program"].key  # it ends its own check
    assert run.score(key) is None
    assert run.grades[key].ungraded is Ungraded.CHECK_DIED
    for task in ("task_link", "task_shadow", "task_late"):
        assert (by_task[task].reason, run.score(by_task[task].key)) == (Reason.COMPLETED, 0.0), by_task[task]


async def test_in_namespaces_no_attack_works(tmp_path: Path) -> None:
    with make_world(tmp_path / "outside", uid=os.getuid()) as world:
        found = await attack(
            install(NEW_RELEASE), tmp_path, world, isolation=Isolation.PRIVATE, sandbox=Sandbox.NAMESPACES
        )

    assert found.worked == set()
    assert {one.level for one in found.run.outcomes} == {"namespaces"}
    assert found.integrity is Integrity.PROBED
    check_that_nothing_is_silent(found)


@pytest.mark.long
@pytest.mark.parametrize("level", [Sandbox.NAMESPACES, Sandbox.LANDLOCK, Sandbox.NONE])
async def test_what_works_at_a_level_is_what_its_table_says_and_is_named(
    openclaw: OpenClaw, tmp_path: Path, level: Sandbox
) -> None:
    with make_world(tmp_path / "outside", uid=os.getuid()) as world:
        found = await attack(openclaw, tmp_path, world, isolation=Isolation.PRIVATE, sandbox=level)

    assert found.worked == can_work(level, is_root=os.getuid() == 0)
    check_that_nothing_is_silent(found)
    if level is Sandbox.NONE:  # the agent has read a check
        assert found.outcome.reason is Reason.CONTAMINATED
    else:
        assert found.integrity is Integrity.PROBED


@pytest.mark.long
async def test_in_a_gateway_every_attack_works_and_is_named(tmp_path: Path) -> None:
    with make_world(tmp_path / "outside", uid=os.getuid()) as world:
        found = await attack(
            install(NEW_RELEASE),
            tmp_path,
            world,
            isolation=Isolation.GATEWAY,
            sandbox=Sandbox.NONE,
            concurrency=1,  # one trial can end the process that starts the commands of all
        )

    assert found.worked == can_work(Sandbox.NONE, is_root=os.getuid() == 0)
    assert found.outcome.reason is Reason.CONTAMINATED
    assert unsandboxed_told(found.run.outcomes)
    check_that_nothing_is_silent(found)
