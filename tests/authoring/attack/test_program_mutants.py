"""Mistakes in programs."""

import ast

from pinchbench.authoring.attack.program_mutants import python_mutants, shell_mutants, sql_mutants

PROGRAM = '''"""Ä docstring with 1 == 2."""


def f(a, b):
    """More: 3."""
    if a < b and not (a is not None):
        return a + 1
    return "é" in b
'''


def test_operators_numbers_and_results_of_a_python_program_are_changed() -> None:
    found = {mutant.detail: mutant.text for mutant in python_mutants(PROGRAM)}
    assert found.keys() == {
        "line 6:10, < to <=",
        "line 6:14, and to or",
        "line 6:25, is not to is",
        "line 7:16, the result to None",
        "line 7:18, + to -",
        "line 7:20, 1 to 2",
        "line 8:12, the result to None",
        "line 8:17, in to not in",
    }
    assert found["line 8:17, in to not in"] == PROGRAM.replace('"é" in', '"é" not in')
    for text in found.values():
        ast.parse(text)


def test_queries_get_other_comparisons_and_no_other_texts() -> None:
    query = "SELECT DISTINCT a -- more than 5\nFROM t LEFT JOIN u WHERE b >= 10 AND c = '<9' ORDER BY a DESC"
    assert [mutant.detail for mutant in sql_mutants(query)] == [
        "line 1:8, DISTINCT to nothing",
        "line 2:8, LEFT JOIN to JOIN",
        "line 2:28, >= to >",
        "line 2:31, 10 to 11",
        "line 2:34, AND to OR",
        "line 2:58, DESC to ASC",
    ]


def test_scripts_get_other_tests_and_comments_stay() -> None:
    script = '#!/bin/sh\n# 5 && 6\nif [ -f "$1" ] && [ "$n" -lt 30 ]; then exit 2; fi\n'
    assert [mutant.detail for mutant in shell_mutants(script)] == [
        "line 3:6, -f to -d",
        "line 3:16, && to ||",
        "line 3:26, -lt to -le",
        "line 3:30, 30 to 31",
        "line 3:46, 2 to 3",
    ]
