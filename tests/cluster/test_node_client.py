"""A node as the runner sees it, over a link that does what a test wants."""

import anyio
import pytest
from anyio import create_task_group

from cluster.fake_endpoint import FakeEndpoint
from cluster.fake_link import FILES, FakeLink
from cluster.joined_node import joined, made
from fakes import SeenEvents, until
from pinchbench.cluster import messages as link_module
from pinchbench.cluster.messages import EndTrial, Refused, StartTrial, Stop, UserAsked, UserReplied
from pinchbench.errors import ClusterError
from pinchbench.llm.openai_api import Reply
from pinchbench.model.ending import Reason
from pinchbench.runner.run_context import RunContext


async def test_a_trial_that_is_stopped_alone_is_ended_on_its_node(run: RunContext) -> None:
    link, stop = FakeLink(is_silent=True), anyio.Event()
    async with joined(link, run) as client, create_task_group() as group:
        group.start_soon(lambda: made(client, run, stop=stop))
        await until(lambda: any(isinstance(one, StartTrial) for one in link.sent))
        stop.set()
        await until(lambda: EndTrial(slot=2) in link.sent)
        link.end()
    assert Stop() not in link.sent


async def test_a_node_s_questions_to_the_model_of_its_users_are_asked_here(run: RunContext) -> None:
    endpoint, link = FakeEndpoint(Reply(text="{}")), FakeLink()
    async with joined(link, run, user_model=endpoint):
        link.put(UserAsked(number=3, conversation=(), schema={}))
        await until(lambda: UserReplied(number=3, reply=Reply(text="{}")) in link.sent)
    assert len(endpoint.asked) == 1


async def test_the_evidence_of_a_trial_is_here_when_its_outcome_is(run: RunContext) -> None:
    link, seen = FakeLink(), SeenEvents()
    async with joined(link, run) as client:
        outcome = await made(client, run, events=seen)
    folder = run.files.folder / outcome.evidence
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == FILES
    assert (outcome.reason, outcome.slot, outcome.node) == (Reason.COMPLETED, 7, "host1")
    assert [text for text, _ in seen.activities] == ["works"]
    assert [type(message).__name__ for message in link.sent] == ["Begin", "StartTrial", "Forget", "End"]


async def test_evidence_has_the_names_of_evidence(run: RunContext, monkeypatch: pytest.MonkeyPatch) -> None:
    link = FakeLink()
    monkeypatch.setitem(FILES, "../../escaped", b"")
    async with joined(link, run) as client:
        outcome = await made(client, run)
    assert sorted(path.name for path in (run.files.folder / outcome.evidence).iterdir()) == [
        "stdout.log",
        "transcript.jsonl",
    ]


async def test_a_trial_whose_evidence_has_arrived_counts_though_its_node_is_lost(run: RunContext) -> None:
    link = FakeLink()

    async def read(path: str, offset: int, size: int) -> bytes:
        link.lose()
        return await FakeLink.read(link, path, offset, size)

    link.read = read  # type: ignore[method-assign]
    async with joined(link, run) as client:
        outcome = await made(client, run)
    assert outcome.reason is Reason.COMPLETED


async def test_a_node_that_does_not_answer_is_lost(run: RunContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "LEASE_S", 0.05)
    async with joined(FakeLink(is_silent=True), run) as client:
        outcome = await made(client, run)
    assert outcome.reason is Reason.NODE_LOST
    assert "it did not answer for" in outcome.note


async def test_a_node_that_refuses_is_named(run: RunContext) -> None:
    link = FakeLink(answer=Refused(why="No OpenClaw."), ended=True)
    with pytest.raises(ExceptionGroup) as caught:
        async with joined(link, run):
            pass
    [error] = caught.value.exceptions
    assert isinstance(error, ClusterError)
    assert str(error) == "The node host1 can't take part. No OpenClaw."


async def test_what_the_run_is_asked_to_do_is_passed_on(run: RunContext) -> None:
    link = FakeLink(is_silent=True)
    async with joined(link, run):
        run.interrupt.stop.set()
        await until(lambda: Stop() in link.sent)
        run.interrupt.hurry.set()
        await until(lambda: Stop(hurry=True) in link.sent)
