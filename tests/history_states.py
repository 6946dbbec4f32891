"""States of a user's OpenClaw with conversations in them, in either store, and the workspace that they worked in."""

import json
import os
import sqlite3
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from fake_openclaw import EVENTS_SCHEMA
from pinchbench.authoring.history.candidates import Candidate
from pinchbench.authoring.history.conversations import Conversation, conversations_of
from pinchbench.authoring.history.proposals import proposals_of
from pinchbench.authoring.history.rebuild import restore
from pinchbench.authoring.history.stored_sessions import StoredSession
from pinchbench.authoring.history.workspace_past import WorkspacePast

BEGAN = 1_780_000_000.0  # when the first conversation begins; its messages are a second apart
Call = tuple[str, "Mapping[str, object]", str]  # a tool, its arguments, its result


@dataclass(frozen=True, kw_only=True)
class Said:
    """A message of the user, the agent's calls, and its answer. A result that begins with `ERROR` is an error."""

    prompt: str
    calls: Sequence[Call] = ()
    answer: str = "Done."
    stop: str = "stop"


@dataclass(kw_only=True)
class UserState:
    """A state folder with a config and a workspace under git."""

    folder: Path
    store: str = "jsonl"
    config: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.workspace.mkdir(parents=True)
        self.configure({"agents": {"defaults": {"workspace": str(self.workspace)}}, **self.config})

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def configure(self, config: Mapping[str, object]) -> None:
        """Write OpenClaw's config."""
        (self.folder / "openclaw.json").write_text(json.dumps(config), encoding="utf-8")

    def put(self, files: Mapping[str, str | bytes], *, at: float = BEGAN - 1000) -> None:
        """Write files whose time is `at`."""
        for name, content in files.items():
            path = self.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            os.utime(path, (at, at))

    def commit(self, *, at: float = BEGAN - 500) -> None:
        """Commit all that is in the workspace."""
        who = {f"GIT_{role}_{what}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        dates = {f"GIT_{role}_DATE": f"@{int(at)} +0000" for role in ("AUTHOR", "COMMITTER")}
        env = {**os.environ, **who, **dates, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
            subprocess.run(["git", *arguments], cwd=self.workspace, env=env, check=True)

    def converse(
        self, session_id: str, turns: Sequence[Said], *, at: float = BEGAN, agent: str = "main", cwd: str = ""
    ) -> None:
        """Store a session."""
        self.add(
            session_id, transcript(turns, at=at, cwd=cwd or str(self.workspace), session_id=session_id), agent=agent
        )

    def add(self, session_id: str, events: Sequence[Mapping[str, object]], *, agent: str = "main") -> None:
        """Store events as a session's."""
        home = self.folder / "agents" / agent
        lines = [json.dumps(event) for event in events]
        if self.store == "jsonl":
            (home / "sessions").mkdir(parents=True, exist_ok=True)
            text = "".join(f"{line}\n" for line in lines)
            (home / "sessions" / f"{session_id}.jsonl").write_text(text, encoding="utf-8")
            return
        (home / "agent").mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(home / "agent" / "openclaw-agent.sqlite")) as database, database:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute(EVENTS_SCHEMA)
            rows = [(session_id, number, line, None, 0) for number, line in enumerate(lines)]
            database.executemany("INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?)", rows)

    def snapshot(self) -> dict[str, tuple[int, bytes] | None]:
        """Return every file with its time and content, and every folder."""
        return {
            str(path.relative_to(self.folder)): (path.stat().st_mtime_ns, path.read_bytes()) if path.is_file() else None
            for path in self.folder.rglob("*")
        }


def transcript(turns: Sequence[Said], *, at: float, cwd: str, session_id: str = "s") -> list[dict[str, object]]:
    """Return the events of a session, as OpenClaw writes them."""
    moments = iter(range(10_000))

    def event(kind: str, **more: object) -> dict[str, object]:
        time = datetime.fromtimestamp(at + next(moments), UTC)
        return {"type": kind, "id": f"e{time.timestamp():.0f}", "timestamp": time.isoformat(), **more}

    def message(role: str, content: object, **more: object) -> dict[str, object]:
        return event("message", message={"role": role, "content": content, **more})

    usage = {"input": 100, "output": 10, "totalTokens": 110, "cost": {"total": 0.01}}
    model = {"provider": "mock", "model": "m1", "usage": usage}
    events = [event("session", version=3, cwd=cwd) | {"id": session_id}]
    for number, turn in enumerate(turns):
        events.append(message("user", [{"type": "text", "text": turn.prompt}]))
        for place, (tool, arguments, result) in enumerate(turn.calls):
            call = {"type": "toolCall", "id": f"c{number}_{place}", "name": tool, "arguments": arguments}
            events.append(message("assistant", [call], stopReason="toolUse", **model))
            events.append(
                message(
                    "toolResult",
                    [{"type": "text", "text": result}],
                    toolCallId=call["id"],
                    toolName=tool,
                    isError=result.startswith("ERROR"),
                )
            )
        events.append(message("assistant", [{"type": "text", "text": turn.answer}], stopReason=turn.stop, **model))
    return events


def conversation(turns: Sequence[Said], *, cwd: str, at: float = BEGAN) -> Conversation:
    """Return what is read from a session of these turns, which is one conversation."""
    events = tuple(transcript(turns, at=at, cwd=cwd))
    (one,) = conversations_of(StoredSession(agent="main", session_id="s", events=events))
    return one


def candidate(state: UserState, turns: Sequence[Said]) -> Candidate:
    """Return a conversation in a state's workspace, with all that is proposed for its grading."""
    one = conversation(turns, cwd=str(state.workspace))
    restored = restore(one, WorkspacePast(folder=state.workspace))
    proposals = proposals_of(one, restored)
    return Candidate(conversation=one, restored=restored, proposals=proposals, share=0.25, monthly=3.0)


def state_with_a_conversation(folder: Path) -> Path:
    """Write a state with one conversation of an hour ago, whose file was kept; return its folder."""
    state, now = UserState(folder=folder), time.time()
    state.put({"count.txt": "2\n"}, at=now - 3598)
    write: Call = ("write", {"path": "count.txt", "content": "2\n"}, "ok")
    state.converse("counted", [Said(prompt="Write 2 to count.txt", calls=[write])], at=now - 3600)
    return folder
