"""Writes the suite's fixtures, the same on every run: `python3 tasks/generators [FOLDER]`, by default into `tasks/assets`;
or a fresh form of the suite's tasks: `python3 tasks/generators --form SEED FOLDER`.

Every other module here makes the files of one folder of `assets/`: its `files()` maps paths below `assets/` to bytes. One
that has `TASK`, the id of its task, makes fresh forms: `files(seed)`, `expected(seed)` and `particulars(seed)` take a seed,
and `SEED` is that of the public form.
`openpyxl`, `reportlab` and git are needed, which the development packages and the system bring.
"""

import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from craft.form import write_form

HERE = Path(__file__).resolve().parent


def modules() -> list[ModuleType]:
    return [import_module(path.stem) for path in sorted(HERE.glob("[a-z]*.py"))]


def modules_of_form() -> list[ModuleType]:
    """Return those whose tasks are needed, or all that have forms if nothing is said or none of them is needed."""
    able = [one for one in modules() if hasattr(one, "TASK")]
    needed = os.environ.get("PINCHBENCH_FORM_TASKS", "").split(",")
    return [one for one in able if one.TASK in needed] or able


def write_fixtures(folder: Path) -> None:
    for module in modules():
        for place, data in module.files().items():
            path = folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            # Bytes, because text mode would write other line ends on some systems.
            path.write_bytes(data)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--form"]:
        write_form(modules_of_form(), HERE.parent, int(sys.argv[2]), Path(sys.argv[3]))
    else:
        write_fixtures(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "assets")
