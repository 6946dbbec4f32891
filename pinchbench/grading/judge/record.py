"""A judge's replies about a trial, kept with its evidence."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from pinchbench.files.folders import replaced_file
from pinchbench.grading.judge.reply import REPLY_CHARS
from pinchbench.redaction import mask
from pinchbench.transcript.lines import writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinchbench.grading.judge.judge import Judgement, Vote
    from pinchbench.grading.judge.prompt import Question
    from pinchbench.results.evidence import Evidence


def keep_replies(evidence: Evidence, question: Question, judgement: Judgement, secrets: Sequence[str]) -> str:
    """Write all replies to a file named by its SHA-256, and return that digest. Blocks.

    Secrets are masked, and each reply is cut to the length that is read. The same replies give the same file. Raises
    OSError if it can't be written.
    """
    grade = judgement.grade
    value = {
        "model": mask(grade.model, secrets),
        "prompt_version": grade.prompt_version,
        "mark": question.mark,
        "votes": [_vote(vote, secrets) for vote in judgement.votes],
    }
    data = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    digest = hashlib.sha256(data).hexdigest()
    with replaced_file(evidence.judge_replies(digest), mode=0o600) as file:
        file.write(data)
    return digest


def _vote(vote: Vote, secrets: Sequence[str]) -> dict[str, object]:
    return {
        "model": mask(vote.model, secrets),
        "total": vote.verdict.total if vote.verdict is not None else None,
        "problem": mask(vote.problem, secrets),
        "cached": vote.cached,
        "replies": [writable(mask(reply[:REPLY_CHARS], secrets)) for reply in vote.replies],
    }
