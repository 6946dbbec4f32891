"""What a sandboxed agent attempted that it may not do, and whether it has seen a check or a solution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pinchbench.files.archive import unpacked
from pinchbench.model.facts import Integrity, SandboxFacts
from pinchbench.sandbox.ledger import Facts, examine
from pinchbench.suite.check_code import find_canary
from pinchbench.transcripts import ToolCall, read_conversation
from pinchbench.wire.recording import RecordingReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from pinchbench.defaults import Network
    from pinchbench.results.evidence_files import Evidence

MAX_TOLD = 20
COMMAND_KEYS = ("command", "cmd", "script")
PATH_KEYS = ("path", "file_path", "filePath")


def read_integrity(evidence: Evidence, network: Network, facts: Facts) -> SandboxFacts:
    """Return what an attempt's agent attempted, and write it into the ledger if there is something. Blocks.

    `network` is what it could connect to. Without a transcript, only `facts` tell something. Raises OSError if the
    ledger can't be written, and ResultsError if the transcript can't be read.
    """
    calls = _calls(evidence.transcript)
    findings = examine(_texts(calls, COMMAND_KEYS), _texts(calls, PATH_KEYS), facts)
    if findings:
        lines = (msgspec.json.encode(one) for one in findings)
        evidence.ledger.write_bytes(b"".join(line + b"\n" for line in lines))
    integrity = Integrity.PROBED if findings else Integrity.CLEAN
    return SandboxFacts(network=network.value, integrity=integrity, attempts=tuple(map(str, findings[:MAX_TOLD])))


def _calls(transcript: Path) -> list[ToolCall]:
    if not transcript.is_file():
        return []
    return [call for message in read_conversation(transcript) for call in message.calls]


def _texts(calls: Iterable[ToolCall], keys: Sequence[str]) -> list[str]:
    found = (call.arguments.get(key) for call in calls if isinstance(call.arguments, dict) for key in keys)
    return [text for text in found if isinstance(text, str)]


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
            return f"{name} holds {canary}, which only the check and the solution of a task have"
    return ""


def _transcript(path: Path) -> Iterator[bytes]:
    if path.is_file():
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk


def _requests(recording: Path) -> Iterator[bytes]:
    if recording.is_file():
        for exchange in RecordingReader(recording):
            yield exchange.request
            yield b"\n"  # no canary goes from one request to the next
