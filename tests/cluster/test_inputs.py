"""The way of a run's files to a node."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from core_pack import write_clawbench_core
from fakes import attempts, make_suite
from past_runs import Made, PlannedRun, write_run
from pinchbench.cluster.inputs import needs_inputs, pack_inputs, places_in, suites_of, unpack_inputs
from pinchbench.config.run_config import ReplaySettings, RunConfig
from pinchbench.defaults import SuiteFormat
from pinchbench.files.user_data import bundled_tasks_dir, packs_dir
from pinchbench.model.task import Suite
from pinchbench.runner.plan.check_additions import addition_digests
from pinchbench.runner.plan.prepare import Prepared, prepare, prepare_named
from pinchbench.runner.plan.stored_run import recordings_of
from pinchbench.suite.loading import load_suite, solution_of
from pinchbench.suite.named import Pack, tree_digest
from suite_packs import write_claw_bench, write_qwenclaw


def config_of(folder: Path, suite: Path | None) -> RunConfig:
    return RunConfig(model="mock/m1", tasks_dir=suite, output_dir=folder / "results", preflight=False)


def sent(prepared: Prepared, folder: Path) -> RunConfig:
    """Return the options as a node has them that gets the files of a run."""
    assert needs_inputs(prepared)
    pack_inputs(prepared, folder / "inputs.tar.gz")
    return unpack_inputs(folder / "inputs.tar.gz", folder / "there", prepared.config)


def planned_there(prepared: Prepared, folder: Path) -> Prepared:
    """Return a run as it is on a node that gets its files; its digests are those of this machine."""
    config = sent(prepared, folder)
    told = places_in(folder / "there", suites_of(prepared.suite))
    there = prepare_named(config, told, {trial.key.task_id for trial in prepared.trials})
    assert [trial.task.digest for trial in there.trials] == [trial.task.digest for trial in prepared.trials]
    assert there.trials
    return there


def test_a_suite_has_the_same_digests_on_a_node_with_the_fixtures_next_to_it(tmp_path: Path) -> None:
    head = "workspace_files:\n  - source: data.txt\n    dest: data.txt"
    (tmp_path / "here" / "assets").mkdir(parents=True)
    (tmp_path / "here" / "assets" / "data.txt").write_text("42", encoding="utf-8")
    root = make_suite(tmp_path / "here", {"task_a": "Read it.", "task_b": "And that."}, head=head)
    (root / "task_b.md").rename(tmp_path / "elsewhere.md")
    (root / "task_b.md").symlink_to(tmp_path / "elsewhere.md")
    (root / ".git").mkdir()
    (root / ".git" / "secret").touch()

    there = planned_there(prepare(config_of(tmp_path, root)), tmp_path)

    assert len(there.trials) == 2
    assert not (there.suite.root / ".git").exists()


def test_hidden_files_among_those_of_a_task_reach_a_node(tmp_path: Path) -> None:
    root = write_clawbench_core(tmp_path / "pack")

    planned_there(prepare(config_of(tmp_path, root)), tmp_path)


def test_each_of_several_suites_is_in_a_folder_of_its_own_on_a_node_and_the_bundled_one_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINCHBENCH_DATA", str(tmp_path / "data"))
    claw = write_claw_bench(tmp_path / "claw")
    files = packs_dir() / "qwen" / "files"
    write_qwenclaw(files)
    pack = Pack(name="qwen", source="/x", digest=tree_digest(files), format=SuiteFormat.QWENCLAW, added_at=1.0)
    (files.parent / "pack.json").write_bytes(msgspec.json.encode(pack))
    here = prepare(replace(config_of(tmp_path, claw), suite="all;qwen:task_00001_ledger,task_00002_calls"))

    there = planned_there(here, tmp_path)

    assert [part.name for part in there.suite.parts] == ["claw", "qwen"]
    folders = [part.root.relative_to(tmp_path / "there" / "suites").parts[0] for part in there.suite.parts]
    assert folders == ["0", "1"]
    assert len(there.trials) == 4
    categories = [trial.task.category for trial in there.trials]
    assert categories == [trial.task.category for trial in here.trials]
    solved = [solution_of(there.suite, trial.task) is not None for trial in there.trials]
    assert solved == [solution_of(here.suite, trial.task) is not None for trial in here.trials]
    assert any(solved)


def test_of_several_suites_the_bundled_one_is_not_sent(tmp_path: Path) -> None:
    root = make_suite(tmp_path, {"task_a": "Do it."})
    own, bundled = (load_suite(folder).suite for folder in (root, bundled_tasks_dir()))
    both = replace(bundled, parts=(replace(bundled, name="bundled"), replace(own, name="own")))
    assert [(suite.name, suite.folder) for suite in suites_of(both)] == [("bundled", None), ("own", 0)]
    assert [place.folder for place in places_in(tmp_path, suites_of(both))] == [
        bundled_tasks_dir(),
        tmp_path / "suites" / "0" / "tasks",
    ]


def test_what_the_options_add_is_the_same_on_a_node(tmp_path: Path) -> None:
    (tmp_path / "skills" / "one").mkdir(parents=True)
    (tmp_path / "skills" / "one" / "SKILL.md").write_text("Do it well.", encoding="utf-8")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / ".hidden").write_text("hidden", encoding="utf-8")
    (tmp_path / "run.sh").write_text("#!/bin/sh", encoding="utf-8")
    (tmp_path / "run.sh").chmod(0o755)
    config = replace(
        config_of(tmp_path, make_suite(tmp_path, {"task_a": "Do it."})),
        skills=tmp_path / "skills",
        workspace_files={".": str(tmp_path / "notes"), "bin/run.sh": str(tmp_path / "run.sh")},
    )
    there = sent(prepare(config), tmp_path)
    assert addition_digests(there) == addition_digests(config)
    assert there.skills != config.skills
    assert Path(there.workspace_files["bin/run.sh"]).stat().st_mode & 0o111
    assert (Path(there.workspace_files["."]) / ".hidden").is_file()


def test_a_node_gets_the_recordings_of_the_trials_that_are_replayed(tmp_path: Path) -> None:
    run = write_run(tmp_path, PlannedRun(trials={"task_a": (Made(), Made())}))
    for number in (1, 2):
        (run.folder / f"trials/task_a/{number}/wire.jsonl.zst").write_bytes(b"recorded %d" % number)
    (run.folder / "trials/task_a/1/user.jsonl").write_bytes(b"said")
    config = replace(config_of(tmp_path, None), replay=ReplaySettings(folder=str(run.folder)))
    keys = sorted(recordings_of(str(run.folder)), key=str)
    assert len(keys) == 2
    [attempt] = attempts(1)
    first = replace(attempt, trial=replace(attempt.trial, key=keys[0]))
    suite = Suite(root=bundled_tasks_dir(), tasks=())
    there = sent(Prepared(config=config, suite=suite, trials=(), attempts=(first,)), tmp_path)
    assert there.replay is not None
    [(key, path)] = recordings_of(there.replay.folder).items()
    assert key == keys[0]
    assert path.read_bytes() == recordings_of(str(run.folder))[key].read_bytes()
    assert path.with_name("user.jsonl").read_bytes() == b"said", "what a simulated user said"
