"""Detecting, without running it, whether a check's code can run."""

from __future__ import annotations

import symtable
import warnings
from types import CodeType


def check_problem(code: str) -> tuple[int, str] | None:
    """Return the line (from 1, within the code) and the reason why a check can't run; None if it can."""
    try:
        with warnings.catch_warnings():
            # Warnings, such as for an invalid escape in a regular expression, must not reach the terminal.
            warnings.simplefilter("ignore")
            compiled = compile(code, "<check>", "exec", dont_inherit=True)
            # Nearly every check defines it with `def`, and parsing a second time takes as long as the first.
            if any(isinstance(one, CodeType) and one.co_name == "grade" for one in compiled.co_consts):
                return None
            names = symtable.symtable(code, "<check>", "exec")
    except SyntaxError as error:
        lines = code.count("\n") + 1
        return min(max(error.lineno or 1, 1), lines), f"the check is not valid Python: {error.msg}"
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return 1, f"the check is not valid Python: {str(error) or type(error).__name__}"
    grade = names.lookup("grade") if "grade" in names.get_identifiers() else None
    if grade is None or not (grade.is_assigned() or grade.is_imported()):
        return 1, "the check defines no function `grade(transcript, workspace_path)`"
    return None
