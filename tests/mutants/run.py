# ruff: noqa: T201 - it prints a table
"""How many mutants of the package do the tests notice? `python tests/mutants/run.py [--stage NAME] [STORY ...]`.

Each mutant is applied to a copy of the checkout, in which the test files that should notice it run until one fails.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from mutants.table import MUTANTS  # noqa: E402 - a program has only its own folder on the path
from stages import STAGES, WORKERS  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mutants.table import Mutant

# By stage, the marks of the tests that may notice.
MARKS = {"all": ""} | {
    name: " or ".join(f"({selection.marks})" for selection in stage.selections) for name, stage in STAGES.items()
}
TEST_LIMIT_S = 300
LIMIT_S = 600  # for the named tests of one mutant
WHOLE_LIMIT_S = 5400  # for all tests of a stage
ENDLESS = "a test that does not end"


def module_of(mutant: Mutant, root: Path = ROOT) -> Path:
    """Return the one module that has the mutant's text. Raises ValueError if there is no such module, or several."""
    found = [path for path in (root / "pinchbench").rglob("*.py") if mutant.find in path.read_text(encoding="utf-8")]
    if len(found) != 1 or found[0].read_text(encoding="utf-8").count(mutant.find) != 1:
        raise ValueError(f"{mutant.find!r} must occur exactly once in the package; it is in {len(found)} modules.")
    return found[0]


def files_with_tests(mutant: Mutant, root: Path = ROOT) -> list[Path]:
    """Return the test files that should notice the mutant. Raises ValueError if one is missing."""
    found = [root / "tests" / f"{name}.py" for name in mutant.tests]
    if missing := [str(path) for path in found if not path.is_file()]:
        raise ValueError(f"{mutant.story!r} should be noticed by tests that do not exist: {', '.join(missing)}")
    return found


def copy_checkout(folder: Path) -> Path:
    """Copy what git tracks to a folder, with an environment that imports the copy; return its Python."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    venv.create(folder / ".venv", symlinks=True)
    packages = next(folder.glob(".venv/lib/python*/site-packages"))
    paths = [str(folder), *(path for path in sys.path if path.endswith("site-packages"))]
    (packages / "copy.pth").write_text("\n".join(paths), encoding="utf-8")
    return folder / ".venv" / "bin" / "python"


def failing_test(python: Path, folder: Path, tests: Sequence[str], *, marks: str, limit_s: float) -> str | None:
    """Run tests in the copy; return the first that fails, or None.

    Raises RuntimeError if pytest fails otherwise.
    """
    command = [str(python), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--timeout", str(TEST_LIMIT_S)]
    command.append("--hypothesis-seed=0")  # the same draws each time
    try:
        done = subprocess.run(
            [*command, "-n", "0" if tests else str(WORKERS), "-m", marks, *tests],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ENDLESS
    if done.returncode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return None
    for line in done.stdout.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split(" - ")[0].partition(" ")[2]
    if "+++ Timeout +++" in done.stdout:
        return ENDLESS
    raise RuntimeError(f"pytest failed without a failing test:\n{done.stdout[-3000:]}")


def killed_by(mutant: Mutant, folder: Path, python: Path, marks: str, *, whole: bool) -> str | None:
    """Return the test that notices the mutant: one of the named files, or, with `whole`, of all; None if none does."""
    module = module_of(mutant, folder)
    original = module.read_text(encoding="utf-8")
    named = [str(path.relative_to(folder)) for path in files_with_tests(mutant, folder)]
    try:
        _rewrite(module, original.replace(mutant.find, mutant.replace))
        test = failing_test(python, folder, named, marks=marks, limit_s=LIMIT_S)
        if test is None and whole:
            test = failing_test(python, folder, (), marks=marks, limit_s=WHOLE_LIMIT_S)
    finally:
        _rewrite(module, original)
    if test in (None, ENDLESS) or failing_test(python, folder, [test], marks="", limit_s=LIMIT_S) is None:
        return test
    print(f"{test} fails without a mutant, too.", flush=True)
    return None


def _rewrite(module: Path, text: str) -> None:
    module.write_text(text, encoding="utf-8")
    for compiled in module.parent.glob(f"__pycache__/{module.stem}.*"):
        compiled.unlink()  # the time and the size of a changed module may be the same


def main() -> int:
    """Try the mutants; return 1 if fewer are noticed than wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stage", choices=MARKS, default="test", help="the tests that may notice (default: test)")
    parser.add_argument("--whole", action="store_true", help="run the whole stage where the named tests do not notice")
    parser.add_argument("--at-least", type=int, default=0, help="exit with 1 if fewer are noticed")
    parser.add_argument("story", nargs="*", help="parts of the stories of those to try (default: all)")
    options = parser.parse_args()
    chosen = [one for one in MUTANTS if not options.story or any(part in one.story for part in options.story)]
    killed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)  # some tests are those of another user
        python = copy_checkout(folder)
        for mutant in chosen:
            began = time.monotonic()
            by = killed_by(mutant, folder, python, MARKS[options.stage], whole=options.whole)
            killed += by is not None
            print(f"{time.monotonic() - began:6.1f} s  {mutant.story}: {by or 'NOT NOTICED'}", flush=True)
    print(f"{killed} of {len(chosen)} mutants are noticed by the tests of the stage {options.stage}.")
    return 1 if killed < options.at_least else 0


if __name__ == "__main__":
    sys.exit(main())
