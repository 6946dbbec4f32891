"""How an attempt ended, and why; and why a run ended itself."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self


class Status(StrEnum):
    """The three states of the aggregate's `status`."""

    SUCCESS = "success"
    TIMEOUT = "timeout"
    ERROR = "error"


class Ending(StrEnum):
    """How an attempt ended: every one that ended by itself has exactly one of the first five.

    `infrastructure` failed for infrastructure reasons, is in no score and may be retried. `untrusted` is in no score
    either, because its agent tampered with the evidence or has seen the answers; it is final, since a retry would be a
    second chance. `interrupted` was ended from outside: when the run is resumed, the attempt is made again. So is one
    that was not started because a prerequisite of its task is missing.
    """

    COMPLETED = "completed"
    TIMED_OUT = "timed_out"
    AGENT_FAILED = "agent_failed"
    INFRASTRUCTURE = "infrastructure"
    UNTRUSTED = "untrusted"
    INTERRUPTED = "interrupted"
    PREREQUISITE_MISSING = "prerequisite_missing"


class Reason(StrEnum):
    """Why a trial ended as it did: one name per situation, each with its class, `ending`."""

    _value_: str
    ending: Ending

    def __new__(cls, value: str, ending: Ending = Ending.INFRASTRUCTURE) -> Self:
        """Create a member. `Reason(value)`, without an ending, looks an existing one up."""
        reason = str.__new__(cls, value)
        reason._value_ = value
        reason.ending = ending
        return reason

    COMPLETED = "completed", Ending.COMPLETED
    TIMED_OUT = "timed_out", Ending.TIMED_OUT
    NONZERO_EXIT = "nonzero_exit", Ending.AGENT_FAILED
    KILLED_BY_SIGNAL = "killed_by_signal", Ending.INFRASTRUCTURE
    AGENT_KILLED = "agent_killed", Ending.AGENT_FAILED
    OUT_OF_MEMORY = "out_of_memory", Ending.INFRASTRUCTURE
    OUTPUT_LIMIT = "output_limit", Ending.AGENT_FAILED
    RESOURCE_LIMIT = "resource_limit", Ending.AGENT_FAILED
    MODEL_ERROR = "model_error", Ending.AGENT_FAILED
    PROVIDER_ERROR = "provider_error", Ending.INFRASTRUCTURE
    COMMAND_NOT_FOUND = "command_not_found", Ending.INFRASTRUCTURE
    AGENT_NOT_STARTED = "agent_not_started", Ending.INFRASTRUCTURE
    NO_TRANSCRIPT = "no_transcript", Ending.INFRASTRUCTURE
    NO_MODEL_CALL = "no_model_call", Ending.INFRASTRUCTURE
    NO_REPLY = "no_reply", Ending.INFRASTRUCTURE
    PROMPT_TRUNCATED = "prompt_truncated", Ending.INFRASTRUCTURE
    MODEL_FALLBACK = "model_fallback", Ending.INFRASTRUCTURE
    WORKSPACE_FAILED = "workspace_failed", Ending.INFRASTRUCTURE
    SERVICE_FAILED = "service_failed", Ending.INFRASTRUCTURE
    USER_FAILED = "user_failed", Ending.INFRASTRUCTURE
    EVIDENCE_LOST = "evidence_lost", Ending.INFRASTRUCTURE
    GUARDIAN_LOST = "guardian_lost", Ending.INFRASTRUCTURE
    GATEWAY_LOST = "gateway_lost", Ending.INFRASTRUCTURE
    WIRE_LOST = "wire_lost", Ending.INFRASTRUCTURE
    NODE_LOST = "node_lost", Ending.INFRASTRUCTURE
    DIVERGED = "diverged", Ending.INFRASTRUCTURE
    TAMPERED = "tampered", Ending.UNTRUSTED
    CONTAMINATED = "contaminated", Ending.UNTRUSTED
    DISK_FULL = "disk_full", Ending.INFRASTRUCTURE
    SUSPENDED = "suspended", Ending.INFRASTRUCTURE
    INTERRUPTED = "interrupted", Ending.INTERRUPTED
    PREREQUISITE_MISSING = "prerequisite_missing", Ending.PREREQUISITE_MISSING
    RUNNER_BUG = "runner_bug", Ending.INFRASTRUCTURE

    @property
    def status(self) -> Status:
        """The aggregate's word for this reason."""
        if self.ending is Ending.COMPLETED:
            return Status.SUCCESS
        return Status.TIMEOUT if self.ending is Ending.TIMED_OUT or self is Reason.NO_REPLY else Status.ERROR

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
