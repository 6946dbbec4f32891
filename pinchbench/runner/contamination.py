"""Whether an attempt's evidence holds a canary: its agent has seen a check or a solution then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinchbench.files.archive import unpacked
from pinchbench.suite.canary import find_canary
from pinchbench.wire.recording import read_recording

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pinchbench.results.evidence import Evidence

CHUNK_BYTES = 1024 * 1024


def find_contamination(evidence: Evidence) -> str:
    """Return a sentence about the first canary in the transcript, the requests to the model or the workspace. Blocks.

    Empty if there is none. Raises OSError if the evidence can't be read.
    """
    places = {
        "the transcript": _transcript(evidence.transcript),
        "a request to the model": _requests(evidence.wire),
        "the workspace": unpacked(evidence.workspace),
    }
    for name, chunks in places.items():
        if (canary := find_canary(chunks)) is not None:
            return f"{name} holds {canary}, which stands in the check and the solution of a task only"
    return ""


def _transcript(path: Path) -> Iterator[bytes]:
    if path.is_file():
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk


def _requests(recording: Path) -> Iterator[bytes]:
    if recording.is_file():
        for exchange in read_recording(recording).exchanges:
            yield exchange.request
            yield b"\n"  # no canary goes from one request to the next
