"""A small suite that plays the bundled one, and runs of it."""

from dataclasses import replace
from pathlib import Path

from past_runs import Made, PlannedRun, write_run
from pinchbench.model.task import Suite
from pinchbench.results.finished_run import PastRun, read_run
from pinchbench.suite.loading import load_suite

TASK = """---
id: {task_id}
name: Tidy the ledger
category: {category}
grading_type: hybrid
timeout_seconds: 60
{more}workspace_files:
  - path: ledger.csv
    content: |
      {fixture}
grading_weights:
  automated: 0.5
  llm_judge: 0.5
---

## Prompt

{prompt}

## Grading Criteria

- [ ] Is clear

## Automated Checks

```python
def grade(transcript: list, workspace_path: str) -> dict:
    return {{"file_there": 1.0}}
```

## LLM Judge Rubric

### Criterion 1: Is clear (weight 100 %)

Whether it is clear.
"""
PROMPT = "Kindly sort the seventeen violet invoices by their owner"
FIXTURE = "quarterly totals of the hidden orchard account were never published"


def write_suite(folder: Path, *, tasks: int = 3, more: str = "") -> Suite:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(tasks):
        text = TASK.format(
            task_id=f"task_{number:03d}",
            category=("basics", "data")[number % 2],
            more=more,
            prompt=PROMPT,
            fixture=FIXTURE,
        )
        (folder / f"task_{number:03d}.md").write_text(text, encoding="utf-8")
    return load_suite(folder).suite


def planned(suite: Suite, *made: Made, **changes: object) -> PlannedRun:
    """A run of a whole suite, with the same trials of each task."""
    run = PlannedRun(
        trials={task.task_id: made or (Made(score=0.8),) for task in suite.tasks},
        model="anthropic/claude-sonnet-4",
        digests={task.task_id: task.digest for task in suite.tasks},
        categories={task.task_id: task.category for task in suite.tasks},
    )
    return replace(run, **changes)  # type: ignore[arg-type]


def past_run(output_dir: Path, run: PlannedRun) -> PastRun:
    return read_run(write_run(output_dir, run))
