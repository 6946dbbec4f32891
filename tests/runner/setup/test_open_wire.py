"""When requests go through the wire, with which key they arrive, and what is recorded of them."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import httpx2
import psutil
import pytest
from anyio import Event

from http_server import HttpServer, Request, Response, running
from pinchbench.config.run_config import ReplaySettings, RunConfig
from pinchbench.defaults import Isolation
from pinchbench.errors import ConfigError, WireError
from pinchbench.model.facts import FindingKind
from pinchbench.model.trial import TrialEvents, TrialKey
from pinchbench.model.usage import Usage
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.homes.credentials import Json, UserState
from pinchbench.openclaw.model_catalogue import Catalogue, Provider, read_catalogue
from pinchbench.results.evidence_files import Evidence
from pinchbench.runner.setup import open_wire as module
from pinchbench.runner.setup.open_wire import ESTIMATED, choose_native, open_wire, why_without
from pinchbench.runner.setup.this_machine import Machine
from pinchbench.runner.trial.model_wire import NativeProvider
from pinchbench.runner.trial.wire_facts import read_wire
from pinchbench.wire.recording import RecordingReader

MACHINE = Machine(openclaw=OpenClaw(program=Path("openclaw"), version=""), catalogue=read_catalogue(None))
TRIAL = TrialKey(task_id="task_a", repetition=1)
KEY = "sk-planted-0123456789abcdef"
ENTRY: Json = {"baseUrl": "http://direct", "apiKey": "${KEY}", "api": "openai-completions"}


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (RunConfig(model="demo/oracle"), ""),
        (RunConfig(model="own/m", base_url="http://127.0.0.1:1/v1"), ""),
        (RunConfig(model="own/m", base_url="http://127.0.0.1:1/v1", wire=False), "--no-wire"),
        (RunConfig(model="anthropic/m", isolation=Isolation.SHARED), "your own OpenClaw"),
        (RunConfig(model="anthropic/m"), ""),
        (RunConfig(model="own/m", base_url="http://127.0.0.1:1", api="ollama"), ""),
        (RunConfig(model="own/m", base_url="http://127.0.0.1:1", api="pi-messages"), "does not read pi-messages"),
    ],
)
def test_requests_that_the_wire_would_change_do_not_go_through_it(config: RunConfig, why: str) -> None:
    assert why in why_without(config)
    assert bool(why) == bool(why_without(config))


def test_an_endpoint_behind_a_proxy_of_the_environment_is_asked_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "near.example")

    assert "behind the proxy" in why_without(RunConfig(model="own/m", base_url="https://far.example/v1"))
    for near in ("https://near.example/v1", "http://127.0.0.1:8000/v1", "http://localhost:1/v1", "https://[::1]:1/v1"):
        assert why_without(RunConfig(model="own/m", base_url=near)) == ""


def test_a_limit_of_requests_needs_the_wire() -> None:
    with pytest.raises(ConfigError, match="--no-wire"):
        RunConfig(model="demo/oracle", wire=False, max_requests=4)


class Model(HttpServer[Request]):
    """An endpoint that always says the same."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self._body = body

    async def respond(self, request: Request) -> Response:
        self.record(request)
        return Response(body=self._body, headers={"content-type": "application/json"})


@pytest.mark.parametrize(("key", "kept"), [(KEY, ""), ("none", "none")])
async def test_the_wire_puts_the_key_into_requests_and_records_them_by_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, kept: str
) -> None:
    monkeypatch.setenv("OWN_KEY", key)
    said = {"role": "assistant", "content": f"The key is {key}."}
    reply = {"model": "m-1", "choices": [{"message": said, "finish_reason": "stop"}]}
    usage = {"usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}}
    told: list[str] = []
    refused = Event()

    def tell(sentence: str) -> None:
        told.append(sentence)
        refused.set()

    async with running(Model(json.dumps(reply | usage).encode())) as server:
        config = RunConfig(model="own/m", base_url=f"http://127.0.0.1:{server.port}/v1", api_key_env="OWN_KEY")
        async with open_wire(config, MACHINE, None, tell=tell) as wire:
            assert wire is not None
            entry = wire.through(ENTRY, 1)
            assert key not in json.dumps(entry)
            recording = tmp_path / "wire.jsonl.zst"
            lease = wire.lease(1, trial=TRIAL, recording=recording, events=TrialEvents())
            async with lease as (trial, _), httpx2.AsyncClient(trust_env=False) as client:
                await trial.set_turn(1)
                entry = {key: str(value).replace(trial.instead_of, trial.token) for key, value in entry.items()}
                headers = {"Authorization": f"Bearer {entry['apiKey']}"}
                messages = [{"role": "system", "content": "Be brief."}]
                url = f"{entry['baseUrl']}/chat/completions"
                answer = await client.post(url, json={"model": "m", "messages": messages}, headers=headers)
            assert answer.status_code == 200
            after = [await _after(url, headers) for _ in range(2)]  # it is reported once
            await refused.wait()
    assert after == [404, 404]
    assert told == [f"The wire has refused the address of {TRIAL}, which has ended."]
    [asked] = server.requests
    assert asked.headers["authorization"] == f"Bearer {key}"
    assert asked.path == "/v1/chat/completions"
    read = read_wire(Evidence(folder=tmp_path))
    facts = read.found.facts
    assert (facts.calls, facts.failed, facts.models, facts.usage.total_tokens) == (1, (), ("m-1",), 7)
    assert read.replay is None
    assert (read.events, [one.kind for one in read.findings]) == (1, [FindingKind.MISSING])  # OpenClaw has no store
    [recorded] = RecordingReader(recording)
    assert dict(recorded.request_headers)["authorization"] == "Bearer [key]"
    # a word that stands for no key is one that a model may say
    assert json.loads(recorded.reply)["choices"][0]["message"]["content"] == f"The key is {kept or '*' * len(key)}."


async def test_that_usage_is_estimated_is_said_once_and_after_the_first_reply(tmp_path: Path) -> None:
    silent = {"choices": [{"message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}]}
    told: list[str] = []
    said = Event()
    used: list[Usage] = []

    class Events(TrialEvents):
        def used(self, usage: Usage) -> None:
            used.append(usage)
            if usage.requests == 2:
                said.set()

    async with running(Model(json.dumps(silent).encode())) as server:
        config = RunConfig(model="own/m", base_url=f"http://127.0.0.1:{server.port}/v1", max_tokens=10**6)
        async with open_wire(config, MACHINE, None, tell=told.append) as wire:
            assert wire is not None
            lease = wire.lease(1, trial=TRIAL, recording=tmp_path / "wire.jsonl.zst", events=Events())
            async with lease as (trial, _), httpx2.AsyncClient(trust_env=False) as client:
                await trial.set_turn(1)
                url = str(wire.through(ENTRY, 1)["baseUrl"]).replace(trial.instead_of, trial.token)
                for _ in range(2):
                    await client.post(f"{url}/chat/completions", json={"model": "m", "messages": []})
                    assert len(told) <= 1
                await said.wait()
    assert told == [ESTIMATED]
    assert used[0].total_tokens > 0


async def test_a_replay_of_a_known_provider_goes_on_with_no_other_model(monkeypatch: pytest.MonkeyPatch) -> None:
    known = NativeProvider(base_url="https://api.acme.example", key="k", key_name="A_KEY", key_names=("A_KEY",))
    monkeypatch.setattr(module, "choose_native", lambda *_, **__: known)
    replay = ReplaySettings(folder="", fork_at=1, model="own/m", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(WireError, match="Leave out --model and --base-url"):
        async with open_wire(RunConfig(model="acme/m", replay=replay), MACHINE, None, tell=print):
            pass


async def _after(url: str, headers: dict[str, str]) -> int:
    """Ask once more when the trial is over."""
    async with httpx2.AsyncClient(trust_env=False) as client:
        return (await client.post(url, json={"model": "m", "messages": []}, headers=headers)).status_code


async def test_a_wire_that_died_is_an_infrastructure_failure_of_its_own(tmp_path: Path) -> None:
    before = set(psutil.Process().children())
    async with open_wire(RunConfig(model="own/m", base_url="http://127.0.0.1:9/v1"), MACHINE, None, tell=print) as wire:
        assert wire is not None
        [proxy] = set(psutil.Process().children()) - before
        proxy.kill()
        lease = wire.lease(1, trial=TRIAL, recording=tmp_path / "w", events=TrialEvents())
        with pytest.raises(WireError, match="Resume the run"):
            async with lease:
                pass
        assert wire.has_failed


PROVIDER = NativeProvider(
    base_url="https://api.anthropic.com", key="sk-secret", key_name="A_KEY", key_names=("A_OAUTH_TOKEN", "A_KEY")
)
CATALOGUE = Catalogue(
    providers={
        "acme": Provider(key_names=("A_OAUTH_TOKEN", "A_KEY"), base_url="https://api.acme.example/v1"),
        "near": Provider(base_url="http://127.0.0.1:9/v1"),
    }
)
USER = UserState()
KEYS = {"A_OAUTH_TOKEN": " ", "A_KEY": "sk-secret"}


def _choose(name: str, env: Mapping[str, str], user: UserState = USER) -> NativeProvider | str:
    return choose_native(name, CATALOGUE, user, env=env, needs_key=True)


def _of_acme(settings: Json) -> Json:
    return {"models": {"providers": {"acme": settings}}}


def test_a_provider_with_one_key_is_asked_at_the_host_of_its_address() -> None:
    assert _choose("acme", KEYS) == replace(PROVIDER, base_url="https://api.acme.example")


@pytest.mark.parametrize(
    ("name", "env", "settings", "why"),
    [
        ("acme", {}, {}, "with a login"),
        ("acme", {"A_OAUTH_TOKEN": "t"}, {}, "with a login"),
        ("acme", {**KEYS, "A_OAUTH_TOKEN": "t"}, {}, "a key of OpenClaw's choice"),
        ("acme", {**KEYS, "https_proxy": "http://proxy"}, {}, "names a proxy"),
        ("near", {"NEAR_API_KEY": "k"}, {}, "is not known"),
        ("unknown", {"UNKNOWN_API_KEY": "k"}, {}, "is not known"),
        # settings of the user that lead past the wire
        ("acme", KEYS, _of_acme({"baseUrl": "https://own.example"}), "an address or in a way of its own"),
        ("acme", KEYS, _of_acme({"request": {"proxy": {"mode": "explicit"}}}), "in a way of its own"),
        ("acme", KEYS, {"env": {"vars": {"HTTPS_PROXY": "http://proxy"}}}, "names a proxy"),
    ],
)
def test_a_provider_that_the_wire_can_not_stand_in_for_has_a_reason(
    name: str, env: dict[str, str], settings: Json, why: str
) -> None:
    assert why in str(_choose(name, env, UserState(config=settings)))


def test_a_replay_is_asked_with_the_variable_of_a_key() -> None:
    found = choose_native("acme", CATALOGUE, UserState(), env={}, needs_key=False)

    assert isinstance(found, NativeProvider)
    assert (found.key, found.key_name) == ("", "A_KEY")
