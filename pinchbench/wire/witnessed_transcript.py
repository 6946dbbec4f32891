"""The transcript that graders read: what the wire saw, in the form of OpenClaw's events (pure).

The agent can edit OpenClaw's store, and OpenClaw repairs what models send. So an event of the store counts where it
agrees with the wire, and for what the wire can not know, such as times; everything else is replaced, added or left out
by what the wire saw, and each difference is a finding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pinchbench.json_values import is_deep, text_at
from pinchbench.model.facts import Finding, FindingKind
from pinchbench.transcript_lines import Event, writable
from pinchbench.transcripts import parts_of, text_of
from pinchbench.wire.agent_thread import INTERNAL, RUN, Step, Thread
from pinchbench.wire.agreement import (
    MAX_ARGUMENT_DEPTH,
    agrees_text,
    arguments_of,
    calls_of,
    flat,
    fold_id,
    ids_of_step,
    is_answer,
    is_masked,
    is_refused,
    is_same_name,
    is_same_value,
    message_of,
    pair_replies,
    reply_key,
    shallow,
    stored_key,
)
from pinchbench.wire.protocols.call_facts import Message, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


MAX_SHOWN_CHARS = 400
MAX_FINDINGS = 50
NORMAL_ENDS = frozenset({"stop", "end_turn", "tool_calls", "tool_use", "completed", "STOP", "stop_sequence"})
# After these, OpenClaw executes no call of a reply, of `stop` if there is also a text.
CALLS_DROPPED = frozenset({"length", "max_output_tokens", "max_tokens", "MAX_TOKENS", "stop", "end"})
# What OpenClaw's events have apart from what is checked here; anything else could be a text of the agent's.
EVENT_KEYS = frozenset({"type", "id", "parentId", "timestamp", "version", "cwd", "provider", "modelId"}) | {
    *("thinkingLevel", "summary", "firstKeptEntryId", "tokensBefore", "message")
}
MESSAGE_KEYS = frozenset({"role", "content", "timestamp", "api", "provider", "model", "usage", "stopReason"}) | {
    *("responseId", "responseModel", "errorMessage", "toolCallId", "toolName", "details", "isError")
}
NO_ANSWER = flat(
    "The tool run finished, but no final summary was produced. I did not repeat any completed actions."
)  # what OpenClaw 2026.9.6 writes where a model's last replies are empty
KNOWN_EVENTS = frozenset({"session", "model_change", "thinking_level_change", "compaction", "message"})
PART_KEYS = {
    "text": frozenset({"type", "text", "textSignature"}),
    "image": frozenset({"type", "data", "mimeType"}),
    "toolCall": frozenset({"type", "id", "name", "arguments"}),
    "thinking": frozenset({"type", "thinking", "thinkingSignature", "redacted"}),
}
DEEP: Event = {"raw": "an event that is nested too deeply", "parse_error": "nested too deeply"}


@dataclass(frozen=True, kw_only=True, slots=True)
class WitnessedTranscript:
    """The events, and how the store's differ from them."""

    events: tuple[Event, ...]
    findings: tuple[Finding, ...]


def witnessed_transcript(thread: Thread, stored: Sequence[Event]) -> WitnessedTranscript:
    """Build the transcript of a conversation that the wire saw.

    Args:
        thread: The conversation.
        stored: The events of OpenClaw's store, of all sessions of the trial in their order.
    """
    events = [_bounded(event) if is_deep(event, MAX_ARGUMENT_DEPTH) else event for event in stored]
    threads = thread.by_session()
    if len(threads) < 2 or "" in threads:  # noqa: PLR2004 - sessions at the same time have to be separated
        return _witnessed(thread, events)
    segments = _segments(events)
    runs = _runs(threads, segments)
    segments = {runs.get(name, name): part for name, part in segments.items()}
    nothing = Thread(texts=thread.texts, said=thread.said)
    parts = {name: _witnessed(threads.get(name, nothing), segments.get(name, [])) for name in {**segments, **threads}}
    # OpenClaw keeps the last run of an automation alone, and none of one that was removed
    kept = (part.findings for name, part in parts.items() if name in segments or RUN not in name)
    findings = tuple(finding for part in kept for finding in part)[:MAX_FINDINGS]
    return WitnessedTranscript(
        events=tuple(event for part in parts.values() for event in part.events), findings=findings
    )


def _bounded(event: Event) -> Event:
    """Return a deep event with the arguments of its calls as those of the wire; one that is deep elsewhere is named."""
    message = message_of(event)
    content = [
        {**part, "arguments": shallow(part.get("arguments"))} if part.get("type") == "toolCall" else part
        for part in parts_of(message)
    ]
    bounded: Event = {**event, "message": {**message, "content": content}} if content else event
    return DEEP if is_deep(bounded) else bounded


def _runs(threads: Mapping[str, Thread], segments: Mapping[str, Sequence[Event]]) -> dict[str, str]:
    """Return the automation's run of each stored session that no request names, as a run is named by its key alone.

    Both begin with the same message; where none does, a session has the first run that is left.
    """
    left = [name for name in threads if RUN in name]
    unnamed = [name for name, part in segments.items() if name not in threads and any(map(is_answer, part))]
    found: dict[str, str] = {}
    for name in unnamed:
        said = next((flat(text_of(message_of(one))) for one in segments[name] if _is_of_user(one)), "")
        begun = (run for run in left if said and any(said in flat(text) for text in threads[run].steps[0].users))
        if run := next(begun, ""):
            found[name] = run
            left.remove(run)
    return found | dict(zip((name for name in unnamed if name not in found), left, strict=False))


def _is_of_user(event: Event) -> bool:
    return message_of(event).get("role") == "user"


def _witnessed(thread: Thread, events: Sequence[Event]) -> WitnessedTranscript:
    builder = _Builder(thread=thread, paired=pair_replies(thread.steps, events))
    for index, event in enumerate(events):
        builder.add(index, event)
    builder.finish()
    return WitnessedTranscript(events=tuple(builder.events), findings=tuple(builder.findings))


def _segments(events: Sequence[Event]) -> dict[str, list[Event]]:
    """Return the stored events of each session, which follow one another, in their order."""
    segments: dict[str, list[Event]] = {}
    segment: list[Event] = []
    for event in events:
        name = str(event.get("id")) if event.get("type") == "session" else ""
        if name and name not in segments:
            segment = segments[name] = segment if not segments else []
        segment.append(event)
    return segments


@dataclass(slots=True)
class _Pending:
    """The results of the current reply's calls that the transcript does not have yet; None if the wire has none."""

    calls: list[ToolCall] = field(default_factory=list)
    results: list[tuple[Message, ToolCall]] | None = None

    @classmethod
    def of(cls, step: Step) -> _Pending:
        calls = list(step.reply.message.tool_calls) if step.reply.message is not None else []
        if step.results is None:
            return cls(calls=calls)
        return cls(calls=calls, results=[*_with_calls(step.results, calls)])


def _with_calls(results: Sequence[Message], calls: Sequence[ToolCall]) -> Iterator[tuple[Message, ToolCall]]:
    left = list(calls)
    for result in results:
        yield result, _taken(left, result.call_id) or ToolCall(id=result.call_id)


def _taken(calls: list[ToolCall], call_id: str) -> ToolCall | None:
    """Remove the call with this id, or else the first one, and return it; None if there is none."""
    call = next((one for one in calls if fold_id(one.id) == fold_id(call_id)), next(iter(calls), None))
    if call is not None:
        calls.remove(call)
    return call


@dataclass(kw_only=True, slots=True)
class _Builder:
    """Goes through the store's events and the wire's steps together."""

    thread: Thread
    paired: Mapping[int, int]
    events: list[Event] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    at: int = -1  # of the step whose reply came last
    pending: _Pending = field(default_factory=_Pending)
    asked: int = -1  # the turn whose message the transcript has
    heard: str = ""  # all texts of the conversation, without white space
    users: dict[int, tuple[str, ...]] = field(default_factory=dict)  # those of each request's user, likewise

    def add(self, index: int, event: Event) -> None:
        """Take one event of the store."""
        kind = text_at(event, "type")
        if "raw" in event and "parse_error" in event:
            self._find(FindingKind.ADDED, said=str(event["raw"]))
            return
        if kind not in KNOWN_EVENTS:
            return  # OpenClaw's own notes, of which the conversation has nothing
        event = {key: value for key, value in event.items() if key in EVENT_KEYS}
        message = message_of(event)
        match kind, message.get("role"):
            case "message", "assistant" if is_answer(event):
                self._answer(index, event)
            case "message", "assistant":
                self._notice(event)
            case "message", "toolResult":
                self._result(event)
            case "message", "user":
                self._user(event)
            case "message", _:
                self._keep_if(event, text_of(message))
            case "compaction", _:
                self._keep_if(event, str(event.get("summary") or ""))
            case "model_change", _:
                name = str(event.get("modelId"))
                is_asked = any(name.rpartition("/")[2] == one.model.rpartition("/")[2] for one in self.thread.steps)
                self._keep_if(event, "" if is_asked else name)
            case _:
                self.events.append(event)

    def finish(self) -> None:
        """Add what the wire saw after the store's last event."""
        self._add_until(len(self.thread.steps))
        self._add_results()

    def _answer(self, index: int, event: Event) -> None:
        at = self.paired.get(index)
        message = message_of(event)
        if at is None or at <= self.at:
            self._unpaired(event)
            return
        self._add_until(at)
        self._begin(at)
        self.events.append(self._checked(self.thread.steps[at], event, message))

    def _unpaired(self, event: Event) -> None:
        """Keep an answer that is none of the model's only if it is the record of a call that failed, without words."""
        message = message_of(event)
        following = self.thread.steps[self.at + 1 : self.at + 2]
        has_failed = any(
            not step.reply.complete or step.reply.message is None or is_refused(step) for step in following
        )
        if has_failed and not any(map(flat, _texts_of(message))) and not calls_of(message):
            error = {"errorMessage": following[0].reply.error or "no reply to use"} if "errorMessage" in message else {}
            self.events.append({**event, "message": _rebuilt(message, [], **error)})
            return
        self._find(FindingKind.ADDED, said=_shown(message) or str(message.get("errorMessage") or "an answer"))

    def _checked(self, step: Step, event: Event, message: Mapping[str, object]) -> Event:
        """Return the event of a reply with what the reply said."""
        reply, sent = step.reply, step.reply.message
        if sent is None:
            return event
        is_cut = not reply.complete
        stored = calls_of(message)
        calls = [
            self._call(step, call, stored[place] if place < len(stored) else None)
            for place, call in enumerate(sent.tool_calls)
        ]
        texts = [part for part in parts_of(message) if part.get("type") == "text"]
        is_text = agrees_text(text_of(message), sent.text, is_cut=is_cut)
        if not (stored or step.results) and reply.stop_reason in CALLS_DROPPED:
            calls = []
        is_same = is_text and len(stored) == len(calls) and all(is_own for _, is_own in calls)
        if (
            is_cut
            and is_text
            and len(stored) <= len(calls)
            and all(is_own for _, is_own in calls[: max(0, len(stored) - 1)])
        ):
            is_same, calls = True, [(dict(part), True) for part in stored]
        if not is_text:
            texts = [{"type": "text", "text": sent.text}] if sent.text else []
        others = {str(part.get("type")) for part in parts_of(message)} - {"text", "toolCall", "thinking"}
        failed = message.get("stopReason") == "error" and reply.complete and reply.stop_reason in NORMAL_ENDS
        if failed or others or not (is_same or is_masked(stored_key(event), reply_key(step))):
            self._find(FindingKind.CHANGED, said=_shown(message), sent=_shown_reply(sent), number=step.number)
        thinking = [part for part in parts_of(message) if part.get("type") == "thinking"]
        thought = flat(sent.reasoning + sent.text)
        if any(flat(str(part.get("thinking"))) not in thought for part in thinking):
            thinking = [{"type": "thinking", "thinking": sent.reasoning}] if sent.reasoning else []
        content = [*thinking, *texts, *(call for call, _ in calls)]
        if is_same and not failed and not others and all(part in content for part in parts_of(message)):
            content = parts_of(message)  # in the store's order
        rebuilt = _rebuilt(message, content, provider=step.provider, model=step.model)
        if failed:
            rebuilt |= {"stopReason": "toolUse" if sent.tool_calls else "stop"}
            rebuilt.pop("errorMessage", None)
        return {**event, "message": rebuilt}

    def _call(
        self, step: Step, call: ToolCall, stored: Mapping[str, object] | None
    ) -> tuple[Mapping[str, object], bool]:
        """Return a call as it was executed, and whether the store has it so."""
        arguments = arguments_of(call)
        if stored is not None and self._is_named(str(stored.get("name")), call, step):
            said = stored.get("arguments")
            if is_same_value(said, arguments) or (isinstance(arguments, str) and self._is_replayed(call, stored)):
                return stored, True
        return {"type": "toolCall", "id": call.id, "name": call.name, "arguments": arguments}, False

    def _replays(self, call: ToolCall) -> list[ToolCall] | None:
        """Return the call as OpenClaw itself sent it to the model again; None if nothing says what became of it."""
        following = self.thread.steps[self.at + 1 : self.at + 2]
        sent = following[0].replayed if following else None
        return None if sent is None else [one for one in sent.tool_calls if fold_id(one.id) == fold_id(call.id)]

    def _is_replayed(self, call: ToolCall, stored: Mapping[str, object]) -> bool:
        """Return whether a repaired call was sent to the model as the store has it."""
        sent = self._replays(call)
        return sent is None or any(is_same_value(stored.get("arguments"), arguments_of(one)) for one in sent)

    def _is_named(self, named: str, call: ToolCall, step: Step) -> bool:
        """Return whether a stored name is that of the call, or of the offered tool for which OpenClaw replaced it."""
        is_replaced = named in step.tools and any(one.name == named for one in self._replays(call) or ())
        return is_replaced or is_same_name(named, call.name, step.tools)

    def _notice(self, event: Event) -> None:
        """Keep what OpenClaw writes itself only where it repeats the model's words."""
        message = message_of(event)
        text = flat(text_of(message))
        if text == NO_ANSWER:
            return
        is_known = len(self.findings) < MAX_FINDINGS and any(text in flat(one) for one in self.thread.said)
        if not calls_of(message) and is_known:
            texts = [part for part in parts_of(message) if part.get("type") == "text"]
            self.events.append({**event, "message": _rebuilt(message, texts)})
            return
        self._find(FindingKind.ADDED, said=_shown(message))

    def _go_on_to(self, call_id: str) -> None:
        """Add the replies that the store lacks up to the one with this call, unless the current one has it."""
        if not call_id or any(fold_id(one.id) == call_id for one in self.pending.calls):
            return
        following = min((at for at in self.paired.values() if at > self.at), default=len(self.thread.steps))
        for at in range(self.at + 1, following):
            if call_id in ids_of_step(self.thread.steps[at]):
                self._add_until(at)
                self._add_reply(at)
                return

    def _result(self, event: Event) -> None:
        message = message_of(event)
        call_id = fold_id(str(message.get("toolCallId") or ""))
        self._go_on_to(call_id)
        is_plain = all(part.get("type") in ("text", "image") for part in parts_of(message))
        if self.pending.results is None:
            if not is_plain or _taken(self.pending.calls, call_id) is None:
                self._find(FindingKind.ADDED, said=text_of(message))
                return
            self.events.append({**event, "message": _rebuilt(message, parts_of(message))})
            return
        waiting = self.pending.results
        if not waiting:
            self._find(FindingKind.ADDED, said=text_of(message))
            return
        found = next((one for one in waiting if fold_id(one[0].call_id) == call_id), waiting[0])
        waiting.remove(found)
        result, call = found
        content = parts_of(message)
        said, sent = text_of(message), result.text
        if not is_plain or flat(said) != flat(sent):
            images = [part for part in content if part.get("type") == "image" and result.attachments]
            content = [{"type": "text", "text": sent}, *images]
            if not is_plain or not (is_masked(said, sent) or _is_shortened(said, sent)):
                self._find(FindingKind.CHANGED, said=said, sent=sent, number=self._following_number())
                message = {key: value for key, value in message.items() if key != "details"}
        named = str(message.get("toolName"))
        step = self.thread.steps[self.at]
        name = named if not call.name or self._is_named(named, call, step) else call.name
        self.events.append({**event, "message": _rebuilt(message, content, toolName=name)})

    def _following_number(self) -> int | None:
        steps = self.thread.steps[self.at + 1 : self.at + 2]
        return steps[0].number if steps else None

    def _user(self, event: Event) -> None:
        message = message_of(event)
        said = flat(text_of(message))
        place = next(
            (
                at
                for at, step in enumerate(self.thread.steps[self.at + 1 :], start=self.at + 1)
                if said and any(said in text for text in self._users(step))
            ),
            None,
        )
        if place is None:
            if not text_of(message).startswith(INTERNAL):  # of which the model is sent another form
                self._keep_if(event, text_of(message))
            return
        self._add_until(place)
        self._add_results()
        self.asked = max(self.asked, self.thread.steps[place].turn)
        self.events.append({**event, "message": _rebuilt(message, parts_of(message))})

    def _keep_if(self, event: Event, text: str) -> None:
        """Keep an event whose text the conversation has."""
        if flat(text) and not self._has_heard(text):
            self._find(FindingKind.ADDED, said=text)
            return
        message = message_of(event)
        self.events.append({**event, "message": _rebuilt(message, parts_of(message))} if message else event)

    def _has_heard(self, text: str) -> bool:
        """Return whether a request or a reply has this text; no longer of an endless number of forged ones."""
        self.heard = self.heard or "\n".join(map(flat, sorted(self.thread.texts)))
        return len(self.findings) < MAX_FINDINGS and flat(text) in self.heard

    def _users(self, step: Step) -> tuple[str, ...]:
        if step.number not in self.users:
            self.users[step.number] = tuple(map(flat, step.users))
        return self.users[step.number]

    def _add_until(self, at: int) -> None:
        """Add the replies before a step that the store lacks."""
        for index in range(self.at + 1, at):
            step = self.thread.steps[index]
            if step.reply.complete and not step.is_discarded:
                self._add_reply(index)

    def _add_reply(self, at: int) -> None:
        step = self.thread.steps[at]
        if (sent := step.reply.message) is not None:
            self._begin(at)
            if step.results is not None or not is_refused(step):
                self._find(FindingKind.MISSING, sent=_shown_reply(sent), number=step.number)
            self.events.append(_event_of_reply(step, sent))

    def _begin(self, at: int) -> None:
        """Go on to the reply of a step: whatever came before it is in the transcript then."""
        self._add_results()
        step = self.thread.steps[at]
        if step.turn > self.asked:
            text = next((text for text in step.users if INTERNAL not in text), "")
            if text:
                self._find(FindingKind.MISSING, sent=text, number=step.number)
                self.events.append(_event(step, "user", {"role": "user", "content": [{"type": "text", "text": text}]}))
            self.asked = step.turn
        self.at = at
        self.pending = _Pending.of(step)

    def _add_results(self) -> None:
        """Add the results that the store lacks."""
        for result, call in self.pending.results or ():
            step = self.thread.steps[self.at]
            self._find(FindingKind.MISSING, sent=result.text, number=self._following_number())
            said = {"toolCallId": call.id, "toolName": call.name, "content": [{"type": "text", "text": result.text}]}
            self.events.append(_event(step, f"result-{call.id}", {"role": "toolResult", **said, "isError": False}))
        self.pending = _Pending(calls=self.pending.calls)

    def _find(self, kind: FindingKind, *, said: str = "", sent: str = "", number: int | None = None) -> None:
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(Finding(kind=kind, said=_cut(said), sent=_cut(sent), number=number))


def _rebuilt(message: Mapping[str, object], content: Sequence[Mapping[str, object]], **known: str) -> Event:
    """Return a message with this content, without any key that OpenClaw does not write."""
    kept = {key: value for key, value in message.items() if key in MESSAGE_KEYS}
    parts = [
        {key: value for key, value in part.items() if key in PART_KEYS[kind]}
        for part in content
        if (kind := text_at(part, "type")) in PART_KEYS
    ]
    is_plain = isinstance(message.get("content"), str) and text_of({"content": parts}) == message["content"]
    return {**kept, "content": message["content"] if is_plain else parts, **known}


def _event_of_reply(step: Step, sent: Message) -> Event:
    content: list[Mapping[str, object]] = []
    if sent.reasoning:
        content.append({"type": "thinking", "thinking": sent.reasoning})
    if sent.text:
        content.append({"type": "text", "text": sent.text})
    content += [
        {"type": "toolCall", "id": call.id, "name": call.name, "arguments": arguments_of(call)}
        for call in sent.tool_calls
    ]
    said = {"role": "assistant", "content": content, "provider": step.provider, "model": step.model}
    return _event(step, "reply", {**said, "stopReason": "toolUse" if sent.tool_calls else "stop"})


def _event(step: Step, what: str, message: Event) -> Event:
    at = datetime.fromtimestamp(step.at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"type": "message", "id": f"wire-{step.number}-{what}", "timestamp": at, "message": message}


def _is_shortened(said: str, sent: str) -> bool:
    """Return whether the model was sent only the beginning and the end of a long result."""
    half = len(sent) // 4
    return len(sent) < len(said) and bool(half) and said[:half] == sent[:half] and said[-half:] == sent[-half:]


def _texts_of(message: Mapping[str, object]) -> Iterator[str]:
    return (text for part in parts_of(message) for key, text in part.items() if key != "type" and isinstance(text, str))


def _shown(message: Mapping[str, object]) -> str:
    calls = [f"{text_at(part, 'name')}({part.get('arguments')})" for part in calls_of(message)]
    return " ".join(filter(None, (text_of(message).strip(), *calls)))


def _shown_reply(sent: Message) -> str:
    return " ".join(filter(None, (sent.text.strip(), *(f"{call.name}({call.arguments})" for call in sent.tool_calls))))


def _cut(text: str) -> str:
    text = writable(text[: MAX_SHOWN_CHARS + 1])  # a store may hold unpaired surrogates
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…"
