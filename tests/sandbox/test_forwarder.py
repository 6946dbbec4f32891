"""From an empty network namespace, one port leads to a Unix socket outside, and lookups are recorded."""

import os
import signal
import socket
import threading
from collections.abc import Iterator

import pytest

from pinchbench.defaults import Network
from pinchbench.sandbox import enter, forwarder
from pinchbench.sandbox.forwarder import Forwarder
from pinchbench.sandbox.sandbox_spec import Forward, SandboxSpec
from sandbox_programs import ENV, PYTHON, Trial

PORT = 18080
EXCHANGE = """
import socket, sys, threading
sent = bytes(range(256)) * int(sys.argv[1])
with socket.create_connection(("127.0.0.1", 18080)) as wire:
    def send():
        wire.sendall(sent)
        wire.shutdown(socket.SHUT_WR)
    threading.Thread(target=send).start()
    got = bytearray()
    while data := wire.recv(65536):
        got += data
print(got == sent)
"""


class Echo:
    """A Unix socket that sends back what it receives."""

    def __init__(self, trial: Trial) -> None:
        self.path = trial.root / "wire.sock"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        os.chown(self.path, trial.uid, trial.uid)
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with connection:
                first = connection.recv(65536)
                if first == b"close":
                    return
                connection.sendall(first)
                while data := connection.recv(65536):
                    connection.sendall(data)

    def close(self) -> None:
        with socket.socket(socket.AF_UNIX) as last:
            last.connect(str(self.path))
            last.send(b"close")
            self._thread.join(60)
        self._listener.close()


@pytest.fixture
def echo(trial: Trial) -> Iterator[Echo]:
    server = Echo(trial)
    yield server
    server.close()


@pytest.fixture
def spec(trial: Trial, echo: Echo) -> SandboxSpec:
    """A sandbox whose only way out leads to the socket."""
    return trial.spec(Network.MODEL, forward=Forward(port=PORT, socket=str(echo.path)))


@pytest.mark.parametrize("times", [1, 40_000])
def test_bytes_arrive_in_both_directions_with_their_ends(trial: Trial, spec: SandboxSpec, times: int) -> None:
    done = trial.run([str(trial.python), "-c", EXCHANGE, str(times)], spec)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_the_socket_itself_is_not_visible_inside(trial: Trial, echo: Echo, spec: SandboxSpec) -> None:
    assert trial.sh(f"test -e {echo.path}", spec).returncode == 1


def test_a_server_that_is_gone_closes_the_connection(trial: Trial) -> None:
    path = trial.root / "wire.sock"
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(path))
    program = f"import socket; print(socket.create_connection(('127.0.0.1', {PORT})).recv(1))"
    spec = trial.spec(Network.MODEL, forward=Forward(port=PORT, socket=str(path)))
    done = trial.run([str(trial.python), "-c", program], spec)
    assert done.stdout == "b''\n" or "ConnectionResetError" in done.stderr


# The sandbox is entered from this process, and so as this user.
own_trial = pytest.mark.parametrize("trial", [os.getuid()], indirect=True)


@own_trial
def test_a_looked_up_name_does_not_exist_and_is_reported(spec: SandboxSpec) -> None:
    program = "import socket\ntry: socket.getaddrinfo('answers.example.com', 443)\nexcept socket.gaierror: pass"
    before = signal.getsignal(signal.SIGCHLD)
    entered = enter.start(spec.plan(), [str(PYTHON), "-c", program], dict(ENV))
    report = entered.read_report()
    os.waitpid(entered.pid, 0)
    assert signal.getsignal(signal.SIGCHLD) is before
    assert (report["lookups"], report["status"]) == (["answers.example.com"], 0)


# OpenClaw has descriptors of its own and starts commands, which neither inherit nor open a way to the model.
BY_A_COMMAND = """
import socket, subprocess, sys
own = socket.create_connection(("127.0.0.1", 18080))
own.sendall(b"own")
print(own.recv(3), flush=True)
program = "import socket; other = socket.create_connection(('127.0.0.1', 18080), timeout=5); print(other.recv(1))"
subprocess.run([sys.executable, "-c", program])
own.sendall(b"own")
print(own.recv(3))
"""


@own_trial
def test_only_the_program_itself_reaches_the_model_and_others_are_named(trial: Trial, spec: SandboxSpec) -> None:
    with (trial.root / "printed").open("wb") as printed:
        stdout = os.dup(1)
        os.dup2(printed.fileno(), 1)
        try:
            entered = enter.start(spec.plan(), [str(PYTHON), "-c", BY_A_COMMAND], dict(ENV))
        finally:
            os.dup2(stdout, 1)
            os.close(stdout)
    report = entered.read_report()
    os.waitpid(entered.pid, 0)
    assert (trial.root / "printed").read_text().split() == ["b'own'", "b''", "b'own'"]
    assert report["refused"] == [PYTHON.resolve().name]


def test_a_connection_that_is_closed_before_it_is_looked_at_is_nobody_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarder, "DNS_PORT", 0)
    forwarding = Forwarder([], [])
    forwarding._names.close()
    assert not forwarding._may_connect(1, 1)
    assert forwarding.refused == []
