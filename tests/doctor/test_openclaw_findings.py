"""Verdicts on releases of OpenClaw and Node, on keys, and on servers; which model the next command names."""

import json
import socket
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fake_judge import fake_judge
from http_server import HttpServer, Request, Response, running
from pinchbench.doctor.openclaw_findings import (
    Release,
    Server,
    find_servers,
    model_to_name,
    of_any_keys,
    of_key,
    of_node,
    of_openclaw,
    of_servers,
    suits,
)
from pinchbench.errors import OpenClawError
from pinchbench.model.finding import Level
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.homes.credentials import UserState, places_of_key

KEY = "sk-0123456789abcdef-THIS-IS-NOBODYS-KEY"
RELEASE = Release(openclaw=OpenClaw(program=Path("/bin/openclaw"), version="2026.9.6"), node="v24.21.0")


def test_a_release_is_known_or_not() -> None:
    tried = of_openclaw(RELEASE)
    between = of_openclaw(replace(RELEASE, openclaw=replace(RELEASE.openclaw, version="2026.7.1")))
    newer = of_openclaw(replace(RELEASE, openclaw=replace(RELEASE.openclaw, version="2099.1.1")))

    assert (tried.level, between.level, newer.level) == (Level.OK, Level.NOTE, Level.WARNING)
    assert "a database" in tried.said
    assert "in files" in between.said


def test_no_openclaw_is_a_problem_with_a_way_out() -> None:
    found = of_openclaw(OpenClawError("It is broken."))

    assert found.level is Level.PROBLEM
    assert "openclaw install" in found.do


@pytest.mark.parametrize(
    ("version", "wanted", "is_so"),
    [
        ("v24.21.0", ">=24.16.0 <25 || >=26.1.0", True),
        ("v24.15.9", ">=24.16.0 <25 || >=26.1.0", False),
        ("v25.3.0", ">=24.16.0 <25 || >=26.1.0", False),
        ("v26.1.0", ">=24.16.0 <25 || >=26.1.0", True),
        ("v22.19.0", ">=22.19.0", True),
        ("v3.0.0", "", True),
        ("v3.0.0", "lts/*", True),
        ("v20.0.0", ">18 <=19", False),
    ],
)
def test_a_node_suits_the_range_that_openclaw_names(version: str, wanted: str, is_so: bool) -> None:
    assert suits(version, wanted) is is_so
    level = Level.OK if is_so else Level.PROBLEM
    assert of_node(replace(RELEASE, node=version, wants_node=wanted)).level is level


def test_a_key_is_found_wherever_it_may_be_and_never_told() -> None:
    user = UserState(
        config={"models": {"providers": {"acme": {"apiKey": KEY}}}, "env": {"vars": {"ACME_API_KEY": KEY}}},
        logins={"profiles": {"acme:me": {"provider": "acme", "key": KEY}}},
        dotenv=f"ACME_TOKEN={KEY}\n",
    )
    names = ("ACME_API_KEY", "ACME_TOKEN")

    places = places_of_key("acme", names, env={"ACME_TOKEN": KEY}, user=user)
    found = of_key("acme/m1", names, places)

    assert len(places) == 5
    assert found.level is Level.OK
    assert KEY[:6] not in repr(found)


def test_a_key_that_is_not_there_is_named() -> None:
    names = ("ACME_API_KEY",)
    assert places_of_key("acme", names, env={"ACME_API_KEY": " "}, user=UserState()) == ()

    found = of_key("acme/m1", names, ())

    assert found.level is Level.WARNING
    assert "Set ACME_API_KEY" in found.do
    assert of_key("acme/m1", names, (), is_refused=True).level is Level.PROBLEM
    assert of_key("ollama/m1", ("OLLAMA_API_KEY",), ()).level is Level.NOTE


def test_without_a_model_the_keys_that_are_there_are_listed() -> None:
    user = UserState(logins={"profiles": {"a": {"provider": "anthropic"}, "b": {"provider": "anthropic"}}})

    found = of_any_keys(user, {"OPENAI_API_KEY": KEY})

    assert "OPENAI_API_KEY" in found.said
    assert "for anthropic." in found.said
    assert KEY not in found.said
    assert of_any_keys(UserState(), {}).level is Level.NOTE


OLLAMA = Server(usual="Ollama", base_url="http://127.0.0.1:11434/v1", models=("qwen3:8b", "b", "c", "d", "e"))

VLLM = Server(usual="vLLM", base_url="http://127.0.0.1:8000/v1", models=("q",))


class _Website(HttpServer[Request]):
    """What else may have such a port."""

    async def respond(self, request: Request) -> Response:
        self.requests.append(request)
        return Response(body=json.dumps({"data": "all of it"}).encode())


async def test_servers_that_list_their_models_are_found_and_asked_once() -> None:
    with closing(socket.socket()) as closed:
        closed.bind(("127.0.0.1", 0))  # nobody listens there
        async with fake_judge() as judge, running(_Website()) as website:
            ports = {website.port: "vLLM", closed.getsockname()[1]: "LM Studio", judge.port: "llama.cpp"}
            found = await find_servers(ports, limit_s=60)

    assert found == [Server(usual="llama.cpp", base_url=f"http://127.0.0.1:{judge.port}/v1", models=("m1",))]
    assert [(one.method, one.path) for one in website.requests] == [("GET", "/v1/models")]


@pytest.mark.parametrize(
    ("servers", "env", "named"),
    [
        ([OLLAMA], {"OPENAI_API_KEY": "k"}, "local/qwen3:8b --base-url http://127.0.0.1:11434 --api ollama"),
        ([VLLM], {"OPENAI_API_KEY": "k"}, "local/q --base-url http://127.0.0.1:8000/v1"),
        ([], {"OPENAI_API_KEY": "k"}, "openai/MODEL"),
        ([], {"OPENAI_API_KEY": " "}, "MODEL"),
    ],
)
def test_the_next_command_names_a_local_model_or_a_provider_with_a_key(
    servers: list[Server], env: dict[str, str], named: str
) -> None:
    assert model_to_name(servers, env) == named


def test_a_few_models_of_a_server_are_named() -> None:
    assert "qwen3:8b, b, c and 2 more" in of_servers([OLLAMA]).said
    assert of_servers([]).level is Level.NOTE
