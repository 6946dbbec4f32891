"""Serve recorded replies to the requests of another run of the same trial (pure)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence  # noqa: TC003 - the default of a field
from dataclasses import dataclass, field
from difflib import SequenceMatcher, unified_diff
from itertools import zip_longest
from typing import TYPE_CHECKING

from pinchbench.json_values import canonical
from pinchbench.wire.agreement import fold_id
from pinchbench.wire.exchange import DivergenceNote, Exchange
from pinchbench.wire.exchange_facts import facts_of, is_success, protocol_of, request_body, request_facts
from pinchbench.wire.normalise import Normaliser, day_of, workspace_of
from pinchbench.wire.protocols.call_facts import Message, RequestFacts, Role

if TYPE_CHECKING:
    from datetime import date


MAX_DIFF_LINES = 40
MAX_DIFF_LINE_CHARS = 300
MAX_DIFFED_CHARS = 200_000  # of one text: finding the smallest difference takes quadratic time
WORKSPACE_NAME = "<workspace>"
NO_POSITION = "No request was recorded in this position of a conversation that begins like this one."


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """What a request gets.

    Attributes:
        exchange: the recorded one whose reply it gets; None for a refusal, or with `is_live`.
        divergence: how the request differs from the recorded one in its position, after normalising both.
        is_live: whether a model is asked.
    """

    exchange: Exchange | None = None
    divergence: DivergenceNote | None = None
    is_live: bool = False


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
    """Normalises requests, and knows the conversations that the provider keeps.

    `simulated` is as in `ReplaySource`.
    """

    simulated: tuple[float, float] | None = None
    kept: dict[str, tuple[Message, ...]] = field(default_factory=dict)
    _normalisers: dict[object, Normaliser] = field(default_factory=dict)

    def read(self, path: str, body: bytes, at: float) -> _Request:
        """Normalise a request that was made at this Unix time."""
        facts = request_facts(path, body)
        if protocol_of(path, body) is None:
            # a replay's base URL has not the path of the recorded one
            name = path.partition("?")[0].rpartition("/")[2]
            whole = f"{name}\n{body.decode('utf-8', 'replace')}"
            facts = RequestFacts(messages=(Message(role=Role.OTHER, text=whole),))
        normaliser = self._normaliser(workspace_of(facts.system), day_of(at))
        messages = self.continued(facts)
        numbers = _call_numbers(messages)
        return _Request(
            model=facts.model,
            system=normaliser.text(facts.system),
            tools={
                tool.name: normaliser.text(f"{tool.name}: {tool.description}\n{tool.parameters}")
                for tool in facts.tools
            },
            messages=tuple(_rendered(message, numbers, normaliser) for message in messages),
            roles=tuple(message.role for message in messages),
            replies=sum(message.role is Role.ASSISTANT for message in messages),
        )

    def continued(self, said: RequestFacts) -> tuple[Message, ...]:
        """Return the whole conversation, also of a request that has only its end."""
        return (*self.kept.get(said.continues, ()), *said.messages)

    def _normaliser(self, workspace: str, today: date) -> Normaliser:
        places = {workspace: WORKSPACE_NAME} if workspace else {}
        days = None if self.simulated is None else (day_of(self.simulated[0]), day_of(self.simulated[1]))
        return self._normalisers.setdefault(
            (today, workspace), Normaliser(places=places, today=today, simulated_days=days)
        )


class Replay:
    """The recorded exchanges of one trial. Not thread-safe; requests may come in parallel and repeatedly."""

    def __init__(self, exchanges: Iterable[Exchange], simulated: tuple[float, float] | None = None) -> None:
        """Take the recorded exchanges, in any order. `simulated` is as in `ReplaySource`."""
        self._reader = _Reader(simulated=simulated)
        self._recorded: list[_Recorded] = []
        self._by_key: defaultdict[object, list[_Recorded]] = defaultdict(list)
        self._seen: set[object] = set()
        for exchange in sorted(exchanges, key=lambda one: one.number):
            self._add(exchange)

    def match(self, path: str, body: bytes, *, at: float, turn: int = 0) -> Choice:
        """Return the recorded exchange of this request, or the one in its position and how that differs.

        Equal requests get their exchanges in the order of the recording, failures included, as retries change what
        OpenClaw says next. When all were served, the last one that succeeded is served again.

        Args:
            path: The path, as the provider would receive it.
            body: The body, without `Content-Encoding`.
            at: The Unix time of the request, in seconds.
            turn: The index of the turn, whose exchanges come before those of others.
        """
        request = self._reader.read(path, body, at)
        equal = self._by_key.get(request.key)
        if equal:
            found = _next(equal, turn)
            found.served += 1
            return Choice(exchange=found.exchange)
        nearest = self._nearest(request, turn)
        if nearest is None:
            is_repeated = request.key in self._seen
            self._seen.add(request.key)
            return Choice(divergence=DivergenceNote(summary=NO_POSITION, repeated=is_repeated))
        nearest.served += 1
        return _difference(nearest, request, self._seen)

    def _add(self, exchange: Exchange) -> None:
        body = request_body(exchange.request, exchange.request_headers)
        recorded = _Recorded(exchange=exchange, request=self._reader.read(exchange.path, body, exchange.began_at))
        self._recorded.append(recorded)
        self._by_key[recorded.request.key].append(recorded)
        facts = facts_of(exchange)
        if facts.reply.response_id and facts.reply.message is not None:
            said = self._reader.continued(facts.request)
            self._reader.kept[facts.reply.response_id] = (*said, facts.reply.message)

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


def _difference(recorded: _Recorded, request: _Request, seen: set[object]) -> Choice:
    """Compare two requests. Differences that were `seen` before are named only if there are no others."""
    before = recorded.request
    changes = _message_changes(before.messages, request.messages)
    keys = [
        *((one, other) for one, other in zip(before.outline, request.outline, strict=True) if one != other),
        *(texts for texts, _ in changes),
    ]
    is_repeated = seen.issuperset(keys)
    change = next((one for one in changes if one[0] not in seen), next(iter(changes), None))
    seen.update(keys)
    said, details = [], []
    if request.model != before.model:
        said.append(f"asks for the model {request.model}")
    if request.system != before.system:
        more_chars = len(request.system) - len(before.system)
        said.append(f"the system prompt changed ({more_chars:+} characters)")
        details.append(f"system prompt:\n{_diff(before.system, request.system)}")
    tools = (
        ("new", [name for name in request.tools if name not in before.tools]),
        ("removed", [name for name in before.tools if name not in request.tools]),
        ("changed", sorted(name for name, text in request.tools.items() if before.tools.get(name, text) != text)),
    )
    said += [f"{what} tools: {', '.join(names)}" for what, names in tools if names]
    if change is not None:
        texts, index = change
        role = request.roles[index] if texts[1] else "missing now"
        said.append(f"message {index} ({role}) is different")
        details.append(f"message {index}:\n{_diff(*texts)}")
    return Choice(
        exchange=recorded.exchange,
        divergence=DivergenceNote(
            summary=f"Compared with request {recorded.exchange.number}: {'; '.join(said)}.",
            details="\n\n".join(details),
            repeated=is_repeated,
        ),
    )


def _message_changes(before: tuple[str, ...], after: tuple[str, ...]) -> list[tuple[tuple[str, str], int]]:
    """Return the messages that differ, before and after, and the index of the first now."""
    codes = SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes()
    return [
        (("\n".join(before[first:last]), "\n".join(after[start:end])), start)
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
                numbers.setdefault(fold_id(call_id), len(numbers) + 1)
    return numbers


def _rendered(message: Message, numbers: Mapping[str, int], normaliser: Normaliser) -> str:
    """Write all that counts of a message as a text, for comparison and for people."""
    result = f" of call {numbers[fold_id(message.call_id)]}" if message.call_id else ""
    calls = (
        f"call {numbers.get(fold_id(call.id), '?')}: {call.name}({normaliser.text(canonical(call.arguments))})"
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
