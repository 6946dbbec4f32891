"""The site as an ASGI application: addresses, what answers them, and the server."""

from __future__ import annotations

import errno
import socket
from concurrent.futures import Future
from functools import partial
from http import HTTPStatus
from ipaddress import ip_address
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote

import msgspec
import uvicorn
from anyio import CapacityLimiter, current_time, move_on_after, sleep, to_thread
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from pinchbench.errors import ConfigError, PinchBenchError
from pinchbench.serve.file_sources import NoDownloadError, TaskSources
from pinchbench.serve.pages import (
    NotFoundError,
    compare_page,
    experiment_page,
    items_page,
    judge_page,
    judges_page,
    live_data,
    login_page,
    problem_page,
    report_page,
    run_page,
    runs_page,
    trial_data,
    trial_download,
    trial_page,
)
from pinchbench.serve.run_catalogue import LIVE_S, SHARE, Catalogue
from pinchbench.serve.site_guard import COOKIE, LEAST_TOKEN, LOGIN, Access, Guard

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from pinchbench.serve.history_review import HistoryReview
    from pinchbench.serve.pages import LiveData, Page


LIST_WAIT_S = 0.7  # for runs to be read, before the list is shown without them
PAGE_WAIT_S = 0.8  # for a page to be made, before another one says that it takes longer
POLL_S = 0.02  # between looks whether a page is ready
MOST_MAKING = 20  # pages that were asked for and took longer
_BEGINNING = Lock()  # held while a thread takes on a page
READERS = 2  # threads that read at once: a run on the same machine needs its cores
MOST_STREAMS = 100  # clients that get what is live
MOST_LOGIN_BYTES = 4_096
MOST_REVIEW_BYTES = 64_000_000  # the texts that the page shows, of which form encoding makes three times as much
HISTORY = "/history"
KEEP_ALIVE_S = 15.0  # of silence, after which a client that is gone is noticed by writing to it


class Site:
    """What the pages are made of."""

    def __init__(self, catalogue: Catalogue, access: Access, review: HistoryReview | None = None) -> None:
        """Nothing is read yet. Create inside an event loop."""
        self.catalogue = catalogue
        self.access = access
        self.review = review
        self.tasks = TaskSources()
        self.readers = CapacityLimiter(READERS)
        self.live_readers = CapacityLimiter(1)  # pages that take long must not hold up what is live
        self.streams = 0
        self.making: dict[str, tuple[float, Future[Page]]] = {}  # by address: since when pages are made

    def routes(self) -> list[Route]:
        """Return what is answered. Names in addresses are looked up, never used as paths."""
        known, run, trial = self.catalogue, "/run/{run}", "/run/{run}/trial/{trial}"
        pages: dict[str, Callable[[Request], Page]] = {
            "/compare": lambda asked: compare_page(known, asked.query_params.getlist("run")),
            "/items": lambda asked: items_page(known, asked.query_params),
            "/judges": lambda asked: judges_page(known, asked.query_params),
            "/judge/{identifier}": lambda asked: judge_page(asked.path_params["identifier"]),
            "/experiment/{name}": lambda asked: experiment_page(known, asked.path_params["name"]),
            run: lambda asked: run_page(known, asked.path_params["run"], asked.query_params),
            f"{run}/report": lambda asked: report_page(known, asked.path_params["run"]),
            trial: lambda asked: trial_page(known, self.tasks, *_trial_of(asked)),
        }
        return [
            Route("/", self.runs),
            *(Route(path, partial(self._page, make)) for path, make in pages.items()),
            Route(f"{run}/events", self.run_events),
            Route(f"{trial}/transcript", self.transcript),
            Route(f"{trial}/file", self.file),
            Route(f"{trial}/events", self.trial_events),
            Route(LOGIN, self.login, methods=["GET", "POST"]),
            *([] if self.review is None else [Route(HISTORY, partial(_history, self.review), methods=["GET", "POST"])]),
        ]

    async def _page(self, make: Callable[[Request], Page], request: Request) -> Response:
        address = str(request.url)
        began, page = self.making.setdefault(address, (current_time(), Future()))
        with move_on_after(PAGE_WAIT_S):
            # reading a run of many thousand trials takes seconds; the server's shutdown does not wait for it
            if not page.running():
                await to_thread.run_sync(_fill, page, make, request, limiter=self.readers, abandon_on_cancel=True)
            while not page.done():  # noqa: ASYNC110 - a thread sets it, which outlives this request
                await sleep(POLL_S)
        if page.done():
            self.making.pop(address, None)
            return _response(page.result())
        if len(self.making) > MOST_MAKING:
            del self.making[next(iter(self.making))]
        patience = f"It is being made from the files of its runs, for {current_time() - began:.0f} s so far."
        response = _response(problem_page(patience, "This page comes soon"), HTTPStatus.ACCEPTED)
        response.headers["refresh"] = "1"
        return response

    async def runs(self, request: Request) -> Response:
        """List the runs and the experiments."""
        with move_on_after(LIST_WAIT_S):
            await to_thread.run_sync(self.catalogue.refresh, LIST_WAIT_S, abandon_on_cancel=True)
        return await self._page(lambda asked: runs_page(self.catalogue, asked.query_params), request)

    async def transcript(self, request: Request) -> Response:
        """Send the transcript of a trial, to be saved."""
        return await self._download(request, None)

    async def file(self, request: Request) -> Response:
        """Send a file of a trial's workspace, to be saved."""
        return await self._download(request, request.query_params.get("path", ""))

    async def _download(self, request: Request, path: str | None) -> Response:
        read = partial(trial_download, self.catalogue, *_trial_of(request), path)
        name, data = await to_thread.run_sync(read, limiter=self.readers)
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
        return Response(data, media_type="application/octet-stream", headers=headers)

    async def run_events(self, request: Request) -> Response:
        """Stream what a run's page shows live, until nobody works on the run any more."""
        return await self._stream(partial(live_data, self.catalogue, request.path_params["run"]), self.live_readers)

    async def trial_events(self, request: Request) -> Response:
        """Stream what a trial's page shows, until the trial has ended and is graded."""
        run, trial, _ = _trial_of(request)
        return await self._stream(partial(trial_data, self.catalogue, run, trial), self.readers)

    async def _stream(self, read: Callable[[object], LiveData], limiter: CapacityLimiter) -> Response:
        if self.streams >= MOST_STREAMS:
            return PlainTextResponse("Too many pages are open.\n", status_code=HTTPStatus.SERVICE_UNAVAILABLE)
        first = await to_thread.run_sync(read, None, limiter=limiter)
        return StreamingResponse(self._events(first, read, limiter), media_type="text/event-stream")

    async def _events(
        self, shown: LiveData, read: Callable[[object], LiveData], limiter: CapacityLimiter
    ) -> AsyncIterator[bytes]:
        """Yield the newest state whenever it has changed: a slow client misses states, and delays nobody."""
        self.streams += 1
        try:
            sent = current_time()
            yield _event("state", shown.value)
            pause_s = LIVE_S
            while shown.goes_on:
                await sleep(pause_s)
                began = current_time()
                try:
                    shown = await to_thread.run_sync(read, shown.mark, limiter=limiter)
                except (PinchBenchError, OSError):
                    break  # the run was removed
                pause_s = max(LIVE_S, (current_time() - began) / SHARE)
                if shown.value is not None:
                    yield _event("state", shown.value)
                elif current_time() - sent < KEEP_ALIVE_S:
                    continue
                else:
                    yield b": \n\n"
                sent = current_time()
            yield _event("end", None)
        finally:
            self.streams -= 1

    async def login(self, request: Request) -> Response:
        """Ask for the token, or take it."""
        if request.method != "POST":
            return _response(login_page(), HTTPStatus.OK)
        given = (await _fields(request, MOST_LOGIN_BYTES)).get("token", [""])[0]
        if not (self.access.token and self.access.has_token(given)):
            return _response(login_page("That is not the token of this server."), HTTPStatus.FORBIDDEN)
        home = "/" if self.review is None else HISTORY
        response = RedirectResponse(home, status_code=HTTPStatus.SEE_OTHER)
        is_encrypted = request.headers.get("origin", "").startswith("https:")
        response.set_cookie(COOKIE, self.access.session, httponly=True, samesite="strict", secure=is_encrypted)
        return response


def _fill(page: Future[Page], make: Callable[[Request], Page], request: Request) -> None:
    """Make a page, unless another thread does. Blocks."""
    with _BEGINNING:
        if page.running() or page.done():
            return
        page.set_running_or_notify_cancel()
    try:
        page.set_result(make(request))
    except Exception as error:  # noqa: BLE001 - the answer to the request says it
        page.set_exception(error)


async def _history(review: HistoryReview, request: Request) -> Response:
    """Show what is to be confirmed, or take what the user has confirmed, once."""

    async def end() -> None:
        review.done.set()

    task = None
    if request.method == "POST" and not review.confirmed:
        review.take(await _fields(request, MOST_REVIEW_BYTES))
        task = BackgroundTask(end)  # after the answer, as the server ends then
    response = _response(await to_thread.run_sync(review.page))
    response.background = task
    return response


async def _fields(request: Request, most_bytes: int) -> dict[str, list[str]]:
    """Return the fields of a form. Raises HTTPException if it is too long."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most_bytes:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "That is too long.")
    return parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)


def _trial_of(request: Request) -> tuple[str, str, str]:
    """Return the names of a run and of its trial, and the number of an attempt, which may be empty."""
    return request.path_params["run"], request.path_params["trial"], request.query_params.get("attempt", "")


def make_app(catalogue: Catalogue, access: Access, review: HistoryReview | None = None) -> ASGIApp:
    """Return the application, guarded. Create inside an event loop."""
    site = Site(catalogue, access, review)
    app = Starlette(routes=site.routes(), exception_handlers=PROBLEMS)

    async def ask_token(_request: Request) -> Response:
        return _response(login_page(), HTTPStatus.UNAUTHORIZED)

    asking = Starlette(routes=[Route("/{rest:path}", ask_token, methods=["GET", "POST"])])
    return Guard(app, access=access, ask_token=asking)


def _response(page: Page, status: HTTPStatus = HTTPStatus.OK) -> Response:
    policy = f"{page.policy}; frame-ancestors 'none'"
    return Response(page.body, status_code=status, media_type="text/html", headers={"content-security-policy": policy})


async def _problem(_request: Request, error: Exception) -> Response:
    """Answer with why there is no page."""
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    match error:
        case HTTPException():
            sentence, status = "There is no such page.", HTTPStatus.NOT_FOUND
        case NotFoundError() | NoDownloadError():
            sentence, status = str(error), HTTPStatus.NOT_FOUND
        case OSError():
            sentence = f"A file that belongs here can't be read: {error.strerror}."
        case _:
            sentence = str(error)
    return _response(problem_page(sentence), status)


PROBLEMS = {HTTPStatus.NOT_FOUND: _problem, PinchBenchError: _problem, OSError: _problem}


def _event(name: str, value: object) -> bytes:
    """Return an event as the stream has it: JSON has no line breaks of its own."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(value))


END_S = 1  # for answers that are being sent when the server ends; streams never end by themselves
MOST_CONNECTIONS = 300
LOOPBACK_NAMES = ("localhost", "localhost.localdomain")


def access_for(host: str, token: str) -> Access:
    """Return what a server at this address lets in. Raises ConfigError where that would be everybody."""
    is_local = is_loopback(host)
    if token and len(token) < LEAST_TOKEN:
        raise ConfigError(f"The token is shorter than {LEAST_TOKEN} characters: who reaches the server could guess it.")
    if not is_local and not token:
        raise ConfigError(
            f"At {host}, everybody who reaches this machine could read all runs: set PINCHBENCH_SERVE_TOKEN to a secret"
            f" of {LEAST_TOKEN} characters or more, and put a proxy with TLS in front. Or stay on 127.0.0.1 and come"
            " over SSH: ssh -L 8000:127.0.0.1:8000 HOST."
        )
    names = (
        {*LOOPBACK_NAMES, host.lower()} if is_local else {*LOOPBACK_NAMES, host.lower(), socket.gethostname().lower()}
    )
    return Access(names=frozenset(names), is_local=is_local, token=token)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() in LOOPBACK_NAMES


def open_listener(host: str, port: int) -> socket.socket:
    """Listen at an address; port 0 is a free one. Raises ConfigError."""
    try:
        family, _, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        other = " --port 0 takes a free port." if error.errno == errno.EADDRINUSE else ""
        raise ConfigError(f"Can't listen on {host}, port {port}: {error.strerror}.{other}") from error
    return listener


class SiteServer(uvicorn.Server):
    """A server that reports when it answers."""

    def __init__(self, config: uvicorn.Config, *, on_ready: Callable[[], None]) -> None:
        """`on_ready` is called once clients are answered."""
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer."""
        await super().startup(sockets)
        self._on_ready()


async def serve_site(server: SiteServer, listener: socket.socket, catalogue: Catalogue) -> None:
    """Serve until a signal arrives, or `should_exit` is set; SIGINT and SIGTERM are raised again at the end."""
    try:
        await server.serve([listener])
    finally:
        catalogue.close()


def make_server(
    output_dir: Path, access: Access, *, on_ready: Callable[[], None], review: HistoryReview | None = None
) -> tuple[SiteServer, Catalogue]:
    """Return a server of an output folder, and what it reads; `on_ready` is called once clients are answered.

    With a `review`, the page on which a user confirms it is there too.
    """
    catalogue = Catalogue(output_dir)
    config = uvicorn.Config(
        make_app(catalogue, access, review),
        http=H11Protocol,  # the one that is always there
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=END_S,
    )
    return SiteServer(config, on_ready=on_ready), catalogue
