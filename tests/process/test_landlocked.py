"""Agents under Landlock and a guardian: what they may not do is refused, and all that they started is ended."""

import sys

import pytest
from anyio import fail_after

from pinchbench.process.spec import EndReason, Limits, ProcessSpec
from pinchbench.process.supervise import supervise
from pinchbench.sandbox import landlock_rules
from process.conftest import PlayFolders, RollCall, supervised

pytestmark = [
    pytest.mark.skipif(
        not sys.platform.startswith("linux") or landlock_rules.abi() < landlock_rules.SCOPE_ABI,
        reason="needs Landlock ABI 6",
    )
]

LIMIT_S = 60


def _spec(stage: PlayFolders, argv: list[str], limits: Limits, **changes: object) -> ProcessSpec:
    workspace = stage.folder / "work"
    workspace.mkdir(exist_ok=True)
    prefixes = [sys.prefix, sys.base_prefix]
    plan = {
        "level": "landlock",
        # the roll call is a socket, which needs no rule
        "readable": ["/usr", "/bin", "/lib", "/lib64", "/proc", "/etc/ld.so.cache", *prefixes, str(stage.folder)],
        "writable": [str(workspace), "/dev/null"],
        "network": "model",
        "port": 1,
        "cwd": str(workspace),
        **changes,
    }
    return ProcessSpec(
        argv=argv,
        cwd=workspace,
        env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=stage.stdout,
        stderr=stage.stderr,
        marker=stage.marker,
        limits=limits,
        measured=(workspace,),
        sandbox=plan,
    )


async def test_an_agent_can_not_end_its_guardian_or_touch_what_is_not_its_own(stage: PlayFolders) -> None:
    script = """
    kill -9 $PPID
    echo mine > own && echo "wrote own"
    echo no > ../beside && echo "wrote beside"
    cat /etc/shadow && echo "read /etc"
    ls /tmp && echo "listed /tmp"
    exit 5
    """
    with fail_after(LIMIT_S):
        end = await supervise(_spec(stage, ["/bin/sh", "-c", script], Limits()), timeout_s=600)

    assert (end.reason, end.exit_code, end.level) == (EndReason.EXITED, 5, "landlock")
    assert stage.out() == "wrote own\n"


async def test_what_it_left_running_is_ended_however_it_hides(stage: PlayFolders, roll: RollCall) -> None:
    script = "setsid {stay} a & (env -i {stay} b &) & ({stay} c & ) ; sleep 600"
    async with supervised(_spec(stage, stage.bash(script), Limits(grace_s=20.0, sweep_s=0.2))) as agent:
        await roll.present(3)
        agent.stop_signal.stop.set()
        await roll.all_gone()

    assert (agent.end.reason, agent.end.exit_code) == (EndReason.STOPPED, -15)


async def test_a_program_that_it_may_not_execute_did_not_start(stage: PlayFolders) -> None:
    program = stage.folder / "program"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    spec = _spec(stage, [str(program)], Limits(), readable=["/usr", "/bin", "/lib", "/lib64"])
    with fail_after(LIMIT_S):
        end = await supervise(spec, timeout_s=600)

    assert end.reason is EndReason.NOT_STARTED
    assert "Permission denied" in end.error
