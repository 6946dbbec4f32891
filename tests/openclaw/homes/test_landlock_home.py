"""A turn under Landlock: paths are those outside, and only its own folders can be written."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from openclaw.homes.conftest import turn_process
from pinchbench.defaults import Network
from pinchbench.openclaw.command import LONG_MESSAGE, OpenClaw
from pinchbench.openclaw.homes import landlock_home
from pinchbench.openclaw.homes.landlock_home import LandlockSandbox
from pinchbench.sandbox.sandbox_spec import Mount


@pytest.fixture
def sandbox(tmp_path: Path, openclaw: OpenClaw, monkeypatch: pytest.MonkeyPatch) -> LandlockSandbox:
    monkeypatch.setattr(landlock_home, "LOCKS", tmp_path / "locks")
    return LandlockSandbox(
        root=tmp_path / "home",
        openclaw=openclaw,
        base={"PATH": "/usr/bin", "LANG": "C.UTF-8", "HOME": "/home/somebody"},
        network=Network.MODEL,
        port=1234,
        allowed=(
            Mount(source="/srv/data", target="/srv/data"),
            Mount(source="/srv/own", target="/srv/own", writable=True),
        ),
    )


def _plan(sandbox: LandlockSandbox, tmp_path: Path) -> Mapping[str, object]:
    spec = turn_process(tmp_path, tmp_path / "work", "openclaw")
    entered = sandbox.enter(spec, state=tmp_path / "home" / "state")
    assert entered.argv == spec.argv
    assert entered.sandbox is not None
    return entered.sandbox


def test_its_own_folders_and_what_the_user_allows_can_be_written_and_nothing_else(
    sandbox: LandlockSandbox, tmp_path: Path
) -> None:
    plan = _plan(sandbox, tmp_path)

    writable = cast("list[str]", plan["writable"])
    assert [one for one in writable if not one.startswith("/dev/")] == [
        *(str(tmp_path / name) for name in ("work", "home", "locks")),
        "/srv/own",
    ]
    readable = cast("list[str]", plan["readable"])
    own = [str(LONG_MESSAGE), *(str(tmp_path / name) for name in ("cache/openclaw-1", "cache/node-1")), "/srv/data"]
    assert readable[-len(own) :] == own
    assert not {"/", "/etc", "/tmp", "/home", "/dev", "/sys", "/run", "/var"} & {*readable, *writable}
    assert (plan["level"], plan["network"], plan["port"]) == ("landlock", "model", 1234)


def test_shims_can_be_read_with_what_they_start_unless_solutions_are_there(
    sandbox: LandlockSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("shims", "versions"):
        (tmp_path / ".pyenv" / name).mkdir(parents=True)
    with_shims = replace(sandbox, base={"PATH": f"{tmp_path}/.pyenv/shims"})

    assert f"{tmp_path}/.pyenv" in cast("list[str]", _plan(with_shims, tmp_path)["readable"])
    monkeypatch.setattr(landlock_home, "bundled_tasks_dir", lambda: tmp_path / ".pyenv" / "versions" / "tasks")
    readable = cast("list[str]", _plan(with_shims, tmp_path)["readable"])
    assert f"{tmp_path}/.pyenv/shims" in readable
    assert f"{tmp_path}/.pyenv" not in readable


def test_home_and_temporary_files_are_in_the_homes_folder(sandbox: LandlockSandbox, tmp_path: Path) -> None:
    sandbox.prepare()

    root = tmp_path / "home"
    env = sandbox.env
    assert (env["HOME"], env["TMPDIR"]) == (str(root / "home"), str(root / "home" / "tmp"))
    assert Path(env["TMPDIR"]).is_dir()
    assert env["OPENCLAW_STATE_DIR"] == str(root / "state")
    assert env["PATH"].startswith(str(tmp_path / "cache" / "node-1" / "bin"))
    assert env["LANG"] == "C.UTF-8"
    assert env["OPENCLAW_CHILD_OOM_SCORE_ADJ"] == "0"  # or each output begins with what a shell could not write
    assert env["GIT_CONFIG_NOSYSTEM"] == "1"  # or Git gives up on an /etc/gitconfig that it can't read
    assert sandbox.seen_root is None
    assert sandbox.seen_workspace(tmp_path) == tmp_path


def test_compiled_code_is_linked_and_can_be_written_only_by_the_turn_that_fills_it(
    sandbox: LandlockSandbox, tmp_path: Path
) -> None:
    compiled = tmp_path / "compiled"
    reading = replace(sandbox, compiled=compiled)
    reading.prepare()

    assert Path(reading.env["TMPDIR"], "node-compile-cache").readlink() == compiled
    plan = _plan(reading, tmp_path)
    assert str(compiled) in cast("list[str]", plan["readable"])
    assert str(compiled) not in cast("list[str]", plan["writable"])
    filling = _plan(replace(reading, fills_compiled=True), tmp_path)
    assert str(compiled) in cast("list[str]", filling["writable"])
