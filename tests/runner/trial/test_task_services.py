"""Services of a task: reached by every turn, waited for, kept apart, recorded, and ended with the trial."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

import anyio
import psutil
import pytest
from anyio import fail_after, to_thread

from fakes import until
from grading.conftest import REFUSED
from pinchbench.errors import ServiceError
from pinchbench.grading.check_sandbox import CheckSandbox
from pinchbench.model.task import GradingType, Task
from pinchbench.model.task_programs import Service
from pinchbench.process.spec import ProcessEnd, ProcessSpec, StopSignal
from pinchbench.process.supervise import supervise
from pinchbench.results.evidence_files import Evidence
from pinchbench.runner.trial.task_services import LOG_BYTES, RunningServices, ServicePlace, open_services
from pinchbench.sandbox.sandbox_spec import WORKSPACE
from suite_packs import put

pytestmark = [
    pytest.mark.skipif(bool(REFUSED), reason=f"services need namespaces: {REFUSED}"),
]

# Answers what it is asked to, once `ready_after` requests have been refused. Everything is deterministic: it does what
# the path of a request says, and prints the path.
SERVER = """
    import http.server, os, socketserver, subprocess, sys, urllib.request

    refused = int(os.environ.get("REFUSED", "0"))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            global refused
            refused -= 1
            path, _, rest = self.path[1:].partition("/")
            said = "ok"
            if path == "quit":
                os._exit(7)
            elif path == "read":
                said = open("/" + rest).read()
            elif path == "there":
                said = str(os.path.exists("/" + rest))
            elif path == "env":
                said = " ".join(sorted(os.environ))
            elif path == "ask":
                said = urllib.request.urlopen("http://" + rest, timeout=200).read().decode()
            elif path == "where":
                said = os.getcwd()
            print("asked for", self.path, flush=True)
            self.send_response(503 if refused >= 0 else 200)
            self.end_headers()
            self.wfile.write(said.encode())

        def log_message(self, *args):
            pass

    http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
GET = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=200).read().decode(), end='')"
STUBBORN = """
    import os, signal, subprocess, sys, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()", sys.argv[1]], start_new_session=True)
    exec(open("serve.py").read())
"""


@dataclass(kw_only=True)
class Stand:
    """Where the services of one test run, and a folder with programs for them."""

    root: Path
    pack: Path
    workspace: Path
    place: ServicePlace
    turns: int = 0
    read: list[str] = field(default_factory=list)

    def service(self, *, name: str = "web", command: Sequence[str] = ("serve.py",), **more: object) -> Service:
        settings = {"port": 8020, "folder": self.pack, "ready": "/health", "limit_s": 240.0, **more}
        return Service(name=name, command=(sys.executable, *command), **settings)  # type: ignore[arg-type]

    async def turn(self, running: RunningServices, *argv: str) -> tuple[ProcessEnd, str]:
        """Run a program as a turn's, in namespaces of its own; return how it ended and what it printed."""
        self.turns += 1
        out = self.root / f"turn-{self.turns}.log"
        assert self.place.sandbox is not None
        plan = self.place.sandbox.plan_step(
            self.workspace,
            home=self.root / "steps",
            cwd=WORKSPACE,
            path=os.environ["PATH"],
            visible=(),
            places=(),
            services=running.forwards,
        )
        spec = ProcessSpec(
            argv=argv,
            cwd=self.workspace,
            env={"PATH": os.environ["PATH"]},
            stdout=out,
            stderr=out,
            marker=self.place.marker,
            sandbox=plan,
        )
        end = await supervise(spec, timeout_s=240)
        return end, await to_thread.run_sync(lambda: out.read_text("utf-8"))

    async def get(self, running: RunningServices, path: str, *, port: int = 8020) -> str:
        end, said = await self.turn(running, sys.executable, "-c", GET, f"http://127.0.0.1:{port}{path}")
        assert end.exit_code == 0, said
        return said

    def log(self, number: int = 1) -> str:
        return self.place.evidence.service_logs[number - 1].read_text("utf-8")


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    pack, workspace, evidence = tmp_path / "pack", tmp_path / "runs" / "task_a", tmp_path / "evidence"
    put(pack / "serve.py", SERVER)
    put(pack / "stubborn.py", STUBBORN)
    for folder in (workspace, evidence, tmp_path / "steps"):
        folder.mkdir(parents=True)
    place = ServicePlace(
        workspace=workspace,
        evidence=Evidence(folder=evidence),
        sandbox=CheckSandbox(),
        marker=f"test-services/{uuid4().hex}",
    )
    return Stand(root=tmp_path, pack=pack, workspace=workspace, place=place)


def task_with(*services: Service) -> Task:
    return Task(
        task_id="task_a",
        name="",
        category="",
        grading_type=GradingType.AUTOMATED,
        prompt="",
        turns=(),
        services=services,
    )


async def test_each_turn_reaches_the_same_service_and_what_it_prints_is_kept(stand: Stand) -> None:
    task = task_with(stand.service())
    with fail_after(900):
        async with open_services(task, stand.place) as running:
            for word in ("one", "two"):
                assert await stand.get(running, f"/{word}") == "ok"
    assert stand.log().split("\n") == ["asked for /health", "asked for /one", "asked for /two", ""]
    assert running.ended == []


async def test_a_service_sees_a_copy_of_its_folder_the_workspace_and_no_keys(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    put(stand.workspace / "given.txt", "given")
    put(stand.root / "check.txt", "secret")
    task = task_with(stand.service(env={"LEVEL": "3"}))
    with fail_after(900):
        async with open_services(task, stand.place) as running:
            assert await stand.get(running, "/where") == "/service"
            assert await stand.get(running, "/read/workspace/given.txt") == "given"
            for hidden in (stand.pack, stand.root / "check.txt", stand.place.evidence.folder):
                assert await stand.get(running, f"/there{hidden}") == "False"
            names = (await stand.get(running, "/env")).split()
    assert not {"SOME_API_KEY", "PINCHBENCH_TRIAL", "PINCHBENCH_RUNNER"} & set(names)
    assert {"LEVEL", "PORT"} <= set(names)


async def test_a_service_can_connect_to_those_before_it_alone(stand: Stand) -> None:
    first, second = stand.service(name="first"), stand.service(name="second", port=8021)
    with fail_after(900):
        async with open_services(task_with(first, second), stand.place) as running:
            assert await stand.get(running, "/ask/127.0.0.1:8020/back", port=8021) == "ok"
            end, said = await stand.turn(
                running, sys.executable, "-c", GET, "http://127.0.0.1:8020/ask/127.0.0.1:8021/back"
            )
    assert end.exit_code == 1, said
    assert "asked for /back" in stand.log(1)
    assert "asked for /back" not in stand.log(2)


async def test_a_service_is_ready_when_its_path_is_answered_with_2xx(stand: Stand) -> None:
    with fail_after(900):
        async with open_services(task_with(stand.service(env={"REFUSED": "3"})), stand.place) as running:
            assert running.ended == []
    assert stand.log() == "asked for /health\n" * 4


async def test_a_service_that_takes_no_connection_in_time_fails_with_what_it_said(stand: Stand) -> None:
    command = ("-c", "import signal; print('waiting for its disk', flush=True); signal.pause()")
    refused = "the service web did not answer /health within 0.5 s"
    with fail_after(900), pytest.raises(ServiceError, match=refused):
        async with open_services(task_with(stand.service(command=command, limit_s=0.5)), stand.place):
            pytest.fail("it is not ready")
    refused = r"the service web took no connection on port 8020 within 0.5 s"
    with fail_after(900), pytest.raises(ServiceError, match=refused):
        async with open_services(task_with(stand.service(command=command, ready="", limit_s=0.5)), stand.place):
            pytest.fail("it is not ready")


async def test_a_service_that_ends_while_the_agent_works_is_recorded(stand: Stand) -> None:
    with fail_after(900):
        async with open_services(task_with(stand.service()), stand.place) as running:
            end, said = await stand.turn(running, sys.executable, "-c", GET, "http://127.0.0.1:8020/quit")
            assert end.exit_code == 1, said
            await until(lambda: bool(running.ended))
            end, said = await stand.turn(running, sys.executable, "-c", GET, "http://127.0.0.1:8020/")
            assert end.exit_code == 1, said
    assert running.ended == ["the service web ended with exit code 7"]


async def test_a_service_that_prints_too_much_is_ended_and_its_log_is_cut(stand: Stand) -> None:
    put(
        stand.pack / "loud.py",
        "import os, threading\nexec(open('serve.py').read().replace('asked for', 'x' * 6_000_000))",
    )
    with fail_after(900):
        async with open_services(task_with(stand.service(command=("loud.py",), ready="")), stand.place) as running:
            await stand.turn(running, sys.executable, "-c", GET, "http://127.0.0.1:8020/")
            await until(lambda: bool(running.ended))
    assert running.ended == ["the service web was ended, as it printed more than 4 MiB"]
    assert stand.place.evidence.service_logs[0].stat().st_size == LOG_BYTES


async def test_nothing_of_a_stubborn_service_is_left(stand: Stand) -> None:
    token = f"stubborn-{uuid4().hex}"

    def alive() -> list[int]:
        return [one.pid for one in psutil.process_iter(["cmdline"]) if token in (one.info["cmdline"] or ())]

    with fail_after(900):
        async with open_services(task_with(stand.service(command=("stubborn.py", token))), stand.place):
            await until(lambda: len(alive()) == 2)
    assert alive() == []


async def test_a_cancellation_ends_the_services_and_goes_on(stand: Stand) -> None:
    token = f"cancelled-{uuid4().hex}"
    with fail_after(900):
        with anyio.CancelScope() as scope:
            async with open_services(task_with(stand.service(command=("stubborn.py", token))), stand.place):
                scope.cancel()
                await anyio.sleep_forever()
    found = [one.pid for one in psutil.process_iter(["cmdline"]) if token in (one.info["cmdline"] or ())]
    assert found == []


async def test_a_stop_does_not_wait_for_a_service_to_become_ready(stand: Stand) -> None:
    stop = StopSignal()
    stop.stop.set()
    command = ("-c", "import signal; signal.pause()")
    with fail_after(900), pytest.raises(ServiceError, match="the run was stopped before"):
        async with open_services(task_with(stand.service(command=command)), stand.place, stop_signal=stop):
            pytest.fail("it is not ready")


async def test_without_namespaces_there_are_no_services(stand: Stand) -> None:
    place = replace(stand.place, sandbox=None)
    with pytest.raises(ServiceError, match="need namespaces"):
        async with open_services(task_with(stand.service()), place):
            pytest.fail("there is no sandbox for it")
    async with open_services(task_with(), place) as running:
        assert running == RunningServices()
