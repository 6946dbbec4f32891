"""What is read of a folder, and how often."""

import threading
from pathlib import Path
from urllib.parse import urlencode

import pytest

from past_experiments import write_variants
from past_runs import Made, PlannedRun, random_trials, write_run
from pinchbench.results.paths import RunFiles
from pinchbench.results.run_list import RunEntry, State, run_entry
from pinchbench.serve import run_catalogue as module
from pinchbench.serve.run_catalogue import Catalogue
from site_server import serving

OLD = PlannedRun(trials={"task_a": (Made(),)})
NEW = PlannedRun(trials={"task_a": (Made(score=0.2),)}, run_id="20260103-030000-0002")


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs that are read, in order."""
    names: list[str] = []

    def noted(files: RunFiles) -> RunEntry:
        names.append(files.name)
        return run_entry(files)

    monkeypatch.setattr(module, "run_entry", noted)
    return names


def test_a_run_is_read_once_and_again_when_its_files_change(tmp_path: Path, read: list[str]) -> None:
    old, new = write_run(tmp_path, OLD), write_run(tmp_path, NEW)
    one = Catalogue(tmp_path)
    unread = one.entries()
    for _ in range(2):
        one.refresh(1.0)
    with old.journal.open("ab") as file:
        file.write(b"torn")
    one.refresh(1.0)

    assert unread == (None, None)
    assert read == [new.name, old.name, old.name]
    assert [entry.state for entry in one.entries() if entry is not None] == [State.COMPLETE, State.COMPLETE]


def test_one_thread_reads_and_another_does_not_wait_for_it_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path, OLD)
    reading, goes_on = threading.Event(), threading.Event()

    def slow(files: RunFiles) -> RunEntry:
        reading.set()
        assert goes_on.wait(60)
        return run_entry(files)

    monkeypatch.setattr(module, "run_entry", slow)
    one = Catalogue(tmp_path)
    thread = threading.Thread(target=one.refresh, args=(1.0,))
    thread.start()
    assert reading.wait(60)
    one.refresh(0.0)
    meanwhile = one.entries()
    goes_on.set()
    thread.join()

    assert meanwhile == (None,)
    assert [entry is not None for entry in one.entries()] == [True]


def test_only_so_many_trials_are_kept_those_that_were_looked_at_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = write_run(tmp_path, OLD), write_run(tmp_path, NEW)
    monkeypatch.setattr(module, "MOST_TRIALS", 1)
    one = Catalogue(tmp_path)
    with one.follow(old) as first, one.follow(new) as other:
        pass
    with one.follow(new) as kept, one.follow(old) as again:
        pass

    assert kept is other
    assert again is not first


def test_experiments_are_listed_newest_first_and_a_comparison_is_read_once(tmp_path: Path) -> None:
    files = write_variants(tmp_path, tasks=2, repetitions=2, variants={"low": 0.4, "high": 0.9})
    one = Catalogue(tmp_path)
    [run, *_] = one.runs()

    assert [found.name for found in one.experiments()] == [files.name]
    assert one.past(run) is one.past(run)


MODELS = ("mock/m1", "mock/m2", "mock/m3", "mock/m4")


def write_runs(folder: Path) -> None:
    for number, model in enumerate(MODELS):
        trials = random_trials(tasks=4, repetitions=2, seed=number, ability=number / 4)
        write_run(folder, PlannedRun(trials=trials, model=model, categories={"task_000": "coding"}))


def test_each_task_has_its_statistics_and_they_are_computed_once(tmp_path: Path) -> None:
    write_runs(tmp_path)
    one = Catalogue(tmp_path)
    found = one.items()

    assert [one.item.task_id for one in found.items] == [f"task_00{number}" for number in range(4)]
    assert {one.item.subjects for one in found.items} == {4}
    assert found.items[0].category == "coding"
    assert one.items() is found
    write_run(tmp_path, PlannedRun(trials={"task_000": (Made(score=1.0),)}, model="mock/m5"))
    assert one.items() is not found


def test_the_page_filters_and_sorts_tasks_and_an_empty_folder_says_so(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write_runs(tmp_path / "runs")
    with serving(tmp_path / "runs") as site:
        one = site.ask("/items?" + urlencode({"search": "task_000", "sort": "-mean"}))
    with serving(tmp_path / "empty") as site:
        empty = site.ask("/items")

    assert one.status == 200, one.text
    assert one.text.count("<tr data-row>") == 1
    assert "1 of 4 tasks, from 32 trials of 4 variants" in one.text
    assert "No run of this folder has scores" in empty.text
