"""The proxy's process: listens, and does what the runner says."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

import anyio
import msgspec
from anyio import (
    create_memory_object_stream,
    create_task_group,
    create_tcp_listener,
    create_unix_listener,
    move_on_after,
    to_thread,
)
from anyio.abc import SocketAttribute, SocketListener, SocketStream, TaskGroup, UNIXSocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from pinchbench.errors import first_error
from pinchbench.redaction import is_key
from pinchbench.wire.playback import Playback
from pinchbench.wire.proxy import Proxy
from pinchbench.wire.recording import RecordingWriter
from pinchbench.wire.transport import serve_clients
from pinchbench.wire.wire_messages import (
    LOST,
    Answered,
    Configure,
    Failed,
    Lease,
    Ready,
    Release,
    Report,
    SetTurn,
    decode_command,
    encode,
)

if TYPE_CHECKING:
    import socket

    from anyio.streams.stapled import MultiListener

    from pinchbench.wire.tunnel import Tunnel


LOG = logging.getLogger(__name__)
MESSAGE_BYTES = 16 * 1024 * 1024  # of one line: the configuration with all secrets
SOCKET_NAME = "wire.sock"
TUNNEL_SOCKET_NAME = "tunnel.sock"
SOCKET_MODE = 0o600
END_LIMIT_S = 5.0  # for what is still to be recorded when the runner has gone; a trial's recording is a few MB


async def serve_wire(control: socket.socket) -> None:
    """Serve until the runner closes its end of the socket; `control` is this end, and owned by this function."""
    async with await UNIXSocketStream.from_socket(control) as stream:
        lines = BufferedByteReceiveStream(stream)
        try:
            first = decode_command(await lines.receive_until(b"\n", MESSAGE_BYTES))
        except LOST:
            return
        if not isinstance(first, Configure):
            await stream.send(encode(Failed(reason=f"its first message was {type(first).__name__}")))
            return
        try:
            await _Server(stream, lines, first).run()
        except* (OSError, ValueError) as errors:
            await stream.send(encode(Failed(reason=str(first_error(errors)))))


class _Server:
    """One configuration, from its beginning to its end."""

    def __init__(self, stream: UNIXSocketStream, lines: BufferedByteReceiveStream, configure: Configure) -> None:
        self._stream = stream
        self._lines = lines
        self._configure = configure
        self._secrets = (configure.provider.key,) if is_key(configure.provider.key) else ()
        # Unbounded: reports are small, and nothing may wait for the runner to read them.
        self._reports, self._to_send = create_memory_object_stream[Report](float("inf"))

    async def run(self) -> None:
        """Listen and obey until the runner has gone. Raises OSError, or ValueError for a bad base URL."""
        path = Path(self._configure.folder) / SOCKET_NAME
        async with (
            self._reports,
            await create_tcp_listener(local_host="127.0.0.1") as tcp,
            await create_unix_listener(path, mode=SOCKET_MODE) as unix,
            create_task_group() as group,
        ):
            proxy = Proxy(self._configure, report=self._reports.send_nowait, group=group)
            group.start_soon(self._send_reports)
            group.start_soon(serve_clients, tcp, proxy.serve)
            group.start_soon(serve_clients, unix, proxy.serve)
            port: int = tcp.extra(SocketAttribute.local_port)  # noqa: S610 - not of Django
            ready = Ready(port=port, socket=str(path))
            self._reports.send_nowait(await self._open_tunnel(ready, proxy, group))
            await self._obey(proxy, group)
            await self._finish(proxy)
            group.cancel_scope.cancel()

    async def _open_tunnel(self, ready: Ready, proxy: Proxy, group: TaskGroup) -> Ready:
        """Listen for clients that ask the provider at its own address, if it has one."""
        if not (host := self._configure.provider.host):
            return ready
        from pinchbench.wire.tunnel import Certificate, Tunnel  # noqa: PLC0415 - with a library that few runs need

        certificate = await to_thread.run_sync(Certificate, host)
        listener = await create_tcp_listener(local_host="127.0.0.1")
        group.start_soon(_listen, listener, Tunnel(proxy, certificate))
        # The way out of an empty network leads here, so that nothing else can be reached through it.
        path = Path(self._configure.folder) / TUNNEL_SOCKET_NAME
        only_exit = await create_unix_listener(path, mode=SOCKET_MODE)
        group.start_soon(_listen, only_exit, Tunnel(proxy, certificate, refused=self._reports.send_nowait))
        port: int = listener.extra(SocketAttribute.local_port)  # noqa: S610 - not of Django
        return msgspec.structs.replace(
            ready, tunnel_port=port, tunnel_socket=str(path), certificate=certificate.pem.decode()
        )

    async def _send_reports(self) -> None:
        with self._to_send:
            async for report in self._to_send:
                try:
                    await self._stream.send(encode(report))
                except LOST:
                    return  # the runner has gone, which ends the loop that reads from it

    async def _obey(self, proxy: Proxy, group: TaskGroup) -> None:
        while True:
            try:
                command = decode_command(await self._lines.receive_until(b"\n", MESSAGE_BYTES))
            except LOST:
                return
            except (msgspec.MsgspecError, anyio.DelimiterNotFound) as error:
                raise ValueError(f"a message could not be read: {error}") from error
            match command:
                case Configure():
                    raise ValueError("it was configured twice")
                case Lease():
                    self._reports.send_nowait(await self._lease(command, proxy))
                case SetTurn():
                    proxy.set_turn(command.token, command.turn)
                case Release():
                    group.start_soon(self._release, proxy, command.token)
                case _:
                    assert_never(command)

    async def _lease(self, command: Lease, proxy: Proxy) -> Answered:
        try:
            secrets = (*self._secrets, command.token)
            with ExitStack() as stack:  # closes the recording if there is no lease
                writer = await to_thread.run_sync(RecordingWriter, Path(command.path), secrets)
                recorder = stack.enter_context(writer)
                playback = None
                if command.replay is not None:
                    playback = await to_thread.run_sync(Playback.open, command.replay)
                proxy.lease(command.token, trial=command.trial, recorder=recorder, playback=playback)
                stack.pop_all()
        except (OSError, ValueError) as error:
            return Answered(token=command.token, problem=str(error))
        return Answered(token=command.token)

    async def _release(self, proxy: Proxy, token: str) -> None:
        self._reports.send_nowait(Answered(token=token, problem=await proxy.release(token)))

    async def _finish(self, proxy: Proxy) -> None:
        with move_on_after(END_LIMIT_S, shield=True):
            async with create_task_group() as group:
                for token in proxy.tokens:
                    group.start_soon(partial(proxy.release, token))
        await proxy.close()


async def _listen(listener: SocketListener | MultiListener[SocketStream], tunnel: Tunnel) -> None:
    async with listener:
        await serve_clients(listener, tunnel.serve)
