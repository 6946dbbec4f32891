"""What a user asked for in a session, and what keeps it from being asked again (pure)."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pinchbench.model.usage import Usage
from pinchbench.transcript_lines import writable
from pinchbench.transcripts import Message, Role, ToolCall, conversation, written_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinchbench.authoring.history.stored_sessions import StoredSession

PAUSE_S = 2 * 3600.0  # without a message, after which the next one begins something new
ID_LENGTH = 8  # characters of a conversation's id
MAX_TURNS = 30
# What OpenClaw puts around a message: internal context, metadata of a channel, and the time.
_INTERNAL = re.compile(r"<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>.*?<<<END_OPENCLAW_INTERNAL_CONTEXT>>>", re.DOTALL)
_METADATA = re.compile(
    r"^(?:Conversation info|Sender|Replied message)[^\n]*:\n```(?:json)?\n.*?\n```\n*", re.DOTALL | re.MULTILINE
)
_ENVELOPE = re.compile(r"\A\s*\[[^\]\n]*\d{4}-\d\d-\d\d[^\]\n]*\]\s*")
_NOT_THE_USER = re.compile(
    r"\A\s*(?:\[(?:cron|Subagent|System)|System:|Read HEARTBEAT\.md|A scheduled reminder|A new session was started"
    r"|\[?Inter-session message|Every subagent|A background task completed|Pre-compaction memory flush)",
    re.IGNORECASE,
)
THANKS = re.compile(
    r"\b(?:thanks?|thank you|thx|perfect|great|excellent|well done|danke|merci|gracias)\b", re.IGNORECASE
)
# Tools whose work can be asked for again in a folder alone.
LOCAL_TOOLS = frozenset(
    {"read", "write", "edit", "apply_patch", "exec", "bash", "process", "ls", "find", "grep", "update_plan"}
)
WEB_TOOLS = frozenset({"web_fetch", "web_search"})  # whose replies can be served again
_MEMORY_TOOLS = frozenset({"memory_search", "memory_get"})
_REASONS = (
    (re.compile(r"web_|browser|x_search"), "live web: {}"),
    (re.compile(r"message|sessions_send|conversations|telegram|whatsapp|discord|slack|ask_user"), "channels: {}"),
    (re.compile(r"nodes|canvas|camera|computer|tts|screen|terminal|image|music|video"), "devices or media: {}"),
    (re.compile(r"sessions_|subagents|agents_list"), "other sessions: {}"),
    (re.compile(r"cron|automations|gateway|openclaw|plugins|secrets"), "OpenClaw itself: {}"),
)
_REACHES_OUT = re.compile(
    r"(?:^|[\s;&|(])(?P<what>curl|wget|ssh|scp|rsync|gh|docker|podman|kubectl|systemctl|sudo|apt(?:-get)?|brew"
    r"|git\s+(?:push|pull|fetch|clone)|(?:pip3?|npm|pnpm|yarn|uv|cargo)\s+(?:install|add|i|ci|sync|publish)"
    r"|npx|uvx|openclaw)(?=\s|$)"
)
_ABSOLUTE = re.compile(r"(?<![\w.:/~$*-])(?P<path>(?:~|/)(?:/?[\w.@+-]+)+)")
# Where every system has the same programs and scratch files.
_SYSTEM = ("/bin", "/usr", "/lib", "/lib64", "/dev/null", "/dev/stdout", "/dev/stderr", "/tmp", "/opt", "/sbin")  # noqa: S108


@dataclass(frozen=True, kw_only=True, slots=True)
class UserTurn:
    """A message of the user, and all that followed it until the next one. `at` is in seconds since the epoch."""

    prompt: str
    at: float
    messages: tuple[Message, ...] = ()

    @property
    def calls(self) -> Iterator[tuple[ToolCall, Message | None]]:
        """The tool calls, each with its result; None for a call without one."""
        results = {message.call_id: message for message in self.messages if message.role is Role.TOOL}
        for message in self.messages:
            for call in message.calls:
                yield call, results.get(call.id)

    @property
    def answer(self) -> str:
        """The last text of the model."""
        texts = (message.text for message in reversed(self.messages) if message.role is Role.ASSISTANT)
        return next((text for text in texts if text.strip()), "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """What a user asked for at one time.

    `workspace` is the folder in which the agent worked; empty if the transcript does not say. `began_at` and `ended_at`
    are in seconds since the epoch. `obstacles` are clauses that say why it can't be asked again, as far as the
    transcript shows; `notes` what a reader should know.
    """

    key: str
    agent: str
    session_id: str
    workspace: str
    turns: tuple[UserTurn, ...]
    usage: Usage = Usage()
    model: str = ""
    obstacles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def began_at(self) -> float:
        """When the user wrote the first message."""
        return self.turns[0].at

    @property
    def ended_at(self) -> float:
        """When the last message was written."""
        return _end(self.turns)

    @property
    def tools(self) -> Counter[str]:
        """How often each tool was called."""
        return Counter(call.name for turn in self.turns for call, _ in turn.calls)


def conversations_of(session: StoredSession) -> Iterator[Conversation]:
    """Yield what the user asked for in a session; a pause of `PAUSE_S` begins something new.

    Turns that nobody wrote, such as those of automations and of sub-agents' reports, begin no conversation.
    """
    events = session.events
    workspace = next(
        (writable(str(event["cwd"])) for event in events if event.get("type") == "session" and event.get("cwd")), ""
    )
    compacted_at = [written_at(event) for event in events if event.get("type") == "compaction"]
    groups = _grouped(_turns(tuple(conversation(events))))
    for number, turns in enumerate(groups):
        if _NOT_THE_USER.match(turns[0].prompt):
            continue
        messages = [message for turn in turns for message in turn.messages if message.role is Role.ASSISTANT]
        usage = Usage()
        for message in messages:
            usage += message.usage
        name = f"{session.agent}/{session.session_id}/{turns[0].at}"
        notes = ["it continues an earlier conversation"] if number else []
        if any(turns[0].at <= at <= _end(turns) for at in compacted_at):
            notes.append("OpenClaw compacted it")
        yield Conversation(
            key=hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:ID_LENGTH],
            agent=session.agent,
            session_id=session.session_id,
            workspace=workspace,
            turns=turns,
            usage=usage,
            model=next((message.model for message in reversed(messages) if not message.error), ""),
            obstacles=tuple(dict.fromkeys(_obstacles(turns, workspace))),
            notes=tuple(notes),
        )


def _end(turns: Sequence[UserTurn]) -> float:
    return max([turns[-1].at, *(message.at for message in turns[-1].messages if message.at is not None)])


def _turns(messages: Sequence[Message]) -> Iterator[UserTurn]:
    begun: list[int] = []
    for place, message in enumerate(messages):
        if message.role is Role.USER and own_words(message.text):
            begun.append(place)
    for start, end in pairwise([*begun, len(messages)]):
        at = next((message.at for message in messages[start:end] if message.at is not None), None)
        if at is not None and math.isfinite(at):
            yield UserTurn(prompt=own_words(messages[start].text), at=at, messages=tuple(messages[start + 1 : end]))


def own_words(text: str) -> str:
    """Return a user's message without what OpenClaw puts around it."""
    bare = _METADATA.sub("", _INTERNAL.sub("", text))
    return _ENVELOPE.sub("", bare).strip()


def _grouped(turns: Iterator[UserTurn]) -> list[tuple[UserTurn, ...]]:
    groups: list[list[UserTurn]] = []
    for turn in turns:
        if not groups or turn.at - _end(groups[-1]) > PAUSE_S or _NOT_THE_USER.match(turn.prompt):
            groups.append([])
        groups[-1].append(turn)
    return [tuple(group) for group in groups]


def _obstacles(turns: Sequence[UserTurn], workspace: str) -> Iterator[str]:
    if not workspace:
        yield "its transcript does not name a workspace"
    if len(turns) > MAX_TURNS:
        yield f"it has more than {MAX_TURNS} messages of yours"
    if any(message.role is Role.NOTE for turn in turns for message in turn.messages):
        yield "parts of its transcript are damaged"
    last = next((one for one in reversed(turns[-1].messages) if one.role is Role.ASSISTANT), None)
    if last is None or last.stop in ("aborted", "error") or last.calls:
        yield "it was ended before the agent had answered"
    for turn in turns:
        for call, result in turn.calls:
            if result is None or call.name.lower() not in WEB_TOOLS:
                yield from _obstacles_of(call, workspace)


def _obstacles_of(call: ToolCall, workspace: str) -> Iterator[str]:
    name = call.name.lower()
    if name in _MEMORY_TOOLS:
        yield "your agent's memory, which it searched"
    elif name not in LOCAL_TOOLS:
        reason = next((text for pattern, text in _REASONS if pattern.match(name)), "tools of yours: {}")
        yield reason.format(name[:40])
    texts = [str(call.arguments.get(key) or "") for key in ("command", "path", "file_path", "workdir", "input")]
    for match in _REACHES_OUT.finditer(texts[0]):
        yield f"live web or this machine: {' '.join(match['what'].split())}"
    for path in (match["path"] for text in texts for match in _ABSOLUTE.finditer(text)):
        if not is_inside(path, workspace) and not path.startswith(_SYSTEM):
            yield "files outside its workspace"


def is_inside(path: str, workspace: str) -> bool:
    """Return whether a path, absolute or relative to the workspace, names a place in it."""
    pure = PurePosixPath(path)
    return ".." not in pure.parts and (not pure.is_absolute() or pure.is_relative_to(workspace)) and path[:1] != "~"
