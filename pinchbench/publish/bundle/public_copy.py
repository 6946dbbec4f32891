"""A copy of a run without keys and private names, whose digests hold of what is left; how these are taken out."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace as replace_in

from pinchbench.errors import AlteredRunError, ResultsError
from pinchbench.files.archive import ArchiveLostError
from pinchbench.files.archive_write import rewrite_archive
from pinchbench.results.evidence_files import Evidence, file_digest
from pinchbench.results.finished_run import PastRun, derive_result
from pinchbench.results.journal.journal import JournalWriter
from pinchbench.results.paths import RunFiles, write_json
from pinchbench.results.records import GradeGiven, Record, RunStarted, TrialFinished, decode, encode
from pinchbench.results.verification import State, check_run, stated_evidence
from pinchbench.wire.recording import RecordingReader, RecordingWriter
from pinchbench.wire.redact import masked_exchange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from pinchbench.model.grade import JudgeGrade

NOT_NEEDED = "the run's journal has no digest of it"
PUBLISHED = "published.json"
SHORTEST_WORD = 4  # letters of a name that is taken out wherever it is a word; a shorter one only where it names a home
# JSON writes a line's end as two characters, of which the second is a letter.
BEFORE_WORD = rb"(?:(?<![0-9A-Za-z\x80-\xff])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4}))"
BEFORE_HOME = rb"(?:(?<=/home/)|(?<=/Users/))"
AFTER = rb"(?![0-9A-Za-z\x80-\xff])"


class TextRemover:
    """Puts `*` in place of each byte of keys and private names, so that sizes stay.

    Attributes:
        labels: the names by what stands for them in a list that others read: `name 1`.
        found: how many were taken out since the last `take_found`, by label; all keys are `key`.
    """

    def __init__(self, *, names: Iterable[str], keys: Iterable[str]) -> None:
        """Take names, which count as words in any case, and keys, which count everywhere."""
        ordered = sorted({name.casefold() for name in names} - {""}, key=lambda name: (-len(name), name))
        self.labels = {f"name {number}": name for number, name in enumerate(ordered, start=1)}
        self.found: Counter[str] = Counter()
        # what is searched first, in small letters, the pattern of where it counts, and what stands for it
        self._texts = [(key.lower(), re.compile(re.escape(key)), "key") for key in _encoded(keys)]
        for label, name in self.labels.items():
            is_short = len(name) < SHORTEST_WORD
            for text in _encoded([name, json.dumps(name)[1:-1]]):
                self._texts.append((text.lower(), _word(text, is_short=is_short), label))

    def __call__(self, data: bytes) -> bytes:
        """Return the data, as long as before, without the texts."""
        small = data.lower()
        for text, pattern, label in self._texts:
            if text in small:
                data, places = pattern.subn(lambda match: b"*" * len(match[0]), data)
                self.found += Counter({label: places})  # without those that are 0
        return data

    def text(self, text: str) -> str:
        """Return a text without them; nothing is counted."""
        before = self.found.copy()
        removed = self(text.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")
        self.found = before
        return removed

    def take_found(self) -> dict[str, int]:
        """Return what was taken out since the last call, and begin to count anew."""
        found = dict(sorted(self.found.items()))
        self.found.clear()
        return found


def _encoded(texts: Iterable[str]) -> Iterator[bytes]:
    yield from dict.fromkeys(text.encode("utf-8", "surrogateescape") for text in texts if text)


def _word(text: bytes, *, is_short: bool) -> re.Pattern[bytes]:
    before = BEFORE_HOME if is_short else BEFORE_WORD
    return re.compile(before + re.escape(text) + AFTER, re.IGNORECASE)


class TakenOut(msgspec.Struct, frozen=True, kw_only=True):
    """How many places of a file were overwritten; `what` is `key`, or stands for a private name."""

    file: str
    what: str
    places: int


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the run that is not in its copy, and why."""

    file: str
    why: str


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """What a public copy of a run says of itself; `journal` is the last digest of the run's own journal."""

    made_by: str
    journal: str
    taken_out: list[TakenOut]
    left_out: list[LeftOut]


class _Copying:
    """A copy under way: where it is, and what was taken out and left out."""

    def __init__(self, run: PastRun, output_dir: Path, remove: TextRemover) -> None:
        self._from, self._remove = run.files, remove
        # the name of a folder has letters in place of what is taken out
        self.to = RunFiles(output_dir=output_dir, name=remove.text(run.files.name).replace("*", "x"))
        self._digests: dict[str, str] = {}  # of the copies, by those of the files
        self._lost: set[str] = set()  # the digests of what was left out
        self.taken_out: list[TakenOut] = []
        self.left_out: list[LeftOut] = []

    def name(self, path: Path) -> str:
        """Return the name of a file of the run in its copy, relative to the folder."""
        return self._remove.text(path.relative_to(self._from.folder).as_posix())

    def copy(self, path: Path, digest: str) -> None:
        """Copy a file of the run with its digest. Raises OSError."""
        place = self.to.folder / self.name(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._write(path, place)
        except ArchiveLostError as error:
            place.unlink(missing_ok=True)
            self._remove.take_found()
            self._lost.add(digest)
            self.left_out.append(LeftOut(file=self.name(path), why=f"it can't be searched: {error}"))
            return
        self.count(path)
        self._digests[digest] = found = file_digest(place)
        if path == Evidence(folder=path.parent).judge_replies(digest):
            place.rename(Evidence(folder=place.parent).judge_replies(found))

    def count(self, path: Path) -> None:
        """List what was taken out of a file of the run since the last call."""
        name = self.name(path)
        found = self._remove.take_found().items()
        self.taken_out += [TakenOut(file=name, what=what, places=places) for what, places in found]

    def _write(self, path: Path, place: Path) -> None:
        evidence = Evidence(folder=path.parent)
        if path == evidence.wire:
            reader = RecordingReader(path)
            with RecordingWriter(place) as writer:
                for exchange in reader:
                    writer.append(masked_exchange(exchange, self._remove))
            if reader.problem:
                raise ArchiveLostError(reader.problem.removeprefix(f"{path}: "))
        elif path == evidence.workspace:
            rewrite_archive(path, place, self._remove)
        else:
            place.write_bytes(self._remove(path.read_bytes()))
            return
        if not self._remove.found:  # as it is: the same content can be packed otherwise
            shutil.copyfile(path, place)

    def record(self, record: Record) -> Record:
        """Return a record without the texts, and with the digests of the copied files."""
        match public := decode(self._remove(encode(record))):
            case RunStarted():
                return replace_in(public, run_json=self._digest(public.run_json))
            case TrialFinished(outcome=outcome):
                return replace_in(public, outcome=replace(outcome, files=self._files(outcome.files)))
            case GradeGiven(grade=grade):
                judge = grade.judge and grade.judge.changed(self._judge)
                return replace_in(public, grade=replace(grade, judge=judge, files=self._files(grade.files)))
            case _:
                return public

    def _judge(self, grade: JudgeGrade) -> JudgeGrade:
        return replace(grade, replies_digest=self._digest(grade.replies_digest))

    def _digest(self, before: str) -> str:
        return self._digests.get(before, before)

    def _files(self, files: Mapping[str, str] | None) -> Mapping[str, str] | None:
        return files and {name: self._digest(one) for name, one in files.items() if one not in self._lost}


def copy_publicly(run: PastRun, output_dir: Path, remove: TextRemover) -> tuple[RunFiles, Published]:
    """Copy a run into an empty output folder, without what `remove` takes out. The same run gives the same bytes.

    The digests and the result are made anew, where something was taken out, so that the copy is verified like any run.
    `published.json` lists what was taken out and left out. Blocks.
    Raises AlteredRunError or ResultsError if the run, or its copy, is not verified or can't be read or written.
    """
    _require_verified(run.files)
    copying = _Copying(run, output_dir, remove)
    try:
        return _copied(run, copying)
    except OSError as error:
        raise ResultsError(f"{run.files.folder} can't be copied: {error.strerror}: {error.filename}.") from error
    except ValueError as error:
        raise ResultsError(_broken(run.files, error)) from error


def _copied(run: PastRun, copying: _Copying) -> tuple[RunFiles, Published]:
    files, to = run.files, copying.to
    copied = {files.journal, files.aggregate}
    for path, digest in _stated(run):
        copying.copy(path, digest)
        copied.add(path)
    records = [copying.record(record) for record in run.journal.records]
    if records == list(run.journal.records) and not run.journal.problems:
        to.journal.write_bytes(files.journal.read_bytes())
    else:
        with JournalWriter(to.journal) as journal:
            journal.append(records)
    copying.count(files.journal)
    derive_result(to)
    others = sorted(path for path in files.folder.rglob("*") if not path.is_dir() and path not in copied)
    left_out = [*copying.left_out, *(LeftOut(file=copying.name(path), why=NOT_NEEDED) for path in others)]
    published = Published(
        made_by=f"pinchbench-async {version('pinchbench-async')}",
        journal=run.journal.digests[-1],
        taken_out=copying.taken_out,
        left_out=left_out,
    )
    write_json(to.folder / PUBLISHED, published)
    if (state := check_run(to)).state is not State.VERIFIED:
        raise ResultsError(_broken(files, state.problem or "; ".join(state.differences)))
    return to, published


def _require_verified(files: RunFiles) -> None:
    found = check_run(files)
    match found.state:
        case State.VERIFIED:
            return
        case State.ALTERED:
            raise AlteredRunError.of(found.differences, run=files.folder)
        case State.UNVERIFIED | State.UNREADABLE:
            why = found.problem or "; ".join(found.unverified)
            raise ResultsError(f"{files.folder} can't be published, since it can't be verified: {why}")


def _stated(run: PastRun) -> Iterator[tuple[Path, str]]:
    """Yield the files of a run that its journal has digests of, with the digests."""
    files, journal = run.files, run.journal
    yield files.provenance, journal.state.started.run_json if journal.state.started is not None else ""
    for _, paths, digests in stated_evidence(files, journal):
        for name, digest in digests.items():
            yield paths[0].parent / name, digest


def _broken(files: RunFiles, problem: object) -> str:
    return (
        f"{files.folder} can't be read any more without its keys and private names: {problem}. A name may be a word"
        " that its files need: keep it with --keep WORD."
    )
