"""Exports a trial's sessions after its processes have ended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.openclaw.sessions import MAX_TRANSCRIPT_BYTES, TranscriptLimitError
from pinchbench.openclaw.transcript import TranscriptFacts, TranscriptReader

if TYPE_CHECKING:
    from pinchbench.openclaw.agent_progress import Session
    from pinchbench.results.evidence_files import Evidence


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


def export_sessions(sessions: list[Session], files: Evidence, seen_as: Path) -> Export | OSError:
    """Write the transcript of all sessions to one file, unchanged line by line, and extract its facts. Blocks.

    OpenClaw sees the workspace as `seen_as`.
    An OSError is returned, not raised: the trial has run, and its other results must not be lost.
    """
    whole, last, kind = TranscriptReader(), None, ""
    try:
        # Always a new file: an agent that knows the path could create a link there, or a pipe that blocks forever.
        files.transcript.unlink(missing_ok=True)
        with files.transcript.open("xb") as file:

            def copy(data: bytes) -> None:
                if file.tell() + len(data) > MAX_TRANSCRIPT_BYTES:
                    raise TranscriptLimitError
                file.write(data)

            for session in sessions:
                last = None
                if (lines := session.store.lines(copy)) is None:
                    continue
                kind = session.store.kind
                last = TranscriptReader()
                for line in lines:
                    whole.feed(line)
                    last.feed(line)
        if not kind:
            files.transcript.unlink()
    except OSError as error:
        return error
    # the first one of each session, as it was read before the agent could write another one there
    cwds = tuple(cwd for session in sessions for cwd in session.reader.facts.cwds[:1])
    return Export(
        facts=whole.facts,
        last_session=last.facts if last is not None else None,
        store=kind,
        elsewhere=_elsewhere(cwds, seen_as),
    )


def _elsewhere(cwds: tuple[str, ...], workspace: Path) -> str:
    """Return the first recorded working directory that is not the workspace; empty if there is none."""
    said = (cwd for cwd in cwds if cwd != str(workspace))  # cheaper than resolving links
    return next((cwd for cwd in said if not _is_same(cwd, workspace)), "")


def _is_same(cwd: str, workspace: Path) -> bool:
    try:
        return Path(cwd).resolve() == workspace.resolve()
    except (OSError, RuntimeError, ValueError):
        return False  # circular links or a NUL: the agent can write such a line too
