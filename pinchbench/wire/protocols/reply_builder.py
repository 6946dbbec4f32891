"""A reply that is put together from events in the order of their arrival, and what a protocol does for that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from msgspec import structs

from pinchbench.model.usage import Usage
from pinchbench.transcript_lines import writable
from pinchbench.wire.protocols.call_facts import Message, ReplyFacts, RequestFacts, Role, TokenLogprob, ToolCall

if TYPE_CHECKING:
    import re

    from pinchbench.defaults import ProtocolName
    from pinchbench.json_values import Object


BAD_CALL = "the form of a tool call is not that of the API"  # the server's doing: OpenClaw can't use such a reply


@dataclass(kw_only=True, slots=True)
class CallBuilder:
    """A tool call whose arguments come in pieces.

    `name` is None until a server gives one, even if it is empty. `is_open` if the server has to say that it is whole.
    """

    id: str = ""
    name: str | None = None
    is_open: bool = False
    arguments: list[str] = field(default_factory=list)

    def update(self, *, call_id: str = "", name: str | None = None, arguments: str = "") -> None:
        """Add a piece of the arguments; id and name count as said last, as they do for OpenClaw."""
        self.id = call_id or self.id
        self.name = name or self.name or name
        if arguments:
            self.arguments.append(arguments)


class ReplyBuilder:
    """Collects the parts of a reply; `facts` is up to date after each of them."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.model = ""
        self.response_id = ""
        self.stop_reason = ""
        self.error = ""
        self.usage: Usage | None = None
        self.cost_usd: float | None = None
        self.complete = False
        self.at_s: float | None = None  # of the event that is being read; None: the reply is not streamed
        self.token_ids: list[int] = []
        self.prompt_token_ids: tuple[int, ...] = ()
        self.logprobs: list[TokenLogprob] = []
        self.attachments: list[str] = []
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[object, CallBuilder] = {}
        self._first_content_s: float | None = None
        self._last_content_s: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing of a message came."""
        return not (self._text or self._reasoning or self._calls or self.attachments)

    @property
    def call_count(self) -> int:
        """How many tool calls there are."""
        return len(self._calls)

    def add_text(self, text: str) -> None:
        """Add a piece of the answer."""
        if text:
            self._text.append(text)
            self._count_content()

    def add_reasoning(self, text: str) -> None:
        """Add a piece of the reasoning."""
        if text:
            self._reasoning.append(text)
            self._count_content()

    def call(self, key: object) -> CallBuilder:
        """Return the tool call of this key, which is new the first time."""
        self._count_content()
        return self._calls.setdefault(key, CallBuilder())

    def call_of(self, call_id: str) -> CallBuilder:
        """Return the tool call of this id; a new one without an id, as OpenClaw 2026.9.6 does."""
        found = (one for one in self._calls.values() if call_id and one.id == call_id)
        return next(found, None) or self.call(object())

    def end_call(self, key: object) -> None:
        """End the tool call of this key, if there is one; some servers begin another one with the same key."""
        if call := self._calls.get(key):
            call.is_open = False
            self._calls = {object() if one is call else place: one for place, one in self._calls.items()}

    def name(self, *, model: str, response_id: str) -> None:
        """Take the names that a provider gives its reply; empty ones change nothing."""
        self.model = model or self.model
        self.response_id = response_id or self.response_id

    def report_usage(self, usage: Usage | None, cost_usd: float | None = None) -> None:
        """Take usage as it was reported last; one without tokens only if there was none."""
        if usage is not None:
            self.cost_usd = cost_usd if cost_usd is not None else self.cost_usd
            counted = usage if usage.has_tokens or self.usage is None else self.usage
            self.usage = structs.replace(counted, cost_usd=self.cost_usd or 0.0)

    def facts(self) -> ReplyFacts:
        """Return what came so far."""
        calls = tuple(
            ToolCall(id=one.id, name=one.name or "", arguments=writable("".join(one.arguments)))
            for one in self._calls.values()
        )
        is_bad = self.complete and any(one.name is None or one.is_open for one in self._calls.values())
        error = self.error or (BAD_CALL if is_bad else "")
        message = Message(
            role=Role.ASSISTANT,
            text=writable("".join(self._text)),
            reasoning=writable("".join(self._reasoning)),
            tool_calls=calls,
            attachments=tuple(self.attachments),
        )
        return ReplyFacts(
            model=self.model,
            response_id=self.response_id,
            message=None if self.is_empty else message,
            usage=self.usage,
            cost_usd=self.cost_usd,
            stop_reason=self.stop_reason,
            first_content_s=self._first_content_s,
            last_content_s=self._last_content_s,
            complete=self.complete and not error,
            error=error,
            token_ids=tuple(self.token_ids),
            prompt_token_ids=self.prompt_token_ids,
            logprobs=tuple(self.logprobs),
        )

    def _count_content(self) -> None:
        if self._first_content_s is None:
            self._first_content_s = self.at_s
        self._last_content_s = self.at_s


class Protocol(ABC):
    """Reads what requests and replies say. Nothing raises: what a body does not say is empty.

    Attributes:
        endpoint: the end of the paths at which a model answers; what comes before it is the provider's own.
        end_mark: the data, not JSON, of the event that ends a stream; empty if there is none.
    """

    name: ClassVar[ProtocolName]
    endpoint: ClassVar[re.Pattern[str]]
    end_mark: ClassVar[bytes] = b""

    @abstractmethod
    def read_request(self, path: str, body: Object) -> RequestFacts:
        """Read path and body of a request."""

    def read_event(self, event: Object, reply: ReplyBuilder) -> None:
        """Read one event of a streamed reply; without an own way, it has the form of a whole one."""
        self.read_whole(event, reply)

    @abstractmethod
    def read_whole(self, body: Object, reply: ReplyBuilder) -> None:
        """Read a reply that is not streamed."""


def usage_of_call(*, prompt: int, output: int, cached: int = 0, written: int = 0, total: int = 0) -> Usage:
    """Return the usage of one call, of a provider that counts cached tokens as part of the prompt.

    Args:
        prompt: All tokens of the request.
        output: The tokens of the reply.
        cached: The tokens of the prompt that were read from a cache.
        written: The tokens of the prompt that were written to a cache.
        total: As the provider counts it; 0 if it does not.
    """
    return Usage(
        requests=1,
        input_tokens=max(0, prompt - cached - written),
        output_tokens=output,
        cache_read_tokens=cached,
        cache_write_tokens=written,
        total_tokens=total or prompt + output,
    )
