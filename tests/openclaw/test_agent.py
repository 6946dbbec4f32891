"""One task through the agent: limits, turns, and the end of everything it started."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from anyio import fail_after

from fakes import SEED_KEYS, Guest, SeenEvents, fake_openclaw, make_task, open_gate
from home_templates import template_of
from pinchbench.model.ending import Reason
from pinchbench.model.task import Task, Turn, TurnGate
from pinchbench.model.trial import TrialEvents
from pinchbench.model.usage import Usage
from pinchbench.openclaw.agent import OpenClawAgent, UserReply, ask_user
from pinchbench.openclaw.agent_progress import WAITING, Progress
from pinchbench.openclaw.homes.private import PrivateHome, clone
from pinchbench.openclaw.homes.shared import SharedHome
from pinchbench.openclaw.task_result import TaskResult
from pinchbench.process import capacity
from pinchbench.process.spec import Limits, StopSignal
from processes import living

LIMITS = Limits(grace_s=0.3, sweep_s=0.3)
PATIENT = Limits(grace_s=300, sweep_s=0.3)  # for an agent that goes when it is asked to
LINGER_S = 3.0  # for those who do not exit after their answer
EXIT_S = 60.0  # for those who do, on a machine that does much else
RUN_LIMIT_S = 120


def task(*prompts: str, timeout_s: float = 20) -> Task:
    turns = tuple(Turn(prompt=prompt.removeprefix("NEW "), new_session=prompt.startswith("NEW ")) for prompt in prompts)
    return make_task(*turns, timeout_s=timeout_s)


async def agent_of(folder: Path, *, store: str = "jsonl", limits: Limits = LIMITS) -> OpenClawAgent:
    template = await template_of(folder, fake_openclaw(folder, store=store))
    for name in ("work", "evidence"):
        (folder / name).mkdir()
    home = clone(template, folder / "homes" / "slot-1")
    return OpenClawAgent(home=home, limits=limits, linger_s=EXIT_S)


async def execute(
    agent: OpenClawAgent,
    folder: Path,
    one: Task,
    *,
    events: TrialEvents | None = None,
    stop_signal: StopSignal | None = None,
) -> TaskResult:
    with fail_after(RUN_LIMIT_S):
        result = await agent.execute_task(
            one, workspace=folder / "work", evidence=folder / "evidence", events=events, stop_signal=stop_signal
        )
    assert living(folder) == []
    return result


@asynccontextmanager
async def at_gate(
    agent: OpenClawAgent, folder: Path, *prompts: str, timeout_s: float = 20, **watching: Any
) -> AsyncIterator[tuple[Guest, list[TaskResult]]]:
    """Execute a task next to the block, which begins when a turn waits at `{gate}`; the list gets the result."""
    results: list[TaskResult] = []
    async with open_gate() as gate:
        placed = [prompt.replace("{gate}", f"scenario: gate {gate.port}") for prompt in prompts]

        async def run() -> None:
            results.append(await execute(agent, folder, task(*placed, timeout_s=timeout_s), **watching))

        async with anyio.create_task_group() as group:
            group.start_soon(run)
            yield await gate.next(), results


def asked(result: TaskResult) -> list[str]:
    messages = [event["message"] for event in result.transcript() if event["type"] == "message"]
    return [one["content"][0]["text"] for one in messages if isinstance(one, dict) and one["role"] == "user"]


@pytest.mark.parametrize("store", ["jsonl", "sqlite"])
async def test_a_task_leaves_the_seeds_ten_keys(tmp_path: Path, store: str) -> None:
    result = await execute(await agent_of(tmp_path, store=store), tmp_path, task("scenario: damaged"))
    reported = result.to_dict()
    assert tuple(reported) == SEED_KEYS
    assert (reported["agent_id"], reported["task_id"], reported["status"], reported["exit_code"]) == (
        "bench-mock-m1",
        "task_a",
        "success",
        0,
    )
    assert reported["stdout"] == "All done.\n"
    transcript = reported["transcript"]
    assert isinstance(transcript, list)
    assert sum("parse_error" in event for event in transcript) == 2
    assert len(transcript) == result.facts.events
    json.dumps(reported)


class FailingUser:
    async def reply_to(self, _answer: str) -> UserReply:
        return UserReply(failed=Reason.EVIDENCE_LOST, note="the record can't be written")


async def test_a_failure_of_the_simulated_user_is_not_the_agents(tmp_path: Path) -> None:
    agent = await agent_of(tmp_path)
    work, evidence = tmp_path / "work", tmp_path / "evidence"
    with fail_after(RUN_LIMIT_S):
        result = await agent.execute_task(task("one"), workspace=work, evidence=evidence, user=FailingUser())
    assert (result.reason, result.exit_code, result.is_ours) == (Reason.EVIDENCE_LOST, 0, True)


@pytest.mark.parametrize("store", ["jsonl", "sqlite"])
async def test_turns_share_a_session_until_a_new_one_is_asked_for(tmp_path: Path, store: str) -> None:
    agent = await agent_of(tmp_path, store=store)
    result = await execute(agent, tmp_path, task("one", "two", "NEW three"))
    assert result.reason is Reason.COMPLETED
    assert len(result.session_ids) == 2
    assert result.session_ids[0].startswith("task_a_")
    assert result.session_ids[1] == f"{result.session_ids[0]}_3"
    assert asked(result) == ["one", "two", "three"]
    assert result.usage.requests == 6
    assert [event["type"] for event in result.transcript()].count("session") == 2


async def test_a_turn_is_sent_if_its_gate_holds_and_else_ends_its_session(tmp_path: Path) -> None:
    turns = (
        Turn(prompt="one"),
        Turn(prompt="two", gate=TurnGate(replies=2, pattern="ALL done")),  # a call of a tool, and an answer
        Turn(prompt="three", gate=TurnGate(replies=9)),
        Turn(prompt="four"),
        Turn(prompt="five", new_session=True, gate=TurnGate(replies=9)),
        Turn(prompt="six"),
        Turn(prompt="seven", new_session=True, gate=TurnGate(replies=4)),  # those of all sessions count
    )
    result = await execute(await agent_of(tmp_path), tmp_path, replace(task(), turns=turns))
    assert result.reason is Reason.COMPLETED
    assert asked(result) == ["one", "two", "seven"]
    assert len(result.session_ids) == 2


async def test_a_turn_that_answers_and_never_exits_is_ended_and_the_next_one_comes(tmp_path: Path) -> None:
    agent = replace(await agent_of(tmp_path), linger_s=LINGER_S)
    result = await execute(agent, tmp_path, task("scenario: linger", "two"))
    assert (result.reason, result.note, result.facts.user_messages) == (Reason.COMPLETED, "", 2)


async def test_all_turns_share_one_budget(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    one = task("scenario: slow_start 1", f"scenario: record {record}\nscenario: think", "three", timeout_s=5)
    result = await execute(await agent_of(tmp_path), tmp_path, one)
    assert (result.reason, result.timed_out, result.facts.user_messages) == (Reason.TIMED_OUT, True, 2)
    argv = json.loads(record.read_text("utf-8"))["argv"]
    [limit_s] = [int(argument.partition("=")[2]) for argument in argv if argument.startswith("--timeout=")]
    assert limit_s < 3605  # the first turn took a second of it
    assert result.execution_time_s >= 5


@pytest.mark.parametrize(
    "scenario", ["ignore_term", "daemonise", "hold_stdout", "daemonise\nscenario: hold_stdout\nscenario: ignore_term"]
)
async def test_nobody_outlives_a_timeout(tmp_path: Path, scenario: str) -> None:
    one = task(f"scenario: {scenario}\nscenario: think", timeout_s=4)
    limits = LIMITS if "ignore_term" in scenario else PATIENT
    result = await execute(await agent_of(tmp_path, limits=limits), tmp_path, one)
    assert (result.reason, result.timed_out) == (Reason.TIMED_OUT, True)
    assert result.exit_code == (-9 if "ignore_term" in scenario else -15)


async def test_a_workspace_larger_than_its_limit_ends_the_task(tmp_path: Path) -> None:
    agent = await agent_of(tmp_path, limits=replace(LIMITS, max_disk_bytes=2**30 // 100))
    async with at_gate(agent, tmp_path, "scenario: big 1\n{gate}\nscenario: think") as (_, results):
        # it has a transcript: without one, the reason would be another
        (tmp_path / "work" / "large").write_bytes(b"x" * 2**24)
    [result] = results
    assert result.reason is Reason.RESOURCE_LIMIT
    assert result.note.startswith("the trial used 0.01")
    assert result.note.endswith(" GiB of disk space; the limit is 0.01 GiB")
    assert not result.timed_out


async def test_who_watches_sees_what_the_agent_does_and_says(tmp_path: Path) -> None:
    heard = anyio.Event()

    class Seen(SeenEvents):
        wants_output = True

        def output(self, stream: str, text: str) -> None:
            if (stream, text) == ("stdout", "hello"):
                heard.set()

    seen = Seen()
    one = "scenario: print hello\nscenario: write_file x y\n{gate}\nscenario: linger"
    agent = replace(await agent_of(tmp_path), linger_s=LINGER_S)
    async with at_gate(agent, tmp_path, one, events=seen) as (guest, _):
        with fail_after(60):
            await heard.wait()  # while it runs
        await guest.let_go()
    assert [text for text, _ in seen.activities] == [WAITING, "write out.txt", WAITING, "All done."]
    assert seen.activities[-1][1].requests == 2


async def test_a_word_from_outside_ends_the_task_as_interrupted(tmp_path: Path) -> None:
    stop_signal = StopSignal()
    async with at_gate(await agent_of(tmp_path), tmp_path, "{gate}", "two", stop_signal=stop_signal) as (
        guest,
        results,
    ):
        stop_signal.stop.set()
        await guest.gone()
    assert [(one.reason, one.facts.user_messages) for one in results] == [(Reason.INTERRUPTED, 1)]


async def test_what_openclaw_is_given(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    agent = replace(await agent_of(tmp_path), thinking="high")
    result = await execute(agent, tmp_path, task(f"scenario: record {record}", timeout_s=20))
    seen = json.loads(record.read_text("utf-8"))
    [session] = result.session_ids
    assert seen["argv"][:5] == [
        "--local",
        "--agent=bench-mock-m1",
        f"--session-id={session}",
        "--thinking=high",
        "--timeout=3620",
    ]
    env = seen["env"]
    assert env["PINCHBENCH_TRIAL"].startswith("task_a/")
    assert env["OPENCLAW_STATE_DIR"] == str(tmp_path / "homes" / "slot-1" / "state")
    assert env["TMPDIR"] == str(tmp_path / "homes" / "slot-1" / "tmp")
    assert env["OPENCLAW_NO_RESPAWN"] == "1"


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        ("NEW scenario: no_session", Reason.NO_TRANSCRIPT),
        ("NEW scenario: exit_early 1", Reason.AGENT_NOT_STARTED),
        ("NEW scenario: silent", Reason.NO_MODEL_CALL),
        ("scenario: silent", Reason.NO_MODEL_CALL),
    ],
)
async def test_a_last_turn_without_a_model_says_nothing_about_it(tmp_path: Path, last: str, reason: Reason) -> None:
    result = await execute(await agent_of(tmp_path), tmp_path, task("one", last))

    assert (result.reason, result.usage.requests) == (reason, 2)


@pytest.mark.parametrize("store", ["jsonl", "sqlite"])
async def test_an_answer_counts_though_the_time_limit_ends_the_process(tmp_path: Path, store: str) -> None:
    agent = replace(await agent_of(tmp_path, store=store), linger_s=300)

    result = await execute(agent, tmp_path, task("scenario: linger", timeout_s=5))

    assert (result.reason, result.timed_out) == (Reason.COMPLETED, True)
    assert "had answered" in result.note


@pytest.mark.parametrize(
    ("free_bytes", "reason"), [(0, Reason.EVIDENCE_LOST), (2**62, Reason.DISK_FULL)], ids=["lost", "no room"]
)
async def test_what_is_known_of_a_trial_stays_when_its_transcript_cannot_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_bytes: int, reason: Reason
) -> None:
    agent = await agent_of(tmp_path)
    (tmp_path / "evidence" / "transcript.jsonl").mkdir()
    monkeypatch.setattr(capacity, "MIN_FREE_BYTES", free_bytes)

    result = await execute(agent, tmp_path, task("one"))

    assert (result.reason, result.exit_code, result.usage.requests) == (reason, 0, 2)
    assert result.execution_time_s > 0


LIMITED = "scenario: failed_call 429 Rate limit reached"


@pytest.mark.parametrize("store", ["jsonl", "sqlite"])
async def test_a_provider_that_fails_until_the_time_is_up_is_no_timeout_of_the_model(
    tmp_path: Path, store: str
) -> None:
    one = task(f"scenario: big 1\n{LIMITED}\nscenario: sleep 0.5\n{LIMITED}\nscenario: sleep", timeout_s=5)

    result = await execute(await agent_of(tmp_path, store=store), tmp_path, one)

    assert (result.reason, result.timed_out, result.usage.requests) == (Reason.PROVIDER_ERROR, True, 1)
    assert result.note.startswith("429 Rate limit reached")
    assert (result.rate_limits, result.facts.rate_limits) == (2, 0)


@pytest.mark.parametrize("store", ["jsonl", "sqlite"])
async def test_a_model_that_gives_no_first_reply_before_the_limit_has_timed_out(tmp_path: Path, store: str) -> None:
    seen = SeenEvents()

    result = await execute(
        await agent_of(tmp_path, store=store), tmp_path, task("scenario: sleep", timeout_s=5), events=seen
    )

    assert (result.reason, result.timed_out, result.usage.requests) == (Reason.TIMED_OUT, True, 0)
    assert (result.reason.is_valid, result.note) == (True, "the model had not replied once when the time was up")
    assert [text for text, _ in seen.activities] == [WAITING]


async def test_a_session_that_is_only_locked_waits_for_the_model(tmp_path: Path) -> None:
    seen: list[str] = []
    stop_signal = StopSignal()

    class Seen(TrialEvents):
        def activity(self, text: str, usage: Usage) -> None:
            del usage
            seen.append(text)
            stop_signal.stop.set()

    agent = await agent_of(tmp_path)
    one = task("scenario: think_unwritten")
    result = await execute(agent, tmp_path, one, events=Seen(), stop_signal=stop_signal)

    assert (result.reason, result.usage.requests, seen) == (Reason.INTERRUPTED, 0, [WAITING])


async def test_a_provider_that_came_back_is_no_excuse(tmp_path: Path) -> None:
    seen = anyio.Event()

    class Seen(TrialEvents):
        def rate_limited(self) -> None:
            seen.set()

    one = f"{LIMITED}\n{{gate}}\nscenario: think"
    async with at_gate(await agent_of(tmp_path), tmp_path, one, timeout_s=8, events=Seen()) as (guest, results):
        with fail_after(60):
            await seen.wait()  # while OpenClaw itself still tries
        await guest.let_go()
    assert [(one.reason, one.rate_limits) for one in results] == [(Reason.TIMED_OUT, 1)]


async def test_each_refusal_is_reported_once_wherever_it_stands(tmp_path: Path) -> None:
    seen = SeenEvents()
    refused = "scenario: refused 429 Rate limit reached"
    twice = f"{LIMITED}\n{LIMITED}"
    last = f"NEW {LIMITED}\n{refused}\nscenario: silent\nscenario: exit 1"

    result = await execute(await agent_of(tmp_path), tmp_path, task(twice, last), events=seen)

    assert (result.reason, result.note) == (Reason.PROVIDER_ERROR, "429 Rate limit reached")
    assert (result.rate_limits, result.facts.rate_limits, seen.limited) == (3, 1, 3)


async def test_what_the_home_takes_to_prepare_is_set_up_and_none_of_the_agents_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    took_s: list[float] = []
    prepare = PrivateHome.prepare

    async def timed(home: PrivateHome, workspace: Path) -> None:
        began = anyio.current_time()
        await prepare(home, workspace)
        took_s.append(anyio.current_time() - began)

    monkeypatch.setattr(PrivateHome, "prepare", timed)

    result = await execute(await agent_of(tmp_path), tmp_path, task("one", "two"))

    assert len(took_s) == 1
    assert result.setup_s >= took_s[0] > 0


async def shared(agent: OpenClawAgent, folder: Path) -> OpenClawAgent:
    """The same agent, as if it ran through the user's gateway."""
    await agent.home.prepare(folder / "work")
    home = SharedHome(
        agent_id=agent.home.agent_id,
        user_state=agent.home.state_dir,
        link=folder / "link",
        openclaw=agent.home.openclaw,
        base_env=agent.home.env,
    )
    return replace(agent, home=home)


CLOSED = "scenario: mutter Gateway agent call connection closed"
ALONE = "scenario: mutter EMBEDDED FALLBACK: Gateway agent failed"


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        (f"scenario: big 1\n{CLOSED}\nscenario: silent\nscenario: exit 1", Reason.GATEWAY_LOST),
        ("scenario: mutter_early Gateway not reachable at ws://x\nscenario: exit_early 1", Reason.GATEWAY_LOST),
        (f"scenario: big 1\n{ALONE}\nscenario: ask_again", Reason.GATEWAY_LOST),
        (ALONE, Reason.COMPLETED),
    ],
)
async def test_a_lost_gateway_is_not_the_agents_failure(tmp_path: Path, prompt: str, reason: Reason) -> None:
    agent = await shared(await agent_of(tmp_path), tmp_path)

    result = await execute(agent, tmp_path, task(prompt))

    assert result.reason is reason
    assert ("ateway" in result.note) == (reason is Reason.GATEWAY_LOST)


class Answered:
    """The progress of a turn that ends with an answer, or with none."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def has_answer(self) -> bool:
        return bool(self.answer)

    def last_answer(self) -> str:
        return self.answer


class Echo:
    async def reply_to(self, answer: str) -> UserReply:
        return UserReply(message=f"Why {answer}?")


class Stopping:
    """Stops the attempt when it is asked, and never answers."""

    def __init__(self, stop_signal: StopSignal) -> None:
        self.stop_signal = stop_signal

    async def reply_to(self, _answer: str) -> UserReply:
        self.stop_signal.stop.set()
        await anyio.sleep_forever()
        raise AssertionError


@pytest.mark.parametrize(("answer", "message"), [("42", "Why 42?"), ("", "")])
async def test_an_answer_is_answered_and_nothing_else(answer: str, message: str) -> None:
    said = await ask_user(Echo(), cast("Progress", Answered(answer)), StopSignal())
    assert said == UserReply(message=message)


async def test_a_stop_while_the_user_is_asked_interrupts_the_attempt() -> None:
    stop_signal = StopSignal()
    with fail_after(5):
        said = await ask_user(Stopping(stop_signal), cast("Progress", Answered("42")), stop_signal)
    assert said.failed is Reason.INTERRUPTED
