"""A turn in namespaces: the paths that OpenClaw is given exist there, and none tells of the user or the task."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from anyio import fail_after

from openclaw.homes.conftest import turn_process
from pinchbench.defaults import Network
from pinchbench.model.task_programs import MODEL_PORT
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.homes.sandbox import HomeSandbox, TurnExtras, task_limit
from pinchbench.process.spec import ProcessSpec
from pinchbench.process.supervise import supervise
from pinchbench.sandbox.levels import Level, find_support
from pinchbench.sandbox.sandbox_spec import Mount

REFUSED = find_support().reason(Level.NAMESPACES)


def _entered(tmp_path: Path, sandbox: HomeSandbox, *words: str) -> ProcessSpec:
    workspace = tmp_path / "run" / "task_09_conflicting_sources"
    spec = turn_process(tmp_path, workspace, str(sandbox.openclaw.program), "agent", *words, **sandbox.env)
    return sandbox.enter(spec, state=tmp_path / "home" / "state")


def _mounts(spec: ProcessSpec) -> Mapping[str, dict[str, Any]]:
    assert spec.sandbox is not None
    return {one["target"]: one for one in cast("list[dict[str, Any]]", spec.sandbox["mounts"])}


def test_openclaw_its_node_and_the_state_have_other_paths_inside(tmp_path: Path, openclaw: OpenClaw) -> None:
    sandbox = HomeSandbox(openclaw=openclaw, base={"PATH": "/usr/bin", "LANG": "C.UTF-8"}, network=Network.OPEN)

    spec = _entered(tmp_path, sandbox, f"--message-file={tmp_path}/home/state/message-1.txt")

    assert spec.argv == [
        "/opt/openclaw/node_modules/.bin/openclaw",
        "agent",
        "--message-file=/state/message-1.txt",
    ]
    assert spec.env["PATH"].split(":")[0] == "/opt/node/bin"
    assert (spec.env["OPENCLAW_STATE_DIR"], spec.env["HOME"], spec.env["LANG"]) == ("/state", "/home/agent", "C.UTF-8")
    mounts = _mounts(spec)
    assert mounts["/opt/openclaw"] == {
        "source": str(tmp_path / "cache" / "openclaw-1"),
        "target": "/opt/openclaw",
        "writable": False,
    }
    assert mounts["/opt/node"]["source"] == str(tmp_path / "cache" / "node-1")
    assert (mounts["/state"]["writable"], mounts["/workspace"]["writable"]) == (True, True)


def test_nothing_that_the_process_is_given_names_the_task_or_the_user(tmp_path: Path, openclaw: OpenClaw) -> None:
    base = {"PATH": "/usr/bin", "HOME": str(tmp_path), "USER": "ann", "SHELL": "/bin/zsh"}
    sandbox = HomeSandbox(openclaw=openclaw, base=base, network=Network.OPEN)

    spec = _entered(tmp_path, sandbox)

    said = " ".join([*spec.argv, *spec.env, *spec.env.values()])
    assert str(tmp_path) not in said
    assert "task_09" not in said
    assert "ann" not in said.split()


def test_certificates_and_folders_of_path_are_there(tmp_path: Path, openclaw: OpenClaw) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "ca.pem").touch()
    base = {"PATH": f"{tmp_path}/tools:{tmp_path}/gone:/usr/bin", "NODE_EXTRA_CA_CERTS": str(tmp_path / "ca.pem")}
    allowed = Mount(source="/srv/data", target="/srv/data")
    sandbox = HomeSandbox(openclaw=openclaw, base=base, network=Network.OPEN, allowed=(allowed,))

    spec = _entered(tmp_path, sandbox)

    mounts = _mounts(spec)
    assert mounts[spec.env["NODE_EXTRA_CA_CERTS"]]["source"] == str(tmp_path / "ca.pem")
    assert f"{tmp_path}/tools" in spec.env["PATH"].split(":")
    assert f"{tmp_path}/gone" not in mounts
    assert mounts["/srv/data"]["source"] == "/srv/data"


@pytest.mark.parametrize("fills", [False, True])
def test_compiled_code_can_be_written_only_by_the_turn_that_fills_it(
    tmp_path: Path, openclaw: OpenClaw, fills: bool
) -> None:
    compiled = tmp_path / "compiled"
    sandbox = HomeSandbox(openclaw=openclaw, base={}, network=Network.OPEN, compiled=compiled, fills_compiled=fills)

    mounts = _mounts(_entered(tmp_path, sandbox))

    target = f"{sandbox.env['TMPDIR']}/node-compile-cache"
    assert mounts[target] == {"source": str(compiled), "target": target, "writable": fills}


def test_with_the_model_alone_a_port_leads_to_the_wires_socket(tmp_path: Path, openclaw: OpenClaw) -> None:
    sandbox = HomeSandbox(openclaw=openclaw, base={}, network=Network.MODEL, socket="/tmp/w/wire.sock")

    spec = _entered(tmp_path, sandbox)

    assert spec.sandbox is not None
    assert spec.sandbox["network"] == "model"
    assert spec.sandbox["forward"] == {"port": MODEL_PORT, "socket": "/tmp/w/wire.sock"}


@pytest.mark.parametrize(
    ("release", "limit"),
    [
        ("5.13.0", {}),
        ("4.18.0-425", {}),
        ("5.14.21-150500", {"RLIMIT_NPROC": (132, 132)}),
        ("6.18.44-fc", {"RLIMIT_NPROC": (132, 132)}),
    ],
)
def test_the_kernel_counts_processes_where_it_counts_each_namespace_by_itself(
    release: str, limit: dict[str, tuple[int, int]]
) -> None:
    assert task_limit(100, release=release) == limit
    assert task_limit(0, release=release) == {}


@pytest.mark.skipif(bool(REFUSED), reason=f"needs namespaces: {REFUSED}")
async def test_a_turn_finds_its_workspace_and_shown_files_at_the_paths_that_its_task_states(
    tmp_path: Path, openclaw: OpenClaw
) -> None:
    openclaw.program.write_text(
        "#!/bin/sh\ncat /app/given.txt /srv/own/shown.txt > /app/out.txt\n"
        "echo x > /srv/own/x || echo kept >> out.txt\n",
        encoding="utf-8",
    )
    openclaw.program.chmod(0o755)
    for name in ("run/task", "home/state", "own"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("run/task/given.txt", "own/shown.txt"):
        (tmp_path / name).write_text(f"{name}\n", encoding="utf-8")
    sandbox = HomeSandbox(openclaw=openclaw, base={"PATH": "/usr/bin"}, network=Network.OPEN)
    spec = turn_process(tmp_path, tmp_path / "run" / "task", str(openclaw.program), **sandbox.env)
    places = (
        Mount(source=str(tmp_path / "run" / "task"), target="/app", writable=True),
        Mount(source=str(tmp_path / "own"), target="/srv/own"),
    )
    entered = sandbox.enter(spec, state=tmp_path / "home/state", extras=TurnExtras(places=places))
    with fail_after(60):
        end = await supervise(entered, timeout_s=30)
    assert end.exit_code == 0, (tmp_path / "stderr").read_text("utf-8")
    assert (tmp_path / "run/task/out.txt").read_text("utf-8") == "run/task/given.txt\nown/shown.txt\nkept\n"
