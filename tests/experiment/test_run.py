"""An experiment: runs side by side in shared slots, each complete in itself, whatever happens to another."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from anyio import create_task_group, fail_after

from fakes import fake_openclaw, open_gate, run_config
from pinchbench.errors import ResultsError
from pinchbench.events import TrialBegan
from pinchbench.experiment.record import find_experiment, read_record
from pinchbench.experiment.run import resume_experiment, run_experiment
from pinchbench.experiment.spec import Experiment, Variant
from pinchbench.results.finished_run import read_run
from pinchbench.results.journal.journal import read_journal
from pinchbench.results.journal.records import TrialFinished, TrialStarted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.streams.memory import MemoryObjectReceiveStream

    from pinchbench.config import RunConfig
    from pinchbench.events import Event

pytestmark = pytest.mark.anyio

RUN_LIMIT_S = 60
TASKS = {"task_a": "Write out.txt.", "task_b": "Write out.txt.", "task_c": "Write out.txt."}


def an_experiment(folder: Path, *, slots: int = 1, runs: int = 1, prompts: dict[str, str] | None = None) -> Experiment:
    config = run_config(folder, fake_openclaw(folder), TASKS if prompts is None else prompts)
    config = replace(config, concurrency=slots, runs=runs, seed=1, infra_retries=0)
    variants = tuple(
        Variant(name=name, config=replace(config, thinking=name), differs={"thinking": name})
        for name in ("low", "medium", "high")
    )
    return Experiment(name="fakes", variants=variants, seed=1)


def broken(experiment: Experiment, name: str) -> Experiment:
    """Return the experiment with an OpenClaw that does not exist for one variant."""

    def changed(one: Variant) -> RunConfig:
        return replace(one.config, openclaw="/nowhere/openclaw") if one.name == name else one.config

    return replace(experiment, variants=tuple(replace(one, config=changed(one)) for one in experiment.variants))


def recorder(
    seen: list[tuple[str, str]],
) -> Callable[[str], Callable[[MemoryObjectReceiveStream[Event]], Awaitable[None]]]:
    """Return observers that note which variant starts a trial of which task."""

    def observe(name: str) -> Callable[[MemoryObjectReceiveStream[Event]], Awaitable[None]]:
        async def watch(events: MemoryObjectReceiveStream[Event]) -> None:
            async for event in events:
                if isinstance(event, TrialBegan):
                    seen.append((name, str(event.key)))  # noqa: PERF401 - in the order of all variants

        return watch

    return observe


async def test_each_variant_is_a_whole_run_and_the_record_links_them(tmp_path: Path) -> None:
    with fail_after(RUN_LIMIT_S):
        result = await run_experiment(an_experiment(tmp_path, slots=2))
    record = read_record(result.files)
    assert [one.run for one in record.variants] == [one.run for one in result.record.variants]
    assert [one.name for one in record.variants] == ["low", "medium", "high"]
    for variant in record.variants:
        run = read_run(result.files.run(variant))
        assert {str(outcome.key) for outcome in run.outcomes} == set(TASKS)
        assert run.facts.config["thinking"] == variant.name
        assert result.results[variant.name].folder == result.files.run(variant).folder
    assert find_experiment(record.experiment_id, result.files.output_dir) == result.files
    assert find_experiment(str(result.files.folder), Path("elsewhere")) == result.files
    assert find_experiment("another", result.files.output_dir) is None


async def test_the_trials_of_a_task_run_one_after_the_other_in_all_variants(tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []
    with fail_after(RUN_LIMIT_S):
        await run_experiment(an_experiment(tmp_path, runs=2), observe=recorder(seen))
    rounds = [seen[start : start + 3] for start in range(0, len(seen), 3)]
    assert len(rounds) == 6
    for one in rounds:
        assert {variant for variant, _ in one} == {"low", "medium", "high"}
        assert len({key for _, key in one}) == 1


async def test_never_more_trials_run_than_there_are_slots_in_all_variants_together(tmp_path: Path) -> None:
    async with open_gate() as gate:
        prompts = dict.fromkeys(TASKS, f"scenario: gate {gate.port}")
        experiment = an_experiment(tmp_path, slots=2, prompts=prompts)
        async with create_task_group() as group:
            group.start_soon(run_experiment, experiment)
            running = [await gate.next(RUN_LIMIT_S), await gate.next(RUN_LIMIT_S)]
            for _ in range(7):
                assert gate.guests.statistics().current_buffer_used == 0
                await running.pop(0).let_go()
                running.append(await gate.next(RUN_LIMIT_S))
            for guest in running:
                await guest.let_go()


async def test_a_variant_that_can_not_run_does_not_stop_the_others(tmp_path: Path) -> None:
    with fail_after(RUN_LIMIT_S):
        result = await run_experiment(broken(an_experiment(tmp_path), "medium"))
    assert result.results.keys() == {"low", "high"}
    assert "/nowhere/openclaw" in result.failed["medium"]
    assert "/nowhere/openclaw" in read_record(result.files).variants[1].failed
    assert all(len(one.outcomes) == 3 for one in result.results.values())


async def test_an_experiment_none_of_whose_variants_can_run_is_an_error(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    for name in ("low", "medium", "high"):
        experiment = broken(experiment, name)
    with pytest.raises(ResultsError, match="No variant could be run"), fail_after(RUN_LIMIT_S):
        await run_experiment(experiment)


async def test_an_experiment_that_died_goes_on_with_the_rest_of_each_run(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    with fail_after(RUN_LIMIT_S):
        first = await run_experiment(experiment)
    low, medium, _ = first.record.variants
    journal = first.files.run(low).journal
    lines = journal.read_bytes().splitlines(keepends=True)
    [place] = [
        number
        for number, one in enumerate(read_journal(journal).records)
        if isinstance(one, TrialFinished) and str(one.outcome.key) == "task_b"
    ]
    journal.write_bytes(b"".join(lines[: place + 1]))  # as if the runner had died here
    shutil.rmtree(first.files.run(medium).folder)  # as if it had died before this one began

    with fail_after(RUN_LIMIT_S):
        result = await resume_experiment(first.files)

    assert result.results.keys() == {"low", "medium", "high"}
    for variant in result.record.variants:
        records = read_journal(result.files.run(variant).journal).records
        started = [one for one in records if isinstance(one, TrialStarted)]
        assert sorted({str(one.key) for one in started}) == sorted(TASKS)
        assert read_run(result.files.run(variant)).unfinished == 0
    ended = [one.outcome for one in read_journal(journal).records if isinstance(one, TrialFinished)]
    assert [str(one.key) for one in ended].count("task_b") == 1
