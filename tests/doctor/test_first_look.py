"""What is found before anything is asked: servers on loopback, and which model the next command names."""

import json
import socket
from contextlib import closing

import pytest

from fake_judge import fake_judge
from http_server import HttpServer, Request, Response, running
from pinchbench.doctor.first_look import Server, find_servers, model_to_name, of_servers
from pinchbench.model.finding import Level

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
