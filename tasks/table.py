"""Writes the tables into README.md: the suite's, and those of what was measured; run it with `make suite`."""

from pathlib import Path

from measured import BEGIN_SIMPLE, BEGIN_STRONG, hard_tasks, measured, simple_table, strong_table

from pinchbench.suite.load import load_suite
from pinchbench.suite.table import suite_table, with_table

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"


def with_tables(text: str) -> str:
    """Return the text of the README with all its tables as they have to be now."""
    strong, simple = measured()
    text = with_table(text, suite_table(load_suite(HERE).suite))
    text = with_table(text, strong_table(strong, hard_tasks()), begin=BEGIN_STRONG)
    return with_table(text, simple_table(simple), begin=BEGIN_SIMPLE)


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")
