"""Fresh forms: a suite whose own program has made its tasks' data, particulars and answers anew, from a seed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.errors import SelectionError, SuiteError
from pinchbench.files.folders import remove_folder
from pinchbench.files.user_data import data_dir
from pinchbench.suite.loading import load_suite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinchbench.model.task import LoadedSuite, Task

PROGRAM = "__main__.py"  # in the suite's folder
NEEDED_VARIABLE = "PINCHBENCH_FORM_TASKS"  # for the suite's program: ids separated by commas; empty: all
TIME_LIMIT_S = 900.0  # a form of the bundled suite takes 30 s of CPU, and minutes on a busy machine
DIGITS_SHOWN = 12
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TMPDIR")  # for the suite's program, which needs no keys of the user


@dataclass(frozen=True, kw_only=True, slots=True)
class FormTasks:
    """The tasks that were selected, as they are in a form of their suite, and the ids of those that have none."""

    loaded: LoadedSuite
    tasks: tuple[Task, ...]
    left_out: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """A sentence on the tasks that are left out; empty without."""
        return f"Left out, as they have no fresh forms: {', '.join(self.left_out)}." if self.left_out else ""


def suite_root(folder: Path, form: int | None) -> Path:
    """Return the folder of a suite's form, which is made unless it is there; for None, the suite's own. Blocks.

    The same suite and seed give the same files. They lie with the user's data, out of the agents' sight.

    Raises SuiteError if the suite can't make one.
    """
    if form is None:
        return folder
    if not (folder / PROGRAM).is_file():
        raise SuiteError(f"The suite in {folder} makes no fresh forms: it has no {PROGRAM}. Omit --form.")
    target = form_folder(folder, form)
    forms = target.parent
    if target.is_dir():
        return target
    try:
        forms.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".", dir=forms))
    except OSError as error:
        raise SuiteError(f"No form can be written to {forms}: {error.strerror}.") from error
    try:
        write_form(folder, form, made)
        made.rename(target)
    except OSError as error:
        if not target.is_dir():  # else another process was faster
            raise SuiteError(f"The form {form} can't be written to {target}: {error.strerror}.") from error
    finally:
        if made.exists():
            remove_folder(made)
    return target


def form_folder(folder: Path, form: int) -> Path:
    """Return where a suite's form is kept once it is made. Blocks. Raises SuiteError if the suite can't be read."""
    return data_dir() / "forms" / f"{_digest(folder)[:DIGITS_SHOWN]}-{form}"


def write_form(folder: Path, form: int, target: Path, *, needed: Sequence[str] = ()) -> None:
    """Have a suite's own program write a form into an empty folder. Blocks, for seconds. Raises SuiteError.

    `needed` has the ids of the tasks that will be looked at. The program gets them, and may leave out the others.
    """
    command = [sys.executable, "-I", "-B", str(folder), "--form", str(form), str(target)]
    environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=TIME_LIMIT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**environment, NEEDED_VARIABLE: ",".join(needed)},
        )
    except subprocess.TimeoutExpired as error:
        raise SuiteError(f"{folder / PROGRAM} has not made the form {form} within {TIME_LIMIT_S:.0f} s.") from error
    except OSError as error:
        raise SuiteError(f"{folder / PROGRAM} can't be started: {error.strerror}.") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise SuiteError(f"{folder / PROGRAM} could not make the form {form}: {said or 'it gave no reason'}")


def load_form(form: int, named: FormTasks) -> FormTasks:
    """Make a suite's form, and return those of the named tasks that it has. Blocks.

    Raises SuiteError, and SelectionError if it has none of them.
    """
    if named.loaded.suite.parts:
        raise SelectionError("--form goes with one suite: name the tasks of one with --suite.")
    return tasks_of_form(suite_root(named.loaded.suite.root, form), named)


def tasks_of_form(folder: Path, named: FormTasks) -> FormTasks:
    """Return those of the named tasks that a form in a folder has. Blocks. Raises as `load_form` does."""
    loaded = load_suite(folder, suite_format=named.loaded.suite.format)
    there = loaded.suite.by_id
    task_ids = [task.task_id for task in named.tasks]
    left_out = tuple(sorted(set(task_ids) - there.keys()))
    if len(left_out) == len(task_ids):
        raise SelectionError(
            f"None of these tasks has fresh forms: {', '.join(left_out)}. Those that have: {', '.join(there)}."
        )
    tasks = tuple(there[task_id] for task_id in task_ids if task_id in there)
    return FormTasks(loaded=loaded, tasks=tasks, left_out=left_out)


def _digest(folder: Path) -> str:
    """Return a SHA-256 over the files that a form is made from. Links that lead nowhere, or to folders, don't count."""
    digest = hashlib.sha256()
    try:
        files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        for path in sorted(files):
            digest.update(hashlib.sha256(path.relative_to(folder).as_posix().encode()).digest())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    except OSError as error:
        raise SuiteError(f"{error.filename} can't be read: {error.strerror}.") from error
    return digest.hexdigest()
