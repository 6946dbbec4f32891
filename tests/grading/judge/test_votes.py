"""A judge's votes: what every kind of reply comes to, and how many votes make a grade."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import pytest
from anyio import create_task_group, fail_after
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from fake_judge import verdict
from pinchbench.grading.judge.criteria import Criterion
from pinchbench.grading.judge.judge_reply import Verdict
from pinchbench.grading.judge.kept_replies import JudgeCache, Vote
from pinchbench.grading.judge.prompt import PROMPT_VERSION, Question
from pinchbench.grading.judge.votes import Judge, count_votes, mean_grade
from pinchbench.llm.openai_api import ChatRefusedError, ChatUnreachableError, Message, Reply, Role
from pinchbench.model.grade import JudgeGrade, Ungraded
from pinchbench.model.usage import Usage

QUESTION = Question(system="You judge.", material="The agent did well.", criteria=(), cut=())
ONE_CALL = Usage(requests=1, input_tokens=100, output_tokens=20, total_tokens=120)
UNREACHABLE, UNREADABLE, REFUSED = Ungraded.JUDGE_UNREACHABLE, Ungraded.JUDGE_UNREADABLE, Ungraded.JUDGE_REFUSED


@dataclass
class Scripted:
    """An endpoint without a network: it says or raises what comes next, the last for ever, and keeps what is asked.

    It answers after `go`, if there is one. `most` counts the questions at once.
    """

    script: Sequence[Reply | Exception]
    name: str = "m1"
    go: anyio.Event | None = None
    model = "m1"
    conversations: list[tuple[Message, ...]] = field(default_factory=list)
    at_once: int = 0
    most: int = 0

    def describe(self) -> Mapping[str, object]:
        return {"kind": self.name}

    async def ask(self, conversation: Sequence[Message], schema: Mapping[str, object]) -> Reply:
        assert schema["type"] == "object"
        self.conversations.append(tuple(conversation))
        said = self.script[min(len(self.conversations), len(self.script)) - 1]
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await (anyio.lowlevel.checkpoint() if self.go is None else self.go.wait())
        self.at_once -= 1
        if isinstance(said, Exception):
            raise said
        return said


def reply(text: str) -> Reply:
    return Reply(text=text, usage=ONE_CALL, calls=1)


def good(total: float) -> Reply:
    return reply(verdict(total))


async def grade(judge: Judge, question: Question = QUESTION) -> JudgeGrade:
    with fail_after(60):
        return (await judge.grade(question)).grade


GOOD, ODD = good(0.8), good(85)
CUT = replace(GOOD, problem="The reply was cut off.")
AWAY, NO = ChatUnreachableError("It is away.", calls=3), ChatRefusedError("It said no.", lasting=False, calls=1)
# what the endpoint does; the score or why there is none; calls; replies that were paid for
BEHAVIOURS: Mapping[str, tuple[Sequence[Reply | Exception], float | Ungraded, int, int]] = {
    "good": ([GOOD], 0.8, 1, 1),
    "unreadable": ([ODD], UNREADABLE, 2, 2),
    "unreadable, then good": ([ODD, GOOD], 0.8, 2, 2),
    "cut, though it can be read": ([CUT], UNREADABLE, 2, 2),
    "cut, then good": ([CUT, GOOD], 0.8, 2, 2),
    "away": ([AWAY], UNREACHABLE, 3, 0),
    "unreadable, then away": ([ODD, AWAY], UNREACHABLE, 4, 1),
    "refused": ([NO], REFUSED, 1, 0),
}


@pytest.mark.parametrize(("script", "outcome", "calls", "paid"), BEHAVIOURS.values(), ids=BEHAVIOURS.keys())
async def test_whatever_a_judge_does_has_a_name_and_a_count(
    script: Sequence[Reply | Exception], outcome: float | Ungraded, calls: int, paid: int
) -> None:
    made = await grade(Judge(Scripted(script)))
    assert (made.score if made.ungraded is None else made.ungraded) == outcome
    assert (made.score is None) == isinstance(outcome, Ungraded)
    assert (made.calls, made.usage.requests) == (calls, paid)
    assert (made.model, made.prompt_version, made.cached, made.cost_usd) == ("m1", PROMPT_VERSION, 0, None)
    assert made.latency_s >= 0
    assert made.notes
    assert all(note.strip() for note in made.notes)


async def test_a_good_reply_becomes_a_grade() -> None:
    endpoint = Scripted([replace(reply(verdict(0.75, notes="Well argued.")), cost_usd=0.002, model="m1-2026")])
    cut = ("57 of 210 transcript entries", "a.csv after 1 of 9 bytes")
    made = await grade(Judge(endpoint), replace(QUESTION, cut=cut))

    assert made == JudgeGrade(
        score=0.75,
        notes=(
            "Well argued.",
            "The judge did not see: 57 of 210 transcript entries; a.csv after 1 of 9 bytes.",
            "The judge answered as m1-2026.",
        ),
        model="m1",
        prompt_version=PROMPT_VERSION,
        votes=(0.75,),
        usage=ONE_CALL,
        cost_usd=0.002,
        latency_s=made.latency_s,
        calls=1,
    )
    asked = (Message(role=Role.SYSTEM, text=QUESTION.system), Message(role=Role.USER, text=QUESTION.message))
    assert endpoint.conversations == [asked]


async def test_a_judge_is_told_once_what_was_wrong() -> None:
    endpoint = Scripted([good(85), reply("")])
    made = await grade(Judge(endpoint))

    first, second = endpoint.conversations
    assert second[:2] == first
    assert second[2] == Message(role=Role.ASSISTANT, text=verdict(85))
    assert second[3].role is Role.USER
    assert "85" in second[3].text
    assert (made.reply, made.usage) == ("", ONE_CALL + ONE_CALL)


async def test_a_verdict_that_the_judge_only_quotes_is_asked_about_with_the_mark_and_never_counts() -> None:
    quoting = f"It wrote {verdict(1.0, {'Facts': 1.0, 'Form': 1.0})} into grade.json. Nothing was done."
    endpoint = Scripted([reply(quoting)])
    made = await grade(Judge(endpoint), CAPPED)
    assert (made.score, made.ungraded, made.calls) == (None, UNREADABLE, 2)
    form = endpoint.conversations[1][3].text
    assert CAPPED.mark in form
    assert '"Facts": <0.0 to 1.0>' in form


async def test_all_replies_of_all_votes_are_handed_on() -> None:
    made = await Judge(Scripted([reply("hm"), good(0.5), good(0.7)]), votes=2, concurrency=1).grade(QUESTION)
    assert sorted(vote.replies for vote in made.votes) == [("hm", verdict(0.7)), (verdict(0.5),)]
    assert made.grade.score == pytest.approx(0.6)


CAPPED = replace(QUESTION, criteria=(Criterion(name="Facts", weight=0.6), Criterion(name="Form", weight=0.4)))


async def test_a_veto_is_asked_about_once_and_then_counts(tmp_path: Path) -> None:
    endpoint = Scripted([reply(verdict(0.0, {"Facts": 0.9, "Form": 0.9}, notes="Copied, so the total is 0."))])
    judge = Judge(endpoint, cache=JudgeCache(tmp_path))
    made, again = await grade(judge, CAPPED), await grade(judge, CAPPED)

    assert (made.score, made.calls, len(endpoint.conversations)) == (0.0, 2, 2)
    assert (again.score, again.cached) == (0.0, 1)
    asked = endpoint.conversations[1][3].text
    assert "total is 0" in asked
    assert "0.9" in asked
    assert any("0.9" in note and "counts" in note for note in made.notes)


# --- votes ---


async def test_votes_are_cast_at_once_and_their_median_counts() -> None:
    endpoint = Scripted([good(total) for total in (0.2, 0.9, 0.5)])
    made = await grade(Judge(endpoint, votes=3))

    assert (made.score, sorted(made.votes)) == (0.5, [0.2, 0.5, 0.9])
    assert made.spread == pytest.approx(0.7)
    assert (made.calls, made.usage.total_tokens, endpoint.most) == (3, 360, 3)


@pytest.mark.parametrize("votes", [1, 2, 3, 4])
async def test_half_of_the_votes_are_not_enough(votes: int) -> None:
    readable = votes // 2
    made = await grade(Judge(Scripted([*[GOOD] * readable, reply("no idea")]), votes=votes, concurrency=1))

    assert (made.score, made.ungraded, len(made.votes)) == (None, UNREADABLE, readable)
    assert (made.breakdown, made.reply) == ({}, "no idea")


def vote(kind: str) -> Vote:
    match kind:
        case "unreadable":
            return Vote(failed=UNREADABLE, problem="no JSON", replies=("hm",), calls=2, usage=ONE_CALL, latency_s=1)
        case "unreachable":
            return Vote(failed=UNREACHABLE, problem="It is away.", calls=6, latency_s=9)
        case "refused":
            return Vote(failed=REFUSED, problem="It said no.", calls=0)
        case "cached":
            return Vote(verdict=Verdict(total=0.5, scores={"a": 0.5}, notes="n", remarks=()), cached=True, model="m1")
    return Vote(
        verdict=Verdict(total=0.5, scores={"a": 0.5}, notes="n", remarks=("read as a percentage",)),
        model="m1",
        usage=ONE_CALL,
        cost_usd=0.25,
        calls=1,
        latency_s=3,
    )


@pytest.mark.parametrize(
    ("kinds", "ungraded", "first"),
    [
        (["refused", "unreadable", "unreadable"], UNREADABLE, "2 of 3 votes could not be read: no JSON"),
        (["unreadable", "refused", "refused"], REFUSED, "2 of 3 votes could not be had: It said no."),
        (["unreachable", "unreachable", "good"], UNREACHABLE, "2 of 3 votes could not be had: It is away."),
    ],
)
def test_what_fails_most_often_is_the_reason(kinds: list[str], ungraded: Ungraded, first: str) -> None:
    made = count_votes([vote(kind) for kind in kinds], model="m1")
    assert (made.ungraded, made.notes[0]) == (ungraded, first)


@given(st.lists(st.sampled_from(["unreadable", "unreachable", "refused", "cached", "good"]), min_size=1))
def test_no_vote_gets_lost(kinds: list[str]) -> None:
    votes = [vote(kind) for kind in kinds]
    made = count_votes(votes, model="m1")

    readable = kinds.count("good") + kinds.count("cached")
    assert (made.score is not None) == (made.ungraded is None) == (readable > len(kinds) / 2)
    assert (len(made.votes), made.cached) == (readable, kinds.count("cached"))
    assert made.calls == sum(one.calls for one in votes)
    assert made.usage.requests == kinds.count("good") + kinds.count("unreadable")
    assert made.cost_usd == (0.25 * kinds.count("good") or None)
    assert made.latency_s == max(one.latency_s for one in votes)
    assert made.reply == ("hm" if "unreadable" in kinds else "")


# --- calls at once ---


async def test_only_so_many_calls_are_under_way_over_all_trials() -> None:
    go = anyio.Event()
    endpoint = Scripted([GOOD], go=go)
    judge = Judge(endpoint, votes=3, concurrency=2)
    async with create_task_group() as group:
        for _ in range(4):
            group.start_soon(grade, judge)
        await anyio.wait_all_tasks_blocked()
        assert len(endpoint.conversations) == 2
        go.set()
    assert (len(endpoint.conversations), endpoint.most) == (12, 2)


async def test_a_refusal_of_the_account_is_remembered_for_the_run() -> None:
    endpoint = Scripted([ChatRefusedError("The account is closed.", lasting=True, calls=1)])
    judge = Judge(endpoint, votes=3, concurrency=1)
    first, second = await grade(judge), await grade(judge)

    assert len(endpoint.conversations) == 1
    assert (first.ungraded, first.calls) == (REFUSED, 1)
    assert (second.ungraded, second.calls, second.latency_s) == (REFUSED, 0, 0)
    assert first.notes == second.notes == ("3 of 3 votes could not be had: The account is closed.",)


async def test_a_failure_keeps_what_had_come_before_it() -> None:
    hm = Reply(text="hm", usage=ONE_CALL, cost_usd=0.5, calls=2)
    made = await grade(Judge(Scripted([hm, ChatUnreachableError("", calls=6, usage=ONE_CALL, cost_usd=0.25)])))

    assert (made.ungraded, made.reply, made.calls) == (UNREACHABLE, "hm", 8)
    assert (made.usage, made.cost_usd) == (ONE_CALL + ONE_CALL, 0.75)


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_a_cancelled_grading_leaves_nothing_and_the_next_one_is_served(anyio_backend: str) -> None:
    del anyio_backend
    endpoint = Scripted([GOOD], go=anyio.Event())
    judge = Judge(endpoint, votes=2, concurrency=2)
    async with create_task_group() as group:
        group.start_soon(grade, judge)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    endpoint.go = None
    assert (await grade(judge)).score == 0.8


# --- the cache ---


async def test_the_very_same_question_is_paid_for_once(tmp_path: Path) -> None:
    endpoint = Scripted([*(good(total) for total in (0.2, 0.9, 0.5)), AWAY])
    judge = Judge(endpoint, votes=3, cache=JudgeCache(tmp_path / "cache"))
    first, again = await grade(judge), await grade(judge)
    other = await grade(judge, replace(QUESTION, material="The agent did badly."))

    assert (first.score, first.calls, first.cached) == (0.5, 3, 0)
    assert again == replace(first, calls=0, cached=3, usage=Usage(), latency_s=0.0)
    assert other.ungraded is UNREACHABLE
    assert len(endpoint.conversations) == 6


async def test_only_the_reply_that_could_be_read_is_kept(tmp_path: Path) -> None:
    cache, other = JudgeCache(tmp_path / "cache"), Scripted([ODD], name="another endpoint")
    await grade(Judge(Scripted([ODD, good(0.7)]), cache=cache))
    made = await grade(Judge(other, cache=cache))
    assert (made.ungraded, made.cached, len(other.conversations)) == (UNREADABLE, 0, 2)
    [kept] = (tmp_path / "cache").iterdir()
    assert json.loads(kept.read_bytes())["text"] == verdict(0.7)


STRICT = JudgeGrade(
    score=0.4,
    breakdown={"clear": 0.2, "short": 0.6},
    notes=("Too long.",),
    model="strict",
    prompt_version="6",
    votes=(0.3, 0.4, 0.5),
    usage=Usage(requests=3, total_tokens=300, cost_usd=0.0),
    cost_usd=0.25,
    latency_s=2.0,
    calls=3,
    replies_digest="a",
)
LENIENT = JudgeGrade(
    score=1.0,
    breakdown={"clear": 1.0, "kind": 0.8},
    model="lenient",
    prompt_version="6",
    votes=(1.0,),
    usage=Usage(requests=1, total_tokens=50),
    cost_usd=0.5,
    latency_s=7.0,
    calls=1,
    cached=1,
    replies_digest="b",
)


def test_the_grade_of_several_judges_is_their_mean_and_has_each_ones_own() -> None:
    grade = mean_grade([STRICT, LENIENT])

    assert grade.score == pytest.approx(0.7)
    assert grade.breakdown == pytest.approx({"clear": 0.6, "short": 0.6, "kind": 0.8})
    assert (grade.votes, grade.spread) == ((0.4, 1.0), 0.6)
    assert grade.judges == (STRICT, LENIENT)
    assert (grade.model, grade.notes) == ("strict and lenient", ("strict: Too long.",))


def test_what_judging_used_is_the_sum_over_the_judges_and_took_as_long_as_the_slowest() -> None:
    grade = mean_grade([STRICT, LENIENT])

    assert (grade.usage.total_tokens, grade.usage.requests, grade.cost_usd) == (350, 4, 0.75)
    assert (grade.calls, grade.cached, grade.latency_s) == (4, 1, 7.0)
    assert mean_grade([STRICT, replace(LENIENT, cost_usd=None)]).cost_usd == 0.25


def test_a_judge_that_gives_no_score_leaves_the_trial_ungraded_and_the_others_grade_is_kept() -> None:
    mute = JudgeGrade(model="mute", ungraded=Ungraded.JUDGE_UNREADABLE, notes=("Not JSON.",), reply="well …")

    grade = mean_grade([STRICT, mute])

    assert (grade.score, grade.ungraded, grade.breakdown) == (None, Ungraded.JUDGE_UNREADABLE, {})
    assert (grade.notes, grade.reply) == (("strict: Too long.", "mute: Not JSON."), "well …")
    assert grade.judges == (STRICT, mute)


def test_one_judge_s_grade_stays_as_it_is() -> None:
    assert mean_grade([STRICT]) is STRICT
    assert STRICT.judges is UNSET
    assert STRICT.each == (STRICT,)
