"""Dockerfiles that make nothing but a folder with files."""

from pathlib import PurePosixPath

import pytest

from pinchbench.suite.formats.dockerfile import read_dockerfile


def test_working_directories_copies_and_variables_are_read() -> None:
    image = read_dockerfile(
        'FROM ubuntu\nWORKDIR /a\nWORKDIR b\nCOPY ["x y", "z", "/a/b/c/"]\nCOPY . .\nENV A=1 B="two words"\n'
        "ENV C see d\n"
    )
    assert (image.workdir, image.problems) == (PurePosixPath("/a/b"), [])
    assert image.env == {"A": "1", "B": "two words", "C": "see d"}
    assert [(copy.sources, str(copy.dest), copy.is_into) for copy in image.copies] == [
        (("x y", "z"), "/a/b/c", True),
        ((".",), "/a/b", True),
    ]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", 1, "no FROM"),
        ("# escape=`\nFROM debian\n", 1, "ESCAPE"),
        ("FROM debian\nCOPY x\n", 2, "needs a source and a place"),
        ("FROM debian\nCOPY <<END /x\n", 2, "options"),
        ("FROM debian\nENV =x\n", 2, "NAME=VALUE"),
        ("FROM debian\nADD x y\n", 2, "ADD builds"),
        ("ARG TAG=12\nFROM debian\n", 1, "values that are given when its image is built (ARG)"),
        ("FROM debian\nHEALTHCHECK CMD test $X\n", 2, "a service that is up before the agent starts (HEALTHCHECK)"),
        ("FROM debian\nUSER roots\n", 2, "a user of its own (USER)"),
        ("FROM --platform=linux/amd64 node:24\n", 1, "needs the image node:24"),
        ("FROM debian\n\nRUN a && \\\n  b\n", 3, "RUN builds"),
    ],
)
def test_what_is_not_understood_is_a_problem_with_its_line(text: str, line: int, reason: str) -> None:
    [(found, said)] = read_dockerfile(text).problems
    assert (found, reason in said) == (line, True), said
