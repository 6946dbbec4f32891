"""Writes the suite's table into README.md; run it with `make suite`."""

from pathlib import Path

from pinchbench.suite.load import load_suite
from pinchbench.suite.table import suite_table, with_table

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"

README.write_text(with_table(README.read_text(encoding="utf-8"), suite_table(load_suite(HERE).suite)), encoding="utf-8")
