"""A small suite whose program makes fresh forms of one of its two tasks."""

from pathlib import Path

TASK = """---
id: task_sum
---

## Prompt

Write the sum of numbers.txt to sum.txt.

## Automated Checks

```python
def grade(transcript, workspace_path):
    from pathlib import Path
    path = Path(workspace_path, "sum.txt")
    return {{"sum": float(path.is_file() and path.read_text().strip() == "{answer}")}}
```
"""
SOLUTION = """turns:
  - steps: [{{tool: exec, args: {{command: "echo {answer} > sum.txt"}}}}]
    answer: Done.
"""
PROGRAM = """
import sys
from pathlib import Path

TASK = {task!r}
SOLUTION = {solution!r}
seed, folder = int(sys.argv[2]), Path(sys.argv[3])
assert sys.argv[1] == "--form"
if seed == 13:
    sys.exit("no luck today")
answer = {answer}
(folder / "solutions").mkdir()
(folder / "task_sum.md").write_text(TASK.format(answer=answer))
(folder / "solutions" / "task_sum.yaml").write_text(SOLUTION.format(answer=answer))
"""


def suite(folder: Path, *, answer: str = "100 + seed") -> Path:
    """Write a suite of two tasks: one has forms, whose right answer is `answer`, the other has none."""
    root = folder / "tasks"
    (root / "solutions").mkdir(parents=True)
    (root / "task_sum.md").write_text(TASK.format(answer=42), encoding="utf-8")
    (root / "task_old.md").write_text(TASK.format(answer=1).replace("task_sum", "task_old"), encoding="utf-8")
    (root / "solutions" / "task_sum.yaml").write_text(SOLUTION.format(answer=42), encoding="utf-8")
    program = PROGRAM.format(task=TASK, solution=SOLUTION, answer=answer)
    (root / "__main__.py").write_text(program, encoding="utf-8")
    return root
