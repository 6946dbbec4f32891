"""An experiment: runs side by side in shared slots, each complete in itself, whatever happens to another."""

import json
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import psutil
import pytest
from anyio import create_task_group
from anyio.streams.memory import MemoryObjectReceiveStream
from msgspec import UNSET

from fakes import (
    NEW_RELEASE,
    OLD_RELEASE,
    SCORED_BY_MODEL,
    TURN_LIMIT_S,
    fake_openclaw,
    make_suite,
    open_gate,
    run_config,
)
from past_runs import die_after
from pinchbench.config.run_config import RunConfig
from pinchbench.errors import ResultsError
from pinchbench.events import Event, PaceChanged, TrialBegan
from pinchbench.experiment.experiment_record import (
    ExperimentFiles,
    RecordedExperiment,
    RecordedVariant,
    find_experiment,
    read_record,
    write_record,
)
from pinchbench.experiment.experiment_spec import Experiment, Variant
from pinchbench.experiment.run_experiment import ExperimentResult, resume_experiment, resumed_budget, run_experiment
from pinchbench.model.ending import Reason, Stop
from pinchbench.results.finished_run import read_run
from pinchbench.results.journal.journal import read_journal
from pinchbench.results.records import TrialFinished, TrialStarted
from pinchbench.runner.run_benchmark import run_benchmark
from pinchbench.runner.scheduling.meter import BudgetLimits

pytestmark = pytest.mark.usefixtures("checks_in_process")

Events = MemoryObjectReceiveStream[Event]
TASKS = {"task_a": "Write out.txt.", "task_b": "Write out.txt."}


def an_experiment(folder: Path, *, slots: int = 1, runs: int = 1, prompts: dict[str, str] | None = None) -> Experiment:
    config = run_config(folder, fake_openclaw(folder), TASKS if prompts is None else prompts, timeout_s=TURN_LIMIT_S)
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


def recorder(seen: list[tuple[str, Event]]) -> Callable[[str], Callable[[Events], Awaitable[None]]]:
    """Return observers that keep the events of all variants with the variants' names, in their order."""

    def observe(name: str) -> Callable[[Events], Awaitable[None]]:
        async def watch(events: Events) -> None:
            async for event in events:
                seen.append((name, event))  # noqa: PERF401 - in the order of all variants

        return watch

    return observe


async def test_each_variant_is_a_whole_run_and_the_record_links_them(tmp_path: Path) -> None:
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


async def test_each_variant_reuses_what_an_earlier_run_has_of_it(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path, slots=2)
    make_suite(tmp_path, TASKS, check=SCORED_BY_MODEL)
    earlier = await run_benchmark(experiment.variants[0].config)
    variants = [replace(one, config=replace(one.config, reuse=earlier.run_id)) for one in experiment.variants]
    result = await run_experiment(replace(experiment, variants=tuple(variants)))
    assert [one.data.reused for one in result.results.values()].count(UNSET) == 2
    assert result.results["low"].data.reused == {earlier.folder.name: 2}
    assert all(one.complete and one.data.score.trials == 2 for one in result.results.values())


async def test_a_variant_that_can_not_run_does_not_stop_the_others(tmp_path: Path) -> None:
    result = await run_experiment(broken(an_experiment(tmp_path), "medium"))
    assert result.results.keys() == {"low", "high"}
    assert "/nowhere/openclaw" in result.failed["medium"]
    record = read_record(result.files)
    assert "/nowhere/openclaw" in record.variants[1].failed
    assert all(len(one.outcomes) == 2 for one in result.results.values())
    write_record(result.files, msgspec.structs.replace(record, variants=repaired(record)), result.failed)
    again = await resume_experiment(result.files)
    assert again.results.keys() == {"low", "medium", "high"}
    assert [one.failed for one in read_record(result.files).variants] == ["", "", ""]


def repaired(record: RecordedExperiment) -> tuple[RecordedVariant, ...]:
    """Return the variants, as if the OpenClaw that was missing were there."""
    openclaw = record.variants[0].config["openclaw"]
    return tuple(msgspec.structs.replace(one, config={**one.config, "openclaw": openclaw}) for one in record.variants)


async def test_a_variant_whose_run_fails_leaves_its_slots_to_the_others(tmp_path: Path) -> None:
    seen: list[tuple[str, Event]] = []
    async with open_gate() as gate:
        experiment = an_experiment(
            tmp_path, slots=4, prompts=dict.fromkeys((*TASKS, "task_c"), f"scenario: gate {gate.port}")
        )
        experiment = replace(experiment, budget=BudgetLimits(max_tokens=1_000_000))
        async with create_task_group() as group:
            run = group.create_task(run_experiment(experiment, observe=recorder(seen)))
            guests = [await gate.next() for _ in range(4)]
            started = [name for name, event in seen if isinstance(event, TrialBegan)]
            failing = next(name for name in started if started.count(name) == 2)
            [files] = (tmp_path / "results").glob("fakes_*")
            record = read_record(ExperimentFiles(output_dir=files.parent, name=files.name))
            [run_name] = (one.run for one in record.variants if one.name == failing)
            shutil.rmtree(files.parent / run_name)
            own = [one for one in guests if run_name.rpartition("_")[2] in str(psutil.Process(one.pid).environ())]
            await own[0].let_go()  # its end can't be recorded
            await own[1].gone()
            others = [one for one in guests if one not in own]
            others += [await gate.next(), await gate.next()]  # in the places of the failed run's trials
            for guest in others:
                await guest.let_go()
            for _ in range(2):
                await (await gate.next()).let_go()
    result = run.return_value
    assert result.failed.keys() == {failing}
    assert result.results.keys() == {"low", "medium", "high"} - {failing}
    assert {len(one.outcomes) for one in result.results.values()} == {3}


async def test_an_experiment_none_of_whose_variants_can_run_is_an_error(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    for name in ("low", "medium", "high"):
        experiment = broken(experiment, name)
    with pytest.raises(ResultsError, match="No variant could be run"):
        await run_experiment(experiment)


async def test_an_experiment_that_died_goes_on_with_the_rest_of_each_run(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    first = await run_experiment(experiment)
    low, medium, _ = first.record.variants
    journal = first.files.run(low).journal
    die_after(journal, lambda one: isinstance(one, TrialFinished) and one.outcome.key.task_id == "task_b")
    shutil.rmtree(first.files.run(medium).folder)  # as if it had died before this one began

    result = await resume_experiment(first.files)

    assert result.results.keys() == {"low", "medium", "high"}
    for variant in result.record.variants:
        records = read_journal(result.files.run(variant).journal).records
        started = [one for one in records if isinstance(one, TrialStarted)]
        assert sorted({str(one.key) for one in started}) == sorted(TASKS)
        assert read_run(result.files.run(variant)).unfinished == 0
    ended = [one.outcome for one in read_journal(journal).records if isinstance(one, TrialFinished)]
    assert [str(one.key) for one in ended].count("task_b") == 1


def used_tokens(result: ExperimentResult) -> int:
    return sum(one.usage.total_tokens for run in result.results.values() for one in run.outcomes)


async def test_a_budget_of_the_experiment_ends_all_variants_alike_and_goes_on_when_it_is_raised(tmp_path: Path) -> None:
    budget = BudgetLimits(max_tokens=900)  # 220 for each of 6 trials
    experiment = replace(an_experiment(tmp_path, slots=2), budget=budget)
    first = await run_experiment(experiment)
    stops = {one.stop for one in first.results.values()}
    assert Stop.BUDGET in stops
    assert stops <= {Stop.BUDGET, None}, "one variant may have made its two trials"
    [why] = {one.stopped for one in first.results.values() if one.stop is not None}
    assert why.startswith("--max-tokens 900 of the experiment")
    assert used_tokens(first) == 880  # no fifth trial that would pass it
    counts = [len(one.outcomes) for one in first.results.values()]
    assert max(counts) - min(counts) <= 1
    assert read_record(first.files).budget == BudgetLimits(max_tokens=900)

    same = await resume_experiment(first.files)
    assert (used_tokens(same), {one.stop for one in same.results.values()}) == (880, stops)

    whole = await resume_experiment(first.files, settings={"max_tokens": 9000})
    assert read_record(first.files).budget == BudgetLimits(max_tokens=9000)
    assert all(one.complete for one in whole.results.values() if one.stop is None)
    assert {one.unfinished for one in whole.results.values()} == {0}
    assert {one.stop for one in whole.results.values()} == {None}
    assert used_tokens(whole) == 6 * 220


async def test_agents_of_all_variants_are_ended_when_one_uses_up_what_they_have_together(tmp_path: Path) -> None:
    async with open_gate() as gate:
        experiment = an_experiment(tmp_path, slots=3, prompts={"task_a": f"scenario: gate {gate.port}"})
        experiment = replace(experiment, budget=BudgetLimits(max_tokens=200))
        async with create_task_group() as group:
            run = group.create_task(run_experiment(experiment))
            guests = [await gate.next() for _ in range(3)]
            await guests[0].let_go()  # its trial uses 220 tokens
            for guest in guests[1:]:
                await guest.gone()
    reasons = sorted(outcome.reason for one in run.return_value.results.values() for outcome in one.outcomes)
    assert reasons[1:] == [Reason.INTERRUPTED] * 2
    assert reasons[0] in (Reason.COMPLETED, Reason.INTERRUPTED), "its transcript may report its use before it has ended"


def test_options_of_resume_set_the_experiment_s_budget_and_not_that_of_its_runs() -> None:
    before = BudgetLimits(max_cost=5, max_hours=1)
    budget, settings = resumed_budget(before, {"max_cost": 9.0, "concurrency": 2})
    assert (budget, settings) == (BudgetLimits(max_cost=9.0), {"concurrency": 2})
    assert resumed_budget(before, {"max_hours": 2.0}) == (replace(before, max_hours=2.0), {})


async def test_variants_on_two_releases_with_files_of_their_own_run_side_by_side(tmp_path: Path) -> None:
    config = replace(run_config(tmp_path, fake_openclaw(tmp_path), {"task_a": "scenario: record seen.json"}), seed=1)
    other = fake_openclaw(tmp_path / "other", store="sqlite", release=NEW_RELEASE)
    rules = tmp_path / "rules.md"
    rules.write_text("rules", encoding="utf-8")
    configs = {
        "old": config,
        "new": replace(config, openclaw=str(other), workspace_files={"AGENTS.md": str(rules)}, env={"MODE": "strict"}),
    }
    variants = tuple(Variant(name=name, config=one, differs={}) for name, one in configs.items())
    result = await run_experiment(Experiment(name="releases", variants=variants, seed=1))
    runs = {one.name: read_run(result.files.run(one)) for one in result.record.variants}
    assert {name: run.facts.versions["openclaw"] for name, run in runs.items()} == {
        "old": OLD_RELEASE,
        "new": NEW_RELEASE,
    }
    seen = {}
    for name, run in runs.items():
        [outcome] = run.outcomes
        workspace = Path(outcome.workspace)
        modes = json.loads((workspace / "seen.json").read_text("utf-8"))["env"].get("MODE")
        seen[name] = modes, (workspace / "AGENTS.md").exists()
    assert seen == {"old": (None, False), "new": ("strict", True)}


async def test_the_runs_of_one_provider_share_its_rate_limit(tmp_path: Path) -> None:
    seen: list[tuple[str, Event]] = []
    busy = dict.fromkeys(TASKS, f"scenario: outage {tmp_path / 'outage'} 1 429 too many requests")
    experiment = an_experiment(tmp_path, slots=2, runs=2, prompts=busy)
    variants = tuple(replace(one, config=replace(one.config, infra_retries=2)) for one in experiment.variants)
    result = await run_experiment(replace(experiment, variants=variants), observe=recorder(seen))
    assert all(one.complete for one in result.results.values())
    slowed = {name for name, event in seen if isinstance(event, PaceChanged) and event.limit == 1}
    assert len(slowed) >= 2, "one trial was refused, and others hear of it"
