"""Tasks as values, of which a test states only what matters to it."""

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
