"""The suite's own program; `make suite` runs it after changes of tasks.

`python tasks` writes what is made: the fixtures, the right answers in the checks, and the table in README.md.
`python tasks FOLDER` writes the fixtures alone, below another folder.
`python tasks --form SEED FOLDER` writes a fresh form of the suite; `PINCHBENCH_FORM_TASKS` may name the tasks that are needed.

The `generate.py` of a task has `files()`, which maps places in the task's `files` to bytes, and where one answer is right
`expected()`, that answer as JSON can hold it. One with `SEED`, that of the public form, makes fresh forms: `files(seed)`,
`expected(seed)` and `particulars(seed)` take a seed.
`openpyxl`, `reportlab` and git are needed, which the development packages and the system bring.
"""

import os
import sys
from pathlib import Path

from craft.form import expected_texts, generators, write_form

HERE = Path(__file__).resolve().parent


def write_fixtures(folder: Path) -> None:
    for task, module in generators(HERE).items():
        for place, data in module.files().items():
            path = folder / task / "files" / place
            path.parent.mkdir(parents=True, exist_ok=True)
            # Bytes, because text mode would write other line ends on some systems.
            path.write_bytes(data)


def write_all() -> None:
    # Needs the package, which a fresh form does without.
    from pinchbench.suite.loading import load_suite
    from pinchbench.suite.markdown import suite_table, with_table

    write_fixtures(HERE)
    for path, text in expected_texts(HERE).items():
        path.write_text(text, encoding="utf-8")
    readme = HERE / "README.md"
    readme.write_text(
        with_table(readme.read_text(encoding="utf-8"), suite_table(load_suite(HERE).suite)), encoding="utf-8"
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            write_all()
        case ["--form", seed, folder]:
            write_form(HERE, int(seed), Path(folder), os.environ.get("PINCHBENCH_FORM_TASKS", "").split(","))
        case [folder]:
            write_fixtures(Path(folder))
        case _:
            sys.exit("usage: python tasks [FOLDER | --form SEED FOLDER]")
