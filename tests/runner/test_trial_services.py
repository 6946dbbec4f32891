"""A trial whose task has services: what a service does to its outcome, with real namespaces and an agent of ours."""

import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from uuid import uuid4

import pytest
from anyio import to_thread

from fakes import make_task, until
from grading.conftest import REFUSED
from pinchbench.defaults import Network
from pinchbench.grading.check_sandbox import CheckSandbox
from pinchbench.model.ending import Ending, Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import Task, Turn
from pinchbench.model.task_programs import Service
from pinchbench.model.trial import Attempt, Trial, TrialEvents, TrialKey
from pinchbench.openclaw.agent import OpenClawAgent
from pinchbench.openclaw.task_result import TaskResult
from pinchbench.openclaw.transcript import TranscriptFacts
from pinchbench.process.leftovers import find_marked
from pinchbench.process.spec import Limits, StopSignal
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.paths import RunFiles
from pinchbench.runner.run_context import Redactor
from pinchbench.runner.trial.attempt import TrialPlace, run_attempt
from pinchbench.sandbox.sandbox_spec import WORKSPACE, Forward
from service_turns import GET, SERVER, run_turn
from suite_packs import put

pytestmark = [pytest.mark.skipif(bool(REFUSED), reason=f"services need namespaces: {REFUSED}")]

SECRET = "top-secret-token"


@dataclass(kw_only=True)
class Agent:
    """Asks the service for the prompt of each turn, in namespaces of its own for each."""

    home: object
    steps: Path
    limits: Limits = Limits()

    async def execute_task(
        self, task: Task, *, workspace: Path, evidence: Path, marker: str, services: tuple[Forward, ...], **_: object
    ) -> TaskResult:
        for turn in task.turns:
            output = Evidence(folder=evidence).stdout
            end = await run_turn(
                *(sys.executable, "-c", GET, f"http://127.0.0.1:8020{turn.prompt}"),
                workspace=workspace,
                home=self.steps,
                output=output,
                services=services,
                marker=marker,
            )
            said = await to_thread.run_sync(output.read_text, "utf-8")
            assert end.exit_code == (1 if turn.prompt == "/quit" else 0), said
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
    folder: Path, service: Service, *prompts: str, network: Network = Network.MODEL
) -> tuple[Outcome, Evidence]:
    """Make an attempt at a task with this service; return its outcome and evidence."""
    turns = tuple(Turn(prompt=prompt, new_session=number > 0) for number, prompt in enumerate(prompts))
    task = make_task(*turns, services=(service,))
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
    files = RunFiles(output_dir=folder / "results", name="run")
    place = TrialPlace(
        slot=1,
        agent=cast("OpenClawAgent", Agent(home=home, steps=steps)),
        run_id=f"run-{uuid4().hex}",
        run_folder=folder / "runs",
        files=files,
        stop_signal=StopSignal(),
        events=TrialEvents(),
        redactor=Redactor([SECRET]),
        check_sandbox=CheckSandbox(),
    )
    key = TrialKey(task_id="task_a", repetition=1)
    outcomes: list[Outcome] = []
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
    )


async def test_all_sessions_reach_the_service_and_its_log_is_evidence_without_keys(
    tmp_path: Path, service: Service
) -> None:
    outcome, evidence = await attempt(tmp_path, service, "/one", f"/{SECRET}")
    assert (outcome.reason, outcome.services) == (Reason.COMPLETED, ()), outcome.note
    log = await to_thread.run_sync(evidence.service_logs[0].read_text, "utf-8")
    assert log == f"asked for /health\nasked for /one\nasked for /{'*' * len(SECRET)}\n"
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
    assert outcome.services == ("the service web ended with exit code 7",)


async def test_with_an_open_network_a_task_with_services_is_not_run(tmp_path: Path, service: Service) -> None:
    outcome, _ = await attempt(tmp_path, service, "/one", network=Network.OPEN)
    assert outcome.reason is Reason.PREREQUISITE_MISSING
    assert "it has services, which takes --sandbox namespaces" in outcome.note
