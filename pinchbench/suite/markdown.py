"""Markdown: the parts of a task file, and a suite as a table (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinchbench.model.task import Suite, Task, Tier
from pinchbench.suite.yaml_nodes import misspelt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


# A fence may open after a list marker; otherwise its end would be read as an opening.
_FENCE_OPEN = re.compile(
    r"(?P<indent> {0,3}(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<marks>`{3,}|~{3,})(?P<info>.*)",
)
_FENCE_CLOSE = re.compile(r" *(?P<marks>`{3,}|~{3,}) *")
_HEADING = re.compile(r" {0,3}(?P<marks>##?)[ \t\xa0\u3000](?P<title>.*)")
_DECORATION = re.compile(r"[\W\d_]*(?P<title>.*?)[\W_]*")
# Sections that a judge reads, which a task can have without: a misspelt title must not empty them.
_FOR_JUDGES = frozenset({"expected behavior", "grading criteria", "llm judge rubric"})
# Titles of further sections, without marks around them and remarks in brackets, that are for graders: agents must not
# see the answer. Other PinchBench runners end the prompt there too, so that no agent needs what follows.
_ANSWER = r"(?:answer|solution)s?"
_FOR_GRADERS = re.compile(
    r".*\b(?:rubric|ground truth|answer key|marking scheme|for (?:the )?(?:grader|judge|evaluator)s?(?: only)?)|"
    r"(?:grad(?:er|ing)|hidden) (?:answers?|checks?|criteria|guide(?:lines)?|key|logic|notes?|rules|scheme|tests?)|"
    rf"{_ANSWER}|solution (?:code|notes?|outline|script|sketch|steps)|"
    rf"(?:\w+ )*(?:reference|model|sample|example|correct|gold(?:en)?|ideal|possible|suggested|full) {_ANSWER}|"
    r"(?:expected|reference|correct|gold(?:en)?|ideal) (?:answer|behaviou?r|outcome|output|response|result|solution)s?|"
    r"(?:参考|參考|标准|標準|正确|正確)?(?:答案|解答)|(?:评分|評分)(?:标准|標準)|(?:预期|預期)(?:输出|輸出|结果|結果|行为|行為)"
)
_REMARK = re.compile(r"\s*[(\[（].*[)\]）]\s*")
_HTML_BLOCK = re.compile(r" {0,3}<(?:!--|(?P<tag>pre|script|style|textarea)\b)", re.IGNORECASE)
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+$")
_FIRST_INDENTED_CODE_COLUMN = 4
# The sections of the Markdown formats. In a prompt, any other heading is part of its text.
SECTIONS = frozenset(
    {
        *("prompt", "expected behavior", "grading criteria", "automated checks", "llm judge rubric"),
        *("additional notes", "simulated user", "workspace path", "skills", "env", "warmup", "sub-problems"),
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeFence:
    """A fenced block. `line` is the file's line of the opening marks; `closed` says whether an end was found."""

    line: int
    language: str
    text: str
    closed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """The contents below one `##` heading: `line` is the heading's line in the file, `text_line` that of the text."""

    title: str
    line: int
    text_line: int
    text: str
    fences: tuple[CodeFence, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A parsed Markdown file.

    `head` is the YAML between the `---` lines (None if there is no head) and starts on `head_line`. `sections` are
    keyed by their titles in lower case; if a title is repeated the last section counts, as in other PinchBench runners.
    Numbers before a known title, colons after it and marks around it are left out.
    `open_fence` is the line of a fence that is never closed. `prompt_heading` is the line of the first `##` within the
    prompt, in a fence or the heading of no known section: other PinchBench runners cut the prompt there. `answers` are
    the lines of headings of sections that are for graders and that no format has.
    """

    head: str | None
    head_line: int
    sections: dict[str, Section]
    open_fence: int | None
    prompt_heading: int | None
    answers: tuple[int, ...]


def read_document(text: str) -> Document:
    """Split a Markdown text into head and sections. Accepts any text, including a BOM and CRLF."""
    lines = _lines(text)
    head, head_line, body_start = _split_head(lines)
    found = list(_sections(lines, body_start))
    sections = {meant: section for section in found if (meant := _misspelt_key(section.title)) in _FOR_JUDGES}
    sections |= {_key(section.title): section for section in found}
    unclosed = (fence.line for section in sections.values() for fence in section.fences if not fence.closed)
    prompt = sections.get("prompt")
    inner = prompt.text.split("\n") if prompt else ()
    kept = next((number for number, line in enumerate(inner) if line.startswith(("## ", "##\t"))), None)
    return Document(
        head=head,
        head_line=head_line,
        sections=sections,
        open_fence=next(unclosed, None),
        prompt_heading=None if kept is None or prompt is None else prompt.text_line + kept,
        answers=tuple(one.line for one in found if not _is_known(_key(one.title)) and _is_for_graders(one.title)),
    )


def read_head(text: str) -> str | None:
    """Return only the head, as `read_document` does, for texts that may not be tasks."""
    return _split_head(_lines(text))[0]


def split_fences(text: str) -> tuple[str, tuple[CodeFence, ...]]:
    """Return the text outside the fences, and the fences."""
    lines = _lines(text)
    fences: list[CodeFence] = []
    outside: list[str] = []
    number = 0
    while number < len(lines):
        if opening := _fence_opening(lines[number]):
            fence, number = _read_fence(lines, number, opening)
            fences.append(fence)
        else:
            outside.append(lines[number])
            number += 1
    return "\n".join(outside), tuple(fences)


def _lines(text: str) -> Sequence[str]:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _split_head(lines: Sequence[str]) -> tuple[str | None, int, int]:
    """Return the head, None without one, its line from 1, and the index of the first line after it."""
    start = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if lines[start].rstrip() == "---":
        for end in range(start + 1, len(lines)):
            if lines[end].rstrip() == "---":
                return "\n".join(lines[start + 1 : end]), start + 2, end + 1
    return None, start + 2, 0


def _sections(lines: Sequence[str], start: int) -> Iterator[Section]:
    title, first = "", start
    fences: list[CodeFence] = []

    def section(end: int) -> Section:
        text = "\n".join(lines[first:end])
        begin = first + 1 + text[: len(text) - len(text.lstrip())].count("\n")
        return Section(title=title, line=first, text_line=begin, text=text.strip(), fences=tuple(fences))

    number = start
    while number < len(lines):
        if opening := _fence_opening(lines[number]):
            fence, number = _read_fence(lines, number, opening)
            fences.append(fence)
            continue
        if (end := _html_end(lines, number)) is not None:
            number = end + 1
            continue
        if heading := _HEADING.fullmatch(lines[number]):
            found = _CLOSING_HASHES.sub("", heading["title"].strip())
            is_second = heading["marks"] == "##"
            if _key(title) == "prompt":
                is_end = _is_for_graders(found) or (is_second and _is_known(_key(found)))
            else:
                is_end = is_second
            if is_end:
                yield section(number)
                title, first, fences = found, number + 1, []
        number += 1
    yield section(len(lines))


def _html_end(lines: Sequence[str], start: int) -> int | None:
    """Return the index of the line that ends the comment, or the preformatted HTML, that begins at `start`."""
    opening = _HTML_BLOCK.match(lines[start])
    if opening is None:
        return None
    mark = f"</{opening['tag'].lower()}>" if opening["tag"] else "-->"
    return next((number for number in range(start, len(lines)) if mark in lines[number].lower()), None)


def _key(title: str) -> str:
    """Return a title in small letters, without a number before it, a colon after it, or marks around it."""
    bare = _DECORATION.fullmatch(" ".join(title.lower().split()))
    return bare["title"] if bare is not None and bare["title"] in SECTIONS else " ".join(title.lower().split())


def _misspelt_key(title: str) -> str:
    """Return the known section that a title misspells, such as `Expected Behaviour`; empty without one."""
    found = misspelt([_key(title)], known=SECTIONS)
    return found[0][1] if found else ""


def _is_known(key: str) -> bool:
    """Return whether a title is that of a section of the formats, even misspelt."""
    return key in SECTIONS or _misspelt_key(key) != ""


def _is_for_graders(title: str) -> bool:
    bare = _DECORATION.fullmatch(_REMARK.sub("", _key(title)))
    return bare is not None and _FOR_GRADERS.fullmatch(bare["title"]) is not None


def _fence_opening(line: str) -> re.Match[str] | None:
    opening = _FENCE_OPEN.fullmatch(line) if "```" in line or "~~~" in line else None
    # More backticks on the same line mean inline code, not a fence.
    return None if opening and opening["marks"][0] == "`" and "`" in opening["info"] else opening


def _read_fence(lines: Sequence[str], start: int, opening: re.Match[str]) -> tuple[CodeFence, int]:
    """Read the fence that opens at index `start`; return it and the index after it."""
    marks, indent = opening["marks"], len(opening["indent"])

    def ends(line: str) -> bool:
        closing = _FENCE_CLOSE.fullmatch(line.expandtabs(4))
        if closing is None or closing["marks"][0] != marks[0] or len(closing["marks"]) < len(marks):
            return False
        return closing.start("marks") < indent + _FIRST_INDENTED_CODE_COLUMN

    end = next(
        (number for number in range(start + 1, len(lines)) if marks in lines[number] and ends(lines[number])), None
    )
    stop = len(lines) if end is None else end
    inner = lines[start + 1 : stop]
    content = "\n".join([_unindented(line, indent) for line in inner] if indent else inner)
    words = opening["info"].lower().split()
    language = words[0] if words else ""
    return CodeFence(line=start + 1, language=language, text=content, closed=end is not None), stop + 1


def _unindented(line: str, indent: int) -> str:
    """Remove at most as many leading spaces as the fence has."""
    return line[min(indent, len(line) - len(line.lstrip(" "))) :]


BEGIN = "<!-- The table: made by `pinchbench-async tasks list --markdown`. -->"
END = "<!-- The end of the table. -->"


def suite_table(suite: Suite) -> str:
    """Return a table with one row per task; core tasks are bold, hard ones in italics.

    The columns are id, title, what a person asks, what a low score says, time limit, and a person's minutes.
    """
    core = set(suite.core)
    head = "| task | title | a person asks | a low score says | limit | person |\n|---|---|---|---|--:|--:|\n"
    return head + "".join(_row(task, is_core=task.task_id in core) for task in suite.tasks)


def _row(task: Task, *, is_core: bool) -> str:
    mark = "**" if is_core else "*" if task.tier is Tier.HARD else ""
    name = f"{mark}{_cell(task.task_id)}{mark}"
    asks, low_score = (_cell(str(task.frontmatter.get(key, ""))) for key in ("asks", "low_score"))
    minutes = task.frontmatter.get("human_minutes")
    person = "" if minutes is None else _cell(f"{minutes} min")
    cells = (name, _cell(task.name), asks, low_score, f"{task.timeout_s:g} s", person)
    return f"| {' | '.join(cells)} |\n"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def with_table(text: str, table: str) -> str:
    """Return the text with the part between BEGIN and the next END replaced by the table.

    Raises ValueError if one of the marks is missing.
    """
    before, found, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not found or not end:
        raise ValueError(f"the marks {BEGIN} and {END} are missing")
    return f"{before}{BEGIN}\n\n{table}\n{END}{after}"
