"""The environment of a home whose requests go through the wire, and attempts that the wire can't witness."""

from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from fakes import fake_openclaw, run_config
from pinchbench.errors import WireError
from pinchbench.model.ending import Reason
from pinchbench.runner.run_benchmark import run_benchmark
from pinchbench.runner.trial.model_wire import ModelWire, NativeProvider, native_env, past_proxies
from pinchbench.wire.proxy_client import TrialWire

PROVIDER = NativeProvider(
    base_url="https://api.anthropic.com", key="sk-secret", key_name="A_KEY", key_names=("A_OAUTH_TOKEN", "A_KEY")
)


async def test_an_attempt_whose_wire_has_failed_is_wire_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lease(*_: object, **__: object) -> AbstractAsyncContextManager[TrialWire]:
        raise WireError("The proxy has failed. Resume the run.")

    monkeypatch.setattr(ModelWire, "lease", lease)
    program = fake_openclaw(tmp_path)
    config = run_config(tmp_path, program, {"task_a": "scenario: ok"})
    config = replace(config, wire=True, base_url="http://127.0.0.1:9/v1", infra_retries=0)

    result = await run_benchmark(config)

    assert [(one.reason, one.note) for one in result.outcomes] == [
        (Reason.WIRE_LOST, "The proxy has failed. Resume the run.")
    ]


async def test_a_transcript_with_an_answer_that_no_model_sent_is_no_evidence(tmp_path: Path) -> None:
    program = fake_openclaw(tmp_path)  # it writes transcripts, and calls no model
    config = run_config(tmp_path, program, {"task_a": "hi"})
    config = replace(config, wire=True, base_url="http://127.0.0.1:9/v1", infra_retries=0)

    result = await run_benchmark(config)

    [outcome] = result.outcomes
    assert (outcome.reason, outcome.wire and outcome.wire.calls) == (Reason.EVIDENCE_LOST, 0)
    assert "no request went through the wire" in outcome.note


def test_the_token_stands_in_for_the_key_wherever_the_key_stands() -> None:
    env = {"A_KEY": "sk-secret", "A_KEYS": "sk-secret,sk-other", "LANG": "C", "HTTPS_PROXY": "http://old"}

    told = native_env(env, PROVIDER, token="t", proxy_url="http://slot:t@127.0.0.1:9", certificates="/c.pem")

    assert told["A_KEY"] == "t"
    assert "A_KEYS" not in told
    assert "sk-secret" not in str(told)
    expected = {"LANG": "C", "HTTPS_PROXY": "http://slot:t@127.0.0.1:9", "NODE_EXTRA_CA_CERTS": "/c.pem"}
    assert told.items() >= expected.items()


@pytest.mark.parametrize(
    ("env", "no_proxy"),
    [
        ({"PATH": "/bin"}, None),
        ({"HTTP_PROXY": "http://far:1"}, "127.0.0.1,localhost,::1"),
        ({"http_proxy": "http://far:1", "NO_PROXY": "a.example"}, "a.example,127.0.0.1,localhost,::1"),
    ],
)
def test_the_wire_is_not_asked_through_the_proxy_of_the_environment(env: dict[str, str], no_proxy: str | None) -> None:
    found = past_proxies(env)
    assert (found.get("no_proxy"), found.get("NO_PROXY") == found.get("no_proxy")) == (no_proxy, True)
    assert env.items() - {("NO_PROXY", "a.example")} <= found.items()
