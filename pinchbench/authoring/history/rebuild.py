"""The files that a conversation began with and that it left, as far as they can be known."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pinchbench.authoring.history.conversations import WEB_TOOLS, Conversation
from pinchbench.report.text import many
from pinchbench.suite.fixtures import relative_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pinchbench.authoring.history.workspace_past import WorkspacePast
    from pinchbench.transcripts import Message, ToolCall

MAX_TREE_FILES = 500  # of a commit that is restored as a whole; of a larger one, what the conversation names
MAX_TREE_BYTES = 20 * 1024 * 1024
SETTLE_S = 5.0  # after the last message: a file system's times are coarser than a transcript's
KEPT_S = 24 * 3600.0  # after a conversation: a later commit may hold other work on its files
# Files that make an agent the user's own: they are left out unless asked for.
PERSONAL = frozenset(
    {"memory.md", "user.md", "agents.md", "soul.md", "tools.md", "identity.md", "heartbeat.md", "bootstrap.md"}
)
# Commands that change no file.
_LOOKS = frozenset(
    {
        *("cat", "cd", "cut", "date", "diff", "du", "echo", "file", "find", "grep", "head", "jq", "ls", "printf"),
        *("pwd", "pytest", "rg", "set", "sleep", "sort", "stat", "tail", "test", "tree", "true", "uniq", "wc"),
        *("which", "["),
    }
)
_LOOKING = re.compile(
    r"git (?:status|log|diff|show)\b|python3? -[Bm ]*m? ?(?:unittest|pytest)\b|(?:npm|go|cargo|make) test\b"
)
_WRITES = re.compile(r"(?<![0-9&])>(?!&|\s*/dev/null)|\btee\b|-i\b|-delete\b|-exec\b|`|\$\(")
_CUT = re.compile(
    r"\n\n\[[^\n]*(?:offset|truncated|more lines|Showing lines)[^\n]*\]\s*\Z|\n\.\.\.[^\n]*truncated", re.IGNORECASE
)
_WORD = re.compile(r"[\w./@+~-]+")
WEB_INDEX = "recorded_web/index.md"
# What follows the prompt: an agent without web tools can't know that the pages are there.
WEB_NOTE = f"\n\n(You can't reach the web. `{WEB_INDEX}` lists pages and searches whose replies were saved as files.)"


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftFile:
    """What a conversation left in a file. `evidence` says how that is known, `is_kept` whether the user kept it so."""

    data: bytes
    evidence: str
    is_kept: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Restored:
    """The files of a conversation by path.

    Attributes:
        files: those that it began with.
        left: those that it changed or made, as it left them.
        writes: what it is known to have written to them, turn by turn.
        lost: those that it used and that can't be restored, with reasons.
        used: how many files it used that were there before, the lost ones included.
        replies: how many replies of the web are among `files`.
    """

    files: Mapping[str, bytes]
    left: Mapping[str, LeftFile]
    writes: tuple[Mapping[str, bytes], ...]
    lost: Mapping[str, str]
    used: int
    replies: int = 0

    @property
    def coverage(self) -> str:
        """A clause that says how many of the files that it used could be restored, and what the web replied."""
        web = f" ({many(self.replies, 'web request')} recorded)" if self.replies else ""
        if not self.used:
            return f"it used no file that was there before{web}"
        return f"{self.used - len(self.lost)} of {self.used} files that it used can be restored{web}"


def restore(conversation: Conversation, past: WorkspacePast, *, memory: bool = False, skills: bool = False) -> Restored:
    """Find the files of a conversation; `memory` and `skills` add those of the user's agent. Blocks."""
    replay = _Replay(conversation=conversation, past=past, memory=memory, skills=skills)
    for turn in conversation.turns:
        replay.begin_turn()
        for call, result in turn.calls:
            replay.play(call, result)
    replay.add_tree()
    web = recorded_web(conversation)
    return Restored(
        files={path: data for path, data in sorted(replay.start.items()) if data is not None} | web,
        replies=max(0, len(web) - 1),
        left=dict(sorted(replay.left())),
        writes=tuple(replay.writes),
        lost=replay.lost,
        used=len(replay.used),
    )


def local_path(text: str, workspace: str) -> str:
    """Return a path relative to the workspace, empty if it is outside, or can't be a task's file."""
    pure = PurePosixPath(text)
    if pure.is_absolute():
        if not pure.is_relative_to(workspace) or not workspace:
            return ""
        pure = pure.relative_to(workspace)
    try:
        return relative_path(str(pure))
    except ValueError:
        return ""


@dataclass(kw_only=True)
class _Replay:
    """Follows the calls of a conversation, and what is known of its files.

    `start` holds the files at the beginning, None for those that were not there; `now` what they hold after the calls
    so far, None where that is not known. `unsure` are those that a command may have changed.
    """

    conversation: Conversation
    past: WorkspacePast
    memory: bool
    skills: bool
    start: dict[str, bytes | None] = field(default_factory=dict)
    now: dict[str, bytes | None] = field(default_factory=dict)
    writes: list[dict[str, bytes]] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)

    def begin_turn(self) -> None:
        self.writes.append({})

    def play(self, call: ToolCall, result: Message | None) -> None:
        arguments = call.arguments
        path = local_path(str(arguments.get("path") or arguments.get("file_path") or ""), self.conversation.workspace)
        failed = result is None or result.is_error
        match call.name.lower():
            case "read" if path and not failed:
                self._read(
                    path, result.text if result is not None else "", whole=not {"offset", "limit"} & arguments.keys()
                )
            case "write" if path:
                self._note_start(path)
                self._put(path, str(arguments.get("content", "")).encode("utf-8", "replace"), failed=failed)
            case "edit" if path:
                self._edit(path, arguments, failed=failed)
            case "apply_patch" | "process":
                self._run(str(arguments.get("input") or arguments.get("patch") or ""), changes=True)
            case "exec" | "bash":
                command = str(arguments.get("command") or "")
                self._run(command, changes=_may_change(command))
            case _:
                pass

    def _note_start(self, path: str) -> None:
        if path not in self.start:
            self.start[path] = self._at_start(path)
            self.now[path] = self.start[path]

    def _at_start(self, path: str) -> bytes | None:
        began_at = self.conversation.began_at
        there = self.past.on_disk(path)
        if there is not None and there[0] < began_at:
            return there[1]
        return self.past.committed(path, self.past.commit_before(began_at))

    def _personal(self, path: str) -> str:
        """Return why a file of the user's agent is left out; empty for all others."""
        top, _, rest = path.partition("/")
        if not self.memory and (top.lower() in PERSONAL or (top.lower() == "memory" and rest)):
            return "it is your agent's memory: add --memory"
        return "it is a skill of your agent: add --skills" if top == "skills" and not self.skills else ""

    def _read(self, path: str, text: str, *, whole: bool) -> None:
        self.used.add(path)
        if reason := self._personal(path):
            self.lost[path] = reason
            return
        known = path in self.start
        self._note_start(path)
        shown = text.encode("utf-8", "replace")
        is_whole = whole and _CUT.search(text) is None
        if not known:
            begun = self.start[path]
            if is_whole and (begun is None or not _is_same(begun, shown)):
                self.start[path] = self.now[path] = shown
            elif begun is None:
                self.lost[path] = "it was read only in part"
        elif is_whole and path in self.unsure:
            self.now[path] = shown
            self.unsure.discard(path)

    def _put(self, path: str, data: bytes | None, *, failed: bool) -> None:
        self.touched.add(path)
        if failed:
            self.unsure.add(path)
            return
        self.now[path] = data
        self.unsure.discard(path)
        if data is not None:
            self.writes[-1][path] = data

    def _edit(self, path: str, arguments: Mapping[str, object], *, failed: bool) -> None:
        known = path in self.start
        self._note_start(path)
        if not known:
            self.used.add(path)
            if reason := self._personal(path):
                self.lost[path] = reason
            elif self.start[path] is None:
                self.lost[path] = "it was edited without having been read"
        if failed:
            return
        before = self.now[path]
        self._put(path, None if before is None else _edited(before, arguments), failed=False)

    def _run(self, text: str, *, changes: bool) -> None:
        """Follow a command or a patch, whose effects are not known: only which files it names."""
        began_at = self.conversation.began_at
        tree = self.past.tree(self.past.commit_before(began_at))
        for word in dict.fromkeys(_WORD.findall(text)):
            path = local_path(word, self.conversation.workspace)
            if not path or not (path in tree or path in self.past.files or path in self.start):
                continue
            known = path in self.start
            self._note_start(path)
            if self.start[path] is not None and not known:
                self.used.add(path)
                if reason := self._personal(path):
                    self.lost[path] = reason
            if changes:
                self.touched.add(path)
        if changes:
            self.unsure |= self.now.keys()

    def add_tree(self) -> None:
        """Add the other files of the commit before the conversation, unless there are too many."""
        tree = self.past.tree(self.past.commit_before(self.conversation.began_at))
        others = [path for path in tree if path not in self.start and local_path(path, "") == path]
        if len(tree) <= MAX_TREE_FILES and sum(blob.size for blob in tree.values()) <= MAX_TREE_BYTES:
            for path in others:
                self.start[path] = self._at_start(path)
        for path in [path for path in self.start if self._personal(path)]:
            self.start[path] = None
            self.touched.discard(path)

    def left(self) -> Iterator[tuple[str, LeftFile]]:
        """Yield what the conversation left, of the files whose content at its end is known and has changed."""
        said = "\n".join(self._said())
        named = {path for path in self.past.files if PurePosixPath(path).name in said and not self._personal(path)}
        for path in sorted(self.touched | named):
            file = self._left(path)
            if file is not None and file.data != self.start.get(path):
                yield path, file

    def _said(self) -> Iterator[str]:
        for turn in self.conversation.turns:
            yield turn.prompt
            yield turn.answer
            for call, result in turn.calls:
                yield from (str(value) for value in call.arguments.values())
                yield result.text if result is not None and call.name in ("exec", "bash", "process") else ""

    def _left(self, path: str) -> LeftFile | None:
        began_at, ended_at = self.conversation.began_at, self.conversation.ended_at
        there, known = self.past.on_disk(path), self.now.get(path)
        if there is not None and began_at - SETTLE_S <= there[0] <= ended_at + SETTLE_S:
            return LeftFile(data=there[1], evidence="it has not been changed since", is_kept=True)
        if path not in self.touched:
            return None
        if there is not None and known == there[1]:
            return LeftFile(data=known, evidence="it is the same today", is_kept=True)
        for commit in self.past.commits_after(ended_at):
            data = self.past.committed(path, commit)
            is_sure = known is not None and path not in self.unsure
            if data is not None and (data == known or (not is_sure and commit.at <= ended_at + KEPT_S)):
                day = datetime.fromtimestamp(commit.at, UTC)
                return LeftFile(
                    data=data, evidence=f"commit {commit.name[:8]} of {day:%Y-%m-%d} holds it", is_kept=True
                )
        if known is None or path in self.unsure:
            return None
        return LeftFile(data=known, evidence="it was changed or removed later", is_kept=False)


def _is_same(data: bytes, shown: bytes) -> bool:
    """Return whether a read has shown a file's content; the end of its last line may be missing."""
    return data.rstrip(b"\r\n") == shown.rstrip(b"\r\n")


def _edited(data: bytes, arguments: Mapping[str, object]) -> bytes | None:
    edits = arguments.get("edits")
    changes = edits if isinstance(edits, list) and edits else [arguments]
    text = data.decode("utf-8", "surrogateescape")
    for change in changes:
        if not isinstance(change, dict):
            return None
        old = change.get("oldText", change.get("old_string"))
        new = change.get("newText", change.get("new_string"))
        if not isinstance(old, str) or not isinstance(new, str) or text.count(old) != 1:
            return None
        text = text.replace(old, new)
    return text.encode("utf-8", "surrogateescape")


def _may_change(command: str) -> bool:
    """Return whether a command may change files: all but those that are known to only look."""
    if _WRITES.search(command):
        return True
    parts = (part.strip() for part in re.split(r"&&|\|\||[;|\n]", command))
    return any(part and part.split()[0] not in _LOOKS and not _LOOKING.match(part) for part in parts)


def recorded_web(conversation: Conversation) -> dict[str, bytes]:
    """Return a file for each page and search, with the last reply to it as it was, and the index; none without any."""
    replies: dict[tuple[str, str], Message] = {}
    for turn in conversation.turns:
        for call, result in turn.calls:
            asked = " ".join(str(call.arguments.get("url") or call.arguments.get("query") or "").split())
            key = (call.name.lower(), asked)
            if key[0] in WEB_TOOLS and result is not None and not (result.is_error and key in replies):
                replies[key] = result
    files: dict[str, bytes] = {}
    lines = ["# Recorded replies of the web\n\n"]
    for number, ((tool, asked), reply) in enumerate(replies.items(), 1):
        files[f"recorded_web/{number:02}.txt"] = reply.text.encode("utf-8", "replace")
        lines.append(f"- {number:02}.txt: {tool} {asked}{' (failed)' if reply.is_error else ''}\n")
    return {**files, WEB_INDEX: "".join(lines).encode("utf-8", "replace")} if files else {}
