"""The authoritative read of a trial's sessions, once its processes are gone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.openclaw.disk import find_full
from pinchbench.openclaw.transcript import TranscriptFacts, TranscriptReader

if TYPE_CHECKING:
    from pinchbench.openclaw.progress import Session
    from pinchbench.results.evidence import Evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class Export:
    """What the authoritative read has found.

    `last_session` is None when that session has no transcript. `elsewhere` is where OpenClaw worked, if not in the
    workspace.
    """

    facts: TranscriptFacts
    last_session: TranscriptFacts | None = None
    store: str = ""
    elsewhere: str = ""


def take_stock(
    sessions: list[Session], files: Evidence, folders: tuple[Path, ...], logged: str = ""
) -> tuple[Export | OSError, str]:
    """Export the sessions, and find which of these folders, of which the workspace comes first, is on a full disk. Blocks.

    `logged` is the trial's part of its gateway's log, which is kept beside them.
    """
    exported = export_sessions(sessions, files)
    if logged:
        try:
            files.gateway_log.write_text(logged, encoding="utf-8")
        except OSError as error:
            exported = error
    if isinstance(exported, Export):
        exported = replace(exported, elsewhere=elsewhere(exported.facts.cwds, folders[0]))
    return exported, find_full(folders)


def export_sessions(sessions: list[Session], files: Evidence) -> Export | OSError:
    """Write the transcript of all sessions to one file, line by line as OpenClaw stored it, and count it.

    An error is a value: the trial has run, and what else is known of it must not be lost. Blocks.
    """
    whole, last, kind = TranscriptReader(), None, ""
    try:
        # a fresh one: an agent that knows the place could put a link there, or a pipe that would hold us up for good
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
    """Where a session worked, if it says so and that is not the workspace."""
    said = (cwd for cwd in cwds if cwd != str(workspace))  # to follow links takes a dozen looks at the disk
    return next((cwd for cwd in said if not _is_same(cwd, workspace)), "")


def _is_same(cwd: str, workspace: Path) -> bool:
    try:
        return Path(cwd).resolve() == workspace.resolve()
    except (OSError, RuntimeError, ValueError):
        return False  # links that lead round in a circle, a NUL: the agent can write such a line too
