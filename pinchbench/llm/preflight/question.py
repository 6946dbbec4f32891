"""The request to an endpoint, and what its answer says about key, model and address (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pinchbench.defaults import TOOL_CALLS_REMEDY, ProtocolName
from pinchbench.json_values import error_text
from pinchbench.model.finding import Finding
from pinchbench.redaction import is_key
from pinchbench.wire.exchange import Chunk, Exchange
from pinchbench.wire.exchange_facts import facts_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinchbench.http_client import Answer

PROMPT = "Reply with the single word: ready"
TOOL_PROMPT = "Call the tool `report_ready`."
TOOL = {"name": "report_ready", "description": "Report that you are ready."}
NO_PARAMETERS = {"type": "object", "properties": {}}
MAX_TOKENS = 16  # the smallest value that all of the protocols accept
TOOLS_REFUSED = (400, 404, 422, 500, 501)  # llama.cpp and vLLM, OpenRouter, strict gateways, older llama.cpp
MAX_QUOTED = 200  # characters of an endpoint's own message
NO_CREDIT = re.compile(r"insufficient[_ ]quota|credit|billing|payment", re.IGNORECASE)
NAMES_TOOLS = re.compile(r"\btools?\b|\btool[_ -]?(choice|calls?|use)|function[_ -]?call|--jinja", re.IGNORECASE)
# How models write calls that their server should have parsed: Qwen and Hermes, Mistral, Llama, DeepSeek, plain JSON.
UNPARSED_CALL = re.compile(
    r"<tool_call>|<function[=_]|\[TOOL_CALLS\]|<\|python_tag\|>|<.tool.calls.begin.>"
    r"|\{\s*\"name\"\s*:\s*\"[^\"]*\"\s*,\s*\"(arguments|parameters)\""
)
MODEL = re.compile(r"\bmodels?\b|model_not_found", re.IGNORECASE)
NO_SUCH = re.compile(r"not[ _]found|not exist|unknown|invalid|no such|not available|not a valid", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """An endpoint to ask."""

    subject: str  # `model` or `judge`, as in the finding
    model: str  # the model's name at the endpoint
    base_url: str  # without a trailing slash
    api: ProtocolName = ProtocolName.OPENAI_CHAT
    key: str = field(default="", repr=False)  # the key itself, empty for none; used only in the request
    key_name: str = ""  # the environment variable that holds the key, for messages
    model_option: str = "--model"  # the option that names the model, such as `--model`
    url_option: str = ""  # the option that names the address, such as `--base-url`; empty if OpenClaw knows it
    key_option: str = ""  # the option that names the key's variable; empty if OpenClaw knows it
    is_agents: bool = False  # whether an agent is to use the model, which must be able to call tools

    @property
    def secret(self) -> str:
        """The key if it has to be masked; empty for a word, which may be a part of any reply."""
        return self.key if is_key(self.key) else ""

    @property
    def who(self) -> str:
        """The model and its address."""
        return f"{self.model} at {self.base_url}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """A POST request with `body` as JSON."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: Mapping[str, object]


def request_of(target: Target) -> Request:
    """Return the smallest request in a target's protocol."""
    bearer = {"Authorization": f"Bearer {target.key}"} if target.key else {}
    prompt = TOOL_PROMPT if target.is_agents else PROMPT
    message = {"role": "user", "content": prompt}
    base = target.base_url
    tools = _tools(target.api) if target.is_agents else {}
    match target.api:
        case ProtocolName.OPENAI_CHAT:
            body: dict[str, object] = {"model": target.model, "messages": [message], "stream": True, **tools}
            return Request(url=f"{base}/chat/completions", headers=bearer, body=body)
        case ProtocolName.OPENAI_RESPONSES:
            body = {"model": target.model, "input": prompt, "max_output_tokens": MAX_TOKENS}
            body |= {"store": False, **tools}
            return Request(url=f"{base}/responses", headers=bearer, body=body)
        case ProtocolName.ANTHROPIC:
            headers = {"anthropic-version": "2023-06-01", **({"x-api-key": target.key} if target.key else {})}
            body = {"model": target.model, "max_tokens": MAX_TOKENS, "messages": [message], **tools}
            return Request(url=f"{base.removesuffix('/v1')}/v1/messages", headers=headers, body=body)
        case ProtocolName.GEMINI:
            headers = {"x-goog-api-key": target.key} if target.key else {}
            body = {"contents": [{"parts": [{"text": prompt}]}], **tools}
            return Request(url=f"{base}/models/{target.model}:generateContent", headers=headers, body=body)
        case ProtocolName.OLLAMA:
            body = {"model": target.model, "messages": [message], "stream": False, **tools}
            return Request(url=f"{base}/api/chat", headers=bearer, body=body)


def _tools(api: ProtocolName) -> dict[str, object]:
    tool: dict[str, object]
    match api:
        case ProtocolName.OPENAI_CHAT | ProtocolName.OLLAMA:
            tool = {"type": "function", "function": {**TOOL, "parameters": NO_PARAMETERS}}
        case ProtocolName.OPENAI_RESPONSES:
            tool = {"type": "function", **TOOL, "parameters": NO_PARAMETERS}
        case ProtocolName.ANTHROPIC:
            tool = {**TOOL, "input_schema": NO_PARAMETERS}
        case ProtocolName.GEMINI:
            tool = {"functionDeclarations": [TOOL]}
    return {"tools": [tool]}


def diagnose(target: Target, answer: Answer) -> Finding:  # noqa: PLR0911 - a line for each situation
    """Return the finding: OK, a WARNING with which a run may start, or a PROBLEM that would affect every trial."""
    status, said = answer.status, _message(answer)
    quoted = f" ({status}: {said})" if said else f" ({status})"
    match status:
        case _ if HTTPStatus(200) <= status < HTTPStatus(300):
            return _of_success(target, answer)
        case _ if status == HTTPStatus.PAYMENT_REQUIRED or (status in (400, 403, 429) and NO_CREDIT.search(said)):
            return _problem(target, f"the account has no credit left{quoted}", "Add credit, or use another key.")
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
            what = f"the key in {target.key_name} was refused" if target.key_name else "the endpoint wants a key"
            return _problem(target, f"{what}{quoted}", _key_advice(target))
        case _ if status in TOOLS_REFUSED and target.is_agents and NAMES_TOOLS.search(said.replace(target.model, "")):
            return _problem(target, f"the server does not accept tools{quoted}", TOOL_CALLS_REMEDY)
        case HTTPStatus.NOT_FOUND | HTTPStatus.BAD_REQUEST | HTTPStatus.UNPROCESSABLE_ENTITY if MODEL.search(
            said
        ) and NO_SUCH.search(said):
            where = f": {target.base_url}/models lists its models" if target.api is ProtocolName.OPENAI_CHAT else ""
            return _problem(
                target, f"the endpoint does not know the model{quoted}", f"Check {target.model_option}{where}."
            )
        case HTTPStatus.NOT_FOUND | HTTPStatus.METHOD_NOT_ALLOWED:
            return _problem(target, f"there is no such API at this address{quoted}", _address_advice(target))
        case _ if HTTPStatus(300) <= status < HTTPStatus.BAD_REQUEST:
            where = f" to {_line(answer.location)}" if answer.location else ""
            return _problem(target, f"the address redirects{where}{quoted}", _address_advice(target))
        case HTTPStatus.TOO_MANY_REQUESTS:
            return _warning(
                target, f"the provider limits the rate{quoted}", "The run starts, and waits when it has to."
            )
        case _ if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return _warning(target, f"the endpoint fails at the moment{quoted}", "The run starts, and retries.")
        case _:
            return _warning(target, f"the endpoint did not accept this small question{quoted}", "The run starts.")


def _of_success(target: Target, answer: Answer) -> Finding:
    start = answer.body.lstrip()[:1]
    if "html" in answer.content_type.lower() or start == b"<":
        return _problem(target, "a web page came back, not the answer of an API", _address_advice(target))
    if target.is_agents and (call := UNPARSED_CALL.search(_text_of(target, answer))):
        what = f"the reply has a tool call as text, which the server did not parse ({_line(call[0])})"
        return _problem(target, what, TOOL_CALLS_REMEDY)
    return Finding.ok(target.subject, f"{target.who} answered.")


def _text_of(target: Target, answer: Answer) -> str:
    """Return the text of a reply, of which a part may be missing."""
    chunks = (Chunk(at_s=0.0, data=answer.body),)
    path = urlsplit(request_of(target).url).path
    exchange = Exchange(
        number=1, began_at=0.0, provider="", method="POST", path=path, status=answer.status, chunks=chunks
    )
    message = facts_of(exchange).reply.message
    return "" if message is None else message.text


def not_reached(target: Target, what: str, do: str = "") -> Finding:
    """Return the finding for an address that gives no answer; without `do`, it says to check the address."""
    where = f"Check {target.url_option}, and the network." if target.url_option else "Check the network."
    return _problem(target, _line(what), do or where)


def silent(target: Target, after_s: float) -> Finding:
    """Return the finding for an answer that did not arrive in time."""
    what = f"no answer within {after_s:g} s"
    return _warning(target, what, "The run starts: a server that loads its model is slow at first.")


def _message(answer: Answer) -> str:
    """Return the endpoint's own message."""
    is_page = answer.body.lstrip()[:1] in (b"", b"<")
    return "" if is_page else _line(error_text(answer.body, answer.status))


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_QUOTED else f"{line[:MAX_QUOTED]}…"


def _key_advice(target: Target) -> str:
    if target.key_name:
        return f"Check the key in {target.key_name}."
    return (
        f"Name the variable that holds it with {target.key_option}." if target.key_option else "Set the provider's key."
    )


def _address_advice(target: Target) -> str:
    if not target.url_option:
        return "Check the provider's base URL in your OpenClaw."
    if target.api is ProtocolName.OLLAMA:
        return f"Check {target.url_option}: Ollama's own API is at the root of its server."
    example = "" if re.search(r"/v\d+(beta)?$", target.base_url) else f", such as {target.base_url}/v1"
    return f"Check {target.url_option}: the address of an OpenAI-compatible API usually ends in /v1{example}."


def _problem(target: Target, what: str, do: str) -> Finding:
    return Finding.problem(target.subject, f"{target.who}: {what}.", do=do)


def _warning(target: Target, what: str, do: str) -> Finding:
    return Finding.warning(target.subject, f"{target.who}: {what}.", do=do)
