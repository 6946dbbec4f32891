"""What a conversation itself settles about the right result, with its evidence (pure)."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pinchbench.authoring.history.conversations import THANKS, Conversation, UserTurn
from pinchbench.transcripts import Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pinchbench.authoring.history.rebuild import LeftFile, Restored

MAX_SAME_BYTES = 20_000  # of a file that a check compares
MAX_FREE_CHARACTERS = 120  # of a text that has one right wording, such as a number or a name
MAX_REFERENCE = 6_000  # characters of what a judge compares with
MAX_FACTS = 6  # of a correction
QUOTED = 100  # characters of the user's words that are shown
EDITED = "You wrote it."
# Commands of a few letters that run a project's own tests; nothing else of a conversation is ever run by a check.
_TEST_COMMAND = re.compile(
    r"(?:python3? (?:-B )?-m (?:pytest|unittest)|pytest|npm test|go test|cargo test|make test)(?: [\w./:=@-]+)*"
)
_TEST_FILE = re.compile(r"(?:^|/)(?:tests?/|test_[^/]*$|[^/]*(?:_test|\.test|\.spec)\.\w+$|conftest\.py$)")
_FAILED = re.compile(
    r"(?:exit(?:ed)?(?: with)?(?: code)?|code)[: ]+[1-9]\d*|\bFAILED\b|\d+ failed|^FAIL\b|Traceback",
    re.IGNORECASE | re.MULTILINE,
)
_FACT = re.compile(
    r"[\"“‘'`]([^\"”’'`\n]{2,80})[\"”’'`]|(?<![\w.,])(\d[\d.,:/-]*\d|\d)(?![\w])|\b([\w.+-]+@[\w-]+\.[\w.]+)\b"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """One thing that a right result has, and the evidence for it.

    `point` is for a check, by key: `kind` is `same`, `has` or `tests`. Without one, `reference` is what a judge
    compares with. `turn` is the place, from 0, of the user's message that corrected it; 0 without one.
    """

    name: str
    criterion: str
    evidence: str
    point: Mapping[str, object] = field(default_factory=dict)
    reference: str = ""
    turn: int = 0

    @property
    def compared(self) -> str:
        """What a result is compared with, which the user may edit; empty for a command."""
        return self.reference or str(self.point.get("expected", self.point.get("text", "")))

    def edited(self, text: str) -> Proposal:
        """Return it with another text that a result is compared with."""
        if self.reference:
            return replace(self, reference=text, evidence=EDITED)
        if "expected" in self.point:
            return replace(self, point={**self.point, "expected": text}, evidence=EDITED)
        text = text.strip()
        criterion = f"`{self.point['path']}` contains {text!r}"
        return replace(self, point={**self.point, "text": text}, criterion=criterion, evidence=EDITED)


def proposals_of(conversation: Conversation, restored: Restored) -> tuple[Proposal, ...]:
    """Return what can be graded of a conversation; nothing that doing nothing would fulfil.

    Nothing is proposed only because the model did it: the user has corrected it, kept it or thanked for it, or tests
    that failed before have passed.
    """
    return tuple(_proposals(conversation, restored))


def _proposals(conversation: Conversation, restored: Restored) -> Iterator[Proposal]:
    settled = [*_tests(conversation, restored), *_corrections(conversation, restored)]
    yield from settled
    has_tests = any(proposal.point.get("kind") == "tests" for proposal in settled)
    paths = {proposal.point.get("path") for proposal in settled}
    for path, file in restored.left.items():
        text = _text(file.data)
        if not file.is_kept or text is None:
            continue
        kept = _kept(path, text, file)
        if kept.point or not (has_tests or path in paths):  # a judge compares where nothing else does
            yield kept
    thanks, answer = _thanked(conversation)
    if answer and not any(file.is_kept for file in restored.left.values()):
        yield Proposal(
            name="answer",
            criterion="The answer agrees in substance with the one that the user was content with",
            evidence=f"You answered: {_quoted(thanks)}",
            reference=answer[:MAX_REFERENCE],
        )


def _kept(path: str, text: str, file: LeftFile) -> Proposal:
    evidence = f"You kept it: {file.evidence}."
    if form := _form(path, text):
        return Proposal(
            name=f"same {path}",
            criterion=f"`{path}` holds what you kept",
            evidence=evidence,
            point={"kind": "same", "path": path, "form": form, "expected": text},
        )
    return Proposal(
        name=f"like {path}",
        criterion=f"`{path}` does what the kept version does, in whatever words",
        evidence=evidence,
        reference=text[:MAX_REFERENCE],
    )


def _form(path: str, text: str) -> str:
    """Return how a check can compare a file: as JSON, as rows, or as one short line; empty if it can't."""
    if len(text.encode()) > MAX_SAME_BYTES:
        return ""
    suffix = PurePosixPath(path).suffix.lower()
    if suffix == ".json":
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return ""
        return "json"
    if suffix in (".csv", ".tsv"):
        return "rows" if any(csv.reader(io.StringIO(text))) else ""
    is_short = len(text.strip()) <= MAX_FREE_CHARACTERS and text.strip().count("\n") == 0
    return "line" if is_short and text.strip() else ""


def _tests(conversation: Conversation, restored: Restored) -> Iterator[Proposal]:
    results: dict[str, list[bool]] = {}
    for turn in conversation.turns:
        for call, result in turn.calls:
            command = " ".join(str(call.arguments.get("command") or "").split())
            if call.name in ("exec", "bash") and _TEST_COMMAND.fullmatch(command) and result is not None:
                results.setdefault(command, []).append(not result.is_error and _FAILED.search(result.text) is None)
    guarded = [path for path in restored.files if _TEST_FILE.search(path) and path not in restored.left]
    for command, passed in results.items():
        if passed[-1] and not all(passed):
            yield Proposal(
                name=f"tests {command}",
                criterion=f"`{command}` succeeds, and the tests that were there are unchanged",
                evidence="They failed during the conversation, and passed at its end.",
                point={"kind": "tests", "command": command.split(), "unchanged": guarded},
            )


def _corrections(conversation: Conversation, restored: Restored) -> Iterator[Proposal]:
    """Yield facts that the user stated after the first answer, and that a file had only after that."""
    before = dict(restored.files)
    seen: set[tuple[str, str]] = set()
    for number, (turn, written) in enumerate(zip(conversation.turns, restored.writes, strict=True)):
        for path, data in written.items() if number else ():
            old, new = _text(before.get(path, b"")) or "", _text(data) or ""
            left = restored.left.get(path)
            final = (_text(left.data) or "") if left is not None else ""
            for fact in _facts(turn):
                if (path, fact) not in seen and _has(new, fact) and _has(final, fact) and not _has(old, fact):
                    seen.add((path, fact))
                    yield Proposal(
                        name=f"has {path} {fact}",
                        criterion=f"`{path}` contains {fact!r}",
                        evidence=f"You corrected it: {_quoted(turn.prompt)}",
                        point={"kind": "has", "path": path, "text": fact},
                        turn=number,
                    )
        before |= written


def _facts(turn: UserTurn) -> Sequence[str]:
    found = ("".join(groups) for groups in _FACT.findall(turn.prompt))
    return list(dict.fromkeys(fact.strip().rstrip(".,:") for fact in found if fact.strip()))[:MAX_FACTS]


def _has(text: str, fact: str) -> bool:
    return re.search(rf"(?<![\w.,]){re.escape(fact)}(?!\w|[.,]\d)", text, re.IGNORECASE) is not None


def _thanked(conversation: Conversation) -> tuple[str, str]:
    """Return the message in which the user thanked, and the answer before it; empty without."""
    pairs = zip(conversation.turns, conversation.turns[1:], strict=False)
    return next(((after.prompt, before.answer) for before, after in pairs if THANKS.search(after.prompt)), ("", ""))


def _text(data: bytes) -> str | None:
    try:
        return None if b"\0" in data else data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f"“{line[:QUOTED]}{'…' if len(line) > QUOTED else ''}”"


def is_only_thanks(turn: UserTurn) -> bool:
    """Return whether a message asks for nothing more, so that a task ends before it."""
    return (
        len(turn.prompt) <= QUOTED
        and THANKS.search(turn.prompt) is not None
        and not any(message.calls for message in turn.messages if message.role is Role.ASSISTANT)
    )
