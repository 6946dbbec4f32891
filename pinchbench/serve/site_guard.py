"""Who may ask for what: names of this server, origins of pages, the token; and what every answer forbids."""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import dataclass, field
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "pinchbench-session"
LOGIN = "/login"
LEAST_TOKEN = 16  # characters: a shorter one can be guessed by asking
METHODS = ("GET", "HEAD", "POST")
STRICTEST = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_HOST = re.compile(r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{1,5})?")
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """What a server lets in.

    Attributes:
        names: its names in lower case; addresses are allowed too. A page of another site can make its own name resolve
            to this server, but can't make a browser send one of these, nor an address.
        is_local: whether only addresses of this machine are its own.
        token: what every client must know; empty if none is needed.
        session: what a browser has instead, once it has sent the token; no other server knows it.
    """

    names: frozenset[str] = frozenset({"localhost"})
    is_local: bool = True
    token: str = field(default="", repr=False)
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    def has_token(self, given: str) -> bool:
        """Whether this is the token. Takes as long for any other text of a length."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Why a request is not answered: a status, and a sentence that repeats nothing of the request."""

    status: HTTPStatus
    sentence: str


BAD_HOST = Refusal(
    status=HTTPStatus.MISDIRECTED_REQUEST,
    sentence="This server does not have that name. Use its address, or the name given as --host.",
)
BAD_METHOD = Refusal(status=HTTPStatus.METHOD_NOT_ALLOWED, sentence="This server can be read only.")
BAD_ORIGIN = Refusal(status=HTTPStatus.FORBIDDEN, sentence="Pages of other sites may not use this server.")
NO_TOKEN = Refusal(status=HTTPStatus.UNAUTHORIZED, sentence="The token of this server is needed.")


def refusal(access: Access, *, method: str, path: str, headers: Headers) -> Refusal | None:
    """Return why a request must not be answered; None if it may be (pure)."""
    hosts = headers.getlist("host")
    if len(hosts) != 1 or not _is_own(access, hosts[0]):
        return BAD_HOST
    if method not in METHODS:
        return BAD_METHOD
    if not _is_from_here(method, hosts[0], headers):
        return BAD_ORIGIN
    if access.token and path != LOGIN and not _is_known(access, headers):
        return NO_TOKEN
    return None


def _is_own(access: Access, host: str) -> bool:
    match = _HOST.fullmatch(host)
    if match is None:
        return False
    name = (match["ipv6"] or match["name"]).lower()
    if name in access.names:
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or not access.is_local


def _is_from_here(method: str, host: str, headers: Headers) -> bool:
    """Whether no page of another origin has sent the request, but for following a link to here."""
    origins = headers.getlist("origin")
    if not origins and method == "POST":
        return False  # every browser states it
    if any(urlsplit(origin).scheme not in ("http", "https") or urlsplit(origin).netloc != host for origin in origins):
        return False
    is_foreign = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
    return not is_foreign or (method != "POST" and headers.get("sec-fetch-mode") == "navigate")


def _is_known(access: Access, headers: Headers) -> bool:
    scheme, _, given = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return access.has_token(given)
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return False
    return cookie is not None and hmac.compare_digest(cookie.value.encode("utf-8", "replace"), access.session.encode())


class Guard:
    """ASGI middleware: answers what `refusal` refuses, and gives every answer the headers that forbid the most.

    An answer with a policy of its own keeps that.
    """

    def __init__(self, app: ASGIApp, *, access: Access, ask_token: ASGIApp) -> None:
        """`ask_token` answers in place of `app` where the token is missing."""
        self._app = app
        self._access = access
        self._ask_token = ask_token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("content-security-policy", STRICTEST)
                headers.update(_HEADERS)
            await send(message)

        refused = refusal(self._access, method=scope["method"], path=scope["path"], headers=Headers(scope=scope))
        if refused is None:
            await self._app(scope, receive, send_guarded)
        elif refused is NO_TOKEN:
            await self._ask_token(scope, receive, send_guarded)
        else:
            await PlainTextResponse(refused.sentence + "\n", status_code=refused.status)(scope, receive, send_guarded)
