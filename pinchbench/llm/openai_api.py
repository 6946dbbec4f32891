"""An OpenAI-compatible endpoint: its address, the requests to it, and the parsing of its responses (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

import httpx2

from pinchbench.http_client import MAX_MESSAGE
from pinchbench.json_values import amount_at, count_at
from pinchbench.model.usage import Usage
from pinchbench.transcript_lines import writable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.http_client import Answer


MAX_REPLY = 16_000  # characters of an unreadable reply that are kept and shown to its model again


class Role(StrEnum):
    """The author of a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """A model's reply."""

    text: str  # valid Unicode
    usage: Usage = Usage()
    cost_usd: float | None = None  # None if no price was reported
    calls: int = 1  # the requests sent, including failed ones
    model: str = ""  # the one that the reply names, if any
    # why it can't be read as an answer (cut short, refused, not what the protocol specifies); `text` is then what was
    # received instead
    problem: str = ""


class ChatError(Exception):
    """A model gave no reply. The message is a sentence for the user; `calls` requests were sent."""

    def __init__(self, sentence: str, *, calls: int = 0, usage: Usage = Usage(), cost_usd: float | None = None) -> None:
        """Keep the sentence, and the usage and cost of the calls."""
        super().__init__(sentence)
        self.calls = calls
        self.usage = usage
        self.cost_usd = cost_usd


class ChatUnreachableError(ChatError):
    """No answer was received after all retries. The next question may succeed."""


class ChatRefusedError(ChatError):
    """The endpoint refused, and a retry won't help."""

    def __init__(self, sentence: str, *, lasting: bool, **used: Any) -> None:  # noqa: ANN401 - as of a ChatError
        """`lasting`: the account, the model or the address was refused, not only this question."""
        super().__init__(sentence, **used)
        self.lasting = lasting


class Endpoint(Protocol):
    """Where a model is asked. Serves many calls at once."""

    @property
    def model(self) -> str:
        """The model, as requested."""

    def describe(self) -> Mapping[str, object]:
        """Return everything besides the question that shapes the answers, as JSON: model, address, parameters.

        It never contains a key.
        """

    async def ask(self, conversation: Sequence[Message], schema: Mapping[str, object]) -> Reply:
        """Return the next message of a conversation, which should be JSON that fits `schema`.

        Raises ChatUnreachableError and ChatRefusedError. On cancellation, everything it started is ended first.
        """


LONGEST_RETRY_AFTER_S = 120.0  # a run does not wait for hours
MAX_BODY_BYTES = 8 * 1024 * 1024
MAX_TOKENS = 16_384  # of a reply, including a model's reasoning
WORTH_A_RETRY = frozenset({408, 409, 425, 429})
REFUSE_A_PARAMETER = frozenset({400, 404, 415, 422, 501})
NAME_NO_PARAMETER = frozenset({400, 422})  # the generic answers, which need not name the parameter
REFUSE_THE_ACCOUNT = frozenset({401, 402})
MAY_REFUSE_THE_ACCOUNT = frozenset({403, 404, 405})  # or a firewall, a router or a filter refuses only this question
FILTERED = ": its provider's filter held it back"
NO_CREDIT = re.compile(r"insufficient.?quota", re.IGNORECASE)
ABOUT_THE_QUESTION = re.compile(r"moderation|flagged|content.?(filter|policy)", re.IGNORECASE)

FORMATS = ("json_schema", "json_object", "")  # from the strictest to none
LIMITS = ("max_tokens", "max_completion_tokens", "")  # the usual name, the newer one, no limit
NAMES_FORMAT = re.compile(
    r"response[\s_-]?format|(json|response|input)[\s_-]?schema|json[\s_-]?(object|mode)|output[\s_-]?config|grammar"
    r"|structured.?output",
    re.IGNORECASE,
)
NAMES_LIMIT = re.compile(
    r"max[\s_-]?((completion|output|new)[\s_-]?)?tokens|max(imum)?.{0,10}(completion|output).{0,5}tokens", re.IGNORECASE
)
NAMES_LENGTH = re.compile(r"in the completion|context[\s_-]?(length|window|size|limit)", re.IGNORECASE)
NAMES_TEMPERATURE = re.compile(r"temperature", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestOptions:
    """The parameters an endpoint may not support: an index into `FORMATS` and `LIMITS`, and a temperature of 0."""

    format: int = 0
    limit: int = 0
    temperature: bool = True

    def lowered(self, complaint: Complaint) -> RequestOptions | None:
        """Drop the parameter that a refusal names; return None if it names none that is left.

        If a refusal names no parameter that we know, the format is dropped: it is the one most often unsupported.
        """
        status = complaint.status
        if status not in REFUSE_A_PARAMETER:
            return None
        texts = (complaint.parameter, complaint.message, complaint.whole)
        lower = next((lower for text in texts if (lower := self._without(text)) is not None), None)
        if lower is not None or status not in NAME_NO_PARAMETER or not FORMATS[self.format]:
            return lower
        known = (NAMES_FORMAT, NAMES_LIMIT, NAMES_LENGTH, NAMES_TEMPERATURE, NO_CREDIT, ABOUT_THE_QUESTION)
        if any(name.search(text) for name in known for text in texts):
            return None
        return replace(self, format=len(FORMATS) - 1)

    def _without(self, text: str) -> RequestOptions | None:
        if NAMES_LENGTH.search(text) and LIMITS[self.limit]:
            return replace(self, limit=len(LIMITS) - 1)  # too large together with the question, under any name
        if NAMES_FORMAT.search(text) and FORMATS[self.format]:
            return replace(self, format=self.format + 1)
        if NAMES_LIMIT.search(text) and LIMITS[self.limit]:
            return replace(self, limit=self.limit + 1)
        if NAMES_TEMPERATURE.search(text) and self.temperature:
            return replace(self, temperature=False)
        return None

    def meet(self, other: RequestOptions) -> RequestOptions:
        """Combine two sets of options: each parameter is as restricted as in either."""
        return RequestOptions(
            format=max(self.format, other.format),
            limit=max(self.limit, other.limit),
            temperature=self.temperature and other.temperature,
        )


def request_body(
    model: str, conversation: Sequence[Message], schema: Mapping[str, object], request_options: RequestOptions
) -> dict[str, object]:
    """Return the JSON of a request. Lone surrogates, which UTF-8 can't encode, become question marks."""
    body: dict[str, object] = {
        "model": model,
        "messages": [{"role": one.role.value, "content": writable(one.text)} for one in conversation],
        "stream": False,
    }
    if request_options.temperature:
        body["temperature"] = 0
    if limit := LIMITS[request_options.limit]:
        body[limit] = MAX_TOKENS
    match FORMATS[request_options.format]:
        case "json_schema":
            named = {"name": "reply", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        case "json_object":
            body["response_format"] = {"type": "json_object"}
    return body


@dataclass(frozen=True, kw_only=True, slots=True)
class Complaint:
    """An answer as an error: its status, the message as one sentence, the parameter it names, the text as received."""

    status: int
    message: str = ""
    parameter: str = ""
    whole: str = ""

    @property
    def is_worth_a_retry(self) -> bool:
        """Whether the same request may succeed later."""
        if NO_CREDIT.search(self.whole):
            return False
        is_server_error = httpx2.codes.is_server_error(self.status) and self.status not in REFUSE_A_PARAMETER
        return self.status in WORTH_A_RETRY or is_server_error

    @property
    def is_lasting(self) -> bool:
        """Whether a refusal certainly applies to every question, not only to this one."""
        is_refused = self.status in REFUSE_THE_ACCOUNT or httpx2.codes.is_redirect(self.status)
        is_of_all = is_refused and not ABOUT_THE_QUESTION.search(self.whole)
        return is_of_all or NO_CREDIT.search(self.whole) is not None

    @property
    def may_be_lasting(self) -> bool:
        """Whether a refusal may apply to every question or only to this one: a single refusal can't tell."""
        return self.status in MAY_REFUSE_THE_ACCOUNT and not ABOUT_THE_QUESTION.search(self.whole)


def read_complaint(answer: Answer) -> Complaint:
    """Read an error response in the common forms, OpenAI's, FastAPI's, plain text; of a success only the status."""
    status = effective_status(answer)
    if httpx2.codes.is_success(status):
        return Complaint(status=status)
    whole = answer.text[:MAX_REPLY]
    value = answer.json()
    error: object = value
    if isinstance(value, dict):
        error = value.get("error") or value.get("detail") or value.get("message") or value
    if isinstance(error, list) and error:
        error = error[0]
    if isinstance(error, dict):
        place = error.get("loc")
        parameter = ".".join(map(str, place)) if isinstance(place, list) else str(error.get("param") or "")
        message = error.get("message") or error.get("msg")
        said = one_line(message or whole)
        return Complaint(status=status, message=said, parameter=writable(parameter), whole=whole)
    return Complaint(status=status, message=one_line(error if isinstance(error, str) else whole), whole=whole)


def effective_status(answer: Answer) -> int:
    """Return the status, or the code in the `error` of a 200: gateways report a provider's failure that way."""
    value = answer.json() if answer.status == httpx2.codes.OK else None
    error = value.get("error") if isinstance(value, dict) and not value.get("choices") else None
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else answer.status  # noqa: PLR2004 - HTTP's own ranges


def read_completion(answer: Answer, *, calls: int) -> Reply:
    """Read a chat completion. Anything that is not the model's answer is a reply with a problem; never raises."""
    kept = answer.text[:MAX_REPLY]
    if not answer.whole:
        problem = f"the endpoint's answer is longer than {MAX_BODY_BYTES // 2**20} MiB"
        return Reply(text=kept, calls=calls, problem=problem)
    value = answer.json()
    if not isinstance(value, dict):
        return Reply(text=kept, calls=calls, problem="the endpoint's answer is not a JSON object")
    usage, cost_usd = _read_usage(value.get("usage"))
    model = value.get("model")
    reply = Reply(
        text=kept, usage=usage, cost_usd=cost_usd, calls=calls, model=one_line(model) if isinstance(model, str) else ""
    )
    choices = value.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return replace(reply, problem="the endpoint's answer holds no message")
    text, problem = _read_message(message, choice.get("finish_reason"))
    return replace(reply, text=text, problem=problem)


def _read_message(message: Mapping[str, object], finish: object) -> tuple[str, str]:
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        return writable(refusal), "the model refused to answer"
    text = _text_of(message.get("content"))
    if finish == "length":
        return text, "the reply was cut at its length limit; be brief"
    if finish == "error":
        return text, "the reply was broken off by an error at the model's provider"
    if finish == "content_filter" and text.strip():
        return text, f"the reply was cut{FILTERED}"
    if not text.strip():
        return "", f"the reply is empty{FILTERED if finish == 'content_filter' else ''}"
    return text, ""


def _text_of(content: object) -> str:
    """Return the text of a message, which may consist of parts; reasoning and other kinds of parts are ignored."""
    if isinstance(content, str):
        return writable(content)
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("type") in ("text", None))
    return writable("".join(text for text in texts if isinstance(text, str)))


def _read_usage(usage: object) -> tuple[Usage, float | None]:
    took, gave = count_at(usage, "prompt_tokens"), count_at(usage, "completion_tokens")
    total, cost = count_at(usage, "total_tokens") or took + gave, amount_at(usage, "cost")
    return Usage(requests=1, input_tokens=took, output_tokens=gave, total_tokens=total, cost_usd=cost or 0.0), cost


def one_line(value: object) -> str:
    """Return the beginning of a text on one line."""
    return writable(" ".join(str(value).split()))[:MAX_MESSAGE]
