"""The model that plays simulated users, for a node: the runner asks it, so that its key stays where the run is."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from anyio import CancelScope, Event

from pinchbench.cluster.messages import FromNode, ToNode, UserAsked, UserDropped, UserFailed, UserReplied
from pinchbench.llm.openai_api import ChatError, Endpoint, Message, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyio.abc import TaskGroup

    UserAnswer = UserReplied | UserFailed


class AskedUserModel:
    """The node's end: an endpoint whose questions go to the runner."""

    def __init__(self, model: str, put: Callable[[FromNode], None]) -> None:
        """`put` sends a message to the runner soon; `take` gets what it says."""
        self._model = model
        self._put = put
        self._numbers = count(1)
        self._waiting: dict[int, Event] = {}
        self._answers: dict[int, UserAnswer] = {}

    @property
    def model(self) -> str:
        """The model, as requested."""
        return self._model

    def describe(self) -> Mapping[str, object]:
        """Return which model it is; the runner knows the rest."""
        return {"model": self._model}

    async def ask(self, conversation: Sequence[Message], schema: Mapping[str, object]) -> Reply:
        """Let the runner ask, as `Endpoint.ask` says. On cancellation, it is informed that nobody waits any more."""
        number = next(self._numbers)
        answered = self._waiting[number] = Event()
        self._put(UserAsked(number=number, conversation=tuple(conversation), schema=dict(schema)))
        try:
            await answered.wait()
        finally:
            del self._waiting[number]
            if (answer := self._answers.pop(number, None)) is None:
                self._put(UserDropped(number=number))
        assert answer is not None  # noqa: S101 - it is there once `answered` is set
        if isinstance(answer, UserFailed):
            raise ChatError(answer.why, calls=answer.calls, usage=answer.usage, cost_usd=answer.cost_usd)
        return answer.reply

    def take(self, answer: UserAnswer) -> None:
        """Take what the runner says; nobody may wait for it any more."""
        if (answered := self._waiting.get(answer.number)) is not None:
            self._answers[answer.number] = answer
            answered.set()


class UserAnswers:
    """The runner's end, for one node."""

    def __init__(
        self, endpoint: Endpoint, put: Callable[[ToNode], None], group: TaskGroup, *, masked: Callable[[str], str]
    ) -> None:
        """Calls run in `group`. `put` sends a message to the node soon, and `masked` keeps keys out of it."""
        self._endpoint = endpoint
        self._put = put
        self._group = group
        self._masked = masked
        self._asking: dict[int, CancelScope] = {}

    def take(self, message: UserAsked | UserDropped) -> None:
        """Ask the model, or end a call for whose answer nobody waits any more."""
        if isinstance(message, UserAsked):
            scope = self._asking[message.number] = CancelScope()
            self._group.start_soon(self._answer, message, scope)
        elif (asking := self._asking.get(message.number)) is not None:
            asking.cancel()

    async def _answer(self, asked: UserAsked, scope: CancelScope) -> None:
        with scope:
            try:
                self._put(await self._ask(asked))
            finally:
                del self._asking[asked.number]

    async def _ask(self, asked: UserAsked) -> UserAnswer:
        try:
            reply = await self._endpoint.ask(asked.conversation, asked.schema)
        except ChatError as error:
            return UserFailed(
                number=asked.number,
                why=self._masked(str(error)),
                calls=error.calls,
                usage=error.usage,
                cost_usd=error.cost_usd,
            )
        masked = replace(reply, text=self._masked(reply.text), problem=self._masked(reply.problem))
        return UserReplied(number=asked.number, reply=masked)
