"""What each command imports: a program that is asked for its help must not wait for what only a run needs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fakes import MODEL, fake_openclaw, make_suite
from pinchbench.cli.tasks import GRADINGS
from pinchbench.model.task import GradingType

# what the interpreter loads by itself, such as coverage's hook, is none of the program's
PROGRAM = """
import sys
sys.argv[0] = "pinchbench-async"
before = set(sys.modules)
from pinchbench.cli import main
try:
    main()
except SystemExit as left:
    assert not left.code, left.code
finally:
    print(*(set(sys.modules) - before), file=sys.stderr)
"""
EVERY_HELP = """
import sys
before = set(sys.modules)
import click
from pinchbench.cli import cli

def show_help(command, *words):
    cli.main([*words, "--help"], prog_name="pinchbench-async", standalone_mode=False)
    context = click.Context(command)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            show_help(command.get_command(context, name), *words, name)

show_help(cli)
print(*(set(sys.modules) - before), file=sys.stderr)
"""
# what the names of suites that the user has added are looked up with
ADDED_SUITES = {"msgspec", "typing_extensions"}
# of the standard library, what takes as long to import as a library of others
HEAVY = {"asyncio", "concurrent", "email", "http", "multiprocessing", "sqlite3", "ssl"}
NOT_FOR_HELP = {"difflib", "pinchbench.config.asked_models", "pinchbench.config.served"}


def _imported(*arguments: str, cwd: Path, program: str = PROGRAM, **environment: str) -> set[str]:
    """All modules that a command imports, full names."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, **environment},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    return set(done.stderr.splitlines()[-1].split())


def _libraries(modules: set[str]) -> set[str]:
    tops = {name.partition(".")[0] for name in modules}
    # libraries bring extension modules of such names
    public = {name for name in tops if not name.startswith(("_", "cython"))}
    return public - sys.stdlib_module_names - {"pinchbench"}


@pytest.mark.parametrize("arguments", [("--help",), ("--help-all",), ("run", "--help"), ("run", "--help-all")])
def test_the_help_of_the_program_and_of_a_run_waits_for_click_alone(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    modules = _imported(*arguments, cwd=tmp_path)

    assert _libraries(modules) == {"click"}
    assert not {name.partition(".")[0] for name in modules} & HEAVY
    assert not modules & NOT_FOR_HELP


def test_the_help_of_every_command_waits_for_nothing_that_its_work_needs(tmp_path: Path) -> None:
    modules = _imported(cwd=tmp_path, program=EVERY_HELP)

    assert _libraries(modules) == {"anyio", "click", "msgspec", "typing_extensions"}
    work = ("grading", "openclaw.homes", "report.html", "results", "runner.setup", "suite", "wire")
    assert not {name for name in modules if name.startswith(tuple(f"pinchbench.{room}." for room in work))}


@pytest.mark.parametrize("line", ["ta", "--suite core,ta", "--isolation a"])
def test_the_completion_of_commands_and_of_a_runs_options_waits_for_click_alone(tmp_path: Path, line: str) -> None:
    asked = {"COMP_WORDS": f"pinchbench-async {line}", "COMP_CWORD": str(len(line.split()))}

    modules = _imported(cwd=tmp_path, _PINCHBENCH_ASYNC_COMPLETE="bash_complete", **asked)

    assert _libraries(modules) == {"click"}
    assert not {name.partition(".")[0] for name in modules} & HEAVY


@pytest.mark.parametrize(
    ("arguments", "libraries"),
    [
        (("--version",), {"click"}),
        (("tasks", "list"), {"click", "yaml", *ADDED_SUITES}),
        (("tasks", "show", "task_a"), {"click", "yaml", *ADDED_SUITES}),
        (
            ("--model", "x/y", "--dry-run", "--accept-unknown-model"),
            {"anyio", "click", "psutil", "rich", "sniffio", "yaml", *ADDED_SUITES},
        ),
        (
            ("history", "--json", "--output-dir", "."),
            {"anyio", "click", "msgspec", "rich", "sniffio", "typing_extensions"},
        ),
    ],
)
def test_a_command_that_runs_nothing_imports_the_libraries_it_needs_and_no_others(
    tmp_path: Path, arguments: tuple[str, ...], libraries: set[str]
) -> None:
    suite = make_suite(tmp_path, {"task_a": "hi"})

    modules = _imported(*arguments, cwd=tmp_path, PINCHBENCH_TASKS_DIR=str(suite))

    assert _libraries(modules) == libraries


def test_the_list_of_the_bundled_tasks_waits_for_no_other_format_and_nothing_that_only_a_run_needs(
    tmp_path: Path,
) -> None:
    # a cache of its own: a suite that is remembered there from another list is not read
    modules = _imported("tasks", "list", cwd=tmp_path, PINCHBENCH_TASKS_DIR="", PINCHBENCH_CACHE=str(tmp_path))

    formats = {name.rpartition(".")[2] for name in modules if name.startswith("pinchbench.suite.formats.")}
    assert formats == {"markdown_folder"}
    work = {"config.run_config", "sandbox", "suite.form", "suite.solution"}
    assert not modules & {f"pinchbench.{name}" for name in work}


def test_the_plan_of_a_run_of_the_bundled_tasks_waits_for_nothing_that_trials_need(tmp_path: Path) -> None:
    modules = _imported("--model=demo/oracle", "--dry-run", cwd=tmp_path, PINCHBENCH_TASKS_DIR="")

    assert "anyio" not in modules
    assert not {name for name in modules if name.startswith("pinchbench.runner.trial.")}


def test_a_run_on_one_machine_without_a_page_imports_nothing_for_a_cluster_or_for_pages(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, {"task_a": "Do it."})
    options = (f"--openclaw={fake_openclaw(tmp_path)}", f"--tasks-dir={suite}", f"--run-root={tmp_path / 'runs'}")

    settings = {"PINCHBENCH_SANDBOX": "none", "PINCHBENCH_NO_REPORT": "1"}
    modules = _imported("run", f"--model={MODEL}", *options, cwd=tmp_path, **settings)

    assert not {name for name in modules if name.startswith("pinchbench.cluster.")}
    assert not {"ray", "jinja2"} & _libraries(modules)


def test_the_public_names_are_imported_when_they_are_used(tmp_path: Path) -> None:
    script = "import sys, pinchbench; before = set(sys.modules); pinchbench.Status; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert "pinchbench.model" in done.stdout.split()
    assert "pinchbench.config" not in done.stdout.split()


def test_the_kinds_of_grading_that_a_new_task_can_have_are_those_of_tasks() -> None:
    assert tuple(GradingType) == GRADINGS
