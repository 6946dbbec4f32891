"""Services of a task: reached by every turn, waited for, kept apart, recorded, and ended with the trial."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

import anyio
import psutil
import pytest
from anyio import to_thread

from fakes import make_task, until
from grading.conftest import REFUSED
from pinchbench.errors import ServiceError
from pinchbench.grading.check_sandbox import CheckSandbox
from pinchbench.model.task import Task
from pinchbench.model.task_programs import Service
from pinchbench.process.spec import ProcessEnd, StopSignal
from pinchbench.results.evidence_files import Evidence
from pinchbench.runner.trial.task_services import LOG_BYTES, RunningServices, ServicePlace, open_services
from service_turns import GET, SERVER, run_turn
from suite_packs import put

pytestmark = [pytest.mark.skipif(bool(REFUSED), reason=f"services need namespaces: {REFUSED}")]

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
        """Run a program as a turn; return how it ended and what it printed."""
        self.turns += 1
        out = self.root / f"turn-{self.turns}.log"
        end = await run_turn(
            *argv,
            workspace=self.workspace,
            home=self.root / "steps",
            output=out,
            services=running.forwards,
            marker=self.place.marker,
        )
        return end, await to_thread.run_sync(lambda: out.read_text("utf-8"))

    async def get(self, running: RunningServices, path: str, *, port: int = 8020, code: int = 0) -> str:
        end, said = await self.turn(running, sys.executable, "-c", GET, f"http://127.0.0.1:{port}{path}")
        assert end.exit_code == code, said
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
    return make_task(services=services)


async def test_a_service_sees_a_copy_of_its_folder_the_workspace_and_no_keys(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    put(stand.workspace / "given.txt", "given")
    put(stand.root / "check.txt", "secret")
    task = task_with(stand.service(env={"LEVEL": "3"}))
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
    async with open_services(task_with(first, second), stand.place) as running:
        assert await stand.get(running, "/ask/127.0.0.1:8020/back", port=8021) == "ok"
        await stand.get(running, "/ask/127.0.0.1:8021/back", code=1)
    assert "asked for /back" in stand.log(1)
    assert "asked for /back" not in stand.log(2)


async def test_a_service_is_ready_when_its_path_is_answered_with_2xx(stand: Stand) -> None:
    async with open_services(task_with(stand.service(env={"REFUSED": "3"})), stand.place) as running:
        assert running.ended == []
    assert stand.log() == "asked for /health\n" * 4


@pytest.mark.parametrize(
    ("ready", "said"), [("/health", "did not answer /health"), ("", "took no connection on port 8020")]
)
async def test_a_service_that_takes_no_connection_in_time_fails(stand: Stand, ready: str, said: str) -> None:
    service = stand.service(command=("-c", "import signal; signal.pause()"), limit_s=0.5, ready=ready)
    with pytest.raises(ServiceError, match=f"the service web {said} within 0.5 s"):
        async with open_services(task_with(service), stand.place):
            pytest.fail("it is not ready")


async def test_a_service_that_ends_while_the_agent_works_is_recorded(stand: Stand) -> None:
    async with open_services(task_with(stand.service()), stand.place) as running:
        await stand.get(running, "/quit", code=1)
        await until(lambda: bool(running.ended))
        await stand.get(running, "/", code=1)
    assert running.ended == ["the service web ended with exit code 7"]


async def test_a_service_that_prints_too_much_is_ended_and_its_log_is_cut(stand: Stand) -> None:
    put(
        stand.pack / "loud.py",
        "import os, threading\nexec(open('serve.py').read().replace('asked for', 'x' * 6_000_000))",
    )
    async with open_services(task_with(stand.service(command=("loud.py",), ready="")), stand.place) as running:
        await stand.turn(running, sys.executable, "-c", GET, "http://127.0.0.1:8020/")
        await until(lambda: bool(running.ended))
    assert running.ended == ["the service web was ended, as it printed more than 4 MiB"]
    assert stand.place.evidence.service_logs[0].stat().st_size == LOG_BYTES


def alive(token: str) -> int:
    """How many processes have a word in their command lines."""
    return sum(token in (one.info["cmdline"] or ()) for one in psutil.process_iter(["cmdline"]))


async def test_nothing_of_a_stubborn_service_is_left(stand: Stand) -> None:
    token = f"stubborn-{uuid4().hex}"
    async with open_services(task_with(stand.service(command=("stubborn.py", token))), stand.place):
        await until(lambda: alive(token) == 2)
    assert alive(token) == 0


async def test_a_cancellation_ends_the_services_and_goes_on(stand: Stand) -> None:
    token = f"cancelled-{uuid4().hex}"
    with anyio.CancelScope() as scope:
        async with open_services(task_with(stand.service(command=("stubborn.py", token))), stand.place):
            scope.cancel()
            await anyio.sleep_forever()
    assert alive(token) == 0


async def test_a_stop_does_not_wait_for_a_service_to_become_ready(stand: Stand) -> None:
    stop = StopSignal()
    stop.stop.set()
    command = ("-c", "import signal; signal.pause()")
    with pytest.raises(ServiceError, match="the run was stopped before"):
        async with open_services(task_with(stand.service(command=command)), stand.place, stop_signal=stop):
            pytest.fail("it is not ready")


async def test_without_namespaces_there_are_no_services(stand: Stand) -> None:
    place = replace(stand.place, sandbox=None)
    with pytest.raises(ServiceError, match="need namespaces"):
        async with open_services(task_with(stand.service()), place):
            pytest.fail("there is no sandbox for it")
    async with open_services(task_with(), place) as running:
        assert running == RunningServices()
