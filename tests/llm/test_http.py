"""The judge's client against a real server on loopback: what it asks, what it reads, how it fails."""

import json
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anyio
import pytest
from anyio import create_task_group, fail_after
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from fake_judge import (
    Answer,
    Asked,
    FakeJudge,
    cut,
    empty,
    failing,
    fake_judge,
    good,
    huge,
    not_json,
    partial,
    slow,
    verdict,
    wrong_usage,
)
from pinchbench.config.asked_models import JudgeConfig
from pinchbench.errors import ConfigError
from pinchbench.grading.judge.criteria import Criterion
from pinchbench.grading.judge.prompt import Question, response_schema
from pinchbench.http_client import Answer as HttpAnswer
from pinchbench.http_client import RetryPolicy
from pinchbench.json_values import MAX_COUNT
from pinchbench.llm.http import HttpEndpoint, open_endpoint
from pinchbench.llm.openai_api import (
    ChatRefusedError,
    ChatUnreachableError,
    Complaint,
    Message,
    Reply,
    RequestOptions,
    Role,
    effective_status,
    read_complaint,
    read_completion,
)
from pinchbench.model.usage import Usage

KEY = "sk-secret-0123456789abcdef"
SCHEMA: dict[str, object] = {"type": "object", "properties": {"total": {"type": "number"}}}
CONVERSATION = (Message(role=Role.SYSTEM, text="You judge."), Message(role=Role.USER, text="Grüße \ud800 🦀"))
ATTEMPTS = 3
AT_ONCE = RetryPolicy(attempts=ATTEMPTS, first_wait_s=0, jitter_s=0)
NOW = datetime(2026, 11, 22, 1, 2, 3, tzinfo=UTC)


TOKENS = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
USED = Usage(requests=1, input_tokens=7, output_tokens=5, total_tokens=12)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", KEY)


def config(base_url: str) -> JudgeConfig:
    return JudgeConfig(model="m1", base_url=base_url, api_key_env="JUDGE_KEY")


@asynccontextmanager
async def judge_of(
    *answers: Answer, choose: Callable[[Asked], Answer] | None = None, retry_policy: RetryPolicy = AT_ONCE
) -> AsyncGenerator[tuple[FakeJudge, HttpEndpoint]]:
    async with (
        fake_judge(*answers, choose=choose) as fake,
        open_endpoint(config(fake.base_url), retry_policy=retry_policy) as judge,
    ):
        yield fake, judge


async def ask(judge: HttpEndpoint, about: str = "") -> Reply:
    with fail_after(60):
        return await judge.ask((*CONVERSATION, Message(role=Role.USER, text=about)) if about else CONVERSATION, SCHEMA)


async def test_a_request_holds_all_that_makes_a_judge_repeatable() -> None:
    async with judge_of() as (fake, judge):
        await ask(judge)

    [asked] = fake.requests
    assert (asked.method, asked.path) == ("POST", "/v1/chat/completions")
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["accept-encoding"] == "identity"
    assert asked.json == {
        "model": "m1",
        "messages": [{"role": "system", "content": "You judge."}, {"role": "user", "content": "Grüße \ufffd 🦀"}],
        "stream": False,
        "temperature": 0,
        "max_tokens": 16384,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA},
        },
    }


@pytest.mark.parametrize(
    ("reported", "prices", "used", "cost_usd"),
    [
        ({**TOKENS, "cost": 0.25}, None, USED, 0.25),
        ({**TOKENS, "cost": 0.25}, (0.2, 1.3), USED, 0.25),
        (TOKENS, (0.2, 1.3), USED, 7.9e-6),
        (TOKENS, None, USED, None),
        *((nonsense, (0.2, 1.3), Usage(requests=1), None) for nonsense in (None, [], "x", wrong_usage().usage)),
    ],
)
async def test_a_reply_comes_with_what_it_used_and_cost_by_the_endpoint_or_else_by_stated_prices(
    reported: object, prices: tuple[float, float] | None, used: Usage, cost_usd: float | None
) -> None:
    async with (
        fake_judge(Answer(text=verdict(), usage=reported)) as fake,
        open_endpoint(replace(config(fake.base_url), prices=prices)) as judge,
    ):
        reply = await ask(judge)

    assert (reply.text, reply.calls, reply.model, reply.problem) == (verdict(), 1, "m1", "")
    assert reply.cost_usd == pytest.approx(cost_usd)
    assert reply.usage.cost_usd == pytest.approx(cost_usd or 0.0)
    assert structs.replace(reply.usage, cost_usd=0.0) == used


async def test_what_the_cache_is_reported_names_everything_but_the_key() -> None:
    async with judge_of() as (fake, judge):
        reported = json.dumps(judge.describe())

    assert KEY not in reported
    assert json.loads(reported) == {
        "kind": "chat/completions",
        "model": "m1",
        "base_url": fake.base_url,
        "temperature": 0,
        "max_tokens": 16384,
    }


@pytest.mark.parametrize(
    ("answer", "text", "problem"),
    [
        (not_json(), "<html>It works!</html>", "the endpoint's answer is not a JSON object"),
        (Answer(body=b"[]"), "[]", "the endpoint's answer is not a JSON object"),
        (Answer(body=b""), "", "the endpoint's answer is not a JSON object"),
        (Answer(body=b"\xff\xfe\xff"), "\ufffd\ufffd\ufffd", "the endpoint's answer is not a JSON object"),
        (Answer(body=b"[" * 100_000), "[" * 16_000, "the endpoint's answer is not a JSON object"),
        (Answer(body=b'{"a": 1}'), '{"a": 1}', "the endpoint's answer holds no message"),
        (Answer(body=b'{"choices": []}'), '{"choices": []}', "the endpoint's answer holds no message"),
        (Answer(body=b'{"choices": [1]}'), '{"choices": [1]}', "the endpoint's answer holds no message"),
        (empty(), "", "the reply is empty"),
        (Answer(finish="content_filter"), "", "the reply is empty: its provider's filter held it back"),
        (Answer(message={"content": None}), "", "the reply is empty"),
        (Answer(message={"content": None, "reasoning_content": verdict()}), "", "the reply is empty"),
        (Answer(message={"content": None, "refusal": "I won't."}), "I won't.", "the model refused to answer"),
        (partial(), '{"scores": {}, "tota', "the reply was cut at its length limit; be brief"),
    ],
)
async def test_an_answer_that_is_none_is_kept_with_its_problem(answer: Answer, text: str, problem: str) -> None:
    async with judge_of(answer) as (fake, judge):
        reply = await ask(judge)

    assert (reply.text, reply.problem, reply.calls, len(fake.requests)) == (text, problem, 1, 1)


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": "an "}, {"type": "text", "text": "answer"}],
        [{"type": "thinking", "text": "Hm."}, {"type": "text", "text": "an answer"}, "x", {"type": "text", "text": 3}],
        [{"text": "an answer"}],
    ],
)
async def test_a_reply_may_come_in_parts(content: object) -> None:
    async with judge_of(Answer(message={"role": "assistant", "content": content})) as (_, judge):
        assert (await ask(judge)).text == "an answer"


async def test_only_so_much_of_an_answer_is_read() -> None:
    async with judge_of(huge()) as (_, judge):
        reply = await ask(judge)

    assert reply.problem == "the endpoint's answer is longer than 8 MiB"
    assert len(reply.text) == 16_000


@given(body=st.binary(max_size=200) | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(
    lambda value: json.dumps({"choices": value, "usage": value, "model": value}).encode()
))  # fmt: skip
def test_no_body_at_all_makes_reading_raise(body: bytes) -> None:
    answer = HttpAnswer(status=200, body=body)
    reply = read_completion(answer, calls=1)
    assert 0 <= reply.usage.total_tokens <= 2 * MAX_COUNT
    assert read_complaint(answer).message is not None
    assert 200 <= effective_status(answer) < 600


# --- giving up wishes ---


@pytest.mark.parametrize(
    ("status", "message", "param", "changed"),
    [
        (400, "Invalid parameter", "response_format", {"response_format": {"type": "json_object"}}),
        (400, "This response_format type is unavailable now", None, {"response_format": {"type": "json_object"}}),
        (422, "structured outputs are not supported", None, {"response_format": {"type": "json_object"}}),
        (404, "No endpoint supports json_schema", None, {"response_format": {"type": "json_object"}}),
        (
            400,
            "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
            None,
            {"max_tokens": None, "max_completion_tokens": 16384},
        ),
        (400, "'temperature' does not support 0 with this model.", "temperature", {"temperature": None}),
    ],
)
async def test_a_wish_that_an_endpoint_refuses_is_given_up(
    status: int, message: str, param: str | None, changed: dict[str, Any]
) -> None:
    async with judge_of(failing(status, message, param=param), good()) as (fake, judge):
        reply = await ask(judge)
        await ask(judge)

    first, second, later = (asked.json for asked in fake.requests)
    expected = {name: value for name, value in {**first, **changed}.items() if value is not None}
    assert second == expected
    assert later == expected  # remembered
    assert (reply.text, reply.calls) == (verdict(), 2)


@pytest.mark.parametrize(
    ("message", "lowered"),
    [
        *(
            (words, RequestOptions(format=1))
            for words in (
                "Invalid JSON payload received. Unknown name 'additionalProperties' at 'x.response_schema'",
                "The provided JSON schema contains features not supported by xgrammar.",
                "Failed to parse grammar",
                "output_config.format.schema: for 'object' type, 'additionalProperties' must be set to false",
                "tools.0.custom.input_schema.properties: property keys should match a pattern",
                "This model does not support the response format 'json schema'",
                "This model does not support structured output",
                "JSON mode is not supported by this model",
                "json-object is no known type",
            )
        ),
        *(
            (words, RequestOptions(limit=1))
            for words in (
                "max tokens must be at most 4096",
                "max-output-tokens is out of range",
                "This model supports a maximum of 4096 output tokens",
                "at most 4096 are allowed; the max is 4096 completion tokens",
                "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            )
        ),
        ("the request exceeds the available context size", RequestOptions(limit=2)),
    ],
)
def test_all_the_words_for_a_parameter_are_known(message: str, lowered: RequestOptions) -> None:
    for text in (message, message.upper()):
        assert RequestOptions().lowered(Complaint(status=400, message=text, whole=text)) == lowered


LENGTHS = [
    (
        "The maximum context length is 32768 tokens. You requested 36384 tokens (20000 in messages, 16384 in the "
        "completion)."
    ),
    "'max_tokens' or 'max_completion_tokens' is too large: 16384. This model's maximum context length is 32768 tokens.",
    "input length and `max_tokens` exceed context limit: 190000 + 16384 > 200000",
]


@pytest.mark.parametrize("message", [*LENGTHS, f"{LENGTHS[0]} (response_format: json_schema)"])
async def test_a_reply_that_has_no_room_next_to_the_question_is_asked_for_without_a_limit(message: str) -> None:
    def choose(asked: Asked) -> Answer:
        limited = {"max_tokens", "max_completion_tokens"} & asked.json.keys()
        return failing(400, message, param="messages") if limited else good()

    async with judge_of(choose=choose) as (fake, judge):
        assert (await ask(judge)).calls == 2
    assert fake.requests[-1].json["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize("answer", [failing(400, "Request contains an invalid argument."), Answer(status=422)])
async def test_a_refusal_that_names_nothing_costs_the_format_once(answer: Answer) -> None:
    def choose(asked: Asked) -> Answer:
        return answer if "response_format" in asked.json else good()

    async with judge_of(choose=choose) as (fake, judge):
        assert [(await ask(judge)).calls for _ in range(2)] == [2, 1]
    assert fake.requests[-1].json == {
        name: value for name, value in fake.requests[0].json.items() if name != "response_format"
    }


@pytest.mark.parametrize("criteria", [(), (Criterion(name="Clarity"),)])
async def test_an_endpoint_that_knows_no_empty_objects_is_asked_for_none(criteria: tuple[Criterion, ...]) -> None:
    def has_empty_object(schema: dict[str, Any]) -> bool:
        inner = schema.get("properties", {"": {}})
        return not inner or any(has_empty_object(one) for one in inner.values() if one)

    def choose(asked: Asked) -> Answer:
        schema = asked.json["response_format"]["json_schema"]["schema"]
        return failing(404, "should be non-empty for OBJECT type") if has_empty_object(schema) else good()

    schema = response_schema(Question(system="s", material="m", criteria=criteria))
    async with judge_of(choose=choose) as (_, judge):
        with fail_after(60):
            assert (await judge.ask(CONVERSATION, schema)).calls == 1
    assert schema["required"] == ["mark", "notes", *(["scores"] if criteria else []), "total"]


async def test_all_wishes_can_be_given_up_one_after_another() -> None:
    refusals = [failing(400, name) for name in ("response_format", "json_object", "temperature", "max_tokens")]
    async with judge_of(*refusals, failing(422, "max_completion_tokens"), good()) as (fake, judge):
        reply = await ask(judge)

    assert reply.calls == 6
    assert set(fake.requests[-1].json) == {"model", "messages", "stream"}


async def test_an_endpoint_that_refuses_whatever_is_asked_is_not_asked_for_ever() -> None:
    echo = failing(400, "bad request: response_format, max_tokens, max_completion_tokens, temperature")
    async with judge_of(*[echo] * 6, good()) as (fake, judge):
        with pytest.raises(ChatRefusedError) as raised:
            await ask(judge)
        assert (raised.value.calls, raised.value.lasting) == (6, False)
        await ask(judge)

    assert fake.requests[-1].json == fake.requests[0].json  # nothing was learned from a refusal


@given(
    complaints=st.lists(
        st.tuples(
            st.sampled_from([400, 404, 422]),
            st.sampled_from(["response_format", "max_tokens", "temperature", "no", "json_mode", LENGTHS[0]])
            | st.text(),
        )
    )
)
def test_giving_up_comes_to_an_end(complaints: list[tuple[int, str]]) -> None:
    request_options, steps = RequestOptions(), 0
    for status, text in complaints * 10:
        lower = request_options.lowered(Complaint(status=status, message=text, whole=text))
        if lower is not None:
            assert lower != request_options
            assert lower.meet(request_options) == lower
            request_options, steps = lower, steps + 1
    assert steps <= 6


# --- trying again ---


async def test_a_gateway_that_wraps_a_failure_into_a_good_status_is_retried() -> None:
    wrapped = Answer(body=json.dumps({"error": {"code": 429, "message": "slow down"}}).encode())
    async with judge_of(wrapped, good()) as (_, judge):
        assert (await ask(judge)).calls == 2


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client waits before each further attempt, in seconds."""
    found: list[float] = []

    async def sleep(delay_s: float) -> None:
        found.append(round(delay_s, 6))

    monkeypatch.setattr("pinchbench.http_client.anyio.sleep", sleep)
    return found


A_YEAR_AGO = format_datetime(NOW - timedelta(days=300), usegmt=True)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0", [0.001, 0.002, 0.004, 0.005]),
        ("-5", [0.001, 0.002, 0.004, 0.005]),
        (A_YEAR_AGO, [0.001, 0.002, 0.004, 0.005]),
        ("soon", [0.001, 0.002, 0.004, 0.005]),
        ("0.003", [0.003, 0.003, 0.004, 0.005]),
        ("0.006", [0.006, 0.006, 0.006, 0.006]),
    ],
)
async def test_an_endpoint_is_left_alone_as_long_as_it_says_but_never_for_less_than_usual(
    value: str, expected: list[float], waits: list[float]
) -> None:
    retry_policy = RetryPolicy(attempts=5, first_wait_s=0.001, longest_wait_s=0.005, jitter_s=0)
    async with judge_of(*[failing(429, retry_after=value)] * 4, good(), retry_policy=retry_policy) as (_, judge):
        assert (await ask(judge)).calls == 5
    assert waits == expected


async def test_those_who_are_told_to_come_back_do_not_come_back_together(waits: list[float]) -> None:
    retry_policy = RetryPolicy(attempts=20, first_wait_s=0, jitter_s=0.001)
    async with judge_of(*[failing(429, retry_after="0")] * 19, good(), retry_policy=retry_policy) as (_, judge):
        assert (await ask(judge)).calls == 20
    assert len(set(waits)) > 1
    assert all(0 <= wait <= 0.001 for wait in waits)


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (failing(500, "boom"), "it answered with status 500 (boom)"),
        (failing(429, "slow down", retry_after="0"), "it answered with status 429 (slow down)"),
        (Answer(status=503, body=b"<h1>\n  Busy</h1>"), "it answered with status 503 (<h1> Busy</h1>)"),
        (cut("before"), "the connection failed (Server disconnected without sending a response.)"),
    ],
)
async def test_an_endpoint_that_never_answers_is_unreachable(answer: Answer, what: str) -> None:
    async with judge_of(answer) as (fake, judge):
        with pytest.raises(ChatUnreachableError) as raised:
            await ask(judge)

    assert str(raised.value) == (
        f"The judge at {fake.base_url} was asked 3 times and gave no answer; the last time {what}."
    )
    assert (raised.value.calls, len(fake.requests), raised.value.usage) == (ATTEMPTS, ATTEMPTS, Usage())


@pytest.mark.parametrize(
    "retry_policy", [RetryPolicy(attempts=1, read_s=1.0), RetryPolicy(attempts=1, call_s=5.0)], ids=["read", "call"]
)
async def test_an_endpoint_that_is_too_slow_is_unreachable(retry_policy: RetryPolicy) -> None:
    async with judge_of(slow(), retry_policy=retry_policy) as (fake, judge):
        with pytest.raises(ChatUnreachableError, match=r"was asked once and .* it did not answer in time"):
            await ask(judge)
    assert len(fake.requests) == 1


# --- refusals ---


@pytest.mark.parametrize(
    ("answer", "lasting", "said"),
    [
        (failing(400, "flagged"), False, "status 400 (flagged)."),
        (failing(401, "bad key"), True, "status 401 (bad key). Check the key in JUDGE_KEY."),
        (failing(402, "or fewer max_tokens"), True, "(or fewer max_tokens). The account has no credit left."),
        (failing(403, "not yours"), False, "status 403 (not yours). Check the key in JUDGE_KEY."),
        (failing(403, "input was flagged by moderation"), False, "moderation"),
        (failing(404, "no such model"), False, "status 404 (no such model). Check --judge and its base-url."),
        (failing(413, "too large"), False, "status 413 (too large)."),
        (failing(501, "not here"), False, "status 501 (not here)."),
        (failing(429, "plan", code="insufficient_quota"), True, "status 429 (plan). The account has no credit left."),
        (failing(400, "plan", code="insufficient_quota"), True, "status 400 (plan). The account has no credit left."),
        (failing(307, "moved", location="http://127.0.0.1/elsewhere"), True, "It points to http://127.0.0.1/elsewhere"),
        (failing(404, "x" * 10_000), False, f"status 404 ({'x' * 500})."),
        (Answer(status=404, body=b'{"error": "plain"}'), False, "status 404 (plain)."),
        (Answer(status=404, body=b'[{"error": {"message": "listed"}}]'), False, "listed"),
        (Answer(status=418, body=b""), False, "refused: status 418."),
    ],
)
async def test_a_refusal_is_not_retried(answer: Answer, lasting: bool, said: str) -> None:
    async with judge_of(answer) as (fake, judge):
        with pytest.raises(ChatRefusedError) as raised:
            await ask(judge)

    assert said in str(raised.value)
    assert (raised.value.lasting, raised.value.calls, len(fake.requests)) == (lasting, 1, 1)


async def refusals(judge: HttpEndpoint, *about: str) -> list[bool]:
    """Ask questions that are refused; which of the refusals are lasting."""
    found = []
    for one in about:
        with pytest.raises(ChatRefusedError) as raised:
            await ask(judge, one)
        found.append(raised.value.lasting)
    return found


@pytest.mark.parametrize("status", [403, 404, 405])
async def test_a_refusal_that_may_be_about_the_question_lasts_when_another_question_meets_it_too(status: int) -> None:
    async with judge_of(failing(status)) as (_, judge):
        assert await refusals(judge, "one", "two", "three") == [False, True, True]


@pytest.mark.parametrize("status", [403, 404, 405])
async def test_an_endpoint_that_has_answered_is_asked_the_next_question_whatever_it_refused(status: int) -> None:
    async with judge_of(good(), failing(status), failing(status), failing(status), good()) as (_, judge):
        await ask(judge)
        assert await refusals(judge, "one", "two", "three") == [False, False, False]
        assert (await ask(judge)).calls == 1


@pytest.mark.parametrize("answer", [failing(401, f"no such key: {KEY}"), failing(500, KEY), failing(302, location=KEY)])
async def test_a_key_that_is_echoed_does_not_get_into_errors(answer: Answer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with judge_of(answer) as (_, judge):
        with pytest.raises((ChatRefusedError, ChatUnreachableError)) as raised:
            await ask(judge)

        error: BaseException | None = raised.value
        while error is not None:
            assert KEY not in f"{error!s} {error!r}"
            error = error.__cause__ or error.__context__
        assert KEY not in repr(judge)
    assert "[the key]" in str(raised.value)
    assert all(KEY not in f"{record.getMessage()} {record.__dict__}" for record in caplog.records)


async def test_a_key_that_is_echoed_does_not_get_into_replies() -> None:
    async with judge_of(Answer(text=f"Your key is {KEY}.")) as (_, judge):
        assert (await ask(judge)).text == "Your key is [the key]."


async def test_not_even_half_a_key_is_left_where_a_text_is_cut() -> None:
    async with judge_of(Answer(body=b"x" * 15_990 + KEY.encode()), failing(401, "x" * 490 + KEY)) as (_, judge):
        assert KEY[:5] not in (await ask(judge)).text
        with pytest.raises(ChatRefusedError) as raised:
            await ask(judge)
    assert KEY[:5] not in str(raised.value)


@pytest.mark.parametrize("word", ["total", "assistant", "not-needed"])
async def test_what_stands_for_no_key_is_a_word_like_any_other(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("JUDGE_KEY", word)
    async with judge_of() as (_, judge):
        assert (await ask(judge)).text == verdict()


# --- the client's surroundings ---


async def test_a_proxy_is_used_but_not_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    async with fake_judge() as proxy, fake_judge() as direct:
        monkeypatch.setenv("http_proxy", proxy.base_url.removesuffix("/v1"))
        for base_url in (direct.base_url, "http://judge.invalid/v1"):
            async with open_endpoint(config(base_url), retry_policy=AT_ONCE) as judge:
                await ask(judge)

    assert [asked.path for asked in direct.requests] == ["/v1/chat/completions"]
    assert [asked.path for asked in proxy.requests] == ["http://judge.invalid/v1/chat/completions"]


async def test_a_proxy_that_cannot_be_used_is_reported_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "gopher://user:hunter2@127.0.0.1:1")
    with pytest.raises(ConfigError, match="HTTPS_PROXY") as raised:
        async with open_endpoint(config("http://judge.invalid/v1")):
            pass
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("value", ["two words", "zwölf", " ", "a\nb"])
async def test_a_key_that_no_header_can_hold_is_reported_without_it(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("JUDGE_KEY", value)
    with pytest.raises(ConfigError, match="JUDGE_KEY is no API key") as raised:
        async with open_endpoint(config("http://127.0.0.1:1/v1")):
            pass
    assert value.strip() in ("", *str(raised.value).split()) or value not in str(raised.value)


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_a_cancelled_question_leaves_nothing_and_the_client_goes_on(anyio_backend: str) -> None:
    del anyio_backend
    async with judge_of(slow(), good()) as (fake, judge):
        async with create_task_group() as group:
            group.start_soon(ask, judge)
            await fake.wait_for_requests(1)
            group.cancel_scope.cancel()
        assert (await ask(judge)).text == verdict()


async def test_one_client_serves_many_questions_at_once() -> None:
    go = anyio.Event()
    async with judge_of(Answer(text=verdict(), until=go)) as (fake, judge), create_task_group() as group:
        for _ in range(20):
            group.start_soon(ask, judge)
        await fake.wait_for_requests(20)
        go.set()
    assert fake.most_at_once == 20
