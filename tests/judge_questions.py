"""Questions to a judge as tests make and read them: tasks, events of a transcript, files, and blocks."""

import re
from collections.abc import Sequence

from made_tasks import made_task
from pinchbench.grading.judge.prompt import Question
from pinchbench.grading.judge.question_blocks import FileView
from pinchbench.model.task import GradingType, Task

Event = dict[str, object]
USAGE = {"input": 7001, "output": 7002, "cacheRead": 7003, "totalTokens": 7004, "cost": {"total": 0.7005}}


def task(rubric: str | None = None, criteria: Sequence[str] = (), **more: object) -> Task:
    fields = {"grading_type": GradingType.HYBRID, "llm_judge_rubric": rubric, "grading_criteria": tuple(criteria)}
    return made_task(**{**fields, **more})


def message(role: str, content: object = "", **more: object) -> Event:
    return {"type": "message", "id": "1", "timestamp": "t", "message": {"role": role, "content": content, **more}}


def said(text: str, **more: object) -> Event:
    return message("assistant", [{"type": "text", "text": text}], provider="PROVIDER", model="MODEL", **more)


def called(name: str, arguments: object) -> Event:
    part = {"type": "toolCall", "id": "c", "name": name, "arguments": arguments}
    return message("assistant", [part], provider="PROVIDER", model="MODEL", usage=USAGE, stopReason="toolUse")


def file(path: str, text: str | None = "x", *, given: bool = False, size: int | None = None) -> FileView:
    return FileView(path=path, size=len(text or "") if size is None else size, text=text, given=given)


def mark_of(question: Question) -> str:
    found = re.search(r"the mark ([0-9a-f]{16}) ", question.material)
    assert found is not None
    return found[1]


def blocks_of(question: Question) -> dict[str, str]:
    """The contents of the blocks by label, as somebody reads them who follows the marks only."""
    mark = mark_of(question)
    pattern = rf"^===== {mark} BEGIN (.*) =====\n((?:(?!^===== {mark} ).*\n)*)^===== {mark} END \1 =====$"
    return {found[1]: found[2] for found in re.finditer(pattern, question.material, re.MULTILINE)}
