"""Runs whose files have digests and hold a name and a key, to be published."""

from dataclasses import replace
from pathlib import Path

from msgspec.structs import replace as replace_in

from past_runs import Made, PlannedRun, write_run
from pinchbench.files.archive_write import keep_workspace
from pinchbench.results.evidence_files import Evidence, digests_of, file_digest
from pinchbench.results.finished_run import PastRun, derive_result, read_run
from pinchbench.results.journal.journal import JournalWriter, read_journal
from pinchbench.results.paths import RunFiles
from pinchbench.results.records import Record, RunStarted, TrialFinished
from pinchbench.wire.exchange import Chunk, Exchange

KEY = "sk-1234567890-abc"
EXCHANGE = Exchange(
    number=1,
    began_at=1.0,
    provider="mock",
    method="POST",
    path="/v1/zelda/chat",
    request_headers=(("host", "zelda.example"),),
    request=b'{"content": "I am zelda"}',
    status=200,
    # what a model writes token by token
    chunks=tuple(
        Chunk(at_s=float(number), data=b'data: {"content":"%s"}\n\n' % piece)
        for number, piece in enumerate((b"Hello ze", b"lda, how", b" are you?"))
    ),
)


def published_run(tmp_path: Path, *, name: str = "zelda") -> PastRun:
    """A run of one trial whose note, workspace, transcript and recording hold the name."""
    made = Made(exchanges=(EXCHANGE,), note=f"seen by {name}", transcript=f'{{"say": "{name} {KEY}"}}\n')
    files = write_run(tmp_path / "results", PlannedRun(trials={"task_a": (made,)}, config={"suite": f"of {name}"}))
    workspace = tmp_path / "workspace"
    (workspace / f"{name}-notes").mkdir(parents=True)
    (workspace / f"{name}-notes" / "who.txt").write_text(f"{name} was here", encoding="utf-8")
    (workspace / "link").symlink_to(f"{name}-notes/who.txt")
    return with_digests(files, workspace)


def with_digests(files: RunFiles, workspace: Path) -> PastRun:
    """Write the journal of a run again, with the digests that a runner writes."""

    def digested(record: Record) -> Record:
        match record:
            case RunStarted():
                return replace_in(record, run_json=file_digest(files.provenance))
            case TrialFinished(outcome=outcome):
                evidence = Evidence(folder=files.folder / outcome.evidence)
                keep_workspace(workspace, evidence.workspace)
                return replace_in(record, outcome=replace(outcome, files=digests_of(evidence.of_agent)))
            case _:
                return record

    records = [digested(record) for record in read_journal(files.journal).records]
    files.journal.unlink()
    with JournalWriter(files.journal) as journal:
        journal.append(records)
    derive_result(files)
    return read_run(files)
