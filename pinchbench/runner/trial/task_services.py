"""The services of a task: programs that run alongside its agent, each in namespaces of its own."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import anyio
from anyio import EndOfStream, Event, create_task_group, move_on_after, to_thread

from pinchbench.errors import ServiceError
from pinchbench.openclaw.short_command import short_lived_folder
from pinchbench.process.spec import EndReason, Limits, ProcessEnd, ProcessSpec, StopSignal
from pinchbench.process.supervise import supervise
from pinchbench.runner.trial.task_setup import tail
from pinchbench.sandbox.sandbox_spec import HOME, WORKSPACE, Forward, Mount

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

    from anyio.abc import TaskGroup

    from pinchbench.grading.check_sandbox import CheckSandbox
    from pinchbench.model.task import Task
    from pinchbench.model.task_programs import Service
    from pinchbench.openclaw.trial_clock import TrialClock
    from pinchbench.results.evidence_files import Evidence

SERVICE = "/service"  # where a service finds its folder
LOG_BYTES = 4 * 1024 * 1024  # of what a service may print; a check gets it whole
GRACE_S = 1.0  # to exit after SIGTERM; a service has nothing that has to be saved
LONGEST_S = 10 * 24 * 60 * 60.0  # longer than all turns of a task may take
LOOK_S = 0.02  # how often to ask whether a service is ready
ANSWER_S = 5.0  # for one answer; a service that is still starting may take a connection and not answer
LINE_BYTES = 4096  # of an answer, in which its first line has to end
_READY = re.compile(rb"HTTP/1\.[01] 2\d\d\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class ServicePlace:
    """Where services run: next to which workspace and evidence, in which sandbox, and within which limits."""

    workspace: Path
    evidence: Evidence
    sandbox: CheckSandbox | None  # without one, there can be no services
    marker: str  # the trial's, with which those of its services begin
    limits: Limits = Limits()
    clock: TrialClock | None = None  # the trial's, if it is simulated


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningServices:
    """The services of a trial: what leads to them, and a sentence for each that has ended although nobody ended it."""

    forwards: tuple[Forward, ...] = ()
    ended: list[str] = field(default_factory=list)


@asynccontextmanager
async def open_services(
    task: Task, place: ServicePlace, *, stop_signal: StopSignal | None = None
) -> AsyncGenerator[RunningServices]:
    """Run the services of a task for the duration of the block, each started when the one before it is ready.

    When the block is left, and on cancellation, all their processes are ended; that takes `GRACE_S` and what
    `supervise` needs. What each prints is in its file of the evidence.

    Raises ServiceError if there is no sandbox for them, if one ends or is not ready in time before the block begins, or
    if `stop_signal` comes first, and OSError if its folder can't be copied.
    """
    if not task.services:
        yield RunningServices()
        return
    if place.sandbox is None:
        raise ServiceError("services need namespaces, which this machine does not have")
    failure: Exception | None = None
    async with short_lived_folder() as scratch:
        running = _Services(place, place.sandbox, scratch)
        async with create_task_group() as group:
            try:
                await running.start(task.services, group, stop_signal)
                yield RunningServices(forwards=tuple(running.forwards), ended=running.ended)
            except Exception as error:  # noqa: BLE001 - raised below, where it is not put into a group
                failure = error
            finally:
                running.stop.stop.set()
        if failure is not None:
            raise failure


@dataclass(frozen=True, kw_only=True, slots=True)
class _Started:
    """A service whose process is started: its socket outside, its log, and whether it has ended."""

    service: Service
    spec: ProcessSpec
    socket: str
    ended: Event = field(default_factory=Event)


class _Services:
    def __init__(self, place: ServicePlace, sandbox: CheckSandbox, scratch: Path) -> None:
        self.stop = StopSignal()
        self.forwards: list[Forward] = []
        self.ended: list[str] = []
        self._place = place
        self._sandbox = sandbox
        self._scratch = scratch

    async def start(self, services: tuple[Service, ...], group: TaskGroup, stop_signal: StopSignal | None) -> None:
        """Start services in tasks of `group`, one after another, until all are ready. Raises as `open_services`."""
        for service in services:
            started = await self._prepare(service)
            group.start_soon(self._run, started)
            await self._wait_until_ready(started, stop_signal)
        if self.ended:
            raise ServiceError(f"{self.ended[0]} before the agent started")

    async def _prepare(self, service: Service) -> _Started:
        """Copy the folder of a service, and return what is to be started."""
        place, number = self._place, len(self.forwards) + 1
        folder = None
        if service.folder is not None:
            folder = self._scratch / f"{number}"
            await to_thread.run_sync(partial(shutil.copytree, service.folder, folder, symlinks=True))
        path = os.environ.get("PATH", os.defpath)
        places = [] if folder is None else [Mount(source=str(folder), target=SERVICE, writable=True)]
        places += [] if place.clock is None else place.clock.mounts
        # short, because a Unix socket's path is limited to about 100 bytes
        inlet = Forward(port=service.port, socket=str(self._scratch / f"{number}.sock"))
        log = place.evidence.service_logs[number - 1]
        spec = ProcessSpec(
            argv=service.command,
            cwd=place.workspace,
            env={**_environment(service, path), **({} if place.clock is None else place.clock.env)},
            stdout=log,
            stderr=log,
            marker=f"{place.marker}/service-{number}",
            limits=replace(place.limits, grace_s=GRACE_S, sweep_s=0, output_limit_bytes=LOG_BYTES),
            measured=(self._scratch,),
            sandbox=self._sandbox.plan_program(
                place.workspace,
                cwd=f"{WORKSPACE if folder is None else SERVICE}/{service.cwd}",
                path=path,
                places=places,
                services=tuple(self.forwards),
                inlet=inlet,
                files={} if place.clock is None else place.clock.files,
            ),
        )
        self.forwards.append(inlet)
        return _Started(service=service, spec=spec, socket=inlet.socket)

    async def _run(self, started: _Started) -> None:
        end = await supervise(started.spec, timeout_s=LONGEST_S, stop_signal=self.stop)
        with suppress(FileNotFoundError):
            await to_thread.run_sync(_cut, started.spec.stdout)
        if end.reason is not EndReason.STOPPED:
            self.ended.append(f"the service {started.service.name} {_how(end)}")
        started.ended.set()

    async def _wait_until_ready(self, started: _Started, stop_signal: StopSignal | None) -> None:
        """Wait until a service takes connections, or answers. Raises ServiceError if it does not."""
        service = started.service
        with move_on_after(service.limit_s):
            while not started.ended.is_set():
                if stop_signal is not None and stop_signal.stop.is_set():
                    raise ServiceError(f"the run was stopped before the service {service.name} was ready")
                if await _is_ready(service, started.socket):
                    return
                await anyio.sleep(LOOK_S)
        said = await to_thread.run_sync(tail, started.spec.stdout)
        if started.ended.is_set():
            why = f"{self.ended[-1]} before it was ready"
        else:
            what = f"did not answer {service.ready}" if service.ready else f"took no connection on port {service.port}"
            why = f"the service {service.name} {what} within {service.limit_s:g} s"
        raise ServiceError(f"{why}: {said}" if said else why)


async def _is_ready(service: Service, path: str) -> bool:
    with suppress(OSError, anyio.BrokenResourceError, EndOfStream), move_on_after(ANSWER_S):
        async with await anyio.connect_unix(path) as stream:
            if not service.ready:
                return True
            request = f"GET {service.ready} HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nConnection: close\r\n\r\n"
            await stream.send(request.encode())
            line = b""
            while b"\n" not in line and len(line) < LINE_BYTES:
                line += await stream.receive()
            return _READY.match(line) is not None
    return False


def _cut(log: Path) -> None:
    """Cut a log that grew beyond its limit before that was noticed."""
    if log.stat().st_size > LOG_BYTES:
        os.truncate(log, LOG_BYTES)


def _how(end: ProcessEnd) -> str:
    match end.reason:
        case EndReason.EXITED:
            return f"ended with exit code {end.exit_code}"
        case EndReason.OUTPUT_LIMIT:
            return f"was ended, as it printed more than {LOG_BYTES // 2**20} MiB"
        case _:
            return f"ended as {end.reason.value}{': ' if end.error else ''}{end.error}"


def _environment(service: Service, path: str) -> Mapping[str, str]:
    return {
        "PATH": path,
        "HOME": HOME,
        "TMPDIR": "/tmp",  # noqa: S108 - its own
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",  # what it prints is evidence, also of one that is ended
        "PYTHONDONTWRITEBYTECODE": "1",
        "PORT": str(service.port),
        **service.env,
    }
