"""The pipes of a job's output: no descriptor leads to the files, which hold what came up to a limit."""

from dataclasses import replace
from pathlib import Path

import pytest
from anyio import fail_after

from pinchbench.process.spec import EndReason
from pinchbench.process.supervise import supervise
from process.conftest import PlayFolders


def _link(path: Path, target: Path) -> None:
    path.symlink_to(target)


async def test_no_descriptor_of_a_job_leads_to_its_files(stage: PlayFolders) -> None:
    argv = stage.bash("for fd in /proc/self/fd/*; do readlink $fd; done; : > /dev/stdout; : > /proc/self/fd/2")
    with fail_after(60):
        end = await supervise(stage.spec(argv), timeout_s=60)
    assert end.exit_code == 0
    assert "pipe:" in stage.out()
    assert str(stage.folder) not in stage.out()


async def test_what_another_process_writes_to_kept_output_is_not_taken_for_the_jobs(stage: PlayFolders) -> None:
    forge = "for fd in 1 2; do echo forged > /proc/$PPID/fd/$fd; done 2>&1"
    argv = stage.bash(f"echo said >&2; bash -c '{forge}' > tried.txt; cat tried.txt")
    with fail_after(60):
        end = await supervise(replace(stage.spec(argv), keeps_output=True), timeout_s=60)
        open_to_all = await supervise(stage.spec(argv, log=stage.folder / "pipe.log"), timeout_s=60)
    assert (end.exit_code, open_to_all.exit_code) == (0, 0)
    assert stage.out().count("No such device or address") == 2
    assert stage.err() == "said\n"
    assert (stage.folder / "pipe.log").read_text("utf-8").count("forged") == 2, "the attack works on pipes"


@pytest.mark.parametrize("keeps_output", [False, True])
async def test_both_streams_into_one_file_keep_their_order(stage: PlayFolders, *, keeps_output: bool) -> None:
    log = stage.folder / "both.log"
    argv = stage.bash("for n in 1 2 3; do echo out $n; echo err $n >&2; done")
    with fail_after(60):
        await supervise(replace(stage.spec(argv, log=log), keeps_output=keeps_output), timeout_s=60)
        await supervise(stage.spec(stage.bash("echo later"), log=log), timeout_s=60)
    assert log.read_text("utf-8").split("\n") == [
        *(f"{name} {number}" for number in (1, 2, 3) for name in ("out", "err")),
        "later",
        "",
    ]


@pytest.mark.parametrize("name", ["stdout", "stderr"])
async def test_a_link_in_place_of_a_file_is_not_followed(stage: PlayFolders, name: str) -> None:
    target = stage.folder / "of the user"
    target.write_text("precious", encoding="utf-8")
    _link(getattr(stage, name), target)
    with fail_after(60):
        end = await supervise(stage.spec(["echo", "planted"]), timeout_s=60)
    assert end.reason is EndReason.NOT_STARTED
    assert target.read_text("utf-8") == "precious"
