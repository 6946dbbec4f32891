"""An OpenClaw agent as a judge: its words are the reply, and nothing of it stays."""

import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
from anyio import Event, create_task_group, fail_after

from fakes import fake_openclaw, until
from pinchbench.grading.judge.openclaw_judge import OpenClawJudge, read_result
from pinchbench.llm.openai_api import ChatError, ChatRefusedError, ChatUnreachableError, Message, Reply, Role
from pinchbench.model.ending import Reason
from pinchbench.model.usage import Usage
from pinchbench.openclaw.agent import OpenClawAgent
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.homes.credentials import UserState
from pinchbench.openclaw.homes.home_template import make_template
from pinchbench.openclaw.homes.private import clone
from pinchbench.openclaw.task_result import TaskResult
from pinchbench.openclaw.transcript import TranscriptFacts
from pinchbench.process.spec import Limits
from pinchbench.results.evidence_files import Evidence
from processes import living

pytestmark = [pytest.mark.usefixtures("user")]

LIMITS = Limits(grace_s=0.3, sweep_s=0.3)
SYSTEM = Message(role=Role.SYSTEM, text="You judge.")
TWO_CALLS = Usage(
    requests=2, input_tokens=160, output_tokens=20, cache_read_tokens=40, total_tokens=220, cost_usd=0.006
)


@asynccontextmanager
async def judge_of(folder: Path, *, store: str = "jsonl") -> AsyncGenerator[OpenClawJudge]:
    """A judge whose OpenClaw is a fake; at the end neither its processes nor its folders are left."""
    openclaw = OpenClaw(program=fake_openclaw(folder, store=store), version="2026.9.6")
    env = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
    root = folder / "homes" / "template"
    template = await make_template(root, openclaw=openclaw, model="mock/m1", user=UserState(), env=env)
    home = clone(template, folder / "homes" / "judge")
    scratch = folder / "scratch"
    scratch.mkdir()
    yield OpenClawJudge(
        # how long it stays after its answer is no test's here: how it exits has to be seen, however slow it is
        [OpenClawAgent(home=home, limits=LIMITS)],
        scratch,
        model="mock/m1",
        timeout_s=60,
    )
    assert living(folder) == []
    assert left(folder) == []


async def ask(judge: OpenClawJudge, *texts: str) -> Reply:
    roles = (Role.USER, Role.ASSISTANT) * len(texts)
    conversation = [Message(role=role, text=text) for role, text in zip(roles, texts, strict=False)]
    with fail_after(60):
        return await judge.ask([SYSTEM, *conversation], {})


@pytest.mark.parametrize("store", ["jsonl", "sqlite"])
async def test_an_agents_last_words_are_the_reply(tmp_path: Path, store: str) -> None:
    async with judge_of(tmp_path, store=store) as judge:
        reply = await ask(judge, "How good is it?")

    assert reply == Reply(text="All done.", usage=TWO_CALLS, cost_usd=0.006, calls=2, model="openclaw:mock/m1")
    assert judge.model == "openclaw:mock/m1"
    assert json.loads(json.dumps(judge.describe())) == {
        "kind": "openclaw",
        "model": "openclaw:mock/m1",
        "base_url": None,
        "openclaw": "2026.9.6",
        "thinking": None,
    }


async def test_an_agent_is_given_the_whole_conversation_as_one_prompt(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    async with judge_of(tmp_path) as judge:
        await ask(judge, f"How good?\nscenario: record {record}", "Very.", "Say it in JSON.")

    seen = json.loads(record.read_text("utf-8"))
    prompt = f"You judge.\n\nHow good?\nscenario: record {record}\n\nYour reply was:\n\nVery.\n\nSay it in JSON."
    assert f"--message={prompt}" in seen["argv"]
    assert seen["env"]["PINCHBENCH_TRIAL"].startswith("judge/")


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ("silent", "ended as no_model_call"),
        ("exit 3", "ended as nonzero_exit: openclaw ended with exit code 3"),
    ],
)
async def test_an_agent_that_gives_no_answer_is_unreachable(tmp_path: Path, scenario: str, said: str) -> None:
    async with judge_of(tmp_path) as judge:
        with pytest.raises(ChatUnreachableError, match=said):
            await ask(judge, f"scenario: {scenario}")
        assert (await ask(judge, "again")).text == "All done."


def result(reason: Reason, note: str = "", text: str = "") -> TaskResult:
    folder = Path("nowhere")
    return TaskResult(
        agent_id="a",
        task_id="judge",
        reason=reason,
        timed_out=False,
        exit_code=0,
        execution_time_s=1,
        workspace=folder,
        evidence=Evidence(folder=folder),
        session_ids=(),
        store="",
        facts=TranscriptFacts(final_text=text, usage=Usage(requests=1)),
        note=note,
    )


@dataclass
class Agent:
    """An agent without OpenClaw: it ends as it is given, after `go` if there is one."""

    end: TaskResult
    go: Event | None = None
    home = SimpleNamespace(openclaw=OpenClaw(program=Path("openclaw"), version="2026.9.6"))
    thinking = None
    limits: list[float] = field(default_factory=list)
    at_once: int = 0
    most: int = 0

    async def execute_prompt(self, *_: object, timeout_s: float, **__: object) -> TaskResult:
        self.limits.append(timeout_s)
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            if self.go is not None:
                await self.go.wait()
        finally:
            self.at_once -= 1
        return self.end


def judge_with(folder: Path, *agents: Agent) -> OpenClawJudge:
    scratch = folder / "scratch"
    scratch.mkdir()
    return OpenClawJudge(agents, scratch, model="mock/m1", timeout_s=17)  # type: ignore[arg-type]


def left(folder: Path) -> list[Path]:
    return list((folder / "scratch").iterdir())


async def test_an_agent_that_takes_too_long_is_unreachable(tmp_path: Path) -> None:
    agent = Agent(result(Reason.TIMED_OUT))
    with pytest.raises(ChatUnreachableError, match="timed_out") as raised:
        await ask(judge_with(tmp_path, agent), "How good is it?")
    assert (raised.value.calls, raised.value.usage.requests, agent.limits) == (1, 1, [17])


async def test_each_agent_answers_one_question_at_a_time(tmp_path: Path) -> None:
    go = Event()
    agents = [Agent(result(Reason.COMPLETED, text="All done."), go=go) for _ in range(2)]
    judge = judge_with(tmp_path, *agents)
    async with create_task_group() as group:
        for _ in range(4):
            group.start_soon(ask, judge, "How good is it?")
        await until(lambda: all(agent.at_once for agent in agents))
        go.set()
    assert [agent.most for agent in agents] == [1, 1]
    assert sum(len(agent.limits) for agent in agents) == 4


async def test_a_cancelled_question_leaves_nothing_and_frees_its_agent(tmp_path: Path) -> None:
    agent = Agent(result(Reason.COMPLETED, text="All done."), go=Event())
    judge = judge_with(tmp_path, agent)
    async with create_task_group() as group:
        group.start_soon(ask, judge, "How good is it?")
        await until(lambda: agent.at_once == 1)
        group.cancel_scope.cancel()
    assert left(tmp_path) == []
    agent.go = None
    assert (await ask(judge, "again")).text == "All done."


@pytest.mark.parametrize("reason", [one for one in Reason if one is not Reason.COMPLETED])
def test_each_other_end_says_why_there_is_no_reply(reason: Reason) -> None:
    notes = {"403 forbidden": True, "HTTP 402": True, "insufficient_quota": True, "502 bad gateway": False, "": False}
    for note, refuses in notes.items():
        with pytest.raises(ChatError) as raised:
            read_result(result(reason, note, text="half an answer"))

        error = raised.value
        by_account = reason is Reason.PROVIDER_ERROR and refuses
        assert isinstance(error, ChatRefusedError) == (reason is Reason.MODEL_ERROR or by_account)
        assert getattr(error, "lasting", False) == by_account
        assert reason.value in str(error)
        assert note in str(error)
        assert error.calls == 1
