"""The user who answers an agent after a task's turns, as the agent's side sees one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from anyio import create_task_group

from pinchbench.model.ending import Reason

if TYPE_CHECKING:
    from pinchbench.openclaw.agent_progress import Progress
    from pinchbench.openclaw.task_result import TaskResult
    from pinchbench.process.spec import StopSignal


@dataclass(frozen=True, kw_only=True, slots=True)
class UserReply:
    """What the user says next; nothing, if the conversation is over.

    `failed` is the reason with which the attempt fails where nobody knows what the user would say, and `note` says why.
    """

    message: str = ""
    failed: Reason | None = None
    note: str = ""


class ConversationUser(Protocol):
    """The user of one attempt."""

    async def reply_to(self, answer: str) -> UserReply:
        """Return what the user says to the agent's last answer; a failure is part of what is returned.

        A cancellation ends what it waits for.
        """


async def ask_user(user: ConversationUser | None, progress: Progress, stop_signal: StopSignal) -> UserReply:
    """Return what the user, if there is one, says to an answer; `interrupted` if the attempt is stopped meanwhile."""
    if user is None or not progress.has_answer():
        return UserReply()
    said = UserReply(failed=Reason.INTERRUPTED, note="stopped while the user's message was awaited")
    async with create_task_group() as group:

        async def stop() -> None:
            await stop_signal.stop.wait()
            group.cancel_scope.cancel()

        group.start_soon(stop)
        said = await user.reply_to(progress.last_answer())
        group.cancel_scope.cancel()
    return said


def after_user(said: UserReply, result: TaskResult) -> TaskResult:
    """Return the result of a task whose user has said this last."""
    if said.failed is None or not result.reason.is_valid:
        return result
    return replace(result, reason=said.failed, note=said.note, is_ours=True)
