"""Tasks with a simulated user: runs with the fake OpenClaw, whose user is a model behind a real server on loopback."""

import json
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from anyio import Event, create_task_group, to_thread

from fake_judge import Answer, Asked, failing, fake_judge, slow
from fakes import fake_openclaw, run_config
from pinchbench.config.asked_models import UserModelConfig
from pinchbench.config.rerun_configs import ResumeConfig
from pinchbench.config.run_config import RunConfig
from pinchbench.errors import ChangedError, ConfigError
from pinchbench.llm.openai_api import Message, Reply
from pinchbench.model.ending import Ending, Reason
from pinchbench.model.facts import UserEnd
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import SimulatedUser
from pinchbench.report.html.report_page import write_report
from pinchbench.results.finished_run import Result, read_run
from pinchbench.results.paths import RunFiles
from pinchbench.runner.again.rerun import resume
from pinchbench.runner.plan.prepare import prepare
from pinchbench.runner.run_benchmark import run_benchmark
from pinchbench.runner.trial.simulated_user import (
    AttemptUser,
    ModelUser,
    RecordedUser,
    ScriptedUser,
    UserSource,
    read_lines,
)
from processes import living
from suite_packs import put

pytestmark = pytest.mark.usefixtures("checks_in_process")

TASK = """
    ---
    id: task_01_booking
    user_messages: {most}
    timeout_seconds: 60
    ---

    ## Prompt

    Book a table.

    ## Simulated User

    You are Ada. Only when asked, say that it is for Friday.

    ## Automated Checks

    ```python
    def grade(transcript, workspace_path):
        said = [one["message"]["content"] for one in transcript if one.get("message", {{}}).get("role") == "user"]
        return {{"friday": float("for Friday" in str(said)), "messages": float(len(said) == {asked})}}
    ```
"""
SECRET = "sk-user-0123456789abcdef"


def says(message: str) -> Answer:
    return Answer(text=json.dumps({"is_finished": False, "message": message}))


FINISHED = Answer(text='{"is_finished": true, "message": ""}')


def a_run(folder: Path, base_url: str, *, most: int = 5, asked: int = 3) -> RunConfig:
    config = run_config(folder, fake_openclaw(folder), {})
    put(folder / "tasks" / "task_01_booking.md", TASK.format(most=most, asked=asked))
    return replace(config, user=UserModelConfig(model="user-1", base_url=base_url))


async def outcome_of(config: RunConfig) -> tuple[Result, Outcome]:
    result = await run_benchmark(config)
    [outcome] = result.outcomes
    return result, outcome


async def test_a_model_answers_the_agent_until_it_has_nothing_left_to_say(tmp_path: Path) -> None:
    async with fake_judge(says("Please book it for Friday."), says("At eight."), FINISHED) as server:
        result, outcome = await outcome_of(a_run(tmp_path, server.base_url))
    assert (outcome.reason, outcome.user and outcome.user.end) == (Reason.COMPLETED, UserEnd.FINISHED), outcome.note
    [grade] = result.grades.values()
    assert grade.score == 1.0
    data: dict[str, Any] = json.loads(await to_thread.run_sync(result.path.read_text, "utf-8"))
    assert (data["user"]["models"], data["user"]["messages"], data["user"]["calls"]) == (["user-1"], 2, 3)
    assert data["user"]["usage"]["total_tokens"] == 360
    assert data["usage"]["total_tokens"] == outcome.usage.total_tokens, "the agent's own"
    assert outcome.paid.total_tokens == outcome.usage.total_tokens + 360
    lines = await to_thread.run_sync(read_lines, result.folder / outcome.evidence / "user.jsonl")
    assert [one.message for one in lines] == ["Please book it for Friday.", "At eight.", ""]
    assert outcome.files is not None
    assert "user.jsonl" in outcome.files
    page = tmp_path / "report.html"
    await to_thread.run_sync(
        write_report, [read_run(RunFiles(output_dir=result.folder.parent, name=result.folder.name))], page
    )
    assert "an unknown amount for simulated users" in await to_thread.run_sync(page.read_text, "utf-8")
    asked = server.requests[-1].messages
    assert "You are Ada." in asked[0]["content"]
    assert '"user": "At eight."' in asked[1]["content"]


async def test_without_a_model_the_user_says_the_messages_of_the_task_and_the_run_says_so(tmp_path: Path) -> None:
    config = replace(a_run(tmp_path, "http://127.0.0.1:1"), user=None)
    path = tmp_path / "tasks" / "task_01_booking.md"
    fixed = "sessions: [Book a table., It is for Friday., At eight.]\nuser_messages"
    await to_thread.run_sync(path.write_text, path.read_text("utf-8").replace("user_messages", fixed, 1), "utf-8")
    result, outcome = await outcome_of(config)
    [grade] = result.grades.values()
    assert (outcome.reason, grade.score) == (Reason.COMPLETED, 1.0), outcome.note
    assert outcome.user is not None
    assert (outcome.user.messages, outcome.user.calls, outcome.user.end) == (2, 0, UserEnd.FINISHED)
    said = "In 1 of 1 tasks the user writes the same whatever the agent answers; with --user-model MODEL, a model plays"
    assert prepare(config).remarks[0].startswith(said)
    assert prepare(config).user_messages == 0


async def test_without_a_model_and_without_messages_nothing_is_started(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="whom a model plays: name one with --user-model"):
        await run_benchmark(replace(a_run(tmp_path, "http://127.0.0.1:1"), user=None))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(failing(401, "no such key"), "no such key", id="refused"),
        pytest.param(Answer(text="Book it for Friday!"), "not one JSON object", id="unreadable"),
        pytest.param(says(" "), "`message` is not a text", id="empty"),
    ],
)
async def test_a_user_that_gives_no_message_is_an_infrastructure_failure_and_no_score(
    tmp_path: Path, answer: Answer, said: str
) -> None:
    async with fake_judge(answer) as server:
        result, outcome = await outcome_of(replace(a_run(tmp_path, server.base_url), infra_retries=0, fail_fast=False))
    assert (outcome.reason, outcome.reason.ending) == (Reason.USER_FAILED, Ending.INFRASTRUCTURE)
    assert said in outcome.note
    assert outcome.usage.requests > 0, "what the agent has used until then is kept"
    assert result.grades == {}


async def test_a_run_is_stopped_while_its_user_is_asked_and_resumed_with_the_users_model_elsewhere(
    tmp_path: Path,
) -> None:
    is_asked = Event()

    def never(asked: Asked) -> Answer:
        del asked
        is_asked.set()
        return slow()

    async def interrupt() -> None:
        await is_asked.wait()
        os.kill(os.getpid(), signal.SIGINT)

    results: list[Result] = []
    async with fake_judge(choose=never) as server, create_task_group() as group:
        config = a_run(tmp_path, server.base_url)
        group.start_soon(interrupt)
        results.append(await run_benchmark(config, handle_signals=True))
    [stopped] = results
    [outcome] = stopped.outcomes
    assert (outcome.reason, outcome.note) == (Reason.INTERRUPTED, "stopped while waiting for the user's message")
    assert (stopped.interrupted, stopped.grades) == ("SIGINT", {})
    assert living(tmp_path) == []

    async with fake_judge(says("Please book it for Friday."), says("At eight."), FINISHED) as server:
        user = UserModelConfig(model="user-1", base_url=server.base_url)
        again = ResumeConfig(run=str(stopped.folder), settings={"user": user})
        with pytest.raises(ChangedError, match=f"base-url of --user-model: .* → {server.base_url}"):
            await resume(again)
        result = await resume(replace(again, accept_changes=True))
    assert [grade.score for grade in result.grades.values()] == [1.0]
    assert result.complete


# -- the user of one attempt ---------------------------------------------------------------------------------------


class Endpoint:
    """Replies with texts in turn, and keeps what it was asked."""

    model = "user-1"

    def __init__(self, *texts: str) -> None:
        self.asked: list[Sequence[Message]] = []
        self._texts = list(texts)

    def describe(self) -> Mapping[str, object]:
        return {}

    async def ask(self, conversation: Sequence[Message], schema: Mapping[str, object]) -> Reply:
        del schema
        self.asked.append(conversation)
        return Reply(text=self._texts.pop(0), cost_usd=0.5)


def user_of(source: UserSource, folder: Path, workspace: str = "ws") -> AttemptUser:
    return AttemptUser(
        source=source,
        user=SimulatedUser(script="You are Ada.", most_messages=3),
        prompt="Book a table.",
        record=folder / "user.jsonl",
        workspace=folder / workspace,
        masked=lambda text: text.replace(SECRET, "[key]"),
    )


async def test_keys_in_an_answer_neither_reach_the_users_model_nor_the_record(tmp_path: Path) -> None:
    endpoint = Endpoint(says("Hm.").text)
    user = user_of(ModelUser(endpoint=endpoint), tmp_path)
    assert (await user.reply_to(f"The key is {SECRET}.")).message == "Hm."
    assert "[key]" in str(endpoint.asked)
    assert SECRET not in str(endpoint.asked)
    assert SECRET not in await to_thread.run_sync(user.record.read_text, "utf-8")


async def test_a_reply_that_can_not_be_read_is_explained_once_and_its_cost_counts(tmp_path: Path) -> None:
    endpoint = Endpoint("Friday", "```json\n" + says("For Friday.").text + "\n```")
    user = user_of(ModelUser(endpoint=endpoint), tmp_path)
    assert (await user.reply_to("When?")).message == "For Friday."
    assert user.facts is not None
    assert (user.facts.calls, user.facts.cost_usd, user.facts.paid.cost_usd) == (2, 1.0, 1.0)
    assert "not one JSON object" in endpoint.asked[-1][-1].text


async def test_a_record_is_served_as_long_as_the_agent_answers_the_same_wherever_its_workspace_is(
    tmp_path: Path,
) -> None:
    said = user_of(ScriptedUser(messages=("For Friday.", "At eight.")), tmp_path)
    for answer in (f"See {tmp_path}/ws/a.txt. When?", "At what time?", "Done."):
        await said.reply_to(answer)

    async def again(name: str, *answers: str, endpoint: Endpoint | None = None) -> list[object]:
        (tmp_path / name).mkdir()
        user = user_of(RecordedUser(record=said.record, endpoint=endpoint), tmp_path / name, "other")
        replies = [await user.reply_to(answer) for answer in answers]
        return [one.message or one.failed for one in replies]

    same = f"See {tmp_path}/same/other/a.txt. When?"
    assert await again("same", same, "At what time?", "Done.") == ["For Friday.", "At eight.", None]
    assert await again("differs", "When?") == [Reason.DIVERGED]
    live = Endpoint(says("Friday, please.").text, says("Eight.").text)
    assert await again("live", "When?", "At what time?", endpoint=live) == ["Friday, please.", "Eight."]


async def test_a_message_goes_to_the_model_as_data_whatever_it_says(tmp_path: Path) -> None:
    seen: list[Asked] = []

    def choose(asked: Asked) -> Answer:
        seen.append(asked)
        return FINISHED

    async with fake_judge(choose=choose) as server:
        await outcome_of(a_run(tmp_path, server.base_url))
    [asked] = seen
    assert [one["role"] for one in asked.messages] == ["system", "user"]
    assert "no instruction to you" in asked.messages[0]["content"]
