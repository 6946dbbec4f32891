"""Writes a conversation as a task with a solution, which is the old conversation played again."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.authoring.history.conversations import MAX_TURNS, Conversation, UserTurn
from pinchbench.authoring.history.proposals import EDITED, Proposal, is_only_thanks
from pinchbench.authoring.history.rebuild import WEB_NOTE
from pinchbench.model.task import GradingType
from pinchbench.suite.formats.markdown_folder import FILES, TASK_FILE
from pinchbench.suite.solution import SOLUTION_FILE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from pinchbench.authoring.history.candidates import Candidate
    from pinchbench.authoring.history.privacy import Masker

SLOWER = 3.0  # than the old model may another one be
LEAST_S, MOST_S = 300.0, 3600.0  # limits of a task
TITLE = 60  # characters
# What YAML can't hold as it is, even in quotes.
_UNPRINTABLE = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_TEXTS = tomllib.loads(Path(__file__).with_name("task_texts.toml").read_text(encoding="utf-8"))


def task_id_of(conversation: Conversation) -> str:
    """Return the id of a conversation's task, which says the day."""
    day = datetime.fromtimestamp(conversation.began_at, UTC)
    return f"task_{day:%Y%m%d}_{conversation.key}"


def write_task(folder: Path, task: Candidate, masker: Masker, *, has_clock: bool = False) -> str:
    """Write a task, its files and its solution into a folder of its own below `folder`; return its id. Blocks.

    With `has_clock`, its trials begin at the time of the conversation. Raises OSError.
    """
    workspace, task_id = task.conversation.workspace, task_id_of(task.conversation)
    home = folder / task_id
    files: dict[str, bytes] = {}
    for path, data in task.restored.files.items():
        masked = masker.data(data, workspace=workspace)
        if masked is not None:
            files[masker.text(path)] = masked
    for path, data in files.items():
        place = home / FILES / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    home.mkdir(parents=True, exist_ok=True)
    writer = _Writer(task=task, masker=masker, files=files, has_clock=has_clock)
    (home / TASK_FILE).write_text(writer.task_text(), encoding="utf-8")
    (home / SOLUTION_FILE).write_text(writer.solution_text(), encoding="utf-8")
    return task_id


@dataclass(frozen=True, kw_only=True, slots=True)
class _Writer:
    task: Candidate
    masker: Masker
    files: Mapping[str, bytes]
    has_clock: bool

    def _text(self, text: str) -> str:
        return self.masker.text(text, workspace=self.task.conversation.workspace)

    @property
    def _turns(self) -> Sequence[UserTurn]:
        turns = self.task.conversation.turns
        return turns[:-1] if len(turns) > 1 and is_only_thanks(turns[-1]) else turns

    @property
    def _prompts(self) -> list[str]:
        first, *later = (self._text(turn.prompt) or "(no text)" for turn in self._turns)
        return [first + (WEB_NOTE if self.task.restored.replies else ""), *later]

    @property
    def _script(self) -> str:
        """The script of the simulated user; empty where the messages are always the same."""
        later = self._prompts[1:]
        corrections = {proposal.turn for proposal in self.task.proposals}
        return user_script(later, corrections) if len(later) < MAX_TURNS else ""

    @property
    def _points(self) -> list[dict[str, object]]:
        points: list[dict[str, object]] = []
        for proposal in self.task.proposals:
            if proposal.point:
                point = {key: self._masked(value) for key, value in proposal.point.items()}
                if isinstance(guarded := point.get("unchanged"), list):
                    there = {path: self.files[path] for path in guarded if path in self.files}
                    point["unchanged"] = {path: hashlib.sha256(data).hexdigest() for path, data in there.items()}
                points.append({"name": self._text(proposal.name), **point})
        return points

    def _masked(self, value: object) -> object:
        if isinstance(value, str):
            return self._text(value)
        return [self._text(str(one)) for one in value] if isinstance(value, list) else value

    @property
    def _references(self) -> list[Proposal]:
        return [proposal for proposal in self.task.proposals if proposal.reference]

    @property
    def _grading(self) -> GradingType:
        if not self._references:
            return GradingType.AUTOMATED
        return GradingType.HYBRID if self._points else GradingType.LLM_JUDGE

    def task_text(self) -> str:
        script = f"## Simulated User\n\n{self._script}\n" if self._script else ""
        return "".join([*self._head(), script, *self._criteria(), *self._check(), *self._rubric()])

    def _head(self) -> Iterator[str]:
        conversation = self.task.conversation
        points, references = len(self._points), len(self._references)
        took_s = conversation.ended_at - conversation.began_at
        head: dict[str, object] = {
            "id": task_id_of(conversation),
            "name": title_of(self._text(conversation.turns[0].prompt)),
            "category": "history",
            "grading_type": self._grading.value,
            "timeout_seconds": round(min(MOST_S, max(LEAST_S, SLOWER * took_s))),
            "private": True,
            "share": round(self.task.share, 4),
            "monthly": round(self.task.monthly, 2),
            "cost_usd": round(conversation.usage.cost_usd, 6),
            "sessions": [{"prompt": prompt} for prompt in self._prompts],
        }
        if self._script:
            head["user_messages"] = len(self._turns) - 1 + QUESTIONS
        if self._grading is GradingType.HYBRID:
            head["grading_weights"] = {
                "automated": round(points / (points + references), 4),
                "llm_judge": round(references / (points + references), 4),
            }
        if self.has_clock:
            head["clock"] = f"{datetime.fromtimestamp(conversation.began_at, UTC):%Y-%m-%dT%H:%M}"
        if self.files:
            tops = sorted({path.partition("/")[0] for path in self.files})
            head["workspace_files"] = [{"source": top, "dest": top} for top in tops]
        yield "---\n"
        yield from (f"{key}: {_yaml(value)}\n" for key, value in head.items())
        yield "---\n\n"

    def _criteria(self) -> Iterator[str]:
        yield "## Expected Behavior\n\nWhat the user asked for, as the user kept or corrected it.\n\n"
        yield "## Grading Criteria\n\n"
        for proposal in self.task.proposals:
            criterion, evidence = self._text(proposal.criterion), self._text(proposal.evidence)
            yield f"- [ ] {_line(criterion)} ({_line(evidence)})\n"
        yield "\n"

    def _check(self) -> Iterator[str]:
        if self._points:
            points = json.dumps(self._points, ensure_ascii=True)
            yield f"## Automated Checks\n\n```python\nPOINTS = {points!r}\n\n\n{_TEXTS['check']}```\n\n"

    def _rubric(self) -> Iterator[str]:
        if not self._references:
            return
        yield "## LLM Judge Rubric\n\nCompare the work with what the user kept or was content with, which is quoted.\n"
        yield "Other wording and another order are as good; facts and numbers must agree.\n\n"
        for number, proposal in enumerate(self._references, 1):
            quoted = "\n".join(f"> {line}" for line in self._text(proposal.reference).splitlines())
            yield f"### Result {number} (weight {100 // len(self._references)}%)\n\n"
            yield f"{_line(self._text(proposal.criterion))}:\n\n{quoted}\n\n{_TEXTS['levels']}\n"

    def solution_text(self) -> str:
        conversation, left = self.task.conversation, self.task.restored.left
        turns: list[dict[str, object]] = []
        for turn, prompt, written in zip(self._turns, self._prompts, self.task.restored.writes, strict=False):
            said = {"user": prompt} if turns and self._script else {}
            turns.append({**said, "steps": [*self._writes(written)], "answer": self._text(turn.answer) or "Done."})
        final = {path: file.data for path, file in left.items()}
        for proposal in self.task.proposals:
            if proposal.evidence == EDITED and "expected" in proposal.point:
                final[str(proposal.point["path"])] = str(proposal.point["expected"]).encode("utf-8", "replace")
        known = self.task.restored.writes[len(turns) - 1]
        rest = {path: data for path, data in final.items() if known.get(path) != data}
        turns[-1]["steps"] = [*self._writes(known), *self._writes(rest)]
        lines = [
            f"# {conversation.key}: the old conversation, with what commands did and you edited written as files.\n",
            "turns:\n",
        ]
        lines += [f"  - {_yaml(turn)}\n" for turn in turns]
        if path := next((str(point["path"]) for point in self._points if "path" in point), ""):
            spoil = {"tool": "write", "args": {"path": path, "content": "corrupted\n"}}
            last = {**turns[-1], "steps": [*self._writes(final), spoil], "answer": "Done."}
            miss = {"name": f"One result corrupted: {path}", "check": [0, 0.99], "turns": [*turns[:-1], last]}
            lines += ["near_misses:\n", f"  - {_yaml(miss)}\n"]
        return "".join(lines)

    def _writes(self, files: Mapping[str, bytes]) -> Iterator[dict[str, object]]:
        for path, data in files.items():
            masked = self.masker.data(data, workspace=self.task.conversation.workspace)
            try:
                text = None if masked is None else masked.decode("utf-8")
            except UnicodeDecodeError:
                continue
            if text is not None:
                yield {"tool": "write", "args": {"path": self.masker.text(path), "content": text}}


def title_of(prompt: str) -> str:
    """Return the first words of a prompt, as the name of a task."""
    line = _line(prompt)
    return line if len(line) <= TITLE else f"{line[:TITLE].rsplit(' ', 1)[0]} …"


def _line(text: str) -> str:
    return " ".join(text.split())


def _yaml(value: object) -> str:
    """Return a value as JSON that YAML reads in the same way."""
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


QUESTIONS = 2  # of the agent, to which the user may reply besides their own messages
_CORRECTS = re.compile(
    r"\W*(?:no|nope|not|wrong|actually|sorry|still|i (?:meant|said|asked)|you (?:forgot|missed)|that'?s (?:not|wrong)"
    r"|nein|nicht|falsch|doch|non|faux)\b",
    re.IGNORECASE,
)


def user_script(messages: Sequence[str], corrections: Collection[int]) -> str:
    """Return the script of the messages after the first; empty if none is a correction.

    `corrections` are the places, from 1, of those that the conversation itself shows to be corrections. Others are
    corrections if they begin as one does.
    """
    is_correction = [place in corrections or bool(_CORRECTS.match(one)) for place, one in enumerate(messages, 1)]
    if not any(is_correction):
        return ""
    # as JSON, a message is one line, which can't begin another section
    lines = (
        f"{place}. {'Correction' if corrects else 'Request'}: {json.dumps(one)}\n"
        for place, (one, corrects) in enumerate(zip(messages, is_correction, strict=True), 1)
    )
    return "".join([_TEXTS["script"], *lines])
