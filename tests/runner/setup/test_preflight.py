"""What ends a run before anything is set up: an endpoint that fails, or a model that OpenClaw does not know."""

import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from failing_endpoints import CASES, endpoint
from fake_judge import failing, fake_judge
from fakes import Heard, calls, fake_openclaw, run_config, with_models
from pinchbench.config.asked_models import JudgeConfig
from pinchbench.config.run_config import RunConfig
from pinchbench.config.served import ServedModel
from pinchbench.defaults import ProtocolName
from pinchbench.errors import ConfigError, EndpointError
from pinchbench.llm.preflight.ask import ask_all
from pinchbench.llm.preflight.question import Target, request_of
from pinchbench.model.finding import Level
from pinchbench.openclaw.homes.credentials import UserState
from pinchbench.openclaw.model_catalogue import Catalogue, Provider
from pinchbench.runner.run_benchmark import run_benchmark
from pinchbench.runner.setup.preflight import _of_provider, check_thinking
from pinchbench.runner.setup.this_machine import Machine

KEY = "sk-the-key-itself"


def target(base_url: str) -> Target:
    return Target(
        subject="model",
        model="m1",
        base_url=base_url,
        key=KEY,
        key_name="MY_KEY",
        url_option="--base-url",
        key_option="--api-key-env",
        is_agents=True,
    )


@pytest.mark.parametrize("name", CASES)
async def test_each_failure_is_reported_for_what_it_is(name: str) -> None:
    case = CASES[name]
    async with endpoint(case) as base_url:
        [finding] = await ask_all([target(base_url)])

    assert finding.level is case.level, finding
    said = f"{finding.said} {finding.do}"
    assert [word for word in case.words if word not in said] == []
    assert KEY not in said


@pytest.mark.parametrize("key", ["a", "o", "choices", "x"])
async def test_a_key_that_is_a_word_changes_no_answer(key: str) -> None:
    async with endpoint(CASES["good"]) as good, endpoint(CASES["429"]) as slow:
        found = await ask_all([replace(target(one), key=key) for one in (good, slow)])

    assert [one.level for one in found] == [Level.OK, Level.WARNING]
    assert "Rate limit reached" in found[1].said


@pytest.mark.parametrize(
    "name", ["401", "unknown model", "HTML page", "/v1 missing", "DNS failure", "connection refused"]
)
async def test_a_run_that_can_not_work_ends_before_openclaw_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    program = fake_openclaw(tmp_path)
    async with endpoint(CASES[name]) as base_url:
        config = run_config(tmp_path, program, {"task_a": "hi"})
        config = replace(config, model="local/m1", base_url=base_url, api_key_env="MY_KEY", preflight=True)
        with pytest.raises(EndpointError) as caught:
            await _run(config)

    assert CASES[name].words[0] in str(caught.value)
    assert "--no-preflight" in str(caught.value)
    assert caught.value.exit_code == 2
    assert calls(program) == []
    assert not (tmp_path / "results").exists()


async def _run(config: RunConfig) -> None:
    try:
        await run_benchmark(config)
    except ExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            [error] = error.exceptions
        raise error from None


@pytest.mark.parametrize("name", ["silence", "429"])
async def test_a_run_starts_with_a_warning_where_waiting_may_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    program = fake_openclaw(tmp_path)
    told = Heard()
    async with endpoint(CASES[name]) as base_url:
        config = run_config(tmp_path, program, {"task_a": "hi"})
        config = replace(config, model="mock/m1", base_url=base_url, api_key_env="MY_KEY", preflight=True)
        result = await run_benchmark(config, observer=told)

    assert [str(one.reason) for one in result.outcomes] == ["completed"]
    assert [text for text in told.notices if CASES[name].words[0] in text] != []


async def test_a_judge_that_refuses_ends_the_run_before_openclaw_is_started(tmp_path: Path) -> None:
    program = fake_openclaw(tmp_path)
    async with fake_judge(failing(401, "who are you?")) as judge:
        config = run_config(tmp_path, program, {"task_a": "hi"})
        asked = JudgeConfig(model="j1", base_url=judge.base_url)
        with pytest.raises(EndpointError, match="the judge's api-key-env"):
            await _run(replace(config, judge=asked, preflight=True))

    assert calls(program) == []


CATALOGUE = Catalogue(
    providers={
        "acme": Provider(key_names=("ACME_API_KEY",), base_url="https://acme.example/v1/", api="openai-responses"),
        "cloud": Provider(key_names=("CLOUD_KEY",)),
    }
)


def test_a_provider_without_a_key_is_named_with_the_variable_that_it_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACME_API_KEY", raising=False)

    with pytest.raises(EndpointError, match="Set ACME_API_KEY"):
        _of_provider("acme/m1", CATALOGUE, UserState())
    assert _of_provider("cloud/m1", CATALOGUE, UserState()) is None  # it may have a login of its own kind
    assert _of_provider("unknown/m1", CATALOGUE, UserState()) is None


def test_a_known_provider_is_asked_in_its_own_protocol_unless_the_user_has_another_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ACME_API_KEY", KEY)
    elsewhere = UserState(config={"models": {"providers": {"acme": {"baseUrl": "http://127.0.0.1:9"}}}})

    asked = _of_provider("acme/m1", CATALOGUE, UserState())

    assert asked is not None
    assert (asked.api, asked.base_url, asked.key_name) == (
        ProtocolName.OPENAI_RESPONSES,
        "https://acme.example/v1",
        "ACME_API_KEY",
    )
    assert KEY not in repr(asked)
    assert _of_provider("acme/m1", CATALOGUE, elsewhere) is None


@pytest.mark.parametrize(
    ("api", "url", "header"),
    [
        (ProtocolName.OPENAI_CHAT, "http://h/v1/chat/completions", "Authorization"),
        (ProtocolName.OPENAI_RESPONSES, "http://h/v1/responses", "Authorization"),
        (ProtocolName.ANTHROPIC, "http://h/v1/messages", "x-api-key"),
        (ProtocolName.GEMINI, "http://h/v1/models/m1:generateContent", "x-goog-api-key"),
        (ProtocolName.OLLAMA, "http://h/v1/api/chat", "Authorization"),
    ],
)
def test_each_protocol_has_its_address_and_its_place_for_the_key(api: ProtocolName, url: str, header: str) -> None:
    request = request_of(replace(target("http://h/v1"), api=api))

    assert request.url == url
    assert KEY in request.headers[header]
    assert KEY not in repr(request)
    assert "report_ready" in str(request.body["tools"])
    assert "tools" not in request_of(replace(target("http://h/v1"), api=api, is_agents=False)).body


@pytest.mark.parametrize(
    ("model", "said"), [("mock/m1-larg", "did you mean mock/m1-large"), ("m1-large", "such as mock/m1-large")]
)
async def test_a_wrong_name_costs_no_set_up(tmp_path: Path, model: str, said: str) -> None:
    program = with_models(fake_openclaw(tmp_path))

    with pytest.raises(ConfigError, match=re.escape(said)):
        await _run(replace(run_config(tmp_path, program, {"task_a": "Hello."}), model=model))

    assert calls(program) == [["--version"]]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"base_url": "http://127.0.0.1:9/v1"}, "models: {m1: {reasoning: true}}"),
        ({"model": "demo/oracle"}, "demo/oracle does not think, by what is known. Leave it out"),
        ({"base_url": "http://127.0.0.1:9/v1", "served": ServedModel(reasoning=True)}, ""),
        ({"base_url": "http://127.0.0.1:9/v1", "thinking": "off"}, ""),
        ({"model": "mock/m1-large"}, ""),
        ({"model": "mock/m2-plain"}, "mock/m2-plain does not think"),
    ],
)
def test_a_thinking_level_that_openclaw_would_refuse_is_refused_first(changes: dict[str, Any], said: str) -> None:
    provider = Provider(models=frozenset({"m1-large", "m2-plain"}), thoughtless=frozenset({"m2-plain"}))
    machine = cast("Machine", SimpleNamespace(catalogue=Catalogue(providers={"mock": provider})))
    config = replace(RunConfig(model="mock/m1", thinking="high"), **changes)
    with pytest.raises(ConfigError, match=re.escape(said)) if said else nullcontext():
        check_thinking(config, machine)


async def test_a_name_without_a_provider_is_refused_whatever_is_accepted(tmp_path: Path) -> None:
    program = with_models(fake_openclaw(tmp_path))
    config = run_config(tmp_path, program, {"task_a": "Hello."})

    with pytest.raises(ConfigError, match="names no provider") as refused:
        await _run(replace(config, model="m1-large", accept_unknown_model=True))

    assert "--accept-unknown-model" not in str(refused.value)
