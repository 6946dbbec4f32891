"""A web server in the event loop of a run: it handles no signals, and a cancellation ends it at once."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

import anyio
import uvicorn
from anyio.lowlevel import checkpoint
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import socket
    from collections.abc import Generator

    from starlette.applications import Starlette


# Stopping aborts every connection and cancels every request, which takes a few iterations of the event loop. The
# limit is for a starved loop, not for anything that the server waits for.
STOP_LIMIT_S = 5.0

# Longer than any client keeps an idle connection: a server that closes it first may do so just as the client sends
# the next request, which would look like a fault.
KEEP_ALIVE_S = 120


class LoopbackServer(uvicorn.Server):
    """uvicorn in an existing event loop.

    It handles no signals, and stops without waiting for requests when it is cancelled.
    """

    def __init__(self, app: Starlette) -> None:
        """Serve this application, over the implementation of HTTP that is always available."""
        config = uvicorn.Config(
            app,
            http=H11Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=KEEP_ALIVE_S,
        )
        super().__init__(config)
        # uvicorn sets it on startup, which a cancellation may prevent.
        self.servers: list[asyncio.base_events.Server] = []
        self.listening = anyio.Event()

    async def run_until_cancelled(self, listener: socket.socket) -> None:
        """Serve until cancelled, then close everything."""
        try:
            await self.serve([listener])
        finally:
            with anyio.move_on_after(STOP_LIMIT_S, shield=True):
                await self._close_everything()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Install no signal handlers: the runner handles signals."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening. Shielded: when cut short, it would leave an untracked listener. It waits for nothing."""
        with anyio.CancelScope(shield=True):
            await super().startup(sockets)

    async def main_loop(self) -> None:
        """Wait for cancellation instead of ticking: uvicorn's ticks only update a date header, which is disabled."""
        self.listening.set()
        await anyio.sleep_forever()

    async def _close_everything(self) -> None:
        # uvicorn's own shutdown waits for requests to end, which a hanging one never does.
        for server in self.servers:
            server.close()
        for connection in self.server_state.connections:
            cast("H11Protocol", connection).transport.abort()
        tasks = tuple(self.server_state.tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        # An aborted transport closes its socket in the next iteration of the loop.
        await checkpoint()
        for server in self.servers:
            await server.wait_closed()


@contextmanager
def silent_uvicorn() -> Generator[None]:
    """Keep all uvicorn servers of this process from logging errors."""

    # Without handlers Python prints warnings to stderr, which no client should be able to cause. A filter of our own,
    # unlike a level or a handler, can be removed safely even if other code has changed the logger meanwhile.
    def reject(_record: logging.LogRecord) -> bool:
        return False

    logger = logging.getLogger("uvicorn.error")
    logger.addFilter(reject)
    try:
        yield
    finally:
        logger.removeFilter(reject)
