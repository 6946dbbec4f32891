"""What became of a task: the reason, and the seed's ten keys."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinchbench.model import Reason, Status, Usage
from pinchbench.openclaw.complaints import Complaints, is_rate_limit, is_silence, names_full_disk
from pinchbench.process.supervise import EndReason, ProcessEnd
from pinchbench.results.transcript_lines import Event, parse_line

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.openclaw.transcript import TranscriptFacts
    from pinchbench.results.evidence import Evidence

CAPTURE_BYTES = 16 * 1024 * 1024  # of stdout and of stderr in `to_dict`, the end of the output


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskResult:
    """What became of a task. Large things stay in files; `transcript()` and `to_dict()` read them.

    `execution_time_s` is the agent's own time; `setup_s` is ours before it, for the home or the gateway. `cpu_s` is the CPU time of OpenClaw and all it
    started, `peak_rss_bytes` its largest process. `note` says in words what `reason` can't. `rate_limits` counts the
    model calls that the provider refused as too many. `asleep_s` is how long the machine or the runner was suspended
    meanwhile, which is in no other time.
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
    rate_limits: int = 0
    asleep_s: float = 0.0
    setup_s: float = 0.0
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
# Statuses that no request of the agent's brings about, whatever the words after them (403 may be about its content)
PROVIDERS_DOING = re.compile(r"(?:HTTP )?(?:401|402|404|408|429|5\d\d)\b")
# Reasons that a full disk explains no better, or that it does not change
DISK_OR_NOT = frozenset({Reason.COMPLETED, Reason.INTERRUPTED, Reason.COMMAND_NOT_FOUND, Reason.PROVIDER_ERROR})
NOTE_CHARS = 500  # of somebody else's words in a note


@dataclass(frozen=True, kw_only=True, slots=True)
class LastTurn:
    """What the transcript says about the last turn that was started.

    `found`: its session has a transcript; `asked`: messages of the user in this turn; `calls`: answers of a model in it;
    `answered`: the turn ends in a final answer.
    """

    found: bool
    asked: int = 1
    calls: int = 0
    answered: bool = False


def decide(
    end: ProcessEnd,
    facts: TranscriptFacts,
    turn: LastTurn,
    complaints: Complaints = Complaints(),
    *,
    lingered: bool,
    full_disk: str = "",
    has_log: bool = True,
) -> tuple[Reason, str]:
    """Name the reason for a trial's end, and what a person should know beside it.

    `end` is that of the last turn's process, `facts` are those of all sessions, `complaints` what the last turn's process
    said on stderr or in the gateway's log, which `has_log` says could be read; `lingered` says whether the process was ended because it had answered and did not exit, `full_disk`
    which file system of the trial has no room left. Infrastructure failures come before those
    that do: a run whose provider refused every call must not look like a bad model.
    """
    reason, note = _decide(end, facts, turn, complaints, lingered=lingered, has_log=has_log)
    if reason in (Reason.PROVIDER_ERROR, Reason.MODEL_ERROR) and names_full_disk(facts.error):
        return Reason.DISK_FULL, facts.error[:NOTE_CHARS]
    if reason in DISK_OR_NOT:
        return reason, note
    if full := full_disk or complaints.full_disk or (end.error if names_full_disk(end.error) else ""):
        return Reason.DISK_FULL, f"{full} ({note or reason.value})"
    return reason, note


def _decide(  # noqa: C901, PLR0911, PLR0912 - a table of cases, in their order of precedence
    end: ProcessEnd, facts: TranscriptFacts, turn: LastTurn, complaints: Complaints, *, lingered: bool, has_log: bool
) -> tuple[Reason, str]:
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
    timed_out = end.reason is EndReason.TIMED_OUT
    provider = "" if _models_doing(complaints.provider) else complaints.provider
    if complaints.gateway and _gateway_lost(facts, turn, complaints, unfinished=failed or timed_out):
        return Reason.GATEWAY_LOST, complaints.gateway
    if not turn.found:
        if provider:
            return Reason.PROVIDER_ERROR, provider
        if failed:
            note = f"openclaw ended with exit code {end.exit_code} before it had a session"
            return Reason.AGENT_NOT_STARTED, _with_last_line(note, complaints)
        return Reason.NO_TRANSCRIPT, "no session was found where this OpenClaw keeps them"
    if facts.error:
        # the same error, with what lies beneath it
        note = complaints.provider if complaints.provider.startswith(facts.error[:NOTE_CHARS]) else facts.error
        return (Reason.MODEL_ERROR if _models_doing(facts.error) else Reason.PROVIDER_ERROR), note[:NOTE_CHARS]
    if facts.fallback:
        return Reason.MODEL_FALLBACK, f"answered by {', '.join(facts.models)}"
    if timed_out and turn.answered:
        return Reason.COMPLETED, "the agent had answered but did not exit, and was ended at the time limit"
    if timed_out and provider and not is_silence(provider):
        # OpenClaw retries a failing provider for minutes without a word in the transcript (measured on 2026.9.6)
        return Reason.PROVIDER_ERROR, f"{provider} (still so when the time was up)"
    if timed_out:
        return _timed_out(facts, turn, has_log=has_log)
    if end.reason is EndReason.OUTPUT_LIMIT:
        return Reason.OUTPUT_LIMIT, "the agent wrote more to stdout and stderr than a trial may"
    if turn.calls == 0 and not provider:
        note = "the last turn's transcript holds no answer of a model"
        return Reason.NO_MODEL_CALL, _with_last_line(note, complaints) if failed else note
    if failed and (end.exit_code or 0) < 0:
        return Reason.KILLED_BY_SIGNAL, f"openclaw was killed by signal {-(end.exit_code or 0)}"
    if provider and (failed or not turn.answered):
        return Reason.PROVIDER_ERROR, provider
    if failed:
        return Reason.NONZERO_EXIT, f"openclaw ended with exit code {end.exit_code}"
    return Reason.COMPLETED, "the agent had answered but did not exit, and was ended" if lingered else ""


def _timed_out(facts: TranscriptFacts, turn: LastTurn, *, has_log: bool) -> tuple[Reason, str]:
    """Name the end of a turn whose time was up, with no failure of the provider known.

    A model that was asked and stays silent has used up its time. Without OpenClaw's log nobody knows that its provider
    did not refuse all calls.
    """
    if facts.usage.requests > 0:
        return Reason.TIMED_OUT, ""
    if turn.asked == 0:
        return Reason.NO_MODEL_CALL, "OpenClaw had not asked the model when the time was up"
    if not has_log:
        return (
            Reason.NO_MODEL_CALL,
            "the model had not replied once when the time was up; the gateway's log may say why",
        )
    return Reason.TIMED_OUT, "the model had not replied once when the time was up"


def _gateway_lost(facts: TranscriptFacts, turn: LastTurn, complaints: Complaints, *, unfinished: bool) -> bool:
    """Whether a turn that complained of its gateway has come to nothing by that.

    2026.6.5 runs the agent without the gateway then. That is as good when the gateway was never there, but an agent that
    was asked twice has worked twice in the same workspace.
    """
    if turn.asked > 1 or complaints.other_session:
        return True
    return unfinished and not turn.answered and not facts.error


def _models_doing(error: str) -> bool:
    """Whether a provider's error is about what the agent asked, not about who asked, how often, or the provider itself."""
    if PROVIDERS_DOING.match(error) or is_rate_limit(error):
        return False
    return MODELS_DOING.search(error) is not None


def _with_last_line(note: str, complaints: Complaints) -> str:
    return f"{note}: {complaints.last_line}" if complaints.last_line else note
