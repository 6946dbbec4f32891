"""Questions to the model of simulated users, which go from a node to the runner, and their answers."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from anyio import create_task_group, fail_after

from cluster.fake_endpoint import FakeEndpoint
from pinchbench.cluster.asked_user_model import AskedUserModel, UserAnswers
from pinchbench.cluster.messages import (
    FromNode,
    ToNode,
    UserAsked,
    UserDropped,
    UserFailed,
    UserReplied,
    decode_from_node,
    decode_to_node,
    encode,
)
from pinchbench.llm.openai_api import ChatError, ChatRefusedError, Message, Reply, Role
from pinchbench.model.usage import Usage

ASKED = (Message(role=Role.SYSTEM, text="You are Ada."), Message(role=Role.USER, text="When — für wann? 🍜"))
SCHEMA = {"type": "object", "required": ["message"]}
USAGE = Usage(requests=1, input_tokens=100, output_tokens=20)
SECRET = "sk-user"


@asynccontextmanager
async def asked_through(endpoint: FakeEndpoint) -> AsyncGenerator[AskedUserModel]:
    """The model as a node has it; what goes to the runner and back is encoded."""
    with fail_after(60):
        async with create_task_group() as group:

            def answered(message: ToNode) -> None:
                answer = decode_to_node(encode(message))
                assert isinstance(answer, UserReplied | UserFailed)
                there.take(answer)

            def put(message: FromNode) -> None:
                asked = decode_from_node(encode(message))
                assert isinstance(asked, UserAsked | UserDropped)
                answers.take(asked)

            answers = UserAnswers(endpoint, answered, group, masked=lambda text: text.replace(SECRET, "***"))
            there = AskedUserModel(endpoint.model, put)
            yield there
            group.cancel_scope.cancel()


async def test_a_node_gets_what_the_model_says_and_what_that_took() -> None:
    endpoint = FakeEndpoint(Reply(text='{"message": "Für Freitag. 🍜"}', usage=USAGE, cost_usd=0.25, calls=2))
    async with asked_through(endpoint) as there:
        assert (there.model, there.describe()) == ("user-1", {"model": "user-1"})
        assert await there.ask(ASKED, SCHEMA) == endpoint.says
        assert await there.ask(ASKED[:1], SCHEMA) == endpoint.says
    assert endpoint.asked == [(ASKED, SCHEMA), (ASKED[:1], SCHEMA)]


async def test_a_failure_of_the_model_is_one_on_the_node_with_what_it_took() -> None:
    error = ChatRefusedError(f"The key {SECRET} was refused.", lasting=True, calls=3, usage=USAGE, cost_usd=0.5)
    async with asked_through(FakeEndpoint(error)) as there:
        with pytest.raises(ChatError, match=r"The key \*\*\* was refused\.") as caught:
            await there.ask(ASKED, SCHEMA)
    assert (caught.value.calls, caught.value.usage, caught.value.cost_usd) == (3, USAGE, 0.5)


async def test_a_key_that_the_model_repeats_stays_where_the_run_is() -> None:
    async with asked_through(FakeEndpoint(Reply(text=f"my key is {SECRET}"))) as there:
        assert (await there.ask(ASKED, SCHEMA)).text == "my key is ***"


async def test_a_call_for_which_nobody_waits_any_more_is_ended() -> None:
    endpoint = FakeEndpoint(None)
    async with asked_through(endpoint) as there:
        async with create_task_group() as trial:
            trial.start_soon(there.ask, ASKED, SCHEMA)
            await endpoint.was_asked.wait()
            trial.cancel_scope.cancel()
        await endpoint.is_dropped.wait()
