"""The documentation: it builds without a warning, and its commands and samples are those of the program."""

import ast
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
import yaml

import pinchbench
from docs.generate import pages
from docs.pages import DOCS, PAGES, ROOT, commands, fences, named
from made_tasks import task_text
from pinchbench.cli import cli
from pinchbench.cli.settings_file import FOLDER_VARIABLE, read_settings
from pinchbench.experiment.experiment_spec import read_experiment
from pinchbench.model.task import Task
from pinchbench.suite.parse import parse_task

MAX_README_LINES = 150


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    shutil.copy(ROOT / ".zensical.toml", tmp_path)
    shutil.copytree(DOCS, tmp_path / "docs")

    argv = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", ".zensical.toml"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / ".site" / "tutorial" / "index.html").exists()


@pytest.mark.parametrize(("path", "text"), pages().items(), ids=lambda one: one.name if isinstance(one, Path) else "")
def test_a_generated_page_is_what_the_code_says(path: Path, text: str) -> None:
    assert path.read_text(encoding="utf-8") == text, "run `make docs`"


@pytest.mark.parametrize(
    ("page", "line"),
    [(named(page), line) for page in PAGES for kind in ("console", "sh", "bash") for line in commands(page, kind)],
)
def test_a_command_in_the_documentation_names_a_command_and_options_that_exist(page: str, line: str) -> None:
    words = shlex.split(line)[1:]
    command: click.Command = cli
    path = ["pinchbench-async"]
    while isinstance(command, click.Group):
        del words[
            : sum(isinstance(one, click.Argument) for one in command.params)
        ]  # of the group, as in `ctl RUN pause`
        name = "run" if command is cli and (not words or words[0].startswith("-")) else words.pop(0)
        found = command.get_command(click.Context(command), name)
        assert found is not None, f"{page}: {line}"
        command = found
        path.append(name)

    command.make_parser(click.Context(command, info_name=" ".join(path))).parse_args(words)


@pytest.mark.parametrize("page", [page for page in PAGES if fences(page, "python")], ids=named)
def test_a_sample_compiles_and_imports_public_names(page: Path) -> None:
    for fence in fences(page, "python"):
        tree = ast.parse(fence, feature_version=(3, 11))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "pinchbench"]
        assert {one.name for node in imports for one in node.names} <= set(pinchbench.__all__)


@pytest.mark.parametrize("sample", fences(DOCS / "guides" / "experiments.md", "yaml"))
def test_a_sample_of_an_experiment_can_be_read(sample: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a judge's")
    (tmp_path / "my-skills").mkdir()
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "careful.md").write_text("Be careful.\n", encoding="utf-8")
    shared = "" if "model:" in sample else "model: mock/m1\n"
    variants = "" if "variants:" in sample else "variants: {a: {}, b: {thinking: high}}\n"
    (tmp_path / "experiment.yaml").write_text(f"{shared}{variants}{sample}", encoding="utf-8")

    assert len(read_experiment(tmp_path / "experiment.yaml").variants) >= 2


def test_the_sample_of_a_settings_file_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [sample] = fences(DOCS / "guides" / "your-model.md", "yaml")
    (tmp_path / "pinchbench.yaml").write_text(sample, encoding="utf-8")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.chdir(tmp_path)

    assert read_settings().endpoints.keys() == {"local"}


def parsed(head: str) -> Task:
    return parse_task(task_text(f"id: task_x\n{head}"), path=Path("task.md")).task


@pytest.mark.parametrize(
    "head", [one for one in fences(DOCS / "guides" / "office-service.md", "yaml") if one[0] != " "]
)
def test_the_sample_of_a_service_can_be_read(head: str) -> None:
    assert parsed(head).services


def test_the_sample_of_a_timeline_can_be_read() -> None:
    [head] = [fence for fence in fences(DOCS / "guides" / "your-tasks.md", "yaml") if "timeline:" in fence]
    assert len(parsed(head).turns) == head.count("  - ") + 1


def test_the_python_page_names_all_that_is_public() -> None:
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")

    assert [name for name in pinchbench.__all__ if f"`{name}`" not in page] == []


@pytest.mark.parametrize("page", [*(page for page in PAGES if DOCS not in page.parents), DOCS / "llms.txt"], ids=named)
def test_what_a_page_outside_the_site_links_to_is_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))

    assert [link for link in links if ":" not in link and not (page.parent / link).exists()] == []


def test_the_release_that_is_cited_is_the_packages() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert (cited["version"], cited["license"]) == (project["version"], project["license"])


def test_the_readme_and_the_tutorial_install_it_in_each_usual_way_none_of_which_needs_a_system_wide_pip() -> None:
    for page in ("README.md", "docs/tutorial.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert all(way in text for way in ("git clone", "pipx install", "uv tool install", "python3 -m venv"))
        assert "$ pip install" not in text


def test_the_readme_is_read_in_a_few_minutes() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= MAX_README_LINES
