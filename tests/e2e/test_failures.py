"""Providers that fail on real OpenClaw: no failure of theirs is one of the model, and the note tells which it was."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest

from fakes import NEW_RELEASE, OLD_RELEASE
from http_server import HttpServer, Request, Response, running
from pinchbench import Isolation, Reason, run_benchmark
from pinchbench.model.task import GradingType, Task, Turn
from pinchbench.model.trial import TrialEvents
from pinchbench.openclaw import agent as agent_module
from pinchbench.openclaw.agent import OpenClawAgent
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.homes.credentials import UserState
from pinchbench.openclaw.homes.home_template import make_template
from pinchbench.openclaw.homes.private import PrivateHome, clone
from pinchbench.openclaw.homes.user_state import needed_for
from pinchbench.openclaw.model_catalogue import Catalogue
from pinchbench.openclaw.task_result import TaskResult
from pinchbench.process.spec import EndReason, ProcessEnd, ProcessSpec, StopSignal
from pinchbench.process.supervise import supervise
from real_openclaw import TaskFile, UserHome, newest_release, run_config

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]

RUN_LIMIT_S = 300.0  # far beyond any test here, on a machine that is busy with others
PATIENCE = 4  # refusals after which the time is up: 2026.6.5 gives up by itself before, 2026.9.6 would try for minutes
IMPATIENT_S = 3  # the user's limit of a call: as OpenClaw's own 120 s, but sooner
BASE: dict[str, object] = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m1"}
CALL = {"index": 0, "id": "call_1", "type": "function"}


class Provider(HttpServer[Request]):
    """An OpenAI-compatible endpoint that makes the agent work `good` times, and refuses every call after that.

    One that is silent for so long answers every call, late.
    """

    def __init__(
        self, status: int, message: str, *, good: int = 0, silent_s: float = 0.0, arguments: str = '{"command": "ls"}'
    ) -> None:
        super().__init__()
        self.status, self.message, self.good, self.silent_s, self.arguments = status, message, good, silent_s, arguments
        self.answered = self.refused = 0
        self.enough = anyio.Event()

    async def respond(self, request: Request) -> Response:
        del request
        await anyio.sleep(self.silent_s)
        if self.answered < self.good:
            call = {**CALL, "function": {"name": "exec", "arguments": self.arguments}}
            return self.stream({"role": "assistant", "tool_calls": [call]}, "tool_calls")
        if self.silent_s:
            return self.stream({"role": "assistant", "content": "Done."}, "stop")
        self.refused += 1
        if self.refused == PATIENCE:
            self.enough.set()
        body = json.dumps({"error": {"message": self.message}}).encode()
        return Response(status=self.status, body=body, headers={"Content-Type": "application/json"})

    def stream(self, delta: dict[str, object], finish: str) -> Response:
        self.answered += 1
        choices = ({"index": 0, "delta": delta}, {"index": 0, "delta": {}, "finish_reason": finish})
        lines = "".join(f"data: {json.dumps({**BASE, 'choices': [choice]})}\n\n" for choice in choices)
        return Response(body=f"{lines}data: [DONE]\n\n".encode(), headers={"Content-Type": "text/event-stream"})


def _until(enough: anyio.Event) -> Callable[..., object]:
    """Like `supervise`, but it times out when the provider has been asked often enough."""

    async def run(
        spec: ProcessSpec, *, timeout_s: float, held_s: Callable[[], float], stop_signal: StopSignal
    ) -> ProcessEnd:
        own = StopSignal(hurry=stop_signal.hurry)

        async def wait() -> None:
            await enough.wait()
            own.stop.set()

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            end = await supervise(spec, timeout_s=timeout_s, held_s=held_s, stop_signal=own)
            group.cancel_scope.cancel()
        return replace(end, reason=EndReason.TIMED_OUT) if end.reason is EndReason.STOPPED else end

    return run


def _entry(port: int) -> tuple[str, dict[str, object]]:
    models = [{"id": "m1", "name": "m1", "contextWindow": 120_000, "maxTokens": 8192}]
    base_url = f"http://127.0.0.1:{port}/v1"
    return "mock", {"baseUrl": base_url, "apiKey": "sk-local", "api": "openai-completions", "models": models}


@pytest.fixture(scope="session")
def template(openclaw: OpenClaw, tmp_path_factory: pytest.TempPathFactory) -> PrivateHome:
    """A home of each release for all tests here: to make one takes OpenClaw many seconds."""
    folder = tmp_path_factory.mktemp("failures")
    needed, _ = needed_for("mock/m1", env=os.environ, user=UserState(), catalogue=Catalogue())
    make = partial(
        make_template,
        folder / "template",
        openclaw=openclaw,
        model="mock/m1",
        user=UserState(config={"models": {"providers": {"mock": {"timeoutSeconds": IMPATIENT_S}}}}),
        trial_s=RUN_LIMIT_S,
        env={**needed, "HOME": str(folder)},
        provider=_entry(1),
    )
    return anyio.run(make)


async def _try(template: PrivateHome, folder: Path, provider: Provider, told: list[int]) -> TaskResult:
    for name in ("work", "evidence"):
        (folder / name).mkdir()
    task = Task(
        task_id="task_a",
        name="",
        category="",
        grading_type=GradingType.LLM_JUDGE,
        prompt="",
        turns=(Turn(prompt="What is here?"),),
        timeout_s=RUN_LIMIT_S,
    )
    agent = OpenClawAgent(home=clone(template, folder / "slot-1", _entry(provider.port)))

    class Seen(TrialEvents):
        def rate_limited(self) -> None:
            told.append(provider.refused)

    return await agent.execute_task(task, workspace=folder / "work", evidence=folder / "evidence", events=Seen())


@pytest.mark.parametrize(
    ("openclaw", "status", "message", "good"),
    [
        (OLD_RELEASE, 429, "Rate limit reached for m1.", 1),
        (NEW_RELEASE, 401, "Incorrect API key provided.", 0),
        (NEW_RELEASE, 429, "Rate limit reached for m1.", 1),
        (NEW_RELEASE, 500, "The server had an error.", 0),
    ],
    indirect=["openclaw"],
)
async def test_what_the_provider_refuses_is_its_own_affair_and_the_note_says_what(
    template: PrivateHome,
    openclaw: OpenClaw,
    home: UserHome,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    status: int,
    message: str,
    good: int,
) -> None:
    del home  # only that nobody's own OpenClaw is touched
    provider = Provider(status, message, good=good)
    told: list[int] = []
    monkeypatch.setattr(agent_module, "supervise", _until(provider.enough))

    async with running(provider):
        result = await _try(template, tmp_path, provider, told)

    assert (result.reason, result.usage.requests) == (Reason.PROVIDER_ERROR, good), result.note
    assert result.note.startswith(f"{status} {message}")
    assert len(told) == result.rate_limits
    assert bool(result.rate_limits) == (status == 429)
    if openclaw.version == NEW_RELEASE and status == 429:
        assert result.rate_limits >= PATIENCE - 1  # of which its transcript says nothing
        assert told[0] < PATIENCE  # while it still tried


@newest_release
async def test_a_model_that_is_silent_for_long_is_waited_for_and_asked_once(
    template: PrivateHome, home: UserHome, tmp_path: Path
) -> None:
    del home  # only that nobody's own OpenClaw is touched
    provider = Provider(200, "", silent_s=4 * IMPATIENT_S)

    async with running(provider):
        result = await _try(template, tmp_path, provider, [])

    assert (result.reason, provider.answered, result.usage.requests) == (Reason.COMPLETED, 1, 1), result.note


OVERFLOWED = Provider(400, "request (70123 tokens) exceeds the available context size (65536 tokens)")
MALFORMED = Provider(500, "", good=99, arguments='{"command": "ls"}}')


@newest_release
@pytest.mark.parametrize("provider", [OVERFLOWED, MALFORMED], ids=["overflowed", "malformed"])
async def test_the_wire_says_that_a_failure_is_the_models(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path, provider: Provider
) -> None:
    del home  # only that nobody's own OpenClaw is touched
    task = TaskFile(task_id="task_a", turns=[("What is here?", [], "Done.")], timeout_s=240)
    async with running(provider):
        config = run_config(
            tmp_path,
            openclaw,
            [task],
            model="mine/m1",
            base_url=f"http://127.0.0.1:{provider.port}/v1",
            isolation=Isolation.PRIVATE,
            preflight=False,
            infra_retries=0,
            fail_fast=False,
        )
        result = await run_benchmark(config)
    [outcome] = result.outcomes
    assert outcome.reason is Reason.MODEL_ERROR, outcome.note
    assert outcome.wire is not None
    assert outcome.wire.calls > 0
