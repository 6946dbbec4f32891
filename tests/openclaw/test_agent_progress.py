"""The progress of a trial's sessions, and their export."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pinchbench.model.trial import TrialEvents
from pinchbench.openclaw.agent_progress import Export, Progress, Session, export_sessions
from pinchbench.openclaw.sessions import AnyStore, TranscriptLimitError
from pinchbench.results.evidence_files import Evidence


class Wire:
    """Holds the trial for as long as it is set to."""

    held_s = 0.0


def hear(progress: Progress, session: Session, role: str, *calls: str, result: str = "") -> None:
    parts = [{"type": "toolCall", "id": call, "name": "exec", "arguments": {}} for call in calls]
    message = {"role": role, "content": parts, "toolCallId": result}
    progress.event(session, json.dumps({"type": "message", "message": message}).encode())


def test_held_time_counts_only_while_no_tool_runs() -> None:
    wire = Wire()
    progress = Progress(events=TrialEvents(), held_s=lambda: wire.held_s)
    session = Session("s", AnyStore(Path("nowhere"), "agent", "s"))
    progress.sessions.append(session)

    wire.held_s = 5
    assert progress.waited_s() == 5
    hear(progress, session, "assistant", "a", "b")
    wire.held_s += 200  # the model's own commands hold requests, or one of its sessions waits while another works
    hear(progress, session, "toolResult", result="a")
    wire.held_s += 10
    assert progress.waited_s() == 5
    hear(progress, session, "toolResult", result="b")
    wire.held_s += 2
    assert progress.waited_s() == 7
    hear(progress, session, "assistant", "c")
    wire.held_s += 100
    hear(progress, session, "user")  # the result of that call was never written
    wire.held_s += 1
    assert progress.waited_s() == 8


def test_a_tool_of_one_session_runs_on_while_the_model_speaks_in_another() -> None:
    wire = Wire()
    progress = Progress(events=TrialEvents(), held_s=lambda: wire.held_s)
    main, helper = (Session(name, AnyStore(Path("nowhere"), "agent", name), key=name) for name in ("main", "helper"))
    progress.sessions += [main, helper]

    hear(progress, main, "assistant", "a")
    hear(progress, helper, "user")
    hear(progress, helper, "assistant", "a")
    hear(progress, helper, "toolResult", result="a")
    wire.held_s += 100
    assert progress.waited_s() == 0
    hear(progress, main, "toolResult", result="a")
    wire.held_s += 1
    assert progress.waited_s() == 1


LINE = '{"type": "session", "cwd": "/"}\n'


def link_to_a_victim(place: Path) -> None:
    place.symlink_to(place.with_name("victim"))


@pytest.mark.parametrize("plant", [link_to_a_victim, os.mkfifo], ids=["link", "pipe"])
def test_what_an_agent_put_in_the_transcripts_place_gives_way(tmp_path: Path, plant: Callable[[Path], None]) -> None:
    (tmp_path / "victim").write_text("kept", encoding="utf-8")
    session = tmp_path / "agents" / "a" / "sessions" / "s.jsonl"
    session.parent.mkdir(parents=True)
    session.write_text(LINE, encoding="utf-8")
    files = Evidence(folder=tmp_path)
    plant(files.transcript)
    exported = export_sessions([Session("s", AnyStore(tmp_path, "a", "s"))], files, tmp_path)
    assert isinstance(exported, Export)
    assert (exported.facts.events, exported.store) == (1, "jsonl")
    assert files.transcript.read_text(encoding="utf-8") == LINE
    assert (tmp_path / "victim").read_text(encoding="utf-8") == "kept"


def test_sessions_larger_than_what_is_kept_are_no_lost_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pinchbench.openclaw.agent_progress.MAX_TRANSCRIPT_BYTES", 3 * len(LINE))
    session = tmp_path / "agents" / "a" / "sessions" / "s.jsonl"
    session.parent.mkdir(parents=True)
    sessions = [Session("s", AnyStore(tmp_path, "a", "s"))]
    session.write_text(LINE * 3, encoding="utf-8")
    assert isinstance(export_sessions(sessions, Evidence(folder=tmp_path), tmp_path), Export)
    session.write_text(LINE * 4, encoding="utf-8")
    files = Evidence(folder=tmp_path)
    assert isinstance(export_sessions(sessions, files, tmp_path), TranscriptLimitError)
    assert files.transcript.stat().st_size <= 3 * len(LINE)  # which is what the wire is compared with
