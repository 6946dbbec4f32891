"""Serve recorded replies to the requests of another run of the same trial (pure)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping  # noqa: TC003 - the default of a field
from dataclasses import dataclass, field
from difflib import SequenceMatcher, unified_diff
from itertools import zip_longest
from typing import TYPE_CHECKING

from pinchbench.wire.facts import facts_of, is_success, request_body, request_facts
from pinchbench.wire.normalise import Normaliser, day_of, workspace_of
from pinchbench.wire.protocols.detect import protocol_of
from pinchbench.wire.protocols.json_values import canonical
from pinchbench.wire.protocols.values import Conversation, Message, RequestFacts, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pinchbench.wire.exchange import Exchange

MAX_DIFF_LINES = 40
MAX_DIFF_LINE_CHARS = 300
MAX_DIFFED_CHARS = 200_000  # of one text: finding the smallest difference takes quadratic time
WORKSPACE_NAME = "<workspace>"
NOT_ALPHANUMERIC = re.compile(r"[^0-9A-Za-z]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Divergence:
    """How a request differs from the recorded one in its position, after normalising both.

    Attributes:
        recorded: the exchange in the same position of the same conversation; None if none was recorded there.
        model: the model that is asked for, if it is another one.
        system_chars: by how many characters the system prompt is longer now.
        system_diff: what changed in the system prompt.
        added_tools: the tools that are new; `removed_tools` are no longer offered, `changed_tools` have another
            description or schema.
        tools_chars: by how many characters descriptions and schemas of all tools are longer now.
        index: the first message that differs, counted from 0 without the system prompt; None if all are the same.
        role: who speaks in that message now; None if only the recorded request has it.
        diff: what changed in it.
        repeated: whether an earlier divergence of this replay has the same differences, as each later request of a
            conversation repeats the difference that an earlier one had.
    """

    recorded: Exchange | None = None
    model: str = ""
    system_chars: int = 0
    system_diff: str = ""
    added_tools: tuple[str, ...] = ()
    removed_tools: tuple[str, ...] = ()
    changed_tools: tuple[str, ...] = ()
    tools_chars: int = 0
    index: int | None = None
    role: Role | None = None
    diff: str = ""
    repeated: bool = False

    @property
    def summary(self) -> str:
        """Return one line that names the differences."""
        if self.recorded is None:
            return "No request was recorded in this position of a conversation that begins like this one."
        tools = (
            ("new", self.added_tools),
            ("removed", self.removed_tools),
            ("changed", self.changed_tools),
        )
        said = [
            f"asks for the model {self.model}" if self.model else "",
            f"the system prompt changed ({self.system_chars:+} characters)" if self.system_diff else "",
            *(f"{what} tools: {', '.join(names)}" for what, names in tools if names),
            f"message {self.index} ({self.role or 'missing now'}) is different" if self.index is not None else "",
        ]
        return f"Compared with request {self.recorded.number}: {'; '.join(filter(None, said))}."


@dataclass(frozen=True, kw_only=True, slots=True)
class _Request:
    """A normalised request. `messages` are texts; `replies` counts those of the assistant: its position."""

    model: str
    system: str
    tools: Mapping[str, str]
    messages: tuple[str, ...]
    roles: tuple[Role, ...]
    replies: int

    @property
    def opening(self) -> frozenset[str]:
        """Return the lines of the first message that tell a conversation from others, whatever else a release adds."""
        lines = self.messages[0].split("\n")[1:] if self.messages else []
        return frozenset(line for line in lines if line.strip())

    @property
    def outline(self) -> tuple[object, ...]:
        """Return all but the messages."""
        return self.model, self.system, tuple(sorted(self.tools.items()))

    @property
    def key(self) -> object:
        """Return what equal requests have in common."""
        return self.outline, self.messages


@dataclass(kw_only=True, slots=True)
class _Recorded:
    """A recorded exchange, and how often it was served."""

    exchange: Exchange
    request: _Request
    served: int = 0


@dataclass(kw_only=True, slots=True)
class _Reader:
    """Normalises requests, and knows the conversations that the provider keeps."""

    kept: dict[str, tuple[Message, ...]] = field(default_factory=dict)
    _normalisers: dict[object, Normaliser] = field(default_factory=dict)

    def read(self, path: str, body: bytes, at: float, places: Mapping[str, str]) -> _Request:
        """Normalise a request that was made at this Unix time."""
        facts = request_facts(path, body)
        if protocol_of(path, body) is None:
            whole = f"{path.partition('?')[0]}\n{body.decode('utf-8', 'replace')}"
            facts = RequestFacts(conversation=Conversation(messages=(Message(role=Role.OTHER, text=whole),)))
        said = facts.conversation
        found = workspace_of(said.system)
        normaliser = self._normaliser({found: WORKSPACE_NAME, **places} if found else places, at)
        messages = self.continued(said)
        numbers = _call_numbers(messages)
        return _Request(
            model=facts.model,
            system=normaliser.text(said.system),
            tools={
                tool.name: normaliser.text(f"{tool.name}: {tool.description}\n{tool.parameters}") for tool in said.tools
            },
            messages=tuple(_rendered(message, numbers, normaliser) for message in messages),
            roles=tuple(message.role for message in messages),
            replies=sum(message.role is Role.ASSISTANT for message in messages),
        )

    def continued(self, said: Conversation) -> tuple[Message, ...]:
        """Return the whole conversation, also of a request that has only its end."""
        return (*self.kept.get(said.continues, ()), *said.messages)

    def _normaliser(self, places: Mapping[str, str], at: float) -> Normaliser:
        day = day_of(at)
        return self._normalisers.setdefault((day, tuple(sorted(places.items()))), Normaliser(places=places, today=day))


class Replay:
    """The recorded exchanges of one trial. Not thread-safe; requests may come in parallel and repeatedly."""

    def __init__(self, exchanges: Iterable[Exchange], *, places: Mapping[str, str] | None = None) -> None:
        """Take the recorded exchanges.

        Args:
            exchanges: The exchanges, in any order.
            places: What stands for the paths of the recorded run, such as `{"/home/…/state": "<state>"}`. The
                workspace is known from the system prompt.
        """
        self._reader = _Reader()
        self._recorded: list[_Recorded] = []
        self._by_key: defaultdict[object, list[_Recorded]] = defaultdict(list)
        self._seen: set[object] = set()
        for exchange in sorted(exchanges, key=lambda one: one.number):
            self._add(exchange, places or {})

    @property
    def unused(self) -> tuple[Exchange, ...]:
        """Return the recorded exchanges that were not served, in the order of their numbers."""
        return tuple(one.exchange for one in self._recorded if not one.served)

    def match(
        self, path: str, body: bytes, *, at: float, turn: int = 0, places: Mapping[str, str] | None = None
    ) -> Exchange | Divergence:
        """Return the recorded exchange of this request, or how it differs from the one in its position.

        Equal requests get their exchanges in the order of the recording, failures included, as retries change what
        OpenClaw says next. When all were served, the last one that succeeded is served again.

        Args:
            path: The path, as the provider would receive it.
            body: The body, without `Content-Encoding`.
            at: The Unix time of the request, in seconds.
            turn: The index of the turn, whose exchanges come before those of others.
            places: As above, for the paths of this run.
        """
        request = self._reader.read(path, body, at, places or {})
        equal = self._by_key.get(request.key)
        if equal:
            return self._serve(_next(equal, turn)).exchange
        nearest = self._nearest(request, turn)
        if nearest is None:
            is_repeated = request.key in self._seen
            self._seen.add(request.key)
            return Divergence(repeated=is_repeated)
        return _difference(self._serve(nearest), request, self._seen)

    def _add(self, exchange: Exchange, places: Mapping[str, str]) -> None:
        body = request_body(exchange.request, exchange.request_headers)
        recorded = _Recorded(
            exchange=exchange, request=self._reader.read(exchange.path, body, exchange.began_at, places)
        )
        self._recorded.append(recorded)
        self._by_key[recorded.request.key].append(recorded)
        facts = facts_of(exchange)
        if facts.reply.response_id and facts.reply.message is not None:
            said = self._reader.continued(facts.request.conversation)
            self._reader.kept[facts.reply.response_id] = (*said, facts.reply.message)

    def _serve(self, recorded: _Recorded) -> _Recorded:
        recorded.served += 1
        return recorded

    def _nearest(self, request: _Request, turn: int) -> _Recorded | None:
        """Return the exchange in the same position of the conversation that is most like this one."""

        def likeness(recorded: _Recorded) -> tuple[int, ...]:
            other = recorded.request
            return (
                _shared(request.messages, other.messages),
                request.system == other.system,
                recorded.exchange.turn == turn,
                not recorded.served,
                request.model == other.model,
                len(request.messages) == len(other.messages),
                -recorded.exchange.number,
            )

        alike = (one for one in self._recorded if _is_same_position(one.request, request))
        return max(alike, key=likeness, default=None)


def _next(equal: Sequence[_Recorded], turn: int) -> _Recorded:
    unused = [one for one in equal if not one.served]
    if unused:
        return min(unused, key=lambda one: one.exchange.turn != turn)  # the first of those in the order of recording
    return max(equal, key=lambda one: (is_success(one.exchange), one.exchange.turn == turn, one.exchange.number))


def _is_same_position(recorded: _Request, request: _Request) -> bool:
    """Return whether a request may be the recorded one: as many replies came before, and the conversation is alike."""
    if recorded.replies != request.replies:
        return False
    is_same_system = bool(request.system) and recorded.system == request.system
    return is_same_system or not recorded.opening.isdisjoint(request.opening)


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return with how many equal messages two conversations begin."""
    return next((index for index, (a, b) in enumerate(zip_longest(one, other)) if a != b), len(one))


def _difference(recorded: _Recorded, request: _Request, seen: set[object]) -> Divergence:
    """Compare two requests. Differences that were `seen` before are named only if there are no others."""
    before = recorded.request
    changes = _message_changes(before.messages, request.messages)
    keys = [
        *((one, other) for one, other in zip(before.outline, request.outline, strict=True) if one != other),
        *((change.before, change.after) for change in changes),
    ]
    is_repeated = seen.issuperset(keys)
    change = next((one for one in changes if (one.before, one.after) not in seen), next(iter(changes), None))
    seen.update(keys)
    shared_tools = before.tools.keys() & request.tools.keys()
    return Divergence(
        recorded=recorded.exchange,
        model=request.model if request.model != before.model else "",
        system_chars=len(request.system) - len(before.system),
        system_diff=_diff(before.system, request.system),
        added_tools=tuple(name for name in request.tools if name not in before.tools),
        removed_tools=tuple(name for name in before.tools if name not in request.tools),
        changed_tools=tuple(sorted(name for name in shared_tools if before.tools[name] != request.tools[name])),
        tools_chars=sum(map(len, request.tools.values())) - sum(map(len, before.tools.values())),
        index=None if change is None else change.index,
        role=None if change is None or not change.after else request.roles[change.index],
        diff="" if change is None else _diff("\n".join(change.before), "\n".join(change.after)),
        repeated=is_repeated,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Change:
    """Messages that differ; `index` is that of the first now."""

    index: int
    before: tuple[str, ...]
    after: tuple[str, ...]


def _message_changes(before: tuple[str, ...], after: tuple[str, ...]) -> list[_Change]:
    codes = SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes()
    return [
        _Change(index=start, before=before[first:last], after=after[start:end])
        for tag, first, last, start, end in codes
        if tag != "equal"
    ]


def _diff(before: str, after: str) -> str:
    """Return the lines that differ, as many as a person wants to see."""
    if before == after:
        return ""
    old, new = (text[:MAX_DIFFED_CHARS].split("\n") for text in (before, after))
    lines = list(unified_diff(old, new, n=1, lineterm=""))[2:]  # without the names of files
    shown = [line if len(line) <= MAX_DIFF_LINE_CHARS else f"{line[:MAX_DIFF_LINE_CHARS]}…" for line in lines]
    if not shown:
        return f"different beyond the first {MAX_DIFFED_CHARS} characters"
    more = len(shown) - MAX_DIFF_LINES
    return "\n".join([*shown[:MAX_DIFF_LINES], *([f"… {more} more lines"] if more > 0 else [])])


def _call_numbers(messages: Iterable[Message]) -> dict[str, int]:
    """Number the tool calls in their order: their ids are the provider's, and OpenClaw rewrites some."""
    numbers: dict[str, int] = {}
    for message in messages:
        for call_id in (*(call.id for call in message.tool_calls), message.call_id):
            if call_id:
                numbers.setdefault(_plain_id(call_id), len(numbers) + 1)
    return numbers


def _plain_id(call_id: str) -> str:
    return NOT_ALPHANUMERIC.sub("", call_id)


def _rendered(message: Message, numbers: Mapping[str, int], normaliser: Normaliser) -> str:
    """Write all that counts of a message as a text, for comparison and for people."""
    result = f" of call {numbers[_plain_id(message.call_id)]}" if message.call_id else ""
    calls = (
        f"call {numbers.get(_plain_id(call.id), '?')}: {call.name}({normaliser.text(canonical(call.arguments))})"
        for call in message.tool_calls
    )
    lines = (
        f"[{message.role}{result}]",
        f"(reasoning) {normaliser.text(message.reasoning)}" if message.reasoning else "",
        normaliser.text(message.text),
        *calls,
        *message.attachments,
    )
    return "\n".join(filter(None, lines))
