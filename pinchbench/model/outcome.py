"""What became of one attempt at a trial."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - msgspec reads the annotations of values in records
from dataclasses import dataclass

from pinchbench.model.ending import Reason, Status  # noqa: TC001 - msgspec reads the annotations
from pinchbench.model.facts import (  # noqa: TC001 - msgspec reads the annotations
    Finding,
    LoadFacts,
    ReplayFacts,
    SandboxFacts,
    UserFacts,
    WireFacts,
)
from pinchbench.model.trial import TrialKey  # noqa: TC001 - msgspec reads the annotations
from pinchbench.model.usage import Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What became of one attempt at a trial: one line of the journal.

    `started_at` and `ended_at` are seconds since the epoch (UTC); durations come from the monotonic clock.
    `execution_time_s` is the agent's own time, `setup_s` ours before it. `evidence` is relative to the run's folder.
    `cpu_s` is the CPU time of OpenClaw and all it started, `peak_rss_bytes` its largest process.
    `leftovers` are the commands that were still running when the agent had ended, and were ended then.
    `not_kept` names the files of the workspace that its archive, and so the graders, had to leave out, and why.
    `asleep_s` is how long the machine or the runner was suspended meanwhile, which is in no other time; `rate_limits`
    counts the provider's answers of 429 that the transcript tells of. `files` holds the SHA-256 of each file of the
    evidence by its name; None in runs of releases that kept none. `wire` is None where requests were not recorded,
    `replay` where a model answered them, `sandbox` where the agent had none, and `load` where nothing was measured.
    `node` is where it ran in a cluster. `services` says of each service that ended before the agent did how it ended.
    `user` is None where the task has no simulated user, or it was not reached. `witnessed` says whether its transcript
    is what the wire saw, rather than OpenClaw's store; None in runs of releases that did not say. `findings` say how
    the store differs from what the wire saw, which is what graders read; the first 50.
    `reused_from` is the folder's name of the run that made it; empty if that is the one whose journal this is.
    """

    key: TrialKey
    reason: Reason
    digest: str
    slot: int = 0
    attempt: int = 1
    timed_out: bool = False
    exit_code: int | None = None
    started_at: float = 0.0
    ended_at: float = 0.0
    execution_time_s: float = 0.0
    setup_s: float = 0.0
    timeout_s: float = 0.0
    agent_id: str = ""
    session_ids: tuple[str, ...] = ()
    store: str = ""
    workspace: str = ""
    evidence: str = ""
    transcript_length: int = 0
    damaged_lines: int = 0
    tool_calls: int = 0
    models: tuple[str, ...] = ()
    usage: Usage = Usage()
    cpu_s: float = 0.0
    peak_rss_bytes: int = 0
    leftovers: tuple[str, ...] = ()
    not_kept: tuple[str, ...] = ()
    asleep_s: float = 0.0
    rate_limits: int = 0
    level: str = ""
    node: str = ""
    note: str = ""
    files: Mapping[str, str] | None = None
    wire: WireFacts | None = None
    replay: ReplayFacts | None = None
    sandbox: SandboxFacts | None = None
    load: LoadFacts | None = None
    services: tuple[str, ...] = ()
    user: UserFacts | None = None
    witnessed: bool | None = None
    findings: tuple[Finding, ...] = ()
    reused_from: str = ""

    @property
    def paid(self) -> Usage:
        """What counts against budgets: as the transcript has it, or the wire where that has seen more; and its user."""
        used = self.usage if self.wire is None else self.usage.at_least(self.wire.usage)
        return used if self.user is None else used + self.user.paid

    @property
    def is_unwitnessed(self) -> bool:
        """Whether OpenClaw's store, which an agent can edit, is all that says what the agent did."""
        return self.witnessed is False and self.reason.is_valid

    @property
    def status(self) -> Status:
        """`success`, `timeout` or `error`."""
        return self.reason.status
