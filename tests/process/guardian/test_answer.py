"""A process that gets an input and answers on a channel of its own."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from anyio import create_task_group, fail_after

from pinchbench.grading.check_sandbox import own_code
from pinchbench.process.leftovers import find_marked
from pinchbench.process.spec import EndReason, Limits, ProcessEnd
from pinchbench.process.supervise import contain_level, supervise
from pinchbench.sandbox.levels import Level, find_support
from pinchbench.sandbox.sandbox_spec import Mount, SandboxSpec, make_spec
from process.conftest import PlayFolders

REFUSED = find_support().reason(Level.NAMESPACES)
needs_namespaces = pytest.mark.skipif(bool(REFUSED), reason=f"needs namespaces: {REFUSED}")
# the input is code that answers
START = """
import os, sys
from pinchbench.grading.check_sandbox import own_code
from pinchbench.process.guardian.answer import take_channel
code, channel = take_channel()
exec(code, {"channel": channel, "os": os})
"""


def box(workspace: Path, state: Path | None = None) -> SandboxSpec:
    """A sandbox in which the package and this Python can be found."""
    folders = sorted({*map(str, own_code()), sys.prefix, sys.base_prefix})
    return make_spec(state=state, workspace=workspace, allowed=[Mount(source=one, target=one) for one in folders])


async def run(
    stage: PlayFolders, code: str, *, level: str = "", timeout_s: float = 30.0, sandbox: SandboxSpec | None = None
) -> ProcessEnd:
    spec = stage.spec([sys.executable, "-c", START], limits=Limits(grace_s=0, sweep_s=0))
    spec = replace(spec, input=code, sandbox=None if sandbox is None else sandbox.plan())
    with fail_after(60):
        return await supervise(spec, timeout_s=timeout_s, level=level)


@pytest.mark.parametrize("level", ["guardian", "session"])
async def test_what_a_process_sends_is_its_answer_and_what_it_prints_is_not(stage: PlayFolders, level: str) -> None:
    if level == "guardian" and contain_level() != "guardian":
        pytest.skip("needs Linux")
    end = await run(stage, "print('printed', flush=True); os.write(channel, b'sent')", level=level)
    assert (end.reason, end.exit_code, end.answer, stage.out()) == (EndReason.EXITED, 0, "sent", "printed\n")


async def test_an_answer_and_an_input_may_be_larger_than_what_a_socket_holds(stage: PlayFolders) -> None:
    code = f"# {'x' * 3_000_000}\nimport socket\nsocket.socket(fileno=channel).sendall(b'x' * 3_000_000)"
    assert (await run(stage, code)).answer == "x" * 3_000_000


async def test_programs_that_it_starts_inherit_neither_its_input_nor_its_channel(stage: PlayFolders) -> None:
    code = """
import subprocess
print(os.read(0, 1) == b"", subprocess.run(["/bin/ls", "/dev/fd"], capture_output=True, text=True).stdout.split())
os.write(channel, b"sent")
"""
    assert (await run(stage, code)).answer == "sent", stage.err()
    assert stage.out() == "True ['0', '1', '2', '3']\n"  # the last is the listing itself


@needs_namespaces
async def test_what_another_process_of_the_sandbox_sends_does_not_count(stage: PlayFolders) -> None:
    code = "os.fork() or (os.write(channel, b'forged'), os._exit(0))\nos.wait()\nos.write(channel, b'sent')"
    end = await run(stage, code, sandbox=box(stage.folder))
    assert (end.reason, end.exit_code, end.level, end.answer) == (EndReason.EXITED, 0, "namespaces", "sent")


@needs_namespaces
async def test_a_sandbox_that_can_not_be_made_is_reported_without_the_input(stage: PlayFolders) -> None:
    end = await run(stage, "# secret", sandbox=box(stage.folder, state=stage.folder / "nowhere"))
    assert end.reason is EndReason.NOT_STARTED
    assert "sandbox could not be set up" in end.error
    assert "secret" not in end.error


async def test_a_cancellation_ends_the_process_and_all_that_it_started(stage: PlayFolders) -> None:
    code = f"import subprocess\nsubprocess.Popen('setsid {stage.stay} child', shell=True)\nwhile True: pass"
    with fail_after(60):
        async with create_task_group() as group:
            group.start_soon(run, stage, code)
            await stage.roll.present()
            group.cancel_scope.cancel()
        await stage.roll.all_gone()
    assert find_marked(stage.marker) == []
