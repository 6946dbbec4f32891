"""The user who answers an agent: only answers are answered, and a stop does not wait for the user."""

from typing import cast

import anyio
import pytest
from anyio import fail_after

from pinchbench.model.ending import Reason
from pinchbench.openclaw.agent_progress import Progress
from pinchbench.openclaw.conversation_user import UserReply, ask_user
from pinchbench.process.spec import StopSignal


class Answered:
    """The progress of a turn that ends with an answer, or with none."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def has_answer(self) -> bool:
        return bool(self.answer)

    def last_answer(self) -> str:
        return self.answer


class Echo:
    async def reply_to(self, answer: str) -> UserReply:
        return UserReply(message=f"Why {answer}?")


class Stopping:
    """Stops the attempt when it is asked, and never answers."""

    def __init__(self, stop_signal: StopSignal) -> None:
        self.stop_signal = stop_signal

    async def reply_to(self, _answer: str) -> UserReply:
        self.stop_signal.stop.set()
        await anyio.sleep_forever()
        raise AssertionError


@pytest.mark.parametrize(("answer", "message"), [("42", "Why 42?"), ("", "")])
async def test_an_answer_is_answered_and_nothing_else(answer: str, message: str) -> None:
    said = await ask_user(Echo(), cast("Progress", Answered(answer)), StopSignal())
    assert said == UserReply(message=message)


async def test_a_stop_while_the_user_is_asked_interrupts_the_attempt() -> None:
    stop_signal = StopSignal()
    with fail_after(5):
        said = await ask_user(Stopping(stop_signal), cast("Progress", Answered("42")), stop_signal)
    assert said.failed is Reason.INTERRUPTED
