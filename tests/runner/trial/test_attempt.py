"""What an attempt's circumstances make of its outcome."""

import errno
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from anyio import CancelScope, sleep_forever

from fakes import make_task
from pinchbench.errors import ResultsError, WireError
from pinchbench.llm.openai_api import Message, Reply
from pinchbench.model.ending import Ending, Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import SimulatedUser, Task, Turn
from pinchbench.model.trial import Attempt, Trial, TrialEvents, TrialKey
from pinchbench.model.usage import Usage
from pinchbench.openclaw.agent import ConversationUser, OpenClawAgent
from pinchbench.openclaw.homes.sandbox import TurnSandbox
from pinchbench.openclaw.task_result import TaskResult
from pinchbench.process.spec import StopSignal
from pinchbench.results.paths import RunFiles
from pinchbench.runner.run_context import Redactor
from pinchbench.runner.trial.attempt import TrialPlace, _awake, _killed, _limited, _of_ours, run_attempt
from pinchbench.runner.trial.simulated_user import ModelUser

KEY = TrialKey(task_id="task_a", repetition=1)


def outcome(reason: Reason, *, asleep_s: float = 0.0, note: str = "") -> Outcome:
    return Outcome(key=KEY, reason=reason, digest="", asleep_s=asleep_s, note=note)


@pytest.mark.parametrize("reason", [one for one in Reason if one.is_valid and one is not Reason.COMPLETED])
def test_a_failure_after_a_sleep_says_nothing_about_the_model(reason: Reason) -> None:
    seen = _awake(outcome(reason, asleep_s=60.0, note="it was late"))
    assert (seen.reason, seen.reason.ending) == (Reason.SUSPENDED, Ending.INFRASTRUCTURE)
    assert seen.note == f"{reason.value} after a suspension of 60 s; it was late"
    assert seen.asleep_s == 60.0


@pytest.mark.parametrize(
    ("reason", "exceeded", "expected"),
    [
        (Reason.PROVIDER_ERROR, "more than 128 connections", Reason.RESOURCE_LIMIT),
        (Reason.COMPLETED, "more than 128 connections", Reason.RESOURCE_LIMIT),
        (Reason.INTERRUPTED, "more than 128 connections", Reason.INTERRUPTED),
        (Reason.COMPLETED, "", Reason.COMPLETED),
    ],
)
def test_a_trial_that_used_too_much_of_the_wire_ends_by_that(reason: Reason, exceeded: str, expected: Reason) -> None:
    limited = _limited(outcome(reason), exceeded)
    assert limited.reason is expected
    assert limited.note == (f"the trial used {exceeded}" if expected is Reason.RESOURCE_LIMIT else "")


@pytest.mark.parametrize(
    ("has_own_root", "is_memory", "reason", "said"),
    [
        (True, False, Reason.AGENT_KILLED, "from within its sandbox"),
        (True, True, Reason.OUT_OF_MEMORY, "use a lower --concurrency"),
        (False, False, Reason.KILLED_BY_SIGNAL, ""),
        (False, True, Reason.OUT_OF_MEMORY, "use a lower --concurrency"),
        (None, False, Reason.KILLED_BY_SIGNAL, ""),
    ],
)
def test_a_killed_agent_counts_unless_something_outside_its_namespaces_may_have_killed_it(
    *, has_own_root: bool | None, is_memory: bool, reason: Reason, said: str
) -> None:
    sandbox = None if has_own_root is None else cast("TurnSandbox", SimpleNamespace(has_own_root=has_own_root))
    killed = _killed(outcome(Reason.KILLED_BY_SIGNAL, note="signal 9"), sandbox, is_memory=is_memory)
    assert killed.reason is reason
    assert killed.note.startswith("signal 9")
    assert said in killed.note


def test_a_disk_without_room_is_named_and_other_troubles_keep_their_names() -> None:
    assert _of_ours(OSError(errno.ENOSPC, "full"), Reason.WORKSPACE_FAILED) is Reason.DISK_FULL
    assert _of_ours(OSError(errno.EACCES, "no"), Reason.WORKSPACE_FAILED) is Reason.WORKSPACE_FAILED
    assert _of_ours(ResultsError("no"), Reason.EVIDENCE_LOST) is Reason.EVIDENCE_LOST


class Endpoint:
    """Says that the user is done, for a known number of tokens."""

    model = "user-1"

    def describe(self) -> Mapping[str, object]:
        return {}

    async def ask(self, conversation: Sequence[Message], schema: Mapping[str, object]) -> Reply:
        del conversation, schema
        return Reply(text='{"is_finished": true, "message": ""}', usage=Usage(total_tokens=120), cost_usd=0.5)


class EndingAgent:
    """Asks its user once, and then comes to an end: by an error, or by a cancellation of its attempt."""

    def __init__(self, error: Exception | None, attempt: CancelScope) -> None:
        self.home = SimpleNamespace(place=lambda place, _: place, agent_id="agent", sandbox=None)
        self.limits = None
        self.openclaw = SimpleNamespace(version="2026.9.6")
        self._error = error
        self._attempt = attempt

    async def execute_task(self, task: Task, *, user: ConversationUser, **_: object) -> TaskResult:
        del task
        await user.reply_to("For when?")
        if self._error is not None:
            raise self._error
        self._attempt.cancel()
        await sleep_forever()
        raise AssertionError


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.EIO, "a failing disk"), Reason.WORKSPACE_FAILED),
        (WireError("gone"), Reason.WIRE_LOST),
        (RuntimeError("a bug"), Reason.RUNNER_BUG),
        (None, Reason.INTERRUPTED),
    ],
)
async def test_what_a_users_model_has_used_counts_however_the_attempt_ends(
    tmp_path: Path, error: Exception | None, reason: Reason
) -> None:
    task = make_task(Turn(prompt="Book a table."), simulated_user=SimulatedUser(script="You are Ada.", most_messages=3))
    scope = CancelScope()
    place = TrialPlace(
        slot=1,
        agent=cast("OpenClawAgent", EndingAgent(error, scope)),
        run_id="run",
        run_folder=tmp_path / "runs",
        files=RunFiles(output_dir=tmp_path / "results", name="run"),
        stop_signal=StopSignal(),
        events=TrialEvents(),
        redactor=Redactor(),
        user=ModelUser(endpoint=Endpoint()),
    )
    outcomes: list[Outcome] = []
    with scope:
        await run_attempt(Attempt(trial=Trial(key=KEY, task=task, timeout_s=60)), place, outcomes.append)
    [seen] = outcomes
    assert seen.reason is reason, seen.note
    assert seen.user is not None
    assert (seen.user.calls, seen.paid.total_tokens, seen.paid.cost_usd) == (1, 120, 0.5)
