"""Detecting Markdown files that are templates for authors, not tasks (pure)."""

from __future__ import annotations

import re

_TEMPLATE_ID = re.compile(r"(?:^|_)XX(?:_|$)")
_WORD = re.compile(r"[a-z]+")


def is_template(stem: str, task_id: str) -> bool:
    """Return whether a file is a template: its id says so, or its name does and differs from its id.

    `stem` is the file's name without `.md`. `TASK_TEMPLATE` and `task0_template` are always templates, whatever their
    id; `task_12_email_template` with the same id is a task about a template.
    """
    words = set(_WORD.findall(stem.lower()))
    is_named_so = "template" in words and (words <= {"task", "template"} or task_id != stem)
    return is_named_so or is_template_id(task_id)


def is_template_id(task_id: str) -> bool:
    """Return whether an id such as `task_XX_name` marks a file as a template."""
    return _TEMPLATE_ID.search(task_id) is not None
