"""How an attempt ended, and why; and why a run ended itself."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property


class Status(StrEnum):
    """The three states of the aggregate's `status`."""

    SUCCESS = "success"
    TIMEOUT = "timeout"
    ERROR = "error"


class Ending(StrEnum):
    """What an attempt came to: every one that ended by itself is exactly one of the first five.

    `infrastructure` failed for infrastructure reasons, is in no score and may be retried; `untrusted` is in no score
    either, as its agent has tampered with the evidence or seen the answers, and is final: a retry would be a second
    chance. `interrupted` was ended
    from outside and is no end of its own: the same attempt is made again when the run is resumed. So is one that was
    not begun, as a prerequisite of its task is missing.
    """

    COMPLETED = "completed"
    TIMED_OUT = "timed_out"
    AGENT_FAILED = "agent_failed"
    INFRASTRUCTURE = "infrastructure"
    UNTRUSTED = "untrusted"
    INTERRUPTED = "interrupted"
    PREREQUISITE_MISSING = "prerequisite_missing"


class Reason(StrEnum):
    """Why a trial ended as it did: one name a situation."""

    COMPLETED = "completed"
    TIMED_OUT = "timed_out"
    NONZERO_EXIT = "nonzero_exit"
    KILLED_BY_SIGNAL = "killed_by_signal"
    AGENT_KILLED = "agent_killed"
    OUT_OF_MEMORY = "out_of_memory"
    OUTPUT_LIMIT = "output_limit"
    RESOURCE_LIMIT = "resource_limit"
    MODEL_ERROR = "model_error"
    PROVIDER_ERROR = "provider_error"
    COMMAND_NOT_FOUND = "command_not_found"
    AGENT_NOT_STARTED = "agent_not_started"
    NO_TRANSCRIPT = "no_transcript"
    NO_MODEL_CALL = "no_model_call"
    NO_REPLY = "no_reply"
    PROMPT_TRUNCATED = "prompt_truncated"
    MODEL_FALLBACK = "model_fallback"
    WORKSPACE_FAILED = "workspace_failed"
    SERVICE_FAILED = "service_failed"
    USER_FAILED = "user_failed"
    EVIDENCE_LOST = "evidence_lost"
    GUARDIAN_LOST = "guardian_lost"
    GATEWAY_LOST = "gateway_lost"
    WIRE_LOST = "wire_lost"
    NODE_LOST = "node_lost"
    DIVERGED = "diverged"
    TAMPERED = "tampered"
    CONTAMINATED = "contaminated"
    DISK_FULL = "disk_full"
    SUSPENDED = "suspended"
    INTERRUPTED = "interrupted"
    PREREQUISITE_MISSING = "prerequisite_missing"
    RUNNER_BUG = "runner_bug"

    @property
    def status(self) -> Status:
        """The aggregate's word for this reason."""
        if self is Reason.NO_REPLY:
            return Status.TIMEOUT
        match self.ending:
            case Ending.COMPLETED:
                return Status.SUCCESS
            case Ending.TIMED_OUT:
                return Status.TIMEOUT
            case (
                Ending.AGENT_FAILED
                | Ending.INFRASTRUCTURE
                | Ending.UNTRUSTED
                | Ending.INTERRUPTED
                | Ending.PREREQUISITE_MISSING
            ):
                return Status.ERROR

    @cached_property
    def ending(self) -> Ending:  # noqa: PLR0911 - a table
        """The class this reason belongs to."""
        match self:
            case Reason.COMPLETED:
                return Ending.COMPLETED
            case Reason.TIMED_OUT:
                return Ending.TIMED_OUT
            case (
                Reason.NONZERO_EXIT
                | Reason.AGENT_KILLED
                | Reason.OUTPUT_LIMIT
                | Reason.RESOURCE_LIMIT
                | Reason.MODEL_ERROR
            ):
                return Ending.AGENT_FAILED
            case Reason.TAMPERED | Reason.CONTAMINATED:
                return Ending.UNTRUSTED
            case Reason.INTERRUPTED:
                return Ending.INTERRUPTED
            case Reason.PREREQUISITE_MISSING:
                return Ending.PREREQUISITE_MISSING
            case (
                Reason.KILLED_BY_SIGNAL
                | Reason.OUT_OF_MEMORY
                | Reason.PROVIDER_ERROR
                | Reason.COMMAND_NOT_FOUND
                | Reason.AGENT_NOT_STARTED
                | Reason.NO_TRANSCRIPT
                | Reason.NO_MODEL_CALL
                | Reason.NO_REPLY
                | Reason.PROMPT_TRUNCATED
                | Reason.MODEL_FALLBACK
                | Reason.WORKSPACE_FAILED
                | Reason.SERVICE_FAILED
                | Reason.USER_FAILED
                | Reason.EVIDENCE_LOST
                | Reason.GUARDIAN_LOST
                | Reason.GATEWAY_LOST
                | Reason.WIRE_LOST
                | Reason.NODE_LOST
                | Reason.DIVERGED
                | Reason.DISK_FULL
                | Reason.SUSPENDED
                | Reason.RUNNER_BUG
            ):
                return Ending.INFRASTRUCTURE

    @cached_property
    def is_valid(self) -> bool:
        """Whether the attempt measures the model; all others are excluded from every mean."""
        return self.is_attempt and self.ending not in (Ending.INFRASTRUCTURE, Ending.UNTRUSTED)

    @cached_property
    def is_final(self) -> bool:
        """Whether the trial needs no further attempt, unless a retry was promised."""
        return self.is_valid or self.ending is Ending.UNTRUSTED

    @cached_property
    def is_attempt(self) -> bool:
        """Whether an attempt was made and ended by itself; the same attempt is made again where none was."""
        return self.ending not in (Ending.INTERRUPTED, Ending.PREREQUISITE_MISSING)


class Stop(StrEnum):
    """Why a run ended itself before its last trial."""

    INCONCLUSIVE = "inconclusive"
    BUDGET = "budget"
    FAILURE = "failure"  # the first trial that did not pass, with `-x`
    DECIDED = "decided"  # its experiment needs none of the trials that were not made
