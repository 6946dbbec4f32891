"""Skeletons of new tasks: a minimal but complete task file and solution, which pass all checks of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinchbench.authoring.template_parts import PARTS, check_of, head_of, with_needed
from pinchbench.errors import ConfigError, SuiteError
from pinchbench.files.folders import folder_error, remove_folder
from pinchbench.model.task import GradingType
from pinchbench.suite.check_code import new_canary
from pinchbench.suite.formats.markdown_folder import TASK_FILE, is_template
from pinchbench.suite.loading import load_suite
from pinchbench.suite.parse import parse_task
from pinchbench.suite.reading import BrokenTaskError
from pinchbench.suite.select import KEYWORDS
from pinchbench.suite.solution import SOLUTION_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_HEAD = """\
---
id: {id}
name: Report the orders that were sent
category: {category}
grading_type: {type}
asks: "How many of these orders did we really send?"
low_score: "It takes a list at face value: duplicated rows and cancelled orders count."
canary: {canary}
timeout_seconds: {limit}
{weights}{more}workspace_files:
  - path: orders.csv
    content: |
      order,status,amount_eur
      A-1,sent,19.90
      A-2,cancelled,5.00
      A-3,sent,102.50
      A-3,sent,102.50
{given}---

## Prompt

`orders.csv` lists our orders; some rows are duplicated. {ask}

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
row is duplicated.""",
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

Judge `letter.md` as the book-keeper who gets it. Two different orders were sent, 122.40 euros together; A-3 is in the
list twice. Without `letter.md`, every criterion is 0.0.

### Facts (weight 50%)

- 1.0: Two orders, 122.40 euros, and the duplicated row.
- 0.75: Both numbers, without the odd row.
- 0.5: One of the numbers is wrong.
- 0.25: Both are wrong, but the letter is about the orders that were sent.
- 0.0: No numbers.

### Letter (weight 50%)

- 1.0: At most 80 words, polite, and clear at the first reading.
- 0.75: Clear, but longer than 80 words or without a greeting.
- 0.5: Clear only at the second reading.
- 0.25: Notes rather than a letter.
- 0.0: Missing or not understandable.

"""

_NOTES = """\
## Additional Notes

`orders.csv` was written by hand. It has 4 rows and 3 different orders; A-2 is cancelled, and A-3 is there twice: only
an agent that looks at both gets 2.
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
                    "Order A-3 is in the list twice; please take out one row.\\n\\nKind regards\\n"
                )
"""


def write_skeleton(
    folder: Path, task_id: str, *, grading: GradingType, category: str, parts: Sequence[str] = ()
) -> tuple[Path, ...]:
    """Write a new task and its solution into a folder of its own below `folder`; return their paths. Blocks.

    `parts` are names of PARTS, whose files are written as well. The folder is created if necessary. Raises ConfigError if the id or the category is invalid or taken, and
    ResultsError if the files can't be written; none is left then.
    """
    if parts and grading is not GradingType.AUTOMATED:
        raise ConfigError("--with writes a task with a check: leave --grading out.")
    names = with_needed(parts)
    home = folder / task_id
    task, solution = home / TASK_FILE, home / SOLUTION_FILE
    canary = new_canary()
    text = task_text(task_id, grading=grading, category=category, canary=canary, names=names)
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
        folder.mkdir(parents=True, exist_ok=True)
        home.mkdir()
    except FileExistsError as error:
        raise ConfigError(f"{error.filename} is there already; choose another id.") from error
    except OSError as error:
        raise folder_error(folder, error, option="--tasks-dir") from error
    more = {home / place: content for name in names for place, content in PARTS[name].files}
    solved = solution_text(grading, canary=canary, names=names)
    written = {task: text.encode(), solution: solved.encode(), **more}
    try:
        for path, content in written.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        remove_folder(home)
        raise folder_error(folder, error, option="--tasks-dir") from error
    return tuple(written)


def _refuse_taken(folder: Path, task_id: str) -> None:
    """Raise ConfigError if a task of the folder has this id, ignoring case, whatever its file name."""
    try:
        suite = load_suite(folder, skip_broken=True).suite
    except SuiteError:  # there are no readable tasks yet
        return
    taken = {task.task_id.lower(): task.path for task in suite.by_id.values()}
    if (place := taken.get(task_id.lower())) is not None:
        raise ConfigError(f"The id {task_id!r} is taken by {place}, which is there already; choose another id.")


def task_text(task_id: str, *, grading: GradingType, category: str, canary: str, names: Sequence[str] = ()) -> str:
    """Return the Markdown of a new task with these parts."""
    asked = [_COUNT] if grading is not GradingType.LLM_JUDGE else []
    asked += [_LETTER] if grading is not GradingType.AUTOMATED else []
    weights = "grading_weights:\n  automated: 0.6\n  llm_judge: 0.4\n" if grading is GradingType.HYBRID else ""
    criteria = [*(criterion for _, _, criterion in asked), *(PARTS[name].criterion for name in names)]
    check = check_of(names, canary=canary) if names else _CHECK.replace("{canary}", canary)
    parts = [
        _HEAD.format(
            id=task_id,
            category=category,
            type=grading.value,
            weights=weights,
            limit=600 if names else 180,
            more=head_of(names),
            given="".join(PARTS[name].given for name in names),
            canary=canary,
            ask="\n\n".join([*(ask for ask, _, _ in asked), *(PARTS[name].ask for name in names)]),
        ),
        "## Expected Behavior\n\n" + "\n".join(expected for _, expected, _ in asked) + "\n\n",
        "## Grading Criteria\n\n" + "".join(f"- [ ] {criterion}\n" for criterion in criteria) + "\n",
        check if grading is not GradingType.LLM_JUDGE else "",
        _RUBRIC if grading is not GradingType.AUTOMATED else "",
        _NOTES,
    ]
    return "".join(parts)


def solution_text(grading: GradingType, *, canary: str, names: Sequence[str] = ()) -> str:
    """Return the YAML of its solution, with two near misses unless it has parts."""
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
        *"".join(PARTS[name].steps for name in names).splitlines(),
        '    answer: "Two different orders were sent."',
        *"".join(PARTS[name].turns for name in names).splitlines(),
    ]
    if names:
        return "\n".join(lines) + "\n"
    lines += [
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
