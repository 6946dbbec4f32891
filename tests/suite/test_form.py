"""Fresh forms of a suite: made once by its own program, with the tasks that have none left out by name."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from command_line import call, clean_environment
from fakes import MODEL, fake_openclaw
from form_suite import TASK, suite
from pinchbench.config.run_config import RunConfig
from pinchbench.errors import SelectionError, SuiteError
from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.runner.plan.prepare import prepare
from pinchbench.suite.form import FormTasks, load_form, suite_root, write_form
from pinchbench.suite.loading import load_suite
from sampling import sampled

WITH_FORMS = [
    path.parent.name
    for path in sorted(bundled_tasks_dir().glob("*/generate.py"))
    if "\nSEED = " in path.read_text("utf-8")
]


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where forms are kept."""
    folder = tmp_path / "data"
    monkeypatch.setenv("PINCHBENCH_DATA", str(folder))
    return folder


def named(root: Path, *task_ids: str) -> FormTasks:
    loaded = load_suite(root)
    return FormTasks(loaded=loaded, tasks=tuple(loaded.suite.by_id[task_id] for task_id in task_ids))


class TestMaking:
    def test_no_seed_means_the_suite_itself(self, tmp_path: Path) -> None:
        assert suite_root(tmp_path, None) == tmp_path

    def test_a_form_is_made_once_and_again_when_the_suite_has_changed(self, tmp_path: Path, data: Path) -> None:
        root = suite(tmp_path)
        first = suite_root(root, 7)
        assert "107" in (first / "task_sum.md").read_text(encoding="utf-8")
        (first / "mark").touch()
        assert suite_root(root, 7) == first
        assert (first / "mark").exists()
        (root / "task_old.md").write_text(TASK.format(answer=2).replace("task_sum", "task_old"), encoding="utf-8")
        assert suite_root(root, 7) != first
        assert first.is_relative_to(data)

    def test_what_keeps_a_form_from_being_made_is_reported_and_leaves_nothing(self, tmp_path: Path, data: Path) -> None:
        root = suite(tmp_path)
        with pytest.raises(SuiteError, match="could not make the form 13: no luck today"):
            suite_root(root, 13)
        assert list((data / "forms").iterdir()) == []
        (root / "__main__.py").unlink()
        with pytest.raises(SuiteError, match=r"makes no fresh forms.*Omit --form"):
            suite_root(root, 7)

    def test_the_program_gets_nothing_of_the_users_environment(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SOME_API_KEY", "sk-secret")
        root = suite(tmp_path, answer="sum(name.endswith('KEY') for name in __import__('os').environ)")
        assert '"0"' in (suite_root(root, 7) / "task_sum.md").read_text(encoding="utf-8")


class TestNeededTasks:
    def test_the_program_gets_which_tasks_are_needed_and_makes_only_these(self, tmp_path: Path) -> None:
        needed = ("task_00_sanity", "task_02_shipment_audit", "task_03_rota_repair")
        write_form(bundled_tasks_dir(), 7, tmp_path, needed=needed)
        assert sorted(path.name for path in tmp_path.glob("task_*")) == ["task_00_sanity", "task_02_shipment_audit"]

    def test_a_form_that_is_kept_has_all_tasks_whatever_the_variable_says(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        root = suite(tmp_path)
        program = root / "__main__.py"
        said = "import os\nassert os.environ['PINCHBENCH_FORM_TASKS'] == ''\n"
        program.write_text(said + program.read_text(encoding="utf-8"), encoding="utf-8")
        monkeypatch.setenv("PINCHBENCH_FORM_TASKS", "task_old")
        assert (suite_root(root, 7) / "task_sum.md").exists()


class TestSelecting:
    def test_tasks_without_a_form_are_left_out_by_name(self, tmp_path: Path) -> None:
        root = suite(tmp_path)
        found = load_form(7, named(root, "task_old", "task_sum"))
        assert [task.task_id for task in found.tasks] == ["task_sum"]
        assert found.note == "Left out, as they have no fresh forms: task_old."
        with pytest.raises(SelectionError, match=r"None of these tasks has fresh forms: task_old\..* task_sum\."):
            load_form(7, named(root, "task_old"))

    def test_a_run_is_planned_on_the_form_and_says_what_it_leaves_out(self, tmp_path: Path) -> None:
        prepared = prepare(RunConfig(model="demo/oracle", tasks_dir=suite(tmp_path), form=7))
        [trial] = prepared.trials
        assert "107" in (trial.task.automated_checks or "")
        assert "task_old" in prepared.note
        assert prepared.config.tasks_dir == tmp_path / "tasks"  # its form is made again when the run is resumed

    def test_a_form_that_is_drawn_from_a_text_is_recorded_with_the_text(self, tmp_path: Path, data: Path) -> None:
        root, program = suite(tmp_path), fake_openclaw(tmp_path)
        where = ("--tasks-dir", str(root), "--form-from", "abc")
        env = clean_environment(tmp_path, PINCHBENCH_DATA=str(data))
        options = ("--openclaw", str(program), "--no-preflight", "--isolation", "private", "--json")

        done = call("--model", MODEL, *where, *options, cwd=tmp_path, env=env)
        listed = call("tasks", "list", *where, "--json", cwd=tmp_path, env=env)
        both = call("tasks", "list", *where, "--form", "7", cwd=tmp_path, env=env)

        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        assert result["form"] == 0xBA7816BF
        config = json.loads((tmp_path / "results" / result["run"] / "run.json").read_text("utf-8"))["config"]
        assert (config["form"], config["form_from"]) == (0xBA7816BF, "abc")
        again = call("resume", result["run"], "--json", cwd=tmp_path, env=env)
        assert json.loads(again.stdout)["form"] == 0xBA7816BF, again.stderr
        assert [one["task_id"] for one in json.loads(listed.stdout)] == ["task_sum"]
        assert (both.returncode, "--form and --form-from don't go together" in both.stderr) == (2, True)


@pytest.mark.parametrize(
    "task_id",
    sampled(WITH_FORMS, WITH_FORMS[::10]),
)
def test_with_its_own_seed_a_form_of_a_bundled_task_is_the_public_one(
    task_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = bundled_tasks_dir()
    monkeypatch.syspath_prepend(root)
    form = import_module("craft.form")
    module = form.generator(root / task_id)
    made = form.form_files(module, root, module.SEED).items()
    # how a PDF and a git bundle are packed differs between machines
    assert [
        place
        for place, data in made
        if not place.endswith((".pdf", ".gz", ".bundle")) and (root / task_id / place).read_bytes() != data
    ] == []
