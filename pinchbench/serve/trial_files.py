"""What lies in a trial's folder, as text: its workspace against the task's files, its logs, the judge's replies."""

from __future__ import annotations

import os
from base64 import b64decode
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import unified_diff
from typing import TYPE_CHECKING

import msgspec

from pinchbench.decoding import decode_json
from pinchbench.errors import ResultsError
from pinchbench.files.archive import ArchiveLostError, KeptFile, NoText, kept_texts
from pinchbench.report.html.safe_text import safe_line, safe_text, shortened
from pinchbench.report.html.trial_page import read_end, size_of
from pinchbench.report.text import many, size
from pinchbench.serve.file_sources import (
    FILE_BYTES,
    IMAGE_BYTES,
    IMAGE_SUFFIXES,
    IMAGES_BYTES,
    first_files,
    image_uri,
    kept_files,
)
from pinchbench.transcripts import read_conversation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pinchbench.model.grade import Grade, JudgeGrade
    from pinchbench.model.task import Task
    from pinchbench.results.evidence_files import Evidence

LOG_BYTES = 100_000  # of the end of a log
WORKSPACE_BYTES = 1_000_000  # of the texts of a workspace
TRANSCRIPT_BYTES = 100_000_000  # of a transcript whose images are looked for
MOST_FILES = 500  # of a workspace that are listed
MOST_LINES = 5_000  # of a file that is compared: that takes quadratic time
REPLIES_BYTES = 1_000_000
MOST_TEXT = 200_000  # characters of one text on a page


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownText:
    """A text of a page: its title, a remark, and the text itself; safe, and of bounded length."""

    title: str
    text: str
    remark: str = ""
    is_open: bool = False
    path: str = ""  # of a file of the workspace, by which it can be saved
    images: tuple[tuple[str, str], ...] = ()  # what each is, and the image as a data URI


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownGroup:
    """Texts under a heading."""

    title: str
    texts: tuple[ShownText, ...]
    remark: str = ""


def links_outside(folder: Path, run_folder: Path) -> str:
    """Return why a trial's folder can't be trusted to hold files of its own; empty if it can.

    A run that came from somewhere else may hold links to files of this machine.
    """
    try:
        if not folder.is_dir():
            return ""
        if folder.resolve() != run_folder.resolve() / folder.relative_to(run_folder):
            return "Its folder is a link, which is not followed."
        with os.scandir(folder) as entries:
            linked = [entry.name for entry in entries if entry.is_symlink()]
    except (OSError, ValueError) as error:
        return f"Its folder can't be read: {error}."
    return f"These of its files are links, which are not followed: {', '.join(sorted(linked)[:5])}." if linked else ""


def trial_texts(evidence: Evidence, grade: Grade | None, task: Task | None) -> tuple[ShownGroup, ...]:
    """Return what a trial's folder holds in addition to its transcript and its calls. Blocks."""
    groups = (
        _workspace(evidence.workspace, task),
        ShownGroup(title="Images that tools gave the model", texts=tuple(_tool_images(evidence.transcript))),
        ShownGroup(title="Task", texts=tuple(_task(task)) if task is not None else ()),
        ShownGroup(title="Judge’s replies", texts=tuple(_replies(evidence, grade))),
        ShownGroup(title="Logs", texts=tuple(_logs(evidence))),
    )
    return tuple(group for group in groups if group.texts)


def _logs(evidence: Evidence) -> Iterator[ShownText]:
    logs = {
        evidence.check_log: "the check’s output",
        evidence.chat: "the messages of the chat",
        evidence.user: "what the simulated user said",
        evidence.store: "what OpenClaw stored, which the wire has corrected in the transcript",
        evidence.ledger: "what the sandbox’s ledger has of the agent",
        evidence.gateway_log: "the gateway’s log of this trial",
        **dict.fromkeys(evidence.service_logs, "the output of a service"),
        evidence.stdout: "OpenClaw’s output",
    }
    for path, remark in logs.items():
        data, left_out = read_end(path, LOG_BYTES)
        if data:
            cut = f"; {size(left_out)} before it are left out" if left_out else ""
            yield ShownText(
                title=path.name, remark=remark + cut, text=safe_text(data.decode("utf-8", "replace"))[:MOST_TEXT]
            )


def _replies(evidence: Evidence, grade: Grade | None) -> Iterator[ShownText]:
    judges = grade.judge.each if grade is not None and grade.judge is not None else ()
    for judge in judges:
        if judge.replies_digest:
            yield from _replies_of(evidence, judge, named=f"{safe_line(judge.model, 200)}, " if judges[1:] else "")


def _replies_of(evidence: Evidence, judge: JudgeGrade, *, named: str) -> Iterator[ShownText]:
    data, left_out = read_end(evidence.judge_replies(judge.replies_digest), REPLIES_BYTES)
    if left_out or not data:
        return
    try:
        votes = decode_json(data, _Replies).votes
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        yield ShownText(title=f"{named}replies", text=safe_text(data.decode("utf-8", "replace"))[:MOST_TEXT])
        return
    for number, vote in enumerate(votes, start=1):
        for reply in vote.replies:
            remark = "from the cache" if vote.cached else safe_line(vote.problem, 200)
            yield ShownText(title=f"{named}vote {number}", remark=remark, text=shortened(reply, MOST_TEXT))


class _Vote(msgspec.Struct, frozen=True, kw_only=True):
    replies: tuple[str, ...] = ()
    problem: str = ""
    cached: bool = False


class _Replies(msgspec.Struct, frozen=True, kw_only=True):
    votes: tuple[_Vote, ...] = ()


def _task(task: Task) -> Iterator[ShownText]:
    sections = {
        "prompt": "\n\n".join(turn.prompt for turn in task.turns) or task.prompt,
        "expected behavior": task.expected_behavior,
        "grading criteria": "\n".join(task.grading_criteria),
        "check": task.automated_checks or "",
        "rubric of the judge": task.llm_judge_rubric or "",
    }
    yield from (ShownText(title=title, text=shortened(text, MOST_TEXT)) for title, text in sections.items() if text)


def _workspace(archive: Path, task: Task | None) -> ShownGroup:
    title = "Files"
    if archive.is_symlink() or not archive.is_file():
        return ShownGroup(title=title, texts=())
    try:
        kept = kept_texts(archive, max_file_bytes=FILE_BYTES, max_bytes=WORKSPACE_BYTES)
    except ArchiveLostError as error:
        return ShownGroup(title=title, texts=(ShownText(title=archive.name, text=safe_line(error)),))
    before = None if task is None else first_files(task)
    texts = compared_files(kept, before, _images(archive, kept))
    remark = "compared with the task’s own" if before is not None else "the task’s own are gone or have changed"
    if len(texts) > MOST_FILES:
        remark += f"; {many(len(texts) - MOST_FILES, 'file')} more are not listed"
    return ShownGroup(title=title, texts=texts[:MOST_FILES], remark=remark)


def _tool_images(transcript: Path) -> Iterator[ShownText]:
    """Yield the images of tools' results, such as screenshots, up to `IMAGES_BYTES`. Blocks."""
    try:
        messages = read_conversation(transcript) if size_of(transcript) <= TRANSCRIPT_BYTES else ()
    except ResultsError:
        return
    left = IMAGES_BYTES
    for one in messages:
        shown = []
        for number, data in enumerate(one.images, 1):
            left -= len(data)
            with suppress(ValueError):
                if left >= 0 and (uri := image_uri(b64decode(data))):
                    shown.append((f"image {number}", uri))
        if shown:
            yield ShownText(title=safe_line(one.tool, 200), text="", images=tuple(shown))


def _images(archive: Path, kept: tuple[KeptFile, ...]) -> dict[str, bytes]:
    """Return the images of a workspace that are small enough to be shown."""
    paths: set[str] = set()
    room = IMAGES_BYTES
    for one in kept:
        if one.path.lower().endswith(IMAGE_SUFFIXES) and one.size <= min(IMAGE_BYTES, room):
            paths.add(one.path)
            room -= one.size
    return kept_files(archive, paths, most_bytes=IMAGE_BYTES) if paths else {}


def compared_files(
    kept: tuple[KeptFile, ...], before: Mapping[str, bytes] | None, images: Mapping[str, bytes]
) -> tuple[ShownText, ...]:
    """Return the files of a workspace that differ from those it had before, then those that do not (pure).

    `images` are those of the workspace; one that differs is shown as it was, too.
    """
    changed: list[ShownText] = []
    same: list[ShownText] = []
    for one in kept:
        old = None if before is None else before.get(one.path)
        now = images.get(one.path) if one.text is None else one.text.encode()
        is_same = old is not None and old == now
        versions = (("before", b"" if is_same or old is None else old), ("now", images.get(one.path, b"")))
        shown = tuple((what, uri) for what, data in versions if one.path in images and (uri := image_uri(data)))
        if is_same:
            text = shortened(one.text or "", MOST_TEXT)
            same.append(
                ShownText(title=safe_line(one.path), remark="unchanged", text=text, path=one.path, images=shown)
            )
        else:
            changed.append(replace(_changed(one, old, is_known=before is not None), images=shown))
    gone = sorted((before or {}).keys() - {one.path for one in kept})
    changed += [ShownText(title=safe_line(path), remark="deleted, or not kept", text="") for path in gone]
    return (*changed, *same)


def _changed(one: KeptFile, old: bytes | None, *, is_known: bool) -> ShownText:
    title, about = safe_line(one.path), size(one.size)
    if one.text is None:
        why = "no text" if one.no_text is NoText.BINARY else "left out of this page, which would be too large"
        return ShownText(title=title, remark=f"{about}, {why}", text="", path=one.path)
    cut = ", its beginning" if one.size > FILE_BYTES else ""
    if old is None:
        return ShownText(
            title=title,
            remark=f"{'new, ' if is_known else ''}{about}{cut}",
            text=shortened(one.text, MOST_TEXT),
            path=one.path,
        )
    first, now = (text.split("\n")[:MOST_LINES] for text in (old[:FILE_BYTES].decode("utf-8", "replace"), one.text))
    diff = "\n".join(list(unified_diff(first, now, lineterm=""))[2:])  # without the names of files
    return ShownText(
        title=title,
        remark=f"changed, {about}{cut}",
        text=shortened(diff or "different beyond what is compared", MOST_TEXT),
        is_open=True,
        path=one.path,
    )
