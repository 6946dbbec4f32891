"""What a judge sees of files: those of the agent whole, those given with the task as far as the grading needs them."""

import pytest

from judge_questions import blocks_of, file, task
from pinchbench.grading.judge.prompt import ask
from pinchbench.grading.judge.question_blocks import FILE_CHARS, FILE_NAMES, FILES_CHARS, is_others_work


def test_words_and_lines_of_the_agents_files_are_counted_where_their_end_is_known() -> None:
    files = [file("out.md", "Two words.\n\nAnd three\u2028more.\n"), file("log", "only the beginning", size=900)]
    listing = blocks_of(ask(task(), [], [*files, file("in.txt", "a b", given=True)]))["list of files in the workspace"]
    assert "- out.md: 28 bytes, made or changed by the agent, words: 5, lines: 3\n" in listing
    assert "- log: 900 bytes, made or changed by the agent\n" in listing
    assert "- in.txt: 3 bytes, given with the task, unchanged\n" in listing


def test_files_of_the_agent_come_after_given_ones_and_others_by_name_only() -> None:
    files = [file("a.md", "AAA", given=True), file("z.md", "ZZZ"), file("p.png", None, size=77), file("empty", "")]
    question = ask(task(), [], files)
    blocks = blocks_of(question)
    assert [label for label in blocks if label.startswith("file ")] == [
        "file a.md (given with the task, unchanged)",
        "file z.md (made or changed by the agent)",
    ]
    assert "- p.png: 77 bytes, made or changed by the agent, not shown" in blocks["list of files in the workspace"]
    assert "- empty: 0 bytes" in blocks["list of files in the workspace"]
    assert question.cut == ()


def test_files_are_bounded_one_by_one_and_in_all() -> None:
    question = ask(task(), [], [file("data.csv", "x" * FILE_CHARS + "y" * 5, size=88_123)])
    assert question.cut == (f"data.csv after {FILE_CHARS} of 88123 bytes",)
    assert "y" not in blocks_of(question)["file data.csv (made or changed by the agent)"].split("\n")[0]
    many = [file(f"{number:03}.txt", "x" * 30_000) for number in range(20)]
    question = ask(task(), [], [*many, file("zz_brief.md", "the brief"), file("given.md", "unseen" * 100, given=True)])
    assert len(question.material) < FILES_CHARS + 20_000
    assert "the brief" in question.material
    assert "unseen" not in question.material
    assert question.cut[-2:] == ("the ends of 10 more files", "the contents of 1 of 22 text files")


def test_what_lies_near_the_top_is_shown_before_a_heap_of_others_work() -> None:
    heap = [file(f"node_modules/p{number:04}/index.js", "y" * 400) for number in range(400)]
    deep = [file(f"a/b/c/{number:03}.txt", "z") for number in range(50)]
    given = [file("in.txt", "given", given=True)]
    question = ask(task(), [], [*heap, *deep, *given, file("report.md", "THE REPORT " * 1_500)])
    labels = [label.removeprefix("file ") for label in blocks_of(question) if label.startswith("file ")]
    assert labels[0] == "in.txt (given with the task, unchanged)"
    assert all("node_modules" in label for label in labels[1:-51])
    assert labels[-51] == "report.md (made or changed by the agent)"
    assert labels[-50] == "a/b/c/000.txt (made or changed by the agent)"
    assert question.material.count("THE REPORT ") == 1_500
    assert question.cut[0] == f"{452 - FILE_NAMES} of 452 file names"


@pytest.mark.parametrize(
    ("path", "others"),
    [
        ("a/node_modules/x.js", True),
        (".venv/pyvenv.cfg", True),
        (".git/config", True),
        ("src/__pycache__/a.pyc", True),
        ("lib/python3/site-packages/a.py", True),
        ("a-1.0.dist-info/METADATA", True),
        ("node_modules", False),
        ("my_venv/notes.md", False),
        ("out/report.md", False),
    ],
)
def test_folders_that_tools_fill_are_known(path: str, others: bool) -> None:
    assert is_others_work(path) is others
