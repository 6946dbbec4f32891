"""The mutants of results: of each kind of file, and of programs, which are chosen evenly."""

import ast

from pinchbench.authoring.attack.data_mutants import MutantKind
from pinchbench.authoring.attack.mutants import Mutant, choose, file_mutants, python_mutants, shell_mutants, sql_mutants
from pinchbench.authoring.attack.workspace_files import NoFile


def named(path: str, content: bytes, before: bytes | None = None, code: str | None = "") -> dict[str, Mutant]:
    return {one.detail: one for one in file_mutants(path, content, before, code=code, seed="1")}


def test_every_file_can_be_missing_unusable_or_cut() -> None:
    found = named("a/notes.md", b"some text")
    assert set(found) == {"missing", "empty", "folder", "cut", "negated"}
    assert found["missing"].changes == {"a/notes.md": NoFile.ABSENT}
    assert found["cut"].changes == {"a/notes.md": b"some"}
    assert found["cut"].name == "a/notes.md: cut"


def test_each_change_to_a_given_file_is_taken_back_and_only_what_changed_is_mutated() -> None:
    before = b"a = 1\nb = 2\nc = 3\n"
    found = named("x.py", b"a = 1\nb = 5\nc = 3\nd = 7\n", before)
    inner = {detail: one.changes["x.py"] for detail, one in found.items() if detail.startswith("line")}
    assert inner == {
        "line 2 as it was": b"a = 1\nb = 2\nc = 3\nd = 7\n",
        "line 4 as it was": b"a = 1\nb = 5\nc = 3\n",
        "line 2:5, 5 to 6": b"a = 1\nb = 6\nc = 3\nd = 7\n",
        "line 4:5, 7 to 8": b"a = 1\nb = 5\nc = 3\nd = 8\n",
    }
    assert found["stale"].changes == {"x.py": before}


def test_a_text_that_a_judge_reads_can_only_be_missing_or_unusable() -> None:
    assert "42 off by one everywhere" in named("x.md", b"It is 42, they say.", code="42")
    assert set(named("x.md", b"It is 42, they say.", code=None)) == {"missing", "empty", "folder"}


def test_as_many_files_and_kinds_as_possible_are_chosen_and_the_same_ones_each_time() -> None:
    mutants = [
        Mutant(path=path, kind=kind, detail=f"{kind} {number}")
        for path in "ab"
        for kind in (MutantKind.DROPPED, MutantKind.SWAPPED)
        for number in range(10)
    ]
    chosen = choose(mutants, 8, seed="1")
    assert len(chosen) == 8
    assert {(one.path, one.kind) for one in choose(mutants, 4, seed="1")} == {(one.path, one.kind) for one in mutants}
    assert choose(mutants, 8, seed="1") == chosen != choose(mutants, 8, seed="2")
    assert choose(mutants, 100, seed="1") == mutants


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
