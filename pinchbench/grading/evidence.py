"""What a trial has left, as its judge sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinchbench.grading.judge_text import FileView, Question, ask
from pinchbench.grading.judge_view import is_others_work
from pinchbench.openclaw.sessions import read_lines
from pinchbench.results.transcript_lines import parse_line
from pinchbench.snapshot.texts import KeptFile, NoText, kept_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pinchbench.model import Task, WorkspaceFile
    from pinchbench.results.evidence import Evidence
    from pinchbench.results.transcript_lines import Event

FILE_BYTES = 128 * 1024  # of one file, and
FILES_BYTES = 8 * 1024 * 1024  # of all files that are read: far more than a judge is shown
LAST_CHARACTER = 4  # pieces of one, with which a text that was cut may end


def make_question(task: Task, evidence: Evidence, *, transcript_length: int) -> Question:
    """Ask a judge about a trial. Blocks; memory stays bounded.

    Raises OSError when the evidence can't be read, or its transcript does not hold as many events as when the trial
    ended.
    """
    return ask(task, _events(evidence.transcript, transcript_length), _files(task, evidence.workspace))


def _events(transcript: Path, length: int) -> Iterator[Event]:
    read = 0
    for line in read_lines(transcript):  # as when it was counted: of an event that is very long only the head is read
        for event in parse_line(line).events:
            read += 1
            yield event
    if read != length:
        raise OSError(f"the transcript holds {read} events, but had {length} when the trial ended")


def _files(task: Task, archive: Path) -> tuple[FileView, ...]:
    sources = dict(_sources(task.workspace_files))
    kept = kept_texts(archive, max_file_bytes=FILE_BYTES, max_bytes=FILES_BYTES, comes_last=is_others_work)
    return tuple(
        FileView(
            path=one.path,
            size=one.size,
            text=one.text,
            given=_is_given(one, sources.get(one.path)),
            no_room=one.no_text is NoText.NO_ROOM,
        )
        for one in kept
    )


def _sources(files: Iterable[WorkspaceFile]) -> Iterator[tuple[str, Path | str]]:
    """What the task put where, file by file: the source, or the text itself."""
    for file in files:
        if file.content is not None:
            yield file.dest, file.content
        elif file.source is not None and file.source.is_dir():
            inside = (path for path in file.source.rglob("*") if path.is_file())
            yield from ((f"{file.dest}/{path.relative_to(file.source).as_posix()}", path) for path in inside)
        elif file.source is not None:
            yield file.dest, file.source


def _is_given(kept: KeptFile, source: Path | str | None) -> bool:
    """Whether a file is still the task's own. Of a long file, its size and its beginning decide; of a binary, its size.

    Of a file that was not read nobody can say it.
    """
    if source is None or kept.no_text is NoText.NO_ROOM:
        return False
    if isinstance(source, str):
        data = source.encode()
        size, head = len(data), data[:FILE_BYTES]
    else:
        size = source.stat().st_size
        with source.open("rb") as file:
            head = file.read(FILE_BYTES)
    if size != kept.size:
        return False
    if kept.text is None:
        return True
    text = head.decode("utf-8", "replace")
    if size <= FILE_BYTES:
        return kept.text == text
    return kept.text[:-LAST_CHARACTER] == text[: len(kept.text) - LAST_CHARACTER]
