"""A trial whose task has services: what a service does to its outcome, with real namespaces and an agent of ours."""

import os
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from uuid import uuid4

import pytest
from anyio import fail_after, to_thread

from fakes import until
from grading.conftest import REFUSED
from pinchbench.defaults import Network
from pinchbench.grading.check_sandbox import CheckSandbox
from pinchbench.model.ending import Ending, Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType, Task, Turn
from pinchbench.model.task_programs import Service
from pinchbench.model.trial import Attempt, Trial, TrialEvents, TrialKey
from pinchbench.openclaw.agent import OpenClawAgent
from pinchbench.openclaw.task_result import TaskResult
from pinchbench.openclaw.transcript import TranscriptFacts
from pinchbench.process.leftovers import find_marked
from pinchbench.process.spec import Limits, ProcessSpec, StopSignal
from pinchbench.process.supervise import supervise
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.paths import RunFiles
from pinchbench.runner.run_redaction import Redactor
from pinchbench.runner.trial.attempt import TrialPlace, run_attempt
from pinchbench.sandbox.sandbox_spec import WORKSPACE, Forward
from suite_packs import put

pytestmark = [
    pytest.mark.skipif(bool(REFUSED), reason=f"services need namespaces: {REFUSED}"),
]

SERVER = """
    import http.server, os

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/quit":
                os._exit(3)
            print("asked for", self.path, "with", os.environ["TOKEN"], flush=True)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
ASK = "import sys, urllib.request as u; u.urlopen('http://127.0.0.1:8020' + sys.argv[1], timeout=200)"


@dataclass(kw_only=True)
class Agent:
    """Asks the service for the prompt of each turn, in namespaces of its own for each."""

    home: object
    steps: Path
    limits: Limits = Limits()

    async def execute_task(
        self,
        task: Task,
        *,
        workspace: Path,
        evidence: Path,
        marker: str,
        services: tuple[Forward, ...],
        **_: object,
    ) -> TaskResult:
        for turn in task.turns:
            plan = CheckSandbox().plan_step(
                workspace,
                home=self.steps,
                cwd=WORKSPACE,
                path=os.environ["PATH"],
                visible=(),
                places=(),
                services=services,
            )
            spec = ProcessSpec(
                argv=[sys.executable, "-c", ASK, turn.prompt],
                cwd=workspace,
                env={"PATH": os.environ["PATH"]},
                stdout=Evidence(folder=evidence).stdout,
                stderr=Evidence(folder=evidence).stderr,
                marker=marker,
                sandbox=plan,
            )
            end = await supervise(spec, timeout_s=240)
            assert end.exit_code == (1 if turn.prompt == "/quit" else 0), await to_thread.run_sync(
                spec.stderr.read_text, "utf-8"
            )
            if turn.prompt == "/quit":
                await until(partial(_is_gone, marker))
        return TaskResult(
            agent_id="agent",
            task_id=task.task_id,
            reason=Reason.COMPLETED,
            timed_out=False,
            exit_code=0,
            execution_time_s=0.0,
            workspace=workspace,
            evidence=Evidence(folder=evidence),
            session_ids=(),
            store="jsonl",
            facts=TranscriptFacts(),
        )


def _is_gone(marker: str) -> bool:
    """Whether the guardian of a trial's first service has ended, and so has told how the service did."""
    return not find_marked(f"{marker}/service-1")


async def attempt(
    folder: Path, service: Service, *prompts: str, network: Network = Network.MODEL, stop: bool = False
) -> tuple[Outcome, Evidence]:
    """Make an attempt at a task with this service; return its outcome and evidence."""
    task = Task(
        task_id="task_a",
        name="",
        category="",
        grading_type=GradingType.AUTOMATED,
        prompt="",
        turns=tuple(Turn(prompt=prompt, new_session=number > 0) for number, prompt in enumerate(prompts)),
        services=(service,),
    )
    steps = folder / "steps"
    await to_thread.run_sync(steps.mkdir)
    home = SimpleNamespace(
        place=lambda place, _: place,
        agent_id="agent",
        sandbox=SimpleNamespace(
            has_own_root=True,
            network=network,
            seen_workspace=lambda _: Path(WORKSPACE),
            own_dirs=lambda _: (WORKSPACE,),
        ),
    )
    stop_signal = StopSignal()
    if stop:
        stop_signal.stop.set()
    files = RunFiles(output_dir=folder / "results", name="run")
    place = TrialPlace(
        slot=1,
        agent=cast("OpenClawAgent", Agent(home=home, steps=steps)),
        run_id=f"run-{uuid4().hex}",
        run_folder=folder / "runs",
        files=files,
        stop_signal=stop_signal,
        events=TrialEvents(),
        redactor=Redactor(["top-secret-token"]),
        check_sandbox=CheckSandbox(),
    )
    key = TrialKey(task_id="task_a", repetition=1)
    outcomes: list[Outcome] = []
    with fail_after(900):
        await run_attempt(Attempt(trial=Trial(key=key, task=task, timeout_s=60)), place, outcomes.append)
    [outcome] = outcomes
    return outcome, Evidence(folder=files.trial(key, 1))


@pytest.fixture
def service(tmp_path: Path) -> Service:
    put(tmp_path / "pack" / "serve.py", SERVER)
    return Service(
        name="web",
        command=(sys.executable, "serve.py"),
        folder=tmp_path / "pack",
        port=8020,
        ready="/health",
        limit_s=240,
        env={"TOKEN": "top-secret-token"},
    )


async def test_all_sessions_reach_the_service_and_its_log_is_evidence_without_keys(
    tmp_path: Path, service: Service
) -> None:
    outcome, evidence = await attempt(tmp_path, service, "/one", "/two")
    assert (outcome.reason, outcome.services) == (Reason.COMPLETED, ()), outcome.note
    lines = (await to_thread.run_sync(evidence.service_logs[0].read_text, "utf-8")).split("\n")
    assert [line.split(" with ")[0] for line in lines if line] == [
        f"asked for /{one}" for one in ("health", "one", "two")
    ]
    assert "top-secret-token" not in "".join(lines)
    assert outcome.files is not None
    assert "service-1.log" in outcome.files


async def test_a_service_that_does_not_start_is_an_infrastructure_failure_with_its_own_name(
    tmp_path: Path, service: Service
) -> None:
    broken = replace(service, command=(sys.executable, "-c", "raise SystemExit('no such database')"))
    outcome, _ = await attempt(tmp_path, broken, "/one")
    assert (outcome.reason, outcome.reason.ending) == (Reason.SERVICE_FAILED, Ending.INFRASTRUCTURE)
    assert outcome.note == "the service web ended with exit code 1 before it was ready: no such database"


async def test_a_service_that_ends_during_the_trial_is_recorded_and_the_trial_counts(
    tmp_path: Path, service: Service
) -> None:
    outcome, _ = await attempt(tmp_path, service, "/quit")
    assert outcome.reason is Reason.COMPLETED
    assert outcome.services == ("the service web ended with exit code 3",)


async def test_with_an_open_network_a_task_with_services_is_not_run(tmp_path: Path, service: Service) -> None:
    outcome, _ = await attempt(tmp_path, service, "/one", network=Network.OPEN)
    assert outcome.reason is Reason.PREREQUISITE_MISSING
    assert "it has services, which takes --sandbox namespaces" in outcome.note
