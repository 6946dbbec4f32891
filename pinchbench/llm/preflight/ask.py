"""Ask an endpoint, within seconds: one request, and what OpenClaw has to know about its model."""

from __future__ import annotations

import json
import re
import socket
import ssl
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING

import httpx2
from anyio import amap, create_task_group, current_effective_deadline, current_time, move_on_after

from pinchbench.config.served import GUESSED_CONTEXT_TOKENS, INPUTS, ServedModel
from pinchbench.defaults import ProtocolName
from pinchbench.errors import ConfigError
from pinchbench.http_client import Answer, HttpClient, TransientError, open_client
from pinchbench.json_values import texts_in
from pinchbench.llm.preflight.question import Target, diagnose, not_reached, request_of, silent
from pinchbench.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


LIMIT_S = 2.0  # for an answer; with the program's start before it, a diagnosis takes about 3 s
REST_S = 0.1  # of the limit, for reporting what has come of a slow reply
MAX_BODY_BYTES = 64 * 1024  # of an answer: an error's message is near its beginning
FAILED = "the connection failed ({})"


async def ask_all(targets: Sequence[Target]) -> list[Finding]:
    """Ask all targets at the same time; return the findings in the targets' order.

    Takes at most about 3 s. A cancellation closes the connections. Failures are findings; nothing else is raised.
    """
    return await amap(ask, targets)


async def ask(target: Target) -> Finding:
    """Ask one target; see `ask_all`."""
    try:
        async with open_client(target.base_url, whose=target.model, secrets=[target.secret]) as client:
            return await _ask(client.raw, target)
    except ConfigError as error:
        return not_reached(target, FAILED.format(str(error).removesuffix(".")))


async def _ask(client: httpx2.AsyncClient, target: Target) -> Finding:
    try:
        with move_on_after(LIMIT_S):
            if (answer := await _send(client, target)) is not None:
                return diagnose(target, answer)
    except httpx2.RequestError as error:
        return _of_error(target, error)
    return silent(target, LIMIT_S)


async def _send(client: httpx2.AsyncClient, target: Target) -> Answer | None:
    """Return what has come of the answer shortly before the deadline; None if nothing of its body has."""
    request = request_of(target)
    headers = {"Content-Type": "application/json", "User-Agent": "pinchbench-async", **request.headers}
    content = json.dumps(request.body).encode()
    async with client.stream("POST", request.url, headers=headers, content=content) as response:
        body = b""
        # of a success the beginning is enough, unless its text may be a tool call; an error is read for its message
        is_enough = response.is_success and not target.is_agents
        with move_on_after(current_effective_deadline() - current_time() - REST_S) as scope:
            async for piece in response.aiter_bytes():
                body += piece
                if is_enough or len(body) > MAX_BODY_BYTES:
                    break
        if scope.cancelled_caught and not body:
            return None
        body = body.replace(target.secret.encode(), b"[the key]") if target.secret else body
        return Answer(
            status=response.status_code,
            body=body[:MAX_BODY_BYTES],
            content_type=response.headers.get("content-type", ""),
            location=response.headers.get("location", ""),
        )


def _of_error(target: Target, error: httpx2.RequestError) -> Finding:
    causes = list(_causes(error))
    if any(isinstance(one, socket.gaierror) for one in causes):
        return not_reached(target, f"the host {httpx2.URL(target.base_url).host} cannot be found (DNS)")
    if any(isinstance(one, ConnectionRefusedError) for one in causes):
        what = "the connection was refused: nothing listens there"
        return not_reached(target, what, "Start the server, or correct the port.")
    tls = next((one for one in causes if isinstance(one, ssl.SSLError)), None)
    if tls is not None:
        return not_reached(target, FAILED.format(f"TLS: {tls.reason or type(tls).__name__}"))
    said = str(error).replace(target.secret, "[the key]") if target.secret else str(error)
    return not_reached(target, FAILED.format(said))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes, including those in groups."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for one in error.exceptions:
                yield from _causes(one)
        error = error.__cause__ or error.__context__


MAX_LIST_BYTES = 8 * 1024 * 1024  # OpenRouter's list of models takes 1 MB
# vLLM, OpenRouter and llama.cpp; llama.cpp; LM Studio; LiteLLM; Ollama
MODELS, PROPS, STUDIO, LITELLM, OLLAMA, LOADED = (
    *("/v1/models", "/props", "/api/v0/models", "/v1/model/info", "/api/show", "/api/ps"),
)
# Where a context window is given: the one that the server was started with before the one that the model could have.
WINDOWS = (
    (PROPS, "default_generation_settings", "n_ctx"),
    (STUDIO, "loaded_context_length"),
    (OLLAMA, "num_ctx"),
    (LOADED, "context_length"),
    (MODELS, "max_model_len"),
    (MODELS, "context_length"),
    (LITELLM, "model_info", "max_input_tokens"),
    (MODELS, "meta", "n_ctx"),
    (STUDIO, "max_context_length"),
    (MODELS, "meta", "n_ctx_train"),
)
REPLIES = ((MODELS, "top_provider", "max_completion_tokens"), (LITELLM, "model_info", "max_output_tokens"))


async def ask_about(target: Target, *, limit_s: float = LIMIT_S) -> dict[str, object]:
    """Return what an endpoint answers to questions about its model within `limit_s`, by their paths. Raises nothing."""
    answers: dict[str, object] = {}
    base = target.base_url
    root = re.sub(r"/v\d+(beta)?$", "", base)
    headers = {"Authorization": f"Bearer {target.key}"} if target.key else {}

    async def one(client: HttpClient, path: str) -> None:
        url = f"{base}{path.removeprefix('/v1')}" if path.startswith("/v1/") else f"{root}{path}"
        content = json.dumps({"model": target.model}).encode() if path == OLLAMA else None
        with suppress(TransientError):
            answer = await client.send(url, content, most_bytes=MAX_LIST_BYTES, limit_s=limit_s, headers=headers)
            if answer.status == HTTPStatus.OK and answer.whole and (said := answer.json()) is not None:
                answers[path] = said

    with suppress(ConfigError):
        async with (
            open_client(base, whose=target.model, secrets=[target.secret]) as client,
            create_task_group() as group,
        ):
            for path in (MODELS, PROPS, STUDIO, LITELLM, OLLAMA, LOADED):
                group.start_soon(one, client, path)
    return answers


def read_answers(answers: Mapping[str, object], model: str) -> ServedModel:
    """Return what the answers, by their paths, say of a model (pure)."""
    found = {path: _entry(answer, model, is_named=path == LOADED) for path, answer in answers.items()}
    ollama = found.get(OLLAMA, {})
    if match := re.search(r"^num_ctx\s+(\d+)", str(ollama.get("parameters", "")), re.MULTILINE):
        ollama["num_ctx"] = int(match[1])
    window, source = next(_counts(found, WINDOWS), (None, ""))
    abilities = [one for entry in found.values() for one in _abilities(entry)]
    is_listed = any(name in found.get(path, {}) for path, name in ((OLLAMA, "capabilities"), (MODELS, "architecture")))
    sees = "vision" in abilities
    return ServedModel(
        context_window=window,
        max_tokens=next(_counts(found, REPLIES), (None, ""))[0],
        reasoning="thinking" in abilities if is_listed or "thinking" in abilities else None,
        input=INPUTS[: 1 + sees] if sees or is_listed else None,
        source=source or (", ".join(found) if abilities else ""),
    )


def _entry(answer: object, model: str, *, is_named: bool) -> dict[str, object]:
    """Return what an answer says of a model: itself, or its entry in a list.

    The only entry of a list may have another name, unless the list is one of loaded models (`is_named`).
    """
    if not isinstance(answer, dict):
        return {}
    entries = next((answer[key] for key in ("data", "models") if isinstance(answer.get(key), list)), None)
    if entries is None:
        return dict(answer)
    known = [one for one in entries if isinstance(one, dict)]
    names = ("id", "model_name", "model", "name")
    named = [one for one in known if {model, f"{model}:latest"} & {*map(str, map(one.get, names))}]  # as Ollama has it
    return dict(next(iter(named or (known if len(known) == 1 and not is_named else [])), {}))


def _counts(
    found: Mapping[str, Mapping[str, object]], places: tuple[tuple[str, ...], ...]
) -> Iterator[tuple[int, str]]:
    for path, *keys in places:
        value: object = found.get(path, {})
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, int) and value > 0:
            yield value, f"{keys[-1]} in {path}"


def _abilities(entry: Mapping[str, object]) -> Iterator[str]:
    """Yield `vision` and `thinking`, as far as an entry says that the model can do so."""
    parts = {
        name: one for name in ("architecture", "model_info", "modalities") if isinstance(one := entry.get(name), dict)
    }
    named = [*texts_in(entry.get("capabilities")), *texts_in(entry.get("supported_parameters"))]
    named += [name for one in parts.values() for name, value in one.items() if value is True]
    named += texts_in(parts.get("architecture", {}).get("input_modalities"))
    if entry.get("type") == "vlm" or {"vision", "image", "supports_vision"} & {*named}:
        yield "vision"
    if {"thinking", "reasoning", "supports_reasoning"} & {*named}:
        yield "thinking"


def of_ollama(target: Target, answers: Mapping[str, object]) -> Iterator[Finding]:
    """Yield a warning if Ollama is asked behind `/v1`, going by its list of loaded models (pure)."""
    loaded = answers.get(LOADED)
    if target.api is ProtocolName.OPENAI_CHAT and isinstance(loaded, dict) and isinstance(loaded.get("models"), list):
        yield Finding.warning(
            "model",
            f"{target.who}: this is Ollama, which behind /v1 may lose tool calls, and truncates long prompts.",
            do=f"Use --api ollama and --base-url {re.sub(r'/v1$', '', target.base_url)}.",
        )


def said_of(model: str, served: ServedModel) -> Finding:
    """Return what is used of a served model and where that comes from; a warning if it is a guess (pure)."""
    what = [
        f"a context window of {served.window:,} tokens",
        f"replies of up to {served.reply_tokens:,}",
        f"input: {' and '.join(served.input or ('text',))}",
        f"thinking: {'yes' if served.reasoning else 'no'}",
    ]
    said = f"{model}: {', '.join(what)}"
    if served.context_window is not None:
        return Finding.ok("model", f"{said} (by {served.source or 'its settings'}).")
    name = model.partition("/")[2]
    return Finding.warning(
        "model",
        f"{said}. The endpoint does not say its context window: {GUESSED_CONTEXT_TOKENS:,} tokens are a guess.",
        do=f"If it has fewer, trials fail; state it in pinchbench.yaml: `models: {{{name}: {{context-window: N}}}}`.",
    )
