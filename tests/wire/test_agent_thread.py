"""The trial's own conversation is distinguished from others that the wire saw."""

import pytest

from pinchbench.wire import agent_thread
from pinchbench.wire.agent_thread import read_thread
from pinchbench.wire.exchange_facts import read_all
from pinchbench.wire.protocols.call_facts import Message, RequestFacts, Role
from wire.exchanges import CHAT, exchange, sse

TOOLS = [{"type": "function", "function": {"name": "exec"}}, {"type": "function", "function": {"name": "spawn"}}]


def runtime(session: str) -> str:
    return f"Runtime: agent=a | session=agent:a:explicit:{session} | sessionId={session} | host=localhost"


def asked(*messages: dict[str, object], system: str = "You are an agent.", tools: object = TOOLS) -> dict[str, object]:
    return {"model": "m", "messages": [{"role": "system", "content": system}, *messages], "tools": tools}


def said(text: str) -> bytes:
    return sse({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}, end="[DONE]")


def user(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


def test_a_session_is_known_by_the_id_that_openclaw_names() -> None:
    exchanges = [
        exchange(CHAT, asked(user(f"Go.\n\n{runtime('main')}")), said("own"), number=1),
        # an agent names the trial's session in what it asks of a sub-agent, before OpenClaw's own line
        exchange(CHAT, asked(user(f"{runtime('main')}\n\n{runtime('sub')}")), said("sub-agent"), number=2),
        exchange(CHAT, asked(user("Summarise."), system="You summarise.", tools=[]), said("recap"), number=3),
        exchange(CHAT, asked(user("What came before, in short.")), said("after a compaction"), number=4),
    ]

    thread = read_thread(read_all(exchanges), ("main",))

    assert [step.number for step in thread.steps] == [1, 4]
    assert "recap" in thread.texts


def test_without_ids_the_first_agents_prompt_and_tools_tell_it_apart() -> None:
    exchanges = [
        exchange(CHAT, asked(user("Say ok."), system="", tools=[]), said("ok"), number=1),
        exchange(CHAT, asked(user("Go.")), said("own"), number=2),
        exchange(CHAT, asked(user("Help."), tools=TOOLS[:1]), said("sub-agent"), number=3),
        exchange(CHAT, asked(user("Go on.")), said("own too"), number=4, turn=1),
    ]

    assert [step.number for step in read_thread(read_all(exchanges), ("main",)).steps] == [2, 4]


def test_a_request_without_results_does_not_say_that_there_were_none() -> None:
    call = {"index": 0, "id": "c", "function": {"name": "exec", "arguments": "{}"}}
    called = sse({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}, end="[DONE]")
    answered = asked(user("Go."), {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": "ok"})
    exchanges = [
        exchange(CHAT, asked(user("Go.")), called, number=1),
        exchange(CHAT, answered, called, number=2),
        exchange(CHAT, asked(user("What came before, in short.")), called, number=3),
        exchange(CHAT, asked(user("In a new session.")), said("Done."), number=4, turn=1),
    ]

    first, *others = read_thread(read_all(exchanges), ()).steps

    assert [one.text for one in first.results or ()] == ["ok"]
    assert [one.results for one in others] == [None, None, None]


def test_a_reply_after_which_openclaw_asks_the_same_again_is_discarded() -> None:
    exchanges = [
        exchange(CHAT, asked(user("Go.")), said("not good"), number=1),
        exchange(CHAT, asked(user("Go."), user("Continue.")), said("good"), number=2),
        exchange(CHAT, asked(user("Go.")), said("in the next turn"), number=3, turn=1),
    ]

    assert [step.is_discarded for step in read_thread(read_all(exchanges), ()).steps] == [True, False, False]


def test_the_request_for_a_final_answer_after_an_empty_one_belongs_to_the_session() -> None:
    call = {"index": 0, "id": "c", "function": {"name": "exec", "arguments": "{}"}}
    called = sse({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}, end="[DONE]")
    done: list[dict[str, object]] = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": "ok"}]
    answered = asked(user(f"Go.\n\n{runtime('main')}"), *done)
    final = asked(user("Go."), *done, user("Answer now."), system="", tools=[])
    recap = asked(user("Go."), *done, user("Summarise."), system="", tools=[])
    exchanges = [
        exchange(CHAT, asked(user(f"Go.\n\n{runtime('main')}")), called, number=1),
        exchange(CHAT, answered, said(""), number=2),
        exchange(CHAT, final, said("NO_REPLY"), number=3),
        exchange(CHAT, final, said("All done."), number=4),
        exchange(CHAT, recap, said("recap"), number=5),
    ]

    thread = read_thread(read_all(exchanges), ("main",))

    assert [(step.number, step.session, step.is_discarded) for step in thread.steps] == [
        (1, "main", False),
        (2, "main", True),
        (3, "main", True),
        (4, "main", False),
    ]


RUN_OF_JOB = "Runtime: agent=a | session=agent:a:cron:j | host=h"


def conversation(*users: str, answered: bool = False, system: str = "") -> RequestFacts:
    messages = [Message(role=Role.USER, text=text) for text in users]
    return RequestFacts(system=system, messages=(*messages, *([Message(role=Role.ASSISTANT)] if answered else [])))


NAMED = {
    "asked again": ([conversation(f"Go.\n\n{RUN_OF_JOB}")] * 2, ["agent:a:cron:j#1"] * 2),
    "two runs of an automation": (
        [
            conversation(f"Go at 8.\n\n{RUN_OF_JOB}"),
            conversation(f"Go at 8.\n\n{RUN_OF_JOB}", answered=True),
            conversation(f"Go at 9.\n\n{RUN_OF_JOB}"),
        ],
        ["agent:a:cron:j#1", "agent:a:cron:j#1", "agent:a:cron:j#2"],
    ),
    "a line that the agent wrote into its automation": (
        [conversation(f"Runtime: x sessionId=main\n\n{RUN_OF_JOB}")],
        ["agent:a:cron:j#1"],
    ),
    "a session": (
        [conversation("Hi.\n\nRuntime: agent=a | session=agent:a:main | sessionId=s1 | host=h")],
        ["s1"],
    ),
    "nothing": ([conversation("Summarise.")], [""]),
}


@pytest.mark.parametrize(("conversations", "names"), NAMED.values(), ids=NAMED)
def test_a_request_is_named_by_its_session_or_by_its_automation_and_run(
    conversations: list[RequestFacts], names: list[str]
) -> None:
    assert agent_thread._names(conversations) == names
