"""The result of a task: its reason, its measurements, and the ten keys of PinchBench's own runner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from pinchbench.model.ending import Reason, Status
from pinchbench.openclaw.transcript import Complaints, TranscriptFacts, is_silence, names_full_disk
from pinchbench.process.spec import EndReason, ProcessEnd
from pinchbench.transcript_lines import Event, parse_line
from pinchbench.wire.provider_fault import situation_of

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.model.facts import LoadFacts
    from pinchbench.model.usage import Usage
    from pinchbench.results.evidence_files import Evidence

CAPTURE_BYTES = 16 * 1024 * 1024  # the end of stdout and of stderr that `to_dict` includes


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskResult:
    """The result of a task. Transcript and output stay in files, which `transcript()` and `to_dict()` read.

    Attributes:
        note: details that `reason` does not contain.
        execution_time_s: the agent's own time.
        setup_s: our time before it, to prepare the home.
        asleep_s: how long the machine or the runner was suspended meanwhile, which no other time includes.
        cpu_s: the CPU time of OpenClaw and all processes it started.
        peak_rss_bytes: the peak memory of the largest process.
        rate_limits: the number of model calls that the provider rejected as too many requests.
        lookups: the host names that were looked up in a sandbox without a network.
        refused: the names of processes other than OpenClaw that tried to connect with the model.
        is_ours: whether a full disk, or what the simulated user said, ended it, whatever OpenClaw's files say.
        changed: the names of OpenClaw's settings that the trial changed, and that were restored.
        load: how long processes waited for the machine meanwhile; None if that was not measured.
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
    lookups: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    is_ours: bool = False
    is_concurrent: bool = False
    changed: tuple[str, ...] = ()
    load: LoadFacts | None = None

    @property
    def status(self) -> Status:
        """`success`, `timeout` or `error`."""
        return self.reason.status

    @property
    def usage(self) -> Usage:
        """Tokens, requests and cost of all model calls."""
        return self.facts.usage

    def transcript(self) -> list[Event]:
        """Read the transcript as a list of events. Blocks.

        A line that is not valid JSON becomes an event with the keys `raw` and `parse_error`.
        """
        if not self.evidence.transcript.is_file():
            return []
        lines = self.evidence.transcript.read_bytes().split(b"\n")
        return [event for line in lines for event in parse_line(line).events]

    def to_dict(self) -> dict[str, object]:
        """Return the task result with the ten keys of PinchBench's own runner.

        Blocks: reads the transcript and the last 16 MiB of stdout and of stderr.
        """
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


# Reasons that are kept even if a disk is full, because it does not explain them
DISK_OR_NOT = frozenset(
    {
        Reason.COMPLETED,
        Reason.RESOURCE_LIMIT,  # it may have filled the disk
        Reason.INTERRUPTED,
        Reason.COMMAND_NOT_FOUND,
        Reason.PROVIDER_ERROR,
    }
)
NOTE_CHARS = 500  # of OpenClaw's or a provider's message in a note


@dataclass(frozen=True, kw_only=True, slots=True)
class LastTurn:
    """What the transcript contains about the last turn that was started.

    Attributes:
        found: whether the turn's session has a transcript.
        asked: the number of user messages in this turn.
        calls: the number of model replies in this turn.
        answered: whether the turn ends with a final answer.
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
    """Return the reason for a trial's end, and a note with details for the user.

    Infrastructure failures take precedence over failures of the model: a run whose provider rejected every call must
    not look like a bad model.

    Args:
        end: how the last turn's process ended.
        facts: the facts of all sessions.
        turn: what the transcript contains about the last turn.
        complaints: the errors that the last turn reported on stderr.
        lingered: whether the process was stopped because it had answered but did not exit.
        full_disk: which file system of the trial is full; empty if none.
        has_log: whether the log that OpenClaw writes about its model calls could be read.
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
        case (
            EndReason.STOPPED
            | EndReason.EXITED
            | EndReason.TIMED_OUT
            | EndReason.OUTPUT_LIMIT
            | EndReason.RESOURCE_LIMIT
        ):
            pass  # what it left behind decides
        case reason:
            assert_never(reason)
    failed = end.reason is EndReason.EXITED and end.exit_code != 0
    timed_out = end.reason is EndReason.TIMED_OUT
    provider = "" if _models_doing(complaints.provider) else complaints.provider
    if complaints.gateway and _gateway_lost(facts, turn, complaints, unfinished=failed or timed_out):
        return Reason.GATEWAY_LOST, complaints.gateway
    if complaints.locked:
        return Reason.GATEWAY_LOST, f"OpenClaw did not run a turn, as its own state was locked: {complaints.locked}"
    if not turn.found:
        if provider:
            return Reason.PROVIDER_ERROR, provider
        if failed:
            note = f"openclaw ended with exit code {end.exit_code} before it had a session"
            return Reason.AGENT_NOT_STARTED, _with_line(note, complaints)
        return Reason.NO_TRANSCRIPT, "no session was found where this OpenClaw keeps them"
    if facts.error:
        # the same error, but with its cause
        note = complaints.provider if complaints.provider.startswith(facts.error[:NOTE_CHARS]) else facts.error
        return (Reason.MODEL_ERROR if _models_doing(facts.error) else Reason.PROVIDER_ERROR), note[:NOTE_CHARS]
    if facts.fallback:
        return Reason.MODEL_FALLBACK, f"answered by {', '.join(facts.models)}"
    if timed_out and turn.answered:
        return Reason.COMPLETED, "the agent had answered but did not exit, and was ended at the time limit"
    if timed_out and provider and not is_silence(provider):
        # OpenClaw retries failed calls for minutes without recording them in the transcript (measured on 2026.9.6)
        return Reason.PROVIDER_ERROR, f"{provider} (still so when the time was up)"
    if timed_out:
        return _timed_out(facts, turn, has_log=has_log)
    if end.reason is EndReason.OUTPUT_LIMIT:
        return Reason.OUTPUT_LIMIT, "the agent wrote more to stdout and stderr than a trial may"
    if end.reason is EndReason.RESOURCE_LIMIT:
        if facts.usage.requests > 0:
            return Reason.RESOURCE_LIMIT, f"the trial used {end.error}"
        return Reason.NO_MODEL_CALL, f"OpenClaw used {end.error}, before the model had answered once: raise it"
    if turn.calls == 0 and not provider:
        note = "the last turn's transcript holds no answer of a model"
        return Reason.NO_MODEL_CALL, _with_line(note, complaints) if failed else note
    if failed and (end.exit_code or 0) < 0:
        return Reason.KILLED_BY_SIGNAL, f"openclaw was killed by signal {-(end.exit_code or 0)}"
    if provider and (failed or not turn.answered):
        return Reason.PROVIDER_ERROR, provider
    if failed:
        return Reason.NONZERO_EXIT, _with_line(f"openclaw ended with exit code {end.exit_code}", complaints)
    return Reason.COMPLETED, "the agent had answered but did not exit, and was ended" if lingered else ""


def _timed_out(facts: TranscriptFacts, turn: LastTurn, *, has_log: bool) -> tuple[Reason, str]:
    """Return the reason for a turn that reached its time limit without a known failure of the provider.

    A model that was called and never replied has used up its time. Without OpenClaw's log, the provider may have
    rejected all calls.
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
    """Return whether a turn that reported a gateway error failed because of it.

    2026.6.5 then runs the agent without the gateway. That is equivalent if the gateway was never available, but an
    agent that got the prompt twice has worked twice in the same workspace.
    """
    if turn.asked > 1 or complaints.other_session:
        return True
    return unfinished and not turn.answered and not facts.error


def _models_doing(error: str) -> bool:
    """Return whether a provider's error is the model's doing, as far as its words and a status before them say."""
    return situation_of(error).is_models


def _with_line(note: str, complaints: Complaints) -> str:
    return f"{note}: {complaints.telling_line}" if complaints.telling_line else note
