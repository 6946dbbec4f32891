"""Skeletons of new tasks: a minimal but complete task file and solution, which pass all checks of tasks."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pinchbench.errors import ConfigError, SuiteError
from pinchbench.files.folders import folder_error
from pinchbench.model.task import GradingType
from pinchbench.suite.canary import new_canary
from pinchbench.suite.load import load_suite
from pinchbench.suite.parse import BrokenTaskError, parse_task
from pinchbench.suite.select import KEYWORDS
from pinchbench.suite.solution import SOLUTIONS
from pinchbench.suite.template import is_template

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HEAD = """\
---
id: {id}
name: Say it as an order ("Count the orders")
category: {category}
grading_type: {type}
measures: what a good score shows, in a few words
canary: {canary}
timeout_seconds: 180
{weights}workspace_files:
  - path: orders.csv
    content: |
      order,status,amount_eur
      A-1,sent,19.90
      A-2,cancelled,5.00
      A-3,sent,102.50
      A-3,sent,102.50
---

## Prompt

`orders.csv` lists our orders; some rows stand there twice. {ask}

"""

_COUNT = (
    """Please write the number of different orders that were sent to
`count.txt`, as a bare number.""",
    """The agent leaves out the cancelled order and counts `A-3` once. `count.txt` holds `2`.""",
    """`count.txt` holds the number of different orders that were sent""",
)
_LETTER = (
    """Please write a letter of at most 80 words to our book-keeper, to
`letter.md`: how many different orders were sent, what they come to, and what in the list is odd.""",
    """The letter names two orders and 122.40 euros: the cancelled order is left out and `A-3` counted once. It says that a
row stands there twice.""",
    """The letter is short, polite and easy to act on""",
)

_CHECK = '''\
## Automated Checks

```python
# {canary}
def grade(transcript: list[dict], workspace_path: str) -> dict[str, float]:
    """Read the number; other words around it cost a part."""
    import re
    from pathlib import Path

    scores = {"number": 0.0, "form": 0.0}
    try:
        text = Path(workspace_path, "count.txt").read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return scores
    numbers = re.findall(r"\\d+", text)
    if numbers == ["2"]:
        scores["number"] = 1.0
        scores["form"] = 1.0 if text.strip() == "2" else 0.0
    return scores
```

'''

_RUBRIC = """\
## LLM Judge Rubric

Judge `letter.md` as the book-keeper who gets it. Two different orders were sent, 122.40 euros together; A-3 stands in the
list twice. Without `letter.md`, every criterion is 0.0.

### Facts (weight 50 %)

- 1.0: Two orders, 122.40 euros, and the row that stands there twice.
- 0.75: Both numbers, without the odd row.
- 0.5: One of the numbers is wrong.
- 0.25: Both are wrong, but the letter is about the orders that were sent.
- 0.0: No numbers.

### Letter (weight 50 %)

- 1.0: At most 80 words, polite, and clear at the first reading.
- 0.75: Clear, but longer than 80 words or without a greeting.
- 0.5: Clear only at the second reading.
- 0.25: Notes rather than a letter.
- 0.0: Missing or not understandable.

"""

_NOTES = """\
## Additional Notes

What other authors should know: how the fixtures were made, which answers are accepted and why.
"""

_SOLVE = """\
          path: solve.py
          content: |
            import csv

            with open("orders.csv", encoding="utf-8", newline="") as file:
                sent = {row["order"]: float(row["amount_eur"]) for row in csv.DictReader(file) if row["status"] == "sent"}
"""
_WRITE_COUNT = """\
            with open("count.txt", "w", encoding="utf-8") as file:
                file.write(f"{len(sent)}\\n")
"""
_WRITE_LETTER = """\
            with open("letter.md", "w", encoding="utf-8") as file:
                file.write(
                    f"Dear colleague,\\n\\nwe sent {len(sent)} orders, which come to {sum(sent.values()):.2f} euros. "
                    "Order A-3 stands in the list twice; please take out one row.\\n\\nKind regards\\n"
                )
"""


def write_skeleton(folder: Path, task_id: str, *, grading: GradingType, category: str) -> tuple[Path, Path]:
    """Write a new task and its solution below `folder`; return their paths. Blocks.

    The folder is created if necessary. Raises ConfigError if the id or the category is invalid or taken, and
    ResultsError if the files can't be written; neither file is left then.
    """
    task, solution = folder / f"{task_id}.md", folder / SOLUTIONS / f"{task_id}.yaml"
    canary = new_canary()
    text = task_text(task_id, grading=grading, category=category, canary=canary)
    try:
        parsed = parse_task(text, path=task)
    except BrokenTaskError as error:
        raise ConfigError(f"No task can be made of this: {error.problems[0].reason}.") from error
    if is_template(task_id, task_id) or task_id.lower() == "readme":
        raise ConfigError(f"A task can't have the id {task_id!r}: such files are not read as tasks.")
    if task_id.lower() in KEYWORDS:
        raise ConfigError(f"A task can't have the id {task_id!r}: for --suite it means something else.")
    if (parsed.task.task_id, parsed.task.category) != (task_id, category):
        raise ConfigError("The id and the category must be plain words, without marks that YAML gives a meaning.")
    _refuse_taken(folder, task_id)
    try:
        solution.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise folder_error(solution.parent, error, option="--tasks-dir") from error
    written: list[Path] = []
    try:
        for path, content in ((task, text), (solution, solution_text(grading, canary=canary))):
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(content)
    except FileExistsError as error:
        _take_back(written)
        raise ConfigError(f"{error.filename} is there already; choose another id.") from error
    except OSError as error:
        _take_back(written)
        raise folder_error(folder, error, option="--tasks-dir") from error
    return task, solution


def _refuse_taken(folder: Path, task_id: str) -> None:
    """Raise ConfigError if a task of the folder has this id, ignoring case, whatever its file name."""
    try:
        suite = load_suite(folder, skip_broken=True).suite
    except SuiteError:  # there are no readable tasks yet
        return
    taken = {task.task_id.lower(): task.path for task in suite.by_id.values()}
    if (place := taken.get(task_id.lower())) is not None:
        raise ConfigError(f"The id {task_id!r} is taken by {place}, which is there already; choose another id.")


def _take_back(written: list[Path]) -> None:
    for path in written:
        with suppress(OSError):
            path.unlink()


def task_text(task_id: str, *, grading: GradingType, category: str, canary: str) -> str:
    """Return the Markdown of a new task."""
    asked = [_COUNT] if grading is not GradingType.LLM_JUDGE else []
    asked += [_LETTER] if grading is not GradingType.AUTOMATED else []
    weights = "grading_weights:\n  automated: 0.6\n  llm_judge: 0.4\n" if grading is GradingType.HYBRID else ""
    parts = [
        _HEAD.format(
            id=task_id,
            category=category,
            type=grading.value,
            weights=weights,
            canary=canary,
            ask="\n\n".join(ask for ask, _, _ in asked),
        ),
        "## Expected Behavior\n\n" + "\n".join(expected for _, expected, _ in asked) + "\n\n",
        "## Grading Criteria\n\n" + "".join(f"- [ ] {criterion}\n" for _, _, criterion in asked) + "\n",
        _CHECK.replace("{canary}", canary) if grading is not GradingType.LLM_JUDGE else "",
        _RUBRIC if grading is not GradingType.AUTOMATED else "",
        _NOTES,
    ]
    return "".join(parts)


def solution_text(grading: GradingType, *, canary: str) -> str:
    """Return the YAML of its solution, with two near misses."""
    solved = _SOLVE
    solved += "" if grading is GradingType.LLM_JUDGE else _WRITE_COUNT
    solved += "" if grading is GradingType.AUTOMATED else _WRITE_LETTER
    lines = [
        f"# {canary}",
        "# One way to solve the task, as tool calls; it must earn every point of the check.",
        "turns:",
        "  - steps:",
        "      - tool: read",
        "        args: {path: orders.csv}",
        "      - tool: write",
        "        args:",
        *solved.rstrip("\n").split("\n"),
        "      - tool: exec",
        '        args: {command: "python3 solve.py"}',
        '    answer: "Two different orders were sent."',
        "",
        "# Work that is nearly right, and the score that it should get: from low to high, both included.",
        "near_misses:",
        *_near_misses(grading),
    ]
    return "\n".join(lines) + "\n"


def _near_misses(grading: GradingType) -> Iterator[str]:
    counted = grading is not GradingType.LLM_JUDGE
    written = grading is not GradingType.AUTOMATED
    misses = (
        ("Counted the double row", "3", "We sent 3 orders, 224.90 euros together.", (0.0, 0.1), (0.1, 0.5)),
        ("Wrote a sentence", "2 orders were sent.", "2 orders, 122.40 euros.", (0.45, 0.55), (0.3, 0.75)),
    )
    for name, count, letter, check, judge in misses:
        yield f"  - name: {name}"
        if counted:
            yield f"    check: [{check[0]}, {check[1]}]"
        if written:
            yield f"    judge: [{judge[0]}, {judge[1]}]"
        yield "    turns:"
        yield "      - steps:"
        if counted:
            yield f'          - {{tool: write, args: {{path: count.txt, content: "{count}"}}}}'
        if written:
            yield f'          - {{tool: write, args: {{path: letter.md, content: "{letter}"}}}}'
        yield '        answer: "Done."'
