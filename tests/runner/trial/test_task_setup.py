"""Set-up scripts: what they get, what they may reach, and how they end."""

from pathlib import Path, PurePath

import anyio
import pytest
from anyio import to_thread

from fakes import make_task
from grading.conftest import IN_NAMESPACES
from pinchbench.grading.check_sandbox import CheckSandbox
from pinchbench.model.task import WorkspaceFile
from pinchbench.model.task_programs import SetupScript
from pinchbench.runner.trial.task_setup import set_up_workspace
from suite_packs import put


@pytest.fixture(params=[pytest.param(None, id="none"), IN_NAMESPACES])
def sandbox(request: pytest.FixtureRequest) -> CheckSandbox | None:
    found: CheckSandbox | None = request.param
    return found


async def set_up(folder: Path, script: str, sandbox: CheckSandbox | None, *, limit_s: float = 30) -> Path:
    """Run a script for a task that copies `data.txt`; return the workspace."""
    pack, workspace = folder / "pack", folder / "runs" / "task"
    put(pack / "environment" / "setup.sh", script)
    put(pack / "data.txt", "data\n")
    await to_thread.run_sync(lambda: workspace.mkdir(parents=True))
    task = make_task(
        workspace_files=(WorkspaceFile(dest="data.txt", source=pack / "data.txt"),),
        setup=SetupScript(folder=pack, script="environment/setup.sh", limit_s=limit_s),
        home_folders=("skills",),
    )
    await set_up_workspace(task, workspace, seen_as=workspace, sandbox=sandbox, marker="test-setup")
    return workspace


async def test_a_script_fills_the_workspace_before_the_files_and_its_exit_code_is_ignored(
    tmp_path: Path, sandbox: CheckSandbox | None
) -> None:
    script = """
        echo "$PWD" > "$1/where.txt"
        echo script > "$1/data.txt"
        echo beside > beside.txt
        env > "$1/env.txt"
        exit 7
    """
    workspace = await set_up(tmp_path, script, sandbox)
    assert sorted(path.name for path in workspace.iterdir()) == [".home", "data.txt", "env.txt", "where.txt"]
    assert list((workspace / ".home").iterdir()) == [workspace / ".home" / "skills"]
    assert (workspace / "data.txt").read_text("utf-8") == "data\n"
    copy = PurePath((workspace / "where.txt").read_text("utf-8").strip())
    assert not copy.is_relative_to(tmp_path)
    assert not await anyio.Path(copy).exists()
    assert not (tmp_path / "pack" / "beside.txt").exists()
    assert "API_KEY" not in (workspace / "env.txt").read_text("utf-8")


async def test_a_script_that_takes_too_long_fails_with_what_it_said(
    tmp_path: Path, sandbox: CheckSandbox | None
) -> None:
    with pytest.raises(OSError, match=r"setup\.sh ended as timed_out.*: waiting"):
        await set_up(tmp_path, "echo waiting; sleep 600", sandbox, limit_s=5)


@pytest.mark.parametrize("sandbox", [IN_NAMESPACES], indirect=True)
async def test_a_script_in_namespaces_sees_its_folder_and_its_workspace_alone(
    tmp_path: Path, sandbox: CheckSandbox
) -> None:
    secret = put(tmp_path / "secret.txt", "secret")
    script = f"""
        cat {secret} > "$1/secret.txt" 2>&1
        (exec 3<>/dev/tcp/127.0.0.1/22) 2>"$1/network.txt"
        true
    """
    workspace = await set_up(tmp_path, script, sandbox)
    assert "No such file" in (workspace / "secret.txt").read_text("utf-8")
    assert (workspace / "network.txt").read_text("utf-8")
