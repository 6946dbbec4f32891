"""The site of a folder, served by a thread of the test's own process."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

import anyio
import pytest

from pinchbench.serve import app
from pinchbench.serve.app import SiteServer, make_server, open_listener, serve_site
from pinchbench.serve.history_review import HistoryReview
from pinchbench.serve.site_guard import Access

START_S = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What the site has answered."""

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedSite:
    """A site that answers."""

    port: int

    @property
    def url(self) -> str:
        """Its address, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, path: str, *, method: str = "GET", body: str = "", headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a request as it stands: nothing of the path is put right first."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=START_S)
        try:
            given = {"Host": f"127.0.0.1:{self.port}", **(headers or {})}
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                connection.putheader(name, value)
            if body:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body.encode() or None)
            answer = connection.getresponse()
            told = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(status=answer.status, headers=told, text=answer.read().decode())
        finally:
            connection.close()


@contextmanager
def serving(folder: Path, *, access: Access | None = None, review: HistoryReview | None = None) -> Iterator[ServedSite]:
    """Serve a folder; the server, its thread and its connections are gone when the block ends."""
    began = threading.Event()
    servers: list[SiteServer] = []

    async def serve(listener: socket.socket) -> None:
        server, catalogue = make_server(folder, access or Access(), on_ready=began.set, review=review)
        servers.append(server)
        await serve_site(server, listener, catalogue)

    with open_listener("127.0.0.1", 0) as listener, pytest.MonkeyPatch.context() as patch:
        for wait in ("LIST_WAIT_S", "PAGE_WAIT_S"):
            patch.setattr(app, wait, START_S)  # a busy machine takes longer to read what is small
        thread = threading.Thread(target=partial(anyio.run, serve, listener))
        thread.start()
        try:
            assert began.wait(START_S)
            yield ServedSite(port=listener.getsockname()[1])
        finally:
            for server in servers:
                server.should_exit = True
            thread.join()
