"""The runner's side of the proxy: starts its process, leases addresses to trials, and passes its numbers on."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

import anyio
import msgspec
from anyio import CancelScope, Future, FutureCancelled, create_task_group, fail_after, move_on_after, to_thread
from anyio.abc import UNIXSocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from pinchbench.errors import WireError
from pinchbench.wire.request_route import slot_path
from pinchbench.wire.wire_messages import (
    LOST,
    Answered,
    Command,
    Configure,
    Failed,
    Lease,
    Ready,
    Release,
    ReplaySource,
    Report,
    SetTurn,
    WireEvent,
    decode_report,
    encode,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable


TOKEN_BYTES = 16
READY_LIMIT_S = 60.0  # it takes 0.3 s; a machine that is swapping needs much longer
ANSWER_LIMIT_S = 30.0  # a lease opens a file, and a release writes what is left: both wait for the disk
END_LIMIT_S = 10.0  # it records what was going on (5 s at most) and exits when its socket is closed
MESSAGE_BYTES = 1024 * 1024
LOG_NAME = "wire.log"
LOG_TAIL_BYTES = 2000
# Where OpenSSL looks for certificates, if not in its own folder; nothing else of the environment is needed.
PASSED_ON = ("SSL_CERT_FILE", "SSL_CERT_DIR")
UNREADABLE = (*LOST, anyio.DelimiterNotFound, msgspec.MsgspecError)

Observer: TypeAlias = "Callable[[WireEvent], None]"


def new_token() -> str:
    """Return the unguessable part of a slot's address."""
    return secrets.token_urlsafe(TOKEN_BYTES)


@dataclass(kw_only=True, eq=False)
class TrialWire:
    """A trial's lease. Its token is to be put in place of `instead_of` in the addresses of the trial's home."""

    token: str
    _wire: Wire
    instead_of: str = ""

    async def set_turn(self, turn: int) -> None:
        """Count requests for another turn from now on. Raises WireError."""
        await self._wire.send(SetTurn(token=self.token, turn=turn))


class Wire:
    """A running proxy, made by `run_wire`.

    Attributes:
        places: where it listens. Its Unix socket serves the addresses of `base_url`, that of the tunnel `proxy_url`.
        failed: set when the proxy has died or given up; then every call raises WireError, and what trials did
            through it is not evidence.
    """

    def __init__(self, stream: UNIXSocketStream, observe: Observer, log: Path) -> None:
        """Take the connection to the proxy."""
        self._stream = stream
        self._lines = BufferedByteReceiveStream(stream)
        self._observe = observe
        self._log = log
        self._questions: dict[str, Future[Answered]] = {}  # commands that are to be answered, by token
        self._sending = anyio.Lock()
        self._reason = ""
        self.is_closing = False
        self.places = Ready(port=0, socket="")
        self.failed = anyio.Event()

    def base_url(self, token: str, *, port: int | None = None) -> str:
        """Return the base URL of the provider for the slot with this token; `port` is one that leads to the wire."""
        return f"http://127.0.0.1:{port or self.places.port}{slot_path(token)}"

    def proxy_url(self, token: str, *, port: int | None = None) -> str:
        """Return the URL of the proxy through which the slot with this token asks the provider at its own host.

        `port` is one that leads to `tunnel_socket`.
        """
        return f"http://slot:{token}@127.0.0.1:{port or self.places.tunnel_port}"

    @asynccontextmanager
    async def lease(
        self, token: str, *, trial: str, path: Path, replay: ReplaySource | None = None
    ) -> AsyncGenerator[TrialWire]:
        """Let requests of a token pass inside the block, as those of this trial.

        At the end of the block the address stops answering, and the recording is complete. A cancellation waits for
        that, at most 30 s.

        Args:
            token: That of the trial, which no other one has had.
            trial: The trial's name, in the numbers of its exchanges.
            path: The file of its recording, in a folder that exists.
            replay: The recording that answers its requests; None to ask the provider.

        Raises:
            WireError: The proxy has died, does not answer, or can not write the recording.
        """
        begun = await self._ask(Lease(token=token, trial=trial, path=str(path), replay=replay))
        if begun.problem:
            advice = "Is the replayed run's folder complete?" if replay else "Free the disk and resume the run."
            raise WireError(f"The wire can't serve {trial}: {begun.problem}. {advice}")
        try:
            yield TrialWire(token=token, _wire=self)
        finally:
            with CancelScope(shield=True):  # bounded by ANSWER_LIMIT_S
                ended = await self._ask(Release(token=token))
        if ended.problem:
            raise WireError(f"What {trial} asked is not recorded: {ended.problem}. Free the disk and resume the run.")

    async def send(self, command: Command) -> None:
        """Send a command that is not answered. Raises WireError."""
        self._check()
        # Half a line would make the rest unreadable; it is short, and the proxy always reads.
        with CancelScope(shield=True):
            try:
                with fail_after(ANSWER_LIMIT_S):
                    async with self._sending:
                        await self._stream.send(encode(command))
            except (TimeoutError, *UNREADABLE) as error:
                self._fail("it does not take commands")
                raise self._error() from error

    async def _ask(self, command: Lease | Release) -> Answered:
        if command.token in self._questions:
            raise WireError("A trial's address was leased twice at a time; report this.")
        answer = self._questions[command.token] = Future[Answered]()
        try:
            await self.send(command)
            with fail_after(ANSWER_LIMIT_S):
                return await answer
        except (TimeoutError, FutureCancelled) as error:
            self._fail(f"it did not answer within {ANSWER_LIMIT_S:.0f} s")  # unless it has failed already
            raise self._error() from error
        finally:
            self._questions.pop(command.token, None)

    async def wait_until_ready(self, configure: Configure) -> None:
        """Configure the proxy, and wait until it listens. Raises WireError."""
        await self.send(configure)
        try:
            report = await self._receive()
        except UNREADABLE as error:
            self._fail("it ended during its start")
            raise self._error() from error
        if isinstance(report, Ready):
            self.places = report
            return
        self._fail(report.reason if isinstance(report, Failed) else "it did not start as expected")
        raise self._error()

    async def listen(self) -> None:
        """Receive reports until the proxy has gone, or nothing more can be read; also while being cancelled."""
        with CancelScope(shield=True):
            try:
                while True:
                    self._take(await self._receive())
            except UNREADABLE:
                if not self.is_closing:
                    self._fail("it ended")

    async def _receive(self) -> Report:
        return decode_report(await self._lines.receive_until(b"\n", MESSAGE_BYTES))

    def _take(self, report: Report) -> None:
        match report:
            case Answered():
                if (question := self._questions.pop(report.token, None)) is not None:
                    question.return_value = report
            case Failed():
                self._fail(report.reason)
            case Ready():
                pass
            case _:
                self._observe(report)

    def _fail(self, reason: str) -> None:
        self._reason = self._reason or reason
        self.failed.set()
        while self._questions:
            self._questions.popitem()[1].cancel()

    def _check(self) -> None:
        if self.failed.is_set():
            raise self._error()

    def _error(self) -> WireError:
        said = _tail(self._log)
        return WireError(
            f"The proxy between OpenClaw and the model has failed: {self._reason}."
            f"{f' It wrote: {said}' if said else ''} Resume the run, or use --no-wire."
        )


@asynccontextmanager
async def run_wire(configure: Configure, *, observe: Observer) -> AsyncGenerator[Wire]:
    """Run a proxy for the duration of the block, in a process of its own that also ends if this one dies.

    Args:
        configure: Its provider and settings. `folder` must exist; the Unix socket and the log are made in it.
        observe: Called with each of its numbers, in the event loop.

    Raises:
        WireError: It did not start.
    """
    folder = Path(configure.folder)
    ours, theirs = socket.socketpair()
    with ours:
        with theirs, (folder / LOG_NAME).open("ab") as log:
            process = _start(theirs, log)
        try:
            async with await UNIXSocketStream.from_socket(ours) as stream:
                wire = Wire(stream, observe, folder / LOG_NAME)
                with fail_after(READY_LIMIT_S):
                    await wire.wait_until_ready(configure)
                async with create_task_group() as group:
                    # a cancelled run still waits for the ends of its leases, which have to be heard
                    group.start_soon(wire.listen)
                    try:
                        yield wire
                    finally:
                        # Ends the listening. A cancellation that meets a report would be an error in anyio's callback.
                        wire.is_closing = True
                        ours.shutdown(socket.SHUT_RD)
        except TimeoutError as error:
            raise WireError(f"The wire's proxy did not start within {READY_LIMIT_S:.0f} s. Run it again.") from error
        finally:
            ours.close()
            with move_on_after(3 * END_LIMIT_S, shield=True):
                await _end(process)
            (folder / "wire.sock").unlink(missing_ok=True)


def _start(theirs: socket.socket, log: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-m", "pinchbench.wire", str(theirs.fileno())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=log,
        cwd="/",
        env={name: os.environ[name] for name in PASSED_ON if name in os.environ},
        start_new_session=True,  # Ctrl-C is for the runner, which ends its trials before the proxy
        pass_fds=(theirs.fileno(),),
    )


async def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait until the process has exited; kill it if it does not."""
    try:
        await to_thread.run_sync(process.wait, END_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        await to_thread.run_sync(process.wait, abandon_on_cancel=True)


def _tail(log: Path) -> str:
    with suppress(OSError):
        return log.read_bytes()[-LOG_TAIL_BYTES:].decode("utf-8", "replace").strip()
    return ""
