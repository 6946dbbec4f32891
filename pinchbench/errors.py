"""Every situation that is reported to a user: one class, one exit code, one sentence that says what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from signal import Signals

SHOWN_DIFFERENCES = 5
INTERRUPTED = 130  # the exit code after a Ctrl-C, as shells have it


class PinchBenchError(Exception):
    """Base of all expected errors. The message is a whole sentence for the user."""

    exit_code: ClassVar[int] = 1


def expected_error(error: BaseException) -> PinchBenchError | None:
    """Return the expected error that an exception is, or that a group consists of."""
    if isinstance(error, PinchBenchError):
        return error
    if isinstance(error, ExceptionGroup):
        found = [expected_error(one) for one in error.exceptions]
        return found[0] if all(one is not None for one in found) else None
    return None


def first_error(error: BaseException) -> BaseException:
    """Return the first error of a group, however deep it is; any other error as it is."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def exit_code_of(error: BaseException) -> int:
    """Return the code that the program exits with because of an error."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    expected = expected_error(error)
    if isinstance(expected, RunInterruptedError):
        return 128 + expected.signal
    return PinchBenchError.exit_code if expected is None else expected.exit_code


class ConfigError(PinchBenchError):
    """An option or a setting has a value that can't be used."""

    exit_code = 2


class ExperimentError(PinchBenchError):
    """An experiment's file can't be used. Every problem has its line."""

    exit_code = 2

    def __init__(self, path: Path, problems: Sequence[tuple[int, str]]) -> None:
        """`problems` are pairs of a line, from 1, and a reason without a full stop."""
        super().__init__("\n".join(f"{path}:{line}: {reason.removesuffix('.')}." for line, reason in problems))
        self.problems = tuple(problems)


class SelectionError(PinchBenchError):
    """A task or category was named that does not exist, or nothing was selected."""

    exit_code = 2
    problems: tuple[Any, ...] = ()  # of the suite's files, one of which may be the cause


class ChangedError(PinchBenchError):
    """A run can't be resumed as it was: its tasks, its settings or the releases it ran on are others now."""

    exit_code = 2


class EndpointError(PinchBenchError):
    """The model's or the judge's endpoint would fail every trial: its key, its address or the model's name is wrong."""

    exit_code = 2


class SuiteError(PinchBenchError):
    """The tasks folder can't be used: it is missing, empty, or holds broken task files."""

    exit_code = 3


class JudgeFaultError(PinchBenchError):
    """A judge has faults, which its certificate names."""

    exit_code = 3


class OpenClawError(PinchBenchError):
    """OpenClaw is missing, can't be installed, or can't be set up."""

    exit_code = 4


class GatewayError(PinchBenchError):
    """The gateway of a trial is not ready in time, or has ended before its timeline."""


class ServiceError(PinchBenchError):
    """A service of a task did not start, or ended before the agent did."""


class WireError(PinchBenchError):
    """The proxy between OpenClaw and the model can't be started, has failed, or can't record."""

    exit_code = 4


class ClusterError(PinchBenchError):
    """The cluster can't be reached, or one of its nodes can't take part."""

    exit_code = 4


class NodeUnavailableError(ClusterError):
    """A node of the cluster can't be used now; others may."""


class ResultsError(PinchBenchError):
    """The results or the workspaces can't be written or read."""

    exit_code = 6


class AlteredRunError(ResultsError):
    """The files of a run are not what the runner wrote."""

    exit_code = 10

    @classmethod
    def of(cls, differences: Sequence[str], *, run: Path) -> AlteredRunError:
        """The error of one run; `differences` are sentences without a full stop, at least one."""
        shown = "; ".join(differences[:SHOWN_DIFFERENCES])
        more = f" (and {len(differences) - SHOWN_DIFFERENCES} more)" if len(differences) > SHOWN_DIFFERENCES else ""
        return cls(
            f"{run} is not what the runner wrote: {shown}{more}. Restore the files from a copy, or make the run again; "
            f"`pinchbench-async verify {run}` lists all differences."
        )


class CommandRefusedError(PinchBenchError):
    """A run can't do what `ctl` has asked of it, in the state in which it is."""

    exit_code = 2


class LeaderboardError(PinchBenchError):
    """The leaderboard can't be reached, or has not taken what was sent."""

    exit_code = 9


class NotForTheLeaderboardError(LeaderboardError):
    """The leaderboard does not compare such a run; nothing was sent."""


class UnfitError(PinchBenchError):
    """`doctor` has found something that a run would fail on."""


class RunInterruptedError(PinchBenchError):
    """A signal came before the first trial, or during an install; nothing was run."""

    def __init__(self, number: Signals, sentence: str | None = None) -> None:
        """`number` is the signal that came; `sentence` says what it ended, if not the set-up of a run."""
        super().__init__(sentence or f"{number.name} came during the set-up; nothing was run.")
        self.signal = number
