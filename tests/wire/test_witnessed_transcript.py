"""Graders read what the wire saw, whatever OpenClaw's store says of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pinchbench.model.facts import Finding, FindingKind
from pinchbench.transcript_lines import Event, parse_line
from pinchbench.transcripts import Role, conversation
from pinchbench.wire.agent_thread import read_thread
from pinchbench.wire.exchange import Exchange, ExchangeEnd
from pinchbench.wire.exchange_facts import read_all
from pinchbench.wire.witnessed_transcript import witnessed_transcript
from wire.exchanges import CHAT, GEMINI, RESPONSES, exchange, sse

Call = tuple[str, str]  # a tool's name and its arguments as JSON
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("write", "exec", "read")]
PROMPT = "Do the work."
FIRST = {"model": "m1", "messages": [{"role": "user", "content": PROMPT}], "tools": TOOLS}
RESULT = "41 passed, 1 failed"
FINAL = "All done."


def reply(text: str, calls: Sequence[Call] = (), *, ids: Sequence[str] = (), complete: bool = True) -> bytes:
    """Build a streamed reply of chat completions."""
    deltas: list[dict[str, object]] = [{"content": text}]
    for index, (name, arguments) in enumerate(calls):
        call_id = ids[index] if ids else f"call_{index}"
        function = {"name": name, "arguments": arguments}
        deltas.append({"tool_calls": [{"index": index, "id": call_id, "function": function}]})
    chunks = [{"choices": [{"delta": delta}]} for delta in deltas]
    end: list[object] = [{"choices": [{"delta": {}, "finish_reason": "tool_calls" if calls else "stop"}]}]
    return sse(*chunks, *(end if complete else []), end="[DONE]" if complete else "")


def part(name: str, arguments: object, call_id: str = "call_0") -> Event:
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def text(said: str) -> Event:
    return {"type": "text", "text": said}


def event(role: str, content: object, **more: object) -> Event:
    """Build a message of the store."""
    made = {"provider": "mock", "model": "m1", "stopReason": "stop"} if role == "assistant" else {}
    message = {"role": role, "content": content, **made, **more}
    return {"type": "message", "id": f"{role}-id", "timestamp": "2026-11-28T17:05:58.290Z", "message": message}


def result(said: str = RESULT, call_id: str = "call_0", **more: object) -> Event:
    return event("toolResult", [text(said)], toolCallId=call_id, toolName="write", isError=False, **more)


SESSION: Event = {"type": "session", "id": "s1", "cwd": "/workspace"}
USER = event("user", PROMPT)
LAST = event("assistant", [text(FINAL)])


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A trial of two requests: the first reply has calls, the second ends it."""

    said: str = ""
    calls: Sequence[Call] = (("write", '{"path": "a", "content": "b"}'),)
    ids: Sequence[str] = ()
    results: Sequence[str] = (RESULT,)
    store: Sequence[Event] = field(default_factory=list)

    @property
    def exchanges(self) -> list[Exchange]:
        asked = [{"role": "system", "content": "You are an agent."}, {"role": "user", "content": f"[now] {PROMPT}"}]
        named = [
            {"id": self.ids[index] if self.ids else f"call{index}", "function": {"name": name, "arguments": arguments}}
            for index, (name, arguments) in enumerate(self.calls)
        ]
        history = [
            *asked,
            {"role": "assistant", "content": self.said, "tool_calls": named},
            *(
                {"role": "tool", "tool_call_id": call["id"], "content": said}
                for call, said in zip(named, self.results, strict=False)
            ),
        ]
        first = {"model": "m1", "messages": asked, "tools": TOOLS}
        return [
            exchange(CHAT, first, reply(self.said, self.calls, ids=self.ids), number=1),
            exchange(CHAT, {**first, "messages": history}, reply(FINAL), number=2),
        ]

    def seen(self) -> tuple[tuple[Event, ...], tuple[Finding, ...]]:
        built = witnessed_transcript(read_thread(read_all(self.exchanges), ("s1",)), self.store)
        return built.events, built.findings


def read(events: Sequence[Event]) -> list[tuple[Role, str, list[tuple[str, object]]]]:
    """Return role, text and calls of each message, as graders read them."""
    return [
        (one.role, one.text, [(call.name, dict(call.arguments)) for call in one.calls]) for one in conversation(events)
    ]


def honest(answer: Event, said: Event | None = None) -> list[Event]:
    return [SESSION, USER, answer, said or result(), LAST]


WRITE = ("write", {"path": "a", "content": "b"})
ARGUMENTS = '{"path": "a", "content": "b"}'
HONEST = honest(event("assistant", [part(*WRITE)], stopReason="toolUse"))
READ = [
    (Role.USER, PROMPT, []),
    (Role.ASSISTANT, "", [WRITE]),
    (Role.TOOL, RESULT, []),
    (Role.ASSISTANT, FINAL, []),
]


def test_a_store_that_agrees_is_the_transcript() -> None:
    events, findings = Trial(store=HONEST).seen()

    assert list(events) == HONEST
    assert findings == ()


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        # names that OpenClaw repairs
        ((" write", ARGUMENTS), WRITE),
        (("write ", ARGUMENTS), WRITE),
        (("Write", ARGUMENTS), WRITE),
        (("WRITE", ARGUMENTS), WRITE),
        (("functions.write", ARGUMENTS), WRITE),
        (("functions.write:0", ARGUMENTS), WRITE),
        (("tools/write", ARGUMENTS), WRITE),
        (("write<|channel|>commentary", ARGUMENTS), WRITE),
        (("functions_write", ARGUMENTS), WRITE),
        (("write_0", ARGUMENTS), WRITE),
        (("note", ARGUMENTS), WRITE),  # another name of the tool, as `bash` is of `exec`
        # numbers as JavaScript has them
        (("write", '{"n": 30.0}'), ("write", {"n": 30})),
        (("write", '{"n": 1e3}'), ("write", {"n": 1000})),
        (("write", '{"n": 1234567890123456789}'), ("write", {"n": 1234567890123456800})),
        (("write", '{"n": 1234567890123456789}'), ("write", {"n": "1234567890123456789"})),
        (("write", '{"n": 1e400}'), ("write", {"n": None})),
        (("write", '{"n": 100000000000000000000000}'), ("write", {"n": 1e23})),
        (("write", '{"n": -0.0}'), ("write", {"n": 0})),
        (("write", '{"n": 1.10}'), ("write", {"n": 1.1})),
        (("write", f'{{"n": {"9" * 400}}}'), ("write", {"n": float("inf")})),
        # texts
        (("write", '{"x": "\\ud83d\\ude80"}'), ("write", {"x": "🚀"})),
        (("write", '{"x": "a\\ud83d"}'), ("write", {"x": "a\ufffd"})),
        (("write", '{"x": "a\\ud83d b"}'), ("write", {"x": "a\ud83d b"})),
        (("write", '{"x": "a\\u0000b"}'), ("write", {"x": "ab"})),
        (("write", '{"x": "a &amp;&amp; b &lt; c"}'), ("write", {"x": "a && b < c"})),
        (("write", '{"x": "a\\r\\nb"}'), ("write", {"x": "a\nb"})),
        # JSON in other forms
        (("write", '{"a": 1, "a": 2}'), ("write", {"a": 2})),
        (("write", '{\n  "b": [1, {"c": null}],\n  "a": true\n}\n'), ("write", {"a": True, "b": [1, {"c": None}]})),
        (("write", ""), ("write", {})),
        (("write", '{"x": "' + "y" * 1_000_000 + '"}'), ("write", {"x": "y" * 1_000_000})),
        # arguments that were cut or are no JSON are as OpenClaw has repaired them
        (("write", '{"path": "a", "content": "b'), WRITE),
        (("write", ARGUMENTS + "}"), WRITE),
        (("write", f"```json\n{ARGUMENTS}\n```"), WRITE),
    ],
)
def test_what_openclaw_executed_counts_where_it_repairs_a_call(sent: Call, stored: tuple[str, object]) -> None:
    store = honest(event("assistant", [part(*stored)], stopReason="toolUse"))
    trial = Trial(calls=[sent], store=store)
    is_repaired = (
        not sent[1].endswith("}") or sent[1].endswith("}}") or sent[0] in ("functions_write", "write_0", "note")
    )
    if is_repaired:  # what OpenClaw repairs it sends repaired
        first, second = trial.exchanges
        asked = json.loads(second.request)
        asked["messages"][2]["tool_calls"][0]["function"] = {"name": stored[0], "arguments": json.dumps(stored[1])}
        thread = read_thread(read_all([first, exchange(CHAT, asked, second.chunks, number=2)]), ("s1",))
        built = witnessed_transcript(thread, store)
        events, findings = built.events, built.findings
    else:
        events, findings = trial.seen()

    assert read(events)[1] == (Role.ASSISTANT, "", [stored])
    assert findings == ()


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("<think>hm</think>Hello", "Hello"),
        ("<antthinking>hm</antthinking>Hello", "Hello"),
        ("<reasoning>hm</reasoning> Hello", "Hello"),
        ("<THINK>hm</THINK>Hello", "Hello"),
        ("<think foo='1'>hm</think>Hello", "Hello"),
        ("<mm:think>hm</mm:think>Hello", "Hello"),
        ("<internal>hm</internal>Hello", "Hello"),
        ("Hello<think>hm", "Hello"),
        ("<final>Hello</final>", "Hello"),
        ("[[reply_to_current]] Hello", "Hello"),
        ("[[reply_to: 17]] Hello", "Hello"),
        ("  Hello\n\nyou ", "Hello you"),
        ("Hello\ud800", "Hello\ufffd"),
    ],
)
def test_a_text_without_reasoning_and_marks_is_the_models(sent: str, stored: str) -> None:
    store = honest(event("assistant", [text(stored), part(*WRITE)], stopReason="toolUse"))

    events, findings = Trial(said=sent, store=store).seen()

    assert read(events)[1][1] == stored
    assert findings == ()


@pytest.mark.parametrize(
    "calls", [[("write", ARGUMENTS + "}")], [("write", "")], [("", ARGUMENTS)], [("write", ARGUMENTS)] * 2]
)
def test_a_reply_that_openclaw_refuses_is_no_difference_to_its_record_of_that(calls: list[Call]) -> None:
    said = reply("", calls, ids=["same"] * len(calls))
    thread = read_thread(read_all([exchange(CHAT, FIRST, said)]), ())

    refused = event("assistant", [], stopReason="error", errorMessage=FORGED)
    built = witnessed_transcript(thread, [USER, refused])

    assert built.findings == ()
    assert FORGED not in json.dumps(built.events)


@pytest.mark.parametrize(
    ("said", "found", "calls"),
    [
        (f"[write]\n{ARGUMENTS}\n[/write]", ARGUMENTS, [WRITE]),
        (
            "<function=write><parameter=content>a\nb</parameter></function>",
            '{"content": "a\\nb"}',
            [("write", {"content": "a\nb"})],
        ),
        (f"[write]\n{ARGUMENTS}\n[/write]", '{"path": "a", "content": "forged"}', []),
    ],
    ids=["said", "said in tags", "forged"],
)
def test_calls_that_openclaw_found_in_a_text_are_calls_if_the_text_has_them(
    said: str, found: str, calls: object
) -> None:
    first, second = Trial(said="", calls=[("write", found)]).exchanges
    written = exchange(CHAT, json.loads(first.request), reply(said))
    store = honest(event("assistant", [part("write", json.loads(found))], stopReason="toolUse"))

    built = witnessed_transcript(read_thread(read_all([written, second]), ("s1",)), store)

    assert read(built.events)[1] == (Role.ASSISTANT, "" if calls else said, calls)
    assert bool(built.findings) is not bool(calls)


@pytest.mark.parametrize("end", ["length", "stop"])
def test_calls_that_openclaw_did_not_execute_after_this_end_are_none(end: str) -> None:
    said = reply("I write.", [("write", ARGUMENTS)]).replace(
        b'"finish_reason": "tool_calls"', b'"finish_reason": "%s"' % end.encode()
    )
    thread = read_thread(read_all([exchange(CHAT, FIRST, said)]), ())

    built = witnessed_transcript(thread, [USER, event("assistant", [text("I write.")])])

    assert (read(built.events)[1], built.findings) == ((Role.ASSISTANT, "I write.", []), ())


def test_calls_of_a_response_that_is_too_long_are_none() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "write", "arguments": ARGUMENTS}
    cut_off = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [call]}
    asked = {"model": "m1", "input": PROMPT, "tools": [{"type": "function", "name": "write"}]}
    said = sse({"type": "response.incomplete", "response": cut_off})
    thread = read_thread(read_all([exchange(RESPONSES, asked, said)]), ())

    built = witnessed_transcript(thread, [USER, event("assistant", [], stopReason="length")])

    assert (read(built.events)[1][2], built.findings) == ([], ())


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("the password = next(word", "the password = ***"),
        ("the token sk-live-0123456789abcdef, and more", "the token sk-liv…cdef, and more"),
    ],
)
def test_graders_read_what_openclaw_has_masked_in_its_store(sent: str, stored: str) -> None:
    store = honest(event("assistant", [text(stored), part(*WRITE)], stopReason="toolUse"))

    events, findings = Trial(said=sent, store=store).seen()

    assert read(events)[1][1] == sent
    assert findings == ()


@pytest.mark.parametrize(
    ("ids", "stored"),
    [
        (("call_1", "call_2"), ("call1", "call2")),
        (("", ""), ("call_a", "call_b")),
        (("same", "same"), ("same", "same_2")),
    ],
    ids=["without signs", "empty", "repeated"],
)
def test_ids_of_calls_are_openclaws(ids: Sequence[str], stored: Sequence[str]) -> None:
    calls = [("write", ARGUMENTS), ("exec", '{"command": "ls"}')]
    parts = [part(*WRITE, stored[0]), part("exec", {"command": "ls"}, stored[1])]
    answers = [result("one", stored[0]), {**result("two", stored[1])}]
    store = [SESSION, USER, event("assistant", parts, stopReason="toolUse"), *answers, LAST]

    events, findings = Trial(calls=calls, ids=ids, results=("one", "two"), store=store).seen()

    assert [one for _, one, _ in read(events)] == [PROMPT, "", "one", "two", FINAL]
    assert findings == ()


FORGED = "The word is kingfisher."


def test_openclaws_words_in_place_of_an_answer_are_left_out() -> None:
    words = "The tool run finished, but no final summary was produced. I did not repeat any completed actions."
    seen = witnessed_transcript(
        read_thread(read_all(Trial().exchanges), ()), [*HONEST, event("assistant", [text(words)], provider="openclaw")]
    )
    assert (seen.findings, len(seen.events)) == ((), len(HONEST))


def _changed(index: int, **more: object) -> list[Event]:
    store = [*HONEST]
    message = store[index]["message"]
    assert isinstance(message, dict)
    store[index] = {**store[index], "message": {**message, **more}}
    return store


@pytest.mark.parametrize(
    ("store", "kind"),
    [
        ([*HONEST[:-1], event("assistant", [text(FORGED)], provider="openclaw"), LAST], FindingKind.ADDED),
        ([*HONEST[:-1], event("assistant", [text(FORGED)], stopReason="error"), LAST], FindingKind.ADDED),
        ([*HONEST[:-1], event("assistant", [], stopReason="error", errorMessage=FORGED), LAST], FindingKind.ADDED),
        ([*HONEST, event("assistant", [text(FORGED)])], FindingKind.ADDED),
        ([*HONEST, result(FORGED, "call_9")], FindingKind.ADDED),
        ([*HONEST, event("user", FORGED)], FindingKind.ADDED),
        ([*HONEST, event("assistant", [text(RESULT)], provider="openclaw")], FindingKind.ADDED),
        ([*HONEST, event("user", RESULT)], FindingKind.ADDED),
        ([*HONEST, event("bashExecution", FORGED)], FindingKind.ADDED),
        ([*HONEST, {"raw": FORGED, "parse_error": "torn"}], FindingKind.ADDED),
        ([*HONEST, {"type": "compaction", "summary": FORGED}], FindingKind.ADDED),
        ([SESSION, {"type": "model_change", "provider": "mock", "modelId": "ERROR"}, *HONEST[1:]], FindingKind.ADDED),
        (_changed(4, content=[text(FORGED)]), FindingKind.CHANGED),
        (_changed(4, content=[text(f"{FINAL} {FORGED}")]), FindingKind.CHANGED),
        (_changed(4, content=[text(f"<think>{FORGED}</think>{FINAL}")]), FindingKind.CHANGED),
        (_changed(4, content=[text(FINAL), {"type": "output_text", "text": FORGED}]), FindingKind.CHANGED),
        (_changed(4, stopReason="error", errorMessage=FORGED), FindingKind.CHANGED),
        (_changed(4, provider="openclaw", content=[text(FORGED)]), FindingKind.ADDED),
        (_changed(2, content=[part("read", {"path": "a"})]), FindingKind.CHANGED),
        (_changed(2, content=[part("write", {"path": "a", "content": FORGED})]), FindingKind.CHANGED),
        (_changed(3, content=[text("42 passed, 0 failed")]), FindingKind.CHANGED),
        (_changed(3, content=[text(RESULT), {"type": "note", "text": FORGED}]), FindingKind.CHANGED),
        (_changed(1, content=FORGED), FindingKind.ADDED),
        ([*HONEST[:2], *HONEST[3:]], FindingKind.MISSING),
        ([*HONEST[:2], LAST], FindingKind.MISSING),
        ([*HONEST[:3], LAST], FindingKind.MISSING),
        (HONEST[:-1], FindingKind.MISSING),
        ([SESSION], FindingKind.MISSING),
    ],
)
def test_a_forged_store_changes_nothing_that_graders_read_and_is_named(store: list[Event], kind: FindingKind) -> None:
    events, findings = Trial(store=store).seen()

    seen = read(events)
    assert [seen[0][0], PROMPT in seen[0][1], *seen[1:]] == [Role.USER, True, *READ[1:]]
    assert FORGED not in json.dumps(events)
    assert kind in {one.kind for one in findings}
    assert all(str(one) for one in findings)


@pytest.mark.parametrize("said", ["Done \ud83d flies", "Done \ude80", "\ud83d"])
def test_half_an_emoji_is_no_difference(said: str) -> None:
    final = said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    store = [SESSION, USER, event("assistant", [text(said)], stopReason="stop")]
    sent = exchange(CHAT, FIRST, reply(said), number=1)
    built = witnessed_transcript(read_thread(read_all([sent]), ("s1",)), store)
    assert built.findings == ()
    assert read(built.events)[-1] == (Role.ASSISTANT, final, [])


@pytest.mark.parametrize("levels", [93, 150])
def test_arguments_that_are_nested_too_deeply_are_read_as_texts(levels: int) -> None:
    deep, arguments = "[" * levels + "]" * levels, f'{{"path": "a", "x": {"[" * levels + "]" * levels}}}'
    stored = event("assistant", [part("write", json.loads(arguments))], stopReason="toolUse")
    events, findings = Trial(calls=[("write", arguments)], store=honest(stored)).seen()
    assert findings == ()
    assert read(events)[1][2] == [("write", {"path": "a", "x": deep})]


DEEP = "deep"  # stands for a list that is nested so deeply that hypothesis could not print it
KINDS = "message compaction model_change session assistant user toolResult openclaw error text toolCall thinking image"
WORDS = st.sampled_from([*KINDS.split(), "write", "call_0", "\ud83d", DEEP, ARGUMENTS, PROMPT, RESULT, FINAL])
ODD = st.recursive(
    WORDS | st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def odd(*keys: str, **known: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return ODD | st.fixed_dictionaries({}, optional={**dict.fromkeys(keys, ODD), **known})


ODD_PART = odd("type", "text", "id", "name", "arguments", "thinking", type=WORDS)
ODD_MESSAGE = odd(
    *("provider", "stopReason", "errorMessage", "toolCallId", "toolName", "details"),
    role=WORDS | ODD,
    content=ODD | st.lists(ODD_PART, max_size=3),
)
ODD_EVENT = odd(
    *("type", "summary", "modelId", "raw", "parse_error"), type=st.just("message") | ODD, message=ODD_MESSAGE
)
ODD_CALL = odd("index", "id", "type", function=odd("name", "arguments"))
ODD_DELTA = odd("content", "reasoning", "refusal", tool_calls=ODD | st.lists(ODD_CALL, max_size=2))
ODD_CHUNK = odd("error", "usage", choices=st.lists(odd("finish_reason", "index", delta=ODD_DELTA), max_size=2))


def deepened(data: bytes) -> bytes:
    return data.replace(b'"%s"' % DEEP.encode(), b"[" * 800 + b"]" * 800)


@given(store=st.lists(ODD_EVENT, max_size=5), said=st.lists(ODD_CHUNK, max_size=3), is_cut=st.booleans())
@example(store=[{"type": []}], said=[], is_cut=False)
@example(store=[event("user", [{"type": []}])], said=[], is_cut=False)
@example(store=[event("user", [{"type": "text", "text": DEEP}])], said=[], is_cut=False)
@example(store=[event("assistant", [part("write", DEEP)])] * 2, said=[], is_cut=False)
@example(store=[{"type": "message", "note": DEEP}], said=[], is_cut=False)
@example(store=[{"raw": "\ud83d", "parse_error": ""}], said=[], is_cut=False)
@example(
    store=[event("assistant", [part("write", DEEP)])],
    said=[{"choices": [{"delta": {"tool_calls": [{"function": {"name": "write", "arguments": DEEP}}]}}]}],
    is_cut=False,
)
def test_any_json_in_the_store_and_in_replies_gives_a_transcript_that_can_be_written(
    store: list[object], said: list[object], *, is_cut: bool
) -> None:
    first, last = Trial().exchanges
    end = ExchangeEnd.CUT if is_cut else ExchangeEnd.COMPLETE
    hostile = exchange(CHAT, json.loads(first.request), deepened(sse(*said)), number=2, end=end)
    stored = [
        one for line in [*HONEST[:4], *store, LAST] for one in parse_line(deepened(json.dumps(line).encode())).events
    ]

    for exchanges in ([hostile], [first, hostile, numbered(last, 3)]):
        built = witnessed_transcript(read_thread(read_all(exchanges), ()), stored)
        json.dumps(built.events)
        msgspec.json.encode(built.findings)


def test_a_cut_reply_is_as_openclaw_stored_its_beginning() -> None:
    cut = exchange(CHAT, FIRST, reply("Hello you", complete=False), end=ExchangeEnd.CLIENT_LEFT)
    thread = read_thread(read_all([cut]), ())

    kept = witnessed_transcript(thread, [USER, event("assistant", [text("Hello")], stopReason="aborted")])
    forged = witnessed_transcript(thread, [USER, event("assistant", [text(FORGED)], stopReason="aborted")])

    assert (read(kept.events)[1][1], kept.findings) == ("Hello", ())
    assert (read(forged.events)[1][1], len(forged.findings)) == ("Hello you", 1)


def test_results_stay_where_no_request_has_them_as_the_next_one_begins_a_session() -> None:
    first, _ = Trial().exchanges
    then = exchange(CHAT, json.loads(first.request), reply(FINAL), number=2, turn=1)
    store = [*HONEST[:4], SESSION, USER, LAST]

    built = witnessed_transcript(read_thread(read_all([first, then]), ()), store)

    assert (list(built.events), built.findings) == (store, ())


def test_the_earlier_runs_of_an_automation_which_openclaw_does_not_keep_are_no_finding() -> None:
    main, monday, tuesday = "Remind me daily.", "It is 8 on Monday.", "It is 8 on Tuesday."
    asked = [
        (main, "session=agent:a:main | sessionId=s1"),
        *((said, "session=agent:a:cron:j") for said in (monday, tuesday)),
    ]
    exchanges = [
        exchange(
            CHAT,
            {
                "model": "m1",
                "messages": [{"role": "system", "content": f"Runtime: {own}"}, {"role": "user", "content": said}],
                "tools": TOOLS,
            },
            reply(f"{number}"),
            number=number,
        )
        for number, (said, own) in enumerate(asked)
    ]
    store = [SESSION, event("user", main), event("assistant", [text("0")])]
    store += [{**SESSION, "id": "s3"}, event("user", tuesday), event("assistant", [text("2")])]

    built = witnessed_transcript(read_thread(read_all(exchanges), ("s1", "s2", "s3")), store)

    assert [one for _, one, _ in read(built.events)] == [main, "0", tuesday, "2", monday, "1"]
    assert built.findings == ()


def test_a_failed_request_keeps_its_place_with_the_providers_words() -> None:
    trial = Trial(store=[*HONEST[:2], event("assistant", [], stopReason="error", errorMessage=FORGED), *HONEST[2:]])
    first, second = trial.exchanges
    overloaded = b'{"error": {"message": "overloaded"}}'
    failed = exchange(CHAT, json.loads(first.request), overloaded, status=503)

    built = witnessed_transcript(
        read_thread(read_all([failed, numbered(first, 2), numbered(second, 3)]), ("s1",)), trial.store
    )

    errors = [one.error for one in conversation(built.events) if one.error]
    assert (len(errors), FORGED in errors[0], built.findings) == (1, False, ())


def numbered(one: Exchange, number: int) -> Exchange:
    return exchange(CHAT, json.loads(one.request), one.chunks, number=number)


def test_a_repaired_call_counts_only_as_openclaw_sent_it_itself() -> None:
    store = honest(event("assistant", [part("write", {"path": "other"})], stopReason="toolUse"))
    trial = Trial(calls=[("write", '{"path": "a')], store=store)

    events, findings = trial.seen()

    assert read(events)[1][2] == [("write", {"text": '{"path": "a'})]
    assert [one.kind for one in findings] == [FindingKind.CHANGED]


def test_follow_up_turns_keep_their_order_where_the_store_lacks_a_reply() -> None:
    asked = [{"role": "user", "content": "One."}]
    then = [*asked, {"role": "assistant", "content": "1"}, {"role": "user", "content": "Two."}]
    exchanges = [
        exchange(CHAT, {"model": "m1", "messages": asked, "tools": TOOLS}, reply("1"), number=1),
        exchange(CHAT, {"model": "m1", "messages": then, "tools": TOOLS}, reply("2"), number=2, turn=1),
    ]
    store = [SESSION, event("user", "One."), event("user", "Two."), event("assistant", [text("2")])]

    built = witnessed_transcript(read_thread(read_all(exchanges), ()), store)

    assert [one for _, one, _ in read(built.events)] == ["One.", "1", "Two.", "2"]
    assert [one.kind for one in built.findings] == [FindingKind.MISSING]


def completed(output: Event, **more: str) -> bytes:
    """Build a streamed reply of the responses."""
    return sse({"type": "response.completed", "response": {"status": "completed", "output": [output], **more}})


def candidate(said: Event) -> bytes:
    """Build a streamed reply of Gemini."""
    return sse({"candidates": [{"content": {"parts": [said]}, "finishReason": "STOP"}]})


ASKED = {"role": "user", "content": PROMPT}
PARTS = {"role": "user", "parts": [{"text": PROMPT}]}
FUNCTION: Event = {"functionCall": {"name": "write", "args": WRITE[1]}}
RESPONSE = {"functionResponse": {"name": "write", "response": {"output": RESULT}}}
# of each protocol with a way of its own to say what came back: the first request, the second one, and their replies
PROTOCOLS: Mapping[str, tuple[Event, Event, bytes, bytes]] = {
    RESPONSES: (
        {"input": [ASKED]},
        {
            "input": [{"type": "function_call_output", "call_id": "c", "output": RESULT}],
            "previous_response_id": "r1",
        },
        completed({"type": "function_call", "call_id": "c", "name": "write", "arguments": ARGUMENTS}, id="r1"),
        completed({"type": "message", "content": [{"type": "output_text", "text": FINAL}]}),
    ),
    GEMINI: (
        {"contents": [PARTS]},
        {"contents": [PARTS, {"role": "model", "parts": [FUNCTION]}, {"role": "user", "parts": [RESPONSE]}]},
        candidate(FUNCTION),
        candidate({"text": FINAL}),
    ),
}


@pytest.mark.parametrize("path", PROTOCOLS)
@pytest.mark.parametrize("store", [HONEST, [SESSION]], ids=["kept", "deleted"])
def test_results_that_come_alone_or_as_json_give_the_same_transcript(path: str, store: list[Event]) -> None:
    asked, then, first, last = PROTOCOLS[path]
    exchanges = [exchange(path, asked, first, number=1), exchange(path, then, last, number=2)]

    built = witnessed_transcript(read_thread(read_all(exchanges), ()), store)

    assert read(built.events) == READ
    assert bool(built.findings) == (store is not HONEST)


def test_ten_thousand_forged_messages_give_a_bounded_number_of_findings() -> None:
    store = [*HONEST, *(event("assistant", [text(f"{FORGED} {number}")]) for number in range(10_000))]

    events, findings = Trial(store=store).seen()

    assert read(events) == READ
    assert len(findings) == 50
