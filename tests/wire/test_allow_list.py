"""The wire passes requests to the model's own endpoints on, for the run's model, and nothing else."""

import pytest

from pinchbench.defaults import ProtocolName
from pinchbench.wire.allow_list import (
    NotAllowedError,
    canonical_target,
    named_models,
    require_endpoint,
    require_models,
)


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("/v1/chat/completions?a=%20b", "/v1/chat/completions?a=%20b"),
        ("/v1/chat/completion%73", "/v1/chat/completions"),
        ("/v1beta/models/a%2Fb%3Ac%3AgenerateContent", "/v1beta/models/a/b:c:generateContent"),
        ("/models/gr%C3%BCn", "/models/gr%C3%BCn"),
    ],
)
def test_a_path_is_judged_as_what_a_provider_understands(sent: str, meant: str) -> None:
    assert canonical_target(sent) == meant


@pytest.mark.parametrize(
    "target",
    [
        *("/v1/%2e%2e/files", "/v1/../files", "/v1/./responses", "/v1/responses/..", "//responses", "/v1//responses"),
        *("/v1/%2573", "/v1\\responses", "/v1/responses%00", "/v1/responses%20", "/files%3F/responses", "/files%23"),
        *("http://elsewhere.example/responses", "*", ""),
    ],
)
def test_a_path_of_two_meanings_is_refused_and_named(target: str) -> None:
    with pytest.raises(NotAllowedError) as caught:
        canonical_target(target)
    assert caught.value.named == target


@pytest.mark.parametrize(
    ("method", "path", "api"),
    [
        ("POST", "/chat/completions", ProtocolName.OPENAI_CHAT),
        ("POST", "/api/v1/chat/completions", None),
        ("POST", "/v1/responses?a=b", ProtocolName.OPENAI_RESPONSES),
        ("POST", "/v1/messages?beta=true", ProtocolName.ANTHROPIC),
        ("POST", "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse", ProtocolName.GEMINI),
        ("POST", "/v1beta/models/gemini-3-pro:generateContent", None),
        ("POST", "/api/chat", ProtocolName.OLLAMA),
        ("POST", "/openai/v1/responses?api-version=preview", ProtocolName.OPENAI_RESPONSES),
        ("GET", "/v1/models", ProtocolName.OPENAI_CHAT),
        ("GET", "/v1/models/a/b", None),
    ],
)
def test_the_endpoints_of_a_model_are_allowed(method: str, path: str, api: ProtocolName | None) -> None:
    require_endpoint(method, path, api)


@pytest.mark.parametrize(
    ("method", "path", "named"),
    [
        ("POST", "/v1/files", "POST /v1/files"),
        ("GET", "/v1/files/content", "GET /v1/files/content"),
        ("DELETE", "/v1/models/mine", "DELETE /v1/models/mine"),
        ("POST", "/v1/responses", "POST /v1/responses"),  # of another protocol
        ("POST", "/v1/images/generations", "POST /v1/images/generations"),
        ("POST", "/api/pull", "POST /api/pull"),
        ("GET", "/v1/chat/completions", ""),  # as OpenClaw does for a web socket
    ],
)
def test_other_endpoints_and_methods_are_refused(method: str, path: str, named: str) -> None:
    with pytest.raises(NotAllowedError) as caught:
        require_endpoint(method, path, ProtocolName.OPENAI_CHAT)
    assert caught.value.named == named


@pytest.mark.parametrize(
    ("target", "body", "models", "has_tools"),
    [
        ("/chat/completions", b'{"model":"a","messages":[]}', ("a",), False),
        ("/chat/completions", b'{"model":"a","tools":[{"type":"function"}]}', ("a",), True),
        ("/chat/completions", b'{"model":"a","tools":[]}', ("a",), False),
        ("/chat/completions", b'{"model":"a","models":["b","a"]}', ("a", "b"), False),
        ("/chat/completions", b'{"model":"a","x":"\\ud83d"}', ("a",), False),  # half of an emoji
        ("/chat/completions", b'{"model":"a","x":"\xff"}', ("a",), False),
        ("/v1beta/models/g%C3%BC:generateContent", b'{"model":"a"}', ("g\u00fc",), False),
        ("/responses", b"[1]", (), False),
        ("/v1/models", b"", (), False),
    ],
)
def test_the_models_that_a_request_names_are_read(
    target: str, body: bytes, models: tuple[str, ...], has_tools: bool
) -> None:
    assert named_models(target, body, ()) == (models, has_tools)


def test_a_body_that_can_not_be_read_is_refused() -> None:
    with pytest.raises(NotAllowedError, match="the body is not JSON"):
        named_models("/chat/completions", b'{"model": stronger}', ())


@pytest.mark.parametrize(("has_tools", "named"), [(True, "model stronger"), (False, "")])
def test_another_model_is_refused_and_named_if_it_would_play_the_agent(has_tools: bool, named: str) -> None:
    require_models(("mine",), {"mine"}, has_tools=True)
    with pytest.raises(NotAllowedError) as caught:
        require_models(("mine", "stronger"), {"mine"}, has_tools=has_tools)
    assert caught.value.named == named
