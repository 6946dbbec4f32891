"""A judge's replies: cached, so that an identical question is paid for only once, and kept with a trial's evidence."""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from anyio import to_thread

from pinchbench.decoding import decode_json
from pinchbench.files.folders import replaced_file
from pinchbench.grading.judge.judge_reply import REPLY_CHARS
from pinchbench.grading.judge.prompt import PROMPT_VERSION
from pinchbench.model.usage import Usage
from pinchbench.redaction import mask
from pinchbench.transcript_lines import writable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pinchbench.grading.judge.judge_reply import Verdict
    from pinchbench.grading.judge.prompt import Question
    from pinchbench.model.grade import JudgeGrade, Ungraded
    from pinchbench.results.evidence_files import Evidence


MAX_ENTRY_BYTES = 16 * 1024 * 1024  # a reply is at most half of that; a larger file was not written by us


@dataclass(frozen=True, kw_only=True, slots=True)
class Vote:
    """One vote of a judge: a verdict, or in `failed` the reason why there is none, with the `problem` in words.

    `replies` are all texts received, in order; if there is a verdict, it is in the last one. `usage`, `cost_usd`,
    `calls` and `latency_s` (seconds spent waiting for the judge only) are this vote's own: a vote from the cache cost
    nothing.
    """

    verdict: Verdict | None = None
    failed: Ungraded | None = None
    problem: str = ""
    replies: tuple[str, ...] = ()
    model: str = ""
    usage: Usage = Usage()
    cost_usd: float | None = None
    calls: int = 0
    latency_s: float = 0.0
    cached: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """The grade from all votes, and the votes."""

    grade: JudgeGrade
    votes: tuple[Vote, ...] = ()


class KeptReply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A readable reply, its cost, and when it was received (`at`, seconds since the epoch, UTC).

    `key` is that of the question, so that a file copied to another key's name is rejected. `digest` is a SHA-256 over
    all other fields. The verdict is not stored: it is read from the text each time.
    """

    key: str
    text: str
    usage: Usage
    model: str
    at: float
    digest: str = ""

    def digested(self) -> str:
        """Return the expected value of `digest`."""
        return hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(self, digest=""))).hexdigest()


def cache_key(question: Question, schema: Mapping[str, object], *, endpoint: Mapping[str, object], vote: int) -> str:
    """Return a SHA-256 over everything that shapes a reply: endpoint, schema, question and the vote's number."""
    asked = {"system": question.system, "message": question.message, "vote": vote}
    parts = {"prompt_version": PROMPT_VERSION, "endpoint": endpoint, "schema": schema, **asked}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class JudgeCache:
    """A folder with one file per key. Several runs may share it at the same time.

    A file that is not as it was written counts as absent, and a reply that can't be written is not kept. Blocking work
    is done in threads, which a cancellation waits for.
    """

    def __init__(self, folder: Path) -> None:
        """`folder` is created, for this user only, when the first reply is kept."""
        self._folder = folder

    async def get(self, key: str) -> KeptReply | None:
        """Return the reply kept under `key`; None without one."""
        return await to_thread.run_sync(self._read, key)

    async def put(self, key: str, text: str, *, usage: Usage, model: str) -> None:
        """Keep a reply. Concurrent readers see all of it or nothing."""
        kept = KeptReply(key=key, text=text, usage=usage, model=model, at=time.time())
        with suppress(OSError, UnicodeEncodeError):
            kept = msgspec.structs.replace(kept, digest=kept.digested())
            await to_thread.run_sync(partial(self._write, kept))

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"

    def _read(self, key: str) -> KeptReply | None:
        try:
            with self._path(key).open("rb") as file:
                kept = decode_json(file.read(MAX_ENTRY_BYTES + 1), KeptReply)
        except (OSError, ValueError, RecursionError):
            return None
        return kept if kept.key == key and kept.digest == kept.digested() else None

    def _write(self, kept: KeptReply) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replaced_file(self._path(kept.key), mode=0o600) as file:
            file.write(msgspec.json.encode(kept))


def keep_replies(evidence: Evidence, question: Question, judgement: Judgement, secrets: Sequence[str]) -> str:
    """Write all replies to a file named by its SHA-256, and return that digest. Blocks.

    Secrets are masked, and each reply is cut to the length that is read. The same replies give the same file. Raises
    OSError if it can't be written.
    """
    grade = judgement.grade
    votes = [
        {
            "model": mask(vote.model, secrets),
            "total": vote.verdict.total if vote.verdict is not None else None,
            "problem": mask(vote.problem, secrets),
            "cached": vote.cached,
            "replies": [writable(mask(reply[:REPLY_CHARS], secrets)) for reply in vote.replies],
        }
        for vote in judgement.votes
    ]
    value = {
        "model": mask(grade.model, secrets),
        "prompt_version": grade.prompt_version,
        "mark": question.mark,
        "votes": votes,
    }
    data = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    digest = hashlib.sha256(data).hexdigest()
    with replaced_file(evidence.judge_replies(digest), mode=0o600) as file:
        file.write(data)
    return digest
