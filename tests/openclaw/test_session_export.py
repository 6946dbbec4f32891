"""The authoritative read: what it keeps of a session, and what it says about the place where OpenClaw worked."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pinchbench.openclaw.agent_progress import Session
from pinchbench.openclaw.session_export import Export, export_sessions
from pinchbench.openclaw.sessions import AnyStore, TranscriptLimitError
from pinchbench.results.evidence_files import Evidence

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
    monkeypatch.setattr("pinchbench.openclaw.session_export.MAX_TRANSCRIPT_BYTES", 3 * len(LINE))
    session = tmp_path / "agents" / "a" / "sessions" / "s.jsonl"
    session.parent.mkdir(parents=True)
    sessions = [Session("s", AnyStore(tmp_path, "a", "s"))]
    session.write_text(LINE * 3, encoding="utf-8")
    assert isinstance(export_sessions(sessions, Evidence(folder=tmp_path), tmp_path), Export)
    session.write_text(LINE * 4, encoding="utf-8")
    files = Evidence(folder=tmp_path)
    assert isinstance(export_sessions(sessions, files, tmp_path), TranscriptLimitError)
    assert files.transcript.stat().st_size <= 3 * len(LINE)  # which is what the wire is compared with
