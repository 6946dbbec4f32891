"""What the tests on real OpenClaw share: a home with something in it, and small suites with solutions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import yaml

from fakes import NEW_RELEASE, OLD_RELEASE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Step = tuple[str, dict[str, object]]

# For what does not depend on the release as far as is known: `make e2e` shows it on the newer one.
older_release_is_long = pytest.mark.parametrize(
    "openclaw", [NEW_RELEASE, pytest.param(OLD_RELEASE, marks=pytest.mark.long)], indirect=True
)


@dataclass(frozen=True)
class UserHome:
    """A home folder of its own for the tests, with an OpenClaw state in it that must stay as it is."""

    path: Path

    @property
    def state(self) -> Path:
        return self.path / ".openclaw"

    def snapshot(self) -> dict[str, bytes | None]:
        """Every file of the OpenClaw state with its bytes, every folder with None."""
        return {
            str(entry.relative_to(self.state)): entry.read_bytes() if entry.is_file() else None
            for entry in self.state.rglob("*")
        }

    def configure(self, config: dict[str, object]) -> None:
        """Write openclaw.json the way people do: with a comment, which is JSON5."""
        text = json.dumps(config, indent=2)
        (self.state / "openclaw.json").write_text(f"// mine\n{text}\n", encoding="utf-8")


@dataclass(frozen=True)
class TaskFile:
    """A task with its solution: for each turn the message, the steps and the answer. Without a `check`, no grade."""

    task_id: str
    turns: Sequence[tuple[str, Sequence[Step], str]]
    timeout_s: float = 240
    new_session: frozenset[int] = frozenset()
    check: str = ""
    network: bool = False
    services: Sequence[dict[str, object]] = ()


def write_suite(root: Path, tasks: Sequence[TaskFile]) -> Path:
    """Write task files and solutions into a new folder."""
    (root / "solutions").mkdir(parents=True)
    for task in tasks:
        head: dict[str, object] = {
            "id": task.task_id,
            "name": task.task_id,
            "category": "e2e",
            "grading_type": "automated" if task.check else "llm_judge",
            "timeout_seconds": task.timeout_s,
            "network": task.network,
        }
        if task.services:
            head["services"] = list(task.services)
        prompts = [message for message, _, _ in task.turns]
        if len(prompts) > 1:
            head["sessions"] = [
                {"prompt": prompt, "new_session": number in task.new_session} for number, prompt in enumerate(prompts)
            ]
        text = f"---\n{yaml.safe_dump(head)}---\n\n## Prompt\n\n{prompts[0]}\n"
        if task.check:
            text += f"\n## Automated Checks\n\n```python\n{task.check.strip()}\n```\n"
        (root / f"{task.task_id}.md").write_text(text, encoding="utf-8")
        solution = {
            "turns": [
                {"steps": [{"tool": tool, "args": args} for tool, args in steps], "answer": answer}
                for _, steps, answer in task.turns
            ]
        }
        (root / "solutions" / f"{task.task_id}.yaml").write_text(yaml.safe_dump(solution), encoding="utf-8")
    return root
