"""A suite of short tasks, each with a score of its own, some of whose agents leave something behind."""

from pathlib import Path

CHECK = """
## Automated Checks

```python
def grade(transcript, workspace_path):
    from pathlib import Path

    said = (Path(workspace_path) / "answer.txt").read_text()
    return {{"answer": 1.0 if said == "{number}" else 0.0, "part": {part}}}
```
"""
KINDS: tuple[tuple[str, ...], ...] = (
    (),
    ("daemonise",),
    ("sleep 0.2",),
    ("ignore_term", "sleep 0.1"),
    (),
    ("exit 3",),
    ("daemonise", "sleep 0.1"),
    ("print done",),
)
UNCHECKED = frozenset({4, 7})  # kinds that only a judge could grade: there is none, which costs no time


def write_suite(folder: Path, trials: int) -> Path:
    """Write so many tasks into `folder/tasks`: `task_000` and so on."""
    root = folder / "tasks"
    root.mkdir(parents=True)
    for number in range(trials):
        kind = number % len(KINDS)
        grading = "llm_judge" if kind in UNCHECKED else "automated"
        actions = (f"write_file answer.txt {number}", *KINDS[kind])
        prompt = "\n".join(f"scenario: {action}" for action in actions)
        head = f"id: task_{number:03}\nname: Number {number}\ncategory: kind_{kind}\ngrading_type: {grading}"
        text = f"---\n{head}\ntimeout_seconds: 120\nworkspace_files: []\n---\n\n## Prompt\n\n{prompt}\n"
        if kind not in UNCHECKED:
            text += CHECK.format(number=number, part=number % 20 / 20)
        (root / f"task_{number:03}.md").write_text(text, encoding="utf-8")
    return root
