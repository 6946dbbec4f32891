"""Exports a trial's sessions after its processes have ended."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.openclaw.transcript import TranscriptFacts, TranscriptReader
from pinchbench.process.disk import find_full

if TYPE_CHECKING:
    from pinchbench.openclaw.progress import Session
    from pinchbench.results.evidence import Evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class Export:
    """The result of exporting a trial's sessions.

    Attributes:
        facts: the facts of all sessions.
        last_session: the facts of the last session; None if it has no transcript.
        store: the kind of store, as in `AnyStore.kind`.
        elsewhere: the folder in which OpenClaw worked, if that was not the workspace.
    """

    facts: TranscriptFacts
    last_session: TranscriptFacts | None = None
    store: str = ""
    elsewhere: str = ""


def collect_sessions(
    sessions: list[Session], files: Evidence, folders: tuple[Path, ...], seen_as: Path, logged: str = ""
) -> tuple[Export | OSError, str]:
    """Export the sessions and find a full disk. Blocks.

    Returns the export, or the error that prevented it, and a description of the first of `folders` on a full disk
    (empty if none). OpenClaw sees the workspace as `seen_as`. `logged` is the trial's part of the gateway's log, which
    is stored next to the transcript.
    """
    exported = export_sessions(sessions, files)
    if logged:
        try:
            files.gateway_log.write_text(logged, encoding="utf-8")
        except OSError as error:
            exported = error
    if isinstance(exported, Export):
        exported = replace(exported, elsewhere=elsewhere(exported.facts.cwds, seen_as))
    return exported, find_full(folders)


def export_sessions(sessions: list[Session], files: Evidence) -> Export | OSError:
    """Write the transcript of all sessions to one file, unchanged line by line, and extract its facts. Blocks.

    An OSError is returned, not raised: the trial has run, and its other results must not be lost.
    """
    whole, last, kind = TranscriptReader(), None, ""
    try:
        # Always a new file: an agent that knows the path could create a link there, or a pipe that blocks forever.
        files.transcript.unlink(missing_ok=True)
        with files.transcript.open("xb") as file:
            for session in sessions:
                last = None
                if (lines := session.store.lines(copy=file)) is None:
                    continue
                kind = session.store.kind()
                last = TranscriptReader()
                for line in lines:
                    whole.feed(line)
                    last.feed(line)
        if not kind:
            files.transcript.unlink()
    except OSError as error:
        return error
    return Export(facts=whole.facts, last_session=last.facts if last is not None else None, store=kind)


def elsewhere(cwds: tuple[str, ...], workspace: Path) -> str:
    """Return the first recorded working directory that is not the workspace; empty if there is none."""
    said = (cwd for cwd in cwds if cwd != str(workspace))  # cheaper than resolving links
    return next((cwd for cwd in said if not _is_same(cwd, workspace)), "")


def _is_same(cwd: str, workspace: Path) -> bool:
    try:
        return Path(cwd).resolve() == workspace.resolve()
    except (OSError, RuntimeError, ValueError):
        return False  # circular links or a NUL: the agent can write such a line too
