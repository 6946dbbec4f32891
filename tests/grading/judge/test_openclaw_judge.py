"""An OpenClaw agent as a judge: its words are the reply, and nothing of it stays."""

import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from anyio import create_task_group, fail_after

from fakes import fake_openclaw, open_gate
from pinchbench.grading.judge.openclaw_judge import OpenClawJudge, read_result
from pinchbench.grading.judge.prompt import Question
from pinchbench.grading.judge.votes import Judge
from pinchbench.llm.openai_api import ChatError, ChatRefusedError, ChatUnreachableError, Message, Reply, Role
from pinchbench.model.ending import Reason
from pinchbench.model.grade import Ungraded
from pinchbench.model.task import Task
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
async def judge_of(
    folder: Path, *, agents: int = 1, store: str = "jsonl", timeout_s: float = 20
) -> AsyncGenerator[OpenClawJudge]:
    """A judge whose agents are fakes; at the end neither their processes nor their folders are left."""
    openclaw = OpenClaw(program=fake_openclaw(folder, store=store), version="2026.9.6")
    env = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
    root = folder / "homes" / "template"
    template = await make_template(root, openclaw=openclaw, model="mock/m1", user=UserState(), env=env)
    homes = [clone(template, folder / "homes" / f"judge-{number}") for number in range(agents)]
    scratch = folder / "scratch"
    scratch.mkdir()
    yield OpenClawJudge(
        # how long it stays after its answer is no test's here: how it exits has to be seen, however slow it is
        [OpenClawAgent(openclaw=openclaw, home=home, limits=LIMITS) for home in homes],
        scratch,
        model="mock/m1",
        timeout_s=timeout_s,
    )
    assert living(folder) == []
    assert list(scratch.iterdir()) == []


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


async def test_an_agent_that_takes_too_long_is_unreachable(tmp_path: Path) -> None:
    class Slow:
        openclaw, thinking = OpenClaw(program=tmp_path, version="2026.9.6"), None

        async def execute_task(self, _: Task, *, timeout_s: float, **__: object) -> TaskResult:
            return result(Reason.TIMED_OUT, note=f"after {timeout_s:g} s")

    judge = OpenClawJudge([Slow()], tmp_path, model="mock/m1", timeout_s=17)  # type: ignore[list-item]
    with pytest.raises(ChatUnreachableError, match="timed_out: after 17 s") as raised:
        await ask(judge, "How good is it?")
    assert (raised.value.calls, raised.value.usage.requests) == (1, 1)


async def test_each_agent_answers_one_question_at_a_time(tmp_path: Path) -> None:
    replies: list[Reply] = []
    async with open_gate() as gate, judge_of(tmp_path, agents=2) as judge:

        async def one() -> None:
            replies.append(await ask(judge, f"scenario: gate {gate.port}"))

        async with create_task_group() as group:
            for _ in range(4):
                group.start_soon(one)
            first, second = await gate.next(), await gate.next()
            assert gate.guests.statistics().current_buffer_used == 0
            await first.let_go()
            third = await gate.next()  # in the first one's place
            await second.let_go()
            for guest in (third, await gate.next()):
                await guest.let_go()
    assert [reply.text for reply in replies] == ["All done."] * 4


async def test_a_cancelled_question_ends_its_agent_and_frees_it(tmp_path: Path) -> None:
    async with open_gate() as gate, judge_of(tmp_path) as judge:
        async with create_task_group() as group:
            group.start_soon(ask, judge, f"scenario: gate {gate.port}")
            guest = await gate.next()
            group.cancel_scope.cancel()
        with fail_after(60):
            await guest.gone()
        assert list((tmp_path / "scratch").iterdir()) == []
        assert (await ask(judge, "again")).text == "All done."


async def test_an_agent_that_does_not_answer_in_json_is_asked_once_more_and_then_unreadable(tmp_path: Path) -> None:
    question = Question(system="You judge.", material="All is well.")
    async with judge_of(tmp_path) as endpoint:
        with fail_after(60):
            grade = (await Judge(endpoint).grade(question)).grade

    assert (grade.ungraded, grade.reply, grade.calls) == (Ungraded.JUDGE_UNREADABLE, "All done.", 4)
    assert grade.usage == TWO_CALLS + TWO_CALLS


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
