"""The simulated user of one attempt: a model that plays it, a script, or the record of an earlier run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, assert_never

from anyio import current_time, to_thread
from msgspec.structs import replace as _with

from pinchbench.chat.endpoint import MAX_REPLY, ChatError, Message, Role
from pinchbench.errors import ResultsError
from pinchbench.model.ending import Reason
from pinchbench.model.facts import UserEnd, UserFacts
from pinchbench.openclaw.conversation import UserReply
from pinchbench.process.disk import is_disk_full
from pinchbench.runner.user_question import (
    REPLY_SCHEMA,
    USER_PROMPT_VERSION,
    Exchange,
    UnreadableUserError,
    asked_again,
    question,
    read_user_reply,
)
from pinchbench.runner.user_recording import UserLine, answer_digest, append_line, read_lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pinchbench.chat.endpoint import Endpoint, Reply
    from pinchbench.model.task import SimulatedUser

TRIES = 2  # a model that fails again after the problem was explained is unlikely to succeed a third time
NO_ANSWER = "(no answer)"  # stands for a reply without text: endpoints refuse an empty message


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedUser:
    """Says the messages of a solution, whatever the agent answers."""

    messages: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedUser:
    """Says what it said in the recorded run, as long as the agent answers the same.

    `record` is that run's. From the first other answer on, `endpoint` is asked; None to fail the attempt.
    """

    record: Path
    endpoint: Endpoint | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelUser:
    """Is played by a model."""

    endpoint: Endpoint


UserSource = ScriptedUser | RecordedUser | ModelUser


@dataclass(frozen=True, kw_only=True, slots=True)
class UserPlace:
    """Of which task the user is, what the prompt was, where it is recorded, and by which path the workspace is known.

    `masked` keeps keys out of what the agent said before it goes to another provider.
    """

    user: SimulatedUser
    prompt: str
    record: Path
    workspace: Path
    masked: Callable[[str], str]


@dataclass(slots=True)
class AttemptUser:
    """The user in one attempt.

    `facts` is what it said and used so far; None before the agent's first answer.
    """

    source: UserSource
    place: UserPlace
    facts: UserFacts | None = None
    _exchanges: list[Exchange] = field(default_factory=list)
    _recorded: tuple[UserLine, ...] | None = None

    async def reply_to(self, answer: str) -> UserReply:
        """Return what the user says to an answer, and record it. A cancellation ends the call of the model."""
        facts = self.facts = self.facts or UserFacts()
        if len(self._exchanges) >= self.place.user.most_messages:
            self.facts = replace(facts, end=UserEnd.LIMIT)
            return UserReply()
        answer = self.place.masked(answer)
        try:
            line = await self._say(answer)
            await to_thread.run_sync(append_line, self.place.record, line)
        except (OSError, ResultsError) as error:
            full = isinstance(error, OSError) and is_disk_full(error)
            reason = Reason.DISK_FULL if full else Reason.EVIDENCE_LOST
            return UserReply(failed=reason, note=f"what the simulated user said could not be kept: {error}")
        if line.failed:
            reason = Reason.USER_FAILED if line.model or not isinstance(self.source, RecordedUser) else Reason.DIVERGED
            return UserReply(failed=reason, note=line.failed)
        if not line.message:
            self.facts = replace(self.facts, end=UserEnd.FINISHED)
            return UserReply()
        self._exchanges.append(Exchange(answer=answer, message=line.message))
        self.facts = replace(self.facts, messages=len(self._exchanges))
        return UserReply(message=line.message)

    async def _say(self, answer: str) -> UserLine:
        line = UserLine(answer=answer, digest=answer_digest(answer, self.place.workspace))
        match self.source:
            case ScriptedUser(messages=messages):
                number = len(self._exchanges)
                return _with(line, message=messages[number] if number < len(messages) else "")
            case RecordedUser(record=record, endpoint=endpoint):
                if self._recorded is None:
                    self._recorded = await to_thread.run_sync(read_lines, record)
                number = len(self._exchanges)
                known = self._recorded[number] if number < len(self._recorded) else None
                if known is not None and known.digest == line.digest and not known.failed:
                    return _with(line, message=known.message)
                self._recorded = ()  # from here on the conversation is another one
                if endpoint is None:
                    what = "was not recorded" if known is None else "differs from the recorded one"
                    return _with(line, failed=f"answer {number + 1} of the agent {what}: the user's reply is unknown")
                return await self._ask(endpoint, line)
            case ModelUser(endpoint=endpoint):
                return await self._ask(endpoint, line)
            case _:
                assert_never(self.source)

    async def _ask(self, endpoint: Endpoint, line: UserLine) -> UserLine:
        """Return the line with the model's message, or with why there is none."""
        line = _with(line, model=endpoint.model)
        conversation = list(question(self.place.user, self.place.prompt, self._exchanges, line.answer))
        problem = ""
        for _ in range(TRIES):
            began = current_time()
            try:
                reply = await endpoint.ask(tuple(conversation), REPLY_SCHEMA)
            except ChatError as error:
                self._add(endpoint, error, began)
                return _with(line, failed=str(error))
            self._add(endpoint, reply, began)
            line = _with(line, replies=(*line.replies, reply.text[:MAX_REPLY]))
            try:
                return _with(line, message=self.place.masked(read_user_reply(reply)))
            except UnreadableUserError as error:
                problem = str(error)
            said = NO_ANSWER if reply.problem or not reply.text.strip() else reply.text[:MAX_REPLY]
            conversation += [
                Message(role=Role.ASSISTANT, text=said),
                Message(role=Role.USER, text=asked_again(problem)),
            ]
        return _with(line, failed=f"The reply of the user's model {endpoint.model} can't be read: {problem}")

    def _add(self, endpoint: Endpoint, what: Reply | ChatError, began: float) -> None:
        """Add what a call used."""
        before = self.facts or UserFacts()
        cost = [one for one in (before.cost_usd, what.cost_usd) if one is not None]
        self.facts = replace(
            before,
            model=endpoint.model,
            prompt_version=USER_PROMPT_VERSION,
            calls=before.calls + what.calls,
            usage=before.usage + what.usage,
            cost_usd=sum(cost) if cost else None,
            calls_without_cost=before.calls_without_cost + (what.calls if what.cost_usd is None else 0),
            latency_s=round(before.latency_s + current_time() - began, 3),
        )
