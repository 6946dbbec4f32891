"""Commands for a run that nobody works on."""

from dataclasses import replace
from pathlib import Path

import pytest

from fakes import calls, fake_openclaw, run_config
from pinchbench.config.rerun_configs import ResumeConfig
from pinchbench.results.finished_run import Result
from pinchbench.results.paths import RunFiles, runs_of
from pinchbench.results.result_json import read_aggregate
from pinchbench.results.verification import State, check_run
from pinchbench.runner.again.rerun import resume
from pinchbench.runner.ctl.commands import Budget, Note, Requeue, Skip, Status
from pinchbench.runner.ctl.run_commands import carry_out_offline
from pinchbench.runner.run_benchmark import run_benchmark

pytestmark = pytest.mark.usefixtures("checks_in_process")


async def a_run(folder: Path) -> RunFiles:
    """A run whose `task_b` has failed for infrastructure reasons, as it would not in another attempt."""
    once = folder / "once"
    once.touch()
    prompts = {"task_a": "Write out.txt.", "task_b": f"scenario: only_once {once}"}
    config = run_config(folder, fake_openclaw(folder), prompts)
    await run_benchmark(replace(config, infra_retries=0))
    once.unlink()
    [files] = runs_of(config.output_dir)
    return files


async def resumed(files: RunFiles) -> Result:
    return await resume(ResumeConfig(run=str(files.folder)))


async def test_what_is_asked_of_a_run_that_has_ended_holds_when_it_is_resumed(tmp_path: Path) -> None:
    files = await a_run(tmp_path)
    assert carry_out_offline(files, Status()).text.startswith("Ended\nDone: 1 of 2 trials;")
    assert "resume" in carry_out_offline(files, Skip("task_b")).text
    assert "resume" in carry_out_offline(files, Requeue("task_a", "why not")).text
    assert "resume" in carry_out_offline(files, Budget(7.0)).text
    assert carry_out_offline(files, Note("a note")).text == "Noted."
    data = read_aggregate(files.aggregate)
    assert data.control
    assert [one.task_id for one in data.control.skipped] == ["task_b"]
    assert check_run(files).state is State.VERIFIED

    result = await resumed(files)

    assert {one.key.task_id: one.attempt for one in result.outcomes} == {"task_a": 2, "task_b": 1}
    assert result.data.limits.max_cost == 7.0
    assert result.unfinished == 0
    agents = [call for call in calls(tmp_path / "bin" / "openclaw") if call[0] == "agent" and "--help" not in call]
    assert len(agents) == 3  # both, and the requeued one again
