"""The package as users install it: built from an sdist, next to the libraries that it names and no others."""

import os
import shutil
import subprocess
import sys
import tarfile
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from command_line import clean_environment
from docs.pages import DOCS, ROOT, fences
from fakes import MODEL, fake_openclaw, make_suite
from pinchbench.suite.loading import load_suite

pytestmark = pytest.mark.long

LIMIT_S = 600


def _run(*argv: str | Path, cwd: Path) -> str:
    env = clean_environment(cwd) | {"PINCHBENCH_RUN_ROOT": str(cwd / "run-root")}
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, f"{argv}\n{done.stdout}{done.stderr}"
    return done.stdout


def _needed(name: str, found: dict[str, Requirement]) -> None:
    """Collect what a distribution needs without its extras, and what that needs."""
    for line in distribution(name).requires or ():
        one = Requirement(line)
        if one.name not in found and (one.marker is None or one.marker.evaluate({"extra": ""})):
            found[one.name] = one
            _needed(one.name, found)


def _copy_libraries(site_packages: Path) -> None:
    """Put the libraries in a folder that `pip install` would have put there: no index is asked."""
    found: dict[str, Requirement] = {}
    _needed("pinchbench-async", found)
    for name in found:
        for path in distribution(name).files or ():
            if ".." not in path.parts and "__pycache__" not in path.parts:
                target = site_packages / path
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(path.locate()), target)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment in which the wheel is installed that comes from the sdist."""
    folder = tmp_path_factory.mktemp("package")
    _run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=ROOT)
    [sdist] = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    source = folder / sdist.name.removesuffix(".tar.gz")
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=source)
    [wheel] = folder.glob("*.whl")
    place = folder / "venv"
    venv.create(place, symlinks=True)
    _copy_libraries(next(place.glob("lib/python*/site-packages")))
    python = place / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", f"--python={python}")
    _run(*pip, "install", "--quiet", "--no-index", wheel, cwd=folder)
    return place / "bin"


def test_the_installed_program_has_all_tasks_and_runs_one(installed: Path, tmp_path: Path) -> None:
    program = installed / "pinchbench-async"
    suite = make_suite(tmp_path, {"task_a": "scenario: print hello"})

    assert (installed.parent / "share" / "man" / "man1" / "pinchbench-async.1").is_file()
    assert _run(program, "--version", cwd=tmp_path).split()[-1] == distribution("pinchbench-async").version
    assert len(_run(program, "tasks", "list", cwd=tmp_path).splitlines()) >= len(load_suite(ROOT / "tasks").suite.tasks)
    assert _run(program, "tasks", "check", "--suite=task_00_sanity", cwd=tmp_path)
    chosen = (f"--model={MODEL}", f"--openclaw={fake_openclaw(tmp_path)}", f"--tasks-dir={suite}")
    result = tmp_path / _run(program, *chosen, cwd=tmp_path).strip()
    assert (result.with_suffix("") / "report.html").exists()


def test_the_samples_of_the_python_page_have_the_types_of_the_installed_package(
    installed: Path, tmp_path: Path
) -> None:
    for number, sample in enumerate(fences(DOCS / "reference" / "python.md", "python")):
        (tmp_path / f"sample_{number}.py").write_text(sample, encoding="utf-8")

    mypy = (sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull)
    _run(*mypy, f"--python-executable={installed / 'python'}", *tmp_path.glob("*.py"), cwd=tmp_path)
