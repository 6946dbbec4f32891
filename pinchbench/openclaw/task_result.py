"""What became of a task: the evidence files, the reason, and the seed's ten keys."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinchbench.model import Reason, Status, Usage
from pinchbench.openclaw.transcript import Event, TranscriptFacts, parse_line
from pinchbench.process.supervise import EndReason, ProcessEnd

if TYPE_CHECKING:
    from pathlib import Path

CAPTURE_BYTES = 16 * 1024 * 1024  # of stdout and of stderr in `to_dict`, the end of the output


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """The files a trial leaves: what its processes wrote, its transcript and workspace, and what its check printed."""

    folder: Path

    @property
    def stdout(self) -> Path:
        """What OpenClaw wrote to stdout, all turns."""
        return self.folder / "stdout.log"

    @property
    def stderr(self) -> Path:
        """What OpenClaw wrote to stderr, all turns."""
        return self.folder / "stderr.log"

    @property
    def transcript(self) -> Path:
        """The events of all sessions, one JSON object a line, as OpenClaw stored them."""
        return self.folder / "transcript.jsonl"

    @property
    def workspace(self) -> Path:
        """The workspace as the agent left it, for the graders."""
        return self.folder / "workspace.tar.zst"

    @property
    def check_log(self) -> Path:
        """What the task's check printed when the trial was graded last."""
        return self.folder / "check.log"


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskResult:
    """What became of a task. Large things stay in files; `transcript()` and `to_dict()` read them.

    `execution_time_s` is the agent's own time, without our set-up. `cpu_s` is the CPU time of OpenClaw and all it
    started, `peak_rss_bytes` its largest process. `note` says in words what `reason` can't.
    """

    agent_id: str
    task_id: str
    reason: Reason
    timed_out: bool
    exit_code: int | None
    execution_time_s: float
    workspace: Path
    evidence: Evidence
    session_ids: tuple[str, ...]
    store: str
    facts: TranscriptFacts
    note: str = ""
    cpu_s: float = 0.0
    peak_rss_bytes: int = 0
    leftovers: tuple[str, ...] = ()
    level: str = "guardian"

    @property
    def status(self) -> Status:
        """`success`, `timeout` or `error`."""
        return self.reason.status

    @property
    def usage(self) -> Usage:
        """Tokens, requests and cost of all model calls."""
        return self.facts.usage

    def transcript(self) -> list[Event]:
        """Read the transcript: a list of events; lines that are no JSON stand as `{"raw", "parse_error"}`. Blocks."""
        if not self.evidence.transcript.is_file():
            return []
        lines = self.evidence.transcript.read_bytes().split(b"\n")
        return [event for line in lines for event in parse_line(line).events]

    def to_dict(self) -> dict[str, object]:
        """The seed's ten keys. Reads the transcript and the last 16 MiB of stdout and stderr; blocks."""
        return {
            "agent_id": self.agent_id,
            "task_id": self.task_id,
            "status": self.status.value,
            "transcript": self.transcript(),
            "workspace": str(self.workspace),
            "exit_code": -1 if self.exit_code is None else self.exit_code,
            "timed_out": self.timed_out,
            "execution_time": self.execution_time_s,
            "stdout": _tail(self.evidence.stdout),
            "stderr": _tail(self.evidence.stderr),
        }


def _tail(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - CAPTURE_BYTES))
        return file.read().decode("utf-8", "replace")


# What a provider answers when the agent's own request can't be served: the model's doing, unlike a refused key
MODELS_DOING = re.compile(
    r"context.{0,20}(length|window|limit)|maximum context|too (long|many tokens)|content.?(filter|policy)|moderation",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class LastTurn:
    """What the transcript says about the last turn that was started.

    `found`: its session has a transcript; `calls`: answers of a model in this turn; `answered`: the turn ends in a
    final answer.
    """

    found: bool
    calls: int = 0
    answered: bool = False


def decide(  # noqa: C901, PLR0911, PLR0912 - a table of cases, in their order of precedence
    end: ProcessEnd, facts: TranscriptFacts, turn: LastTurn, *, lingered: bool
) -> tuple[Reason, str]:
    """Name the reason for a trial's end, and what a person should know beside it.

    `end` is that of the last turn's process, `facts` are those of all sessions, `lingered` says whether the process was
    ended because it had answered and did not exit. Situations that say nothing about the model come before those
    that do: a run whose provider refused every call must not look like a bad model.
    """
    match end.reason:
        case EndReason.NOT_STARTED:
            return (Reason.COMMAND_NOT_FOUND if end.not_found else Reason.AGENT_NOT_STARTED), end.error
        case EndReason.GUARDIAN_LOST:
            return Reason.GUARDIAN_LOST, end.error
        case EndReason.STOPPED if not lingered:
            return Reason.INTERRUPTED, ""
        case _:
            pass
    failed = end.reason is EndReason.EXITED and end.exit_code != 0
    if not turn.found:
        if failed:
            return Reason.AGENT_NOT_STARTED, f"openclaw ended with exit code {end.exit_code} before it had a session"
        return Reason.NO_TRANSCRIPT, "no session was found where this OpenClaw keeps them"
    if facts.error:
        models_doing = MODELS_DOING.search(facts.error)
        return (Reason.MODEL_ERROR if models_doing else Reason.PROVIDER_ERROR), facts.error[:500]
    if facts.fallback:
        return Reason.MODEL_FALLBACK, f"answered by {', '.join(facts.models)}"
    if end.reason is EndReason.TIMED_OUT and turn.answered:
        return Reason.COMPLETED, "the agent had answered but did not exit, and was ended at the time limit"
    if end.reason is EndReason.TIMED_OUT and facts.usage.requests == 0:
        # OpenClaw retries a failing provider for minutes without a word in the transcript (measured on 2026.9.6)
        return Reason.NO_MODEL_CALL, "the model had not answered once when the time was up; stderr.log may say why"
    if end.reason is EndReason.TIMED_OUT:
        return Reason.TIMED_OUT, ""
    if end.reason is EndReason.OUTPUT_LIMIT:
        return Reason.OUTPUT_LIMIT, "the agent wrote more to stdout and stderr than a trial may"
    if turn.calls == 0:
        return Reason.NO_MODEL_CALL, "the last turn's transcript holds no answer of a model"
    if failed and (end.exit_code or 0) < 0:
        return Reason.KILLED_BY_SIGNAL, f"openclaw was killed by signal {-(end.exit_code or 0)}"
    if failed:
        return Reason.NONZERO_EXIT, f"openclaw ended with exit code {end.exit_code}"
    return Reason.COMPLETED, "the agent had answered but did not exit, and was ended" if lingered else ""
