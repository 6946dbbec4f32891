"""What checks import, and canaries, which show that an agent has seen what it must not."""

from pathlib import Path

import pytest

from pinchbench.suite.check_code import check_problem, find_canary, needed_modules, own_modules


@pytest.mark.parametrize(
    ("code", "needed"),
    [
        ("import json, os.path\nimport gone, pandas.core", ("gone", "pandas")),
        ("def grade(t, w):\n    from gone.deep import x\n", ("gone",)),
        ("import mine, other", ("other",)),
        ("import os as o, gone", ("gone",)),
        ("from \\\n gone \\\n import x", ("gone",)),
        ("pass; import gone  # from the, import theirs", ("gone",)),
        ("try: import gone\nexcept ImportError: gone = None", ()),
        ("try:\n    import gone\nexcept (OSError, Exception):\n    pass", ()),
        ("try: import gone\nexcept OSError: pass", ("gone",)),
        ("try: import openpyxl\nexcept: openpyxl = None", ("openpyxl",)),  # the score would depend on the machine
        ("try: import pypdf\nexcept ImportError: import PyPDF2 as pypdf", ()),
        ("try: import tomllib\nexcept ImportError: import tomli", ()),
        ("import sys\ndef grade(t, w):\n    sys.path.insert(0, w)\n    import theirs, numpy\n", ("numpy",)),
        ("TEXT = 'import gone'", ()),
        ("def grade(t, w):\n    def inner():\n        import gone.deep\n", ("gone",)),
        ("def grade(t, w, load=None):\n    return __import__('gone.deep')", ("gone",)),
        ("import importlib\ndef grade(t, w):\n    return importlib.import_module('gone.deep')", ("gone",)),
        ("return\nimport gone", ()),  # it parses, and does not compile
        ("import gone\ndef (", ()),
    ],
)
def test_modules_without_which_a_check_can_not_grade_are_needed(code: str, needed: tuple[str, ...]) -> None:
    assert needed_modules(code, own={"mine"}) == needed


def test_own_modules_are_found_with_what_they_import(tmp_path: Path) -> None:
    (tmp_path / "lib_a.py").write_text("from lib_b import x\nimport lib_a\n", encoding="utf-8")
    (tmp_path / "lib_b").mkdir()
    (tmp_path / "lib_b" / "__init__.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "lib_c.py").write_text("", encoding="utf-8")
    code = "try:\n    from lib_a import x as y\nexcept Exception:\n    pass"
    assert own_modules(code, tmp_path) == (tmp_path / "lib_a.py", tmp_path / "lib_b")
    assert own_modules(code, tmp_path / "none") == ()


CANARY = f"pinchbench-canary-{0x1D8B37:032x}"


@pytest.mark.parametrize("size", [1, 2, 7, 49, 50, 51, 1000])
def test_a_canary_is_found_however_its_text_is_divided(size: int) -> None:
    text = f"# {CANARY} and more".encode()

    assert find_canary(text[at : at + size] for at in range(0, len(text), size)) == CANARY


def test_a_check_that_would_have_to_be_awaited_can_not_run() -> None:
    code = "import json\n\nasync def grade(transcript, workspace_path):\n    return {}\n"
    assert check_problem(code) == (3, "`grade` is asynchronous, and nothing would await it: write `def grade`")
    assert check_problem(f"{code}\ndef grade(transcript, workspace_path):\n    return {{}}\n") is None


@pytest.mark.parametrize(
    "takes",
    [
        *(
            "transcript, workspace_path",
            "t, w, extra=None",
            "w",
            "*both",
            "**named",
            "workspace_path, transcript, chat",
        ),
        *("transcript=None, workspace_path=''", "transcript, workspace_path, *, more=1", "workspace_path, **rest"),
        "*, transcript, workspace_path, chat",
    ],
)
def test_a_check_may_take_what_it_is_given_in_several_ways(takes: str) -> None:
    assert check_problem(f"def grade({takes}):\n    return {{}}\n") is None


def test_a_decorator_may_give_a_check_what_it_needs_besides() -> None:
    assert check_problem("@with_more\ndef grade(transcript, workspace_path, more):\n    return {}\n") is None


@pytest.mark.parametrize(
    ("takes", "lacking"),
    [
        ("transcript, workspace_path, meta", "meta"),
        ("meta, transcript, workspace_path, other", "meta"),
        ("transcript, workspace_path, *, port", "port"),
        ("*, transcript, workspace_path, more=1, port", "port"),
        ("t, w, audit, log=None", "audit"),
    ],
)
def test_a_check_that_needs_more_than_it_is_given_can_not_run(takes: str, lacking: str) -> None:
    found = check_problem(f"P = '\\d'\n\ndef grade({takes}):\n    return {{}}\n")
    said = "which this runner does not give: it calls `grade(transcript, workspace_path)`"
    assert found == (3, f"`grade` needs `{lacking}`, {said}")
