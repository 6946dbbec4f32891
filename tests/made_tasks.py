"""Tasks as values and as files, of which a test states only what matters to it."""

from textwrap import dedent

from pinchbench.model.task import GradingType, Task, Turn


def made_task(**fields: object) -> Task:
    usual = {
        "task_id": "task_a",
        "name": "A task",
        "category": "c",
        "grading_type": GradingType.AUTOMATED,
        "prompt": "Do it.",
        "turns": (Turn(prompt="Do it."),),
    }
    return Task(**{**usual, **fields})  # type: ignore[arg-type]


def task_text(
    head: str = "id: task_a", *, prompt: str = "Do it.", check: str = "def grade(t, w): return {'done': 1.0}"
) -> str:
    """A task's file with a check."""
    checks = f"## Automated Checks\n\n```python\n{dedent(check).strip()}\n```\n"
    return f"---\n{dedent(head).strip()}\n---\n\n## Prompt\n\n{prompt}\n\n{checks}"
