"""The authoritative read: what it keeps of a session, and what it says about the place where OpenClaw worked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pinchbench.openclaw.export import Export, elsewhere, export_sessions
from pinchbench.openclaw.progress import Session
from pinchbench.openclaw.sessions import AnyStore
from pinchbench.results.evidence import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
    exported = export_sessions([Session("s", AnyStore(tmp_path, "a", "s"))], files)
    assert isinstance(exported, Export)
    assert (exported.facts.events, exported.store) == (1, "jsonl")
    assert files.transcript.read_text(encoding="utf-8") == LINE
    assert (tmp_path / "victim").read_text(encoding="utf-8") == "kept"


def test_a_link_to_the_workspace_is_not_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "link").symlink_to("workspace")
    assert elsewhere((str(tmp_path / "link"),), tmp_path / "workspace") == ""
    assert elsewhere((str(tmp_path / "link"), "/"), tmp_path / "workspace") == "/"


@pytest.mark.parametrize("cwd", ["a\0b", "{folder}/circle", "x" * 9000])
def test_a_place_that_cannot_be_is_elsewhere(tmp_path: Path, cwd: str) -> None:
    (tmp_path / "circle").symlink_to("circle")
    said = cwd.format(folder=tmp_path)
    assert elsewhere((said,), tmp_path) == said


def test_a_workspace_that_became_a_circle_of_links_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "workspace").symlink_to("workspace")
    assert elsewhere(("/",), tmp_path / "workspace") == "/"
