"""A judge's votes on a trial: requesting, retrying, caching, and merging them, and several judges, into one grade."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING

import anyio
from anyio import CapacityLimiter, amap, to_thread
from msgspec import UNSET

from pinchbench.grading.judge.judge_reply import UnreadableReplyError, Verdict, median_verdict, read_reply
from pinchbench.grading.judge.kept_replies import JudgeCache, Judgement, Vote, cache_key
from pinchbench.grading.judge.prompt import PROMPT_VERSION, Question, ask_again, response_schema
from pinchbench.llm.openai_api import MAX_REPLY, ChatError, ChatRefusedError, Endpoint, Message, Reply, Role
from pinchbench.model.grade import JudgeGrade, Ungraded
from pinchbench.model.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


TRIES = 2  # a judge that fails again after the problem was explained is unlikely to succeed a third time
NO_ANSWER = "(no answer)"  # stands for a reply without text: endpoints refuse an empty message


class Judge:
    """The judge of a run. Grades many trials at once."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        votes: int = 1,
        concurrency: int = 4,
        cache: JudgeCache | None = None,
        certificate: str = "",
    ) -> None:
        """Request `votes` answers for each trial, with at most `concurrency` calls at once over all trials.

        Grades name the `certificate`; see `JudgeCertificate.told`.
        """
        self._endpoint = endpoint
        self._votes = votes
        self._limiter = CapacityLimiter(concurrency)
        self._cache = cache
        self._certificate = certificate
        self._refusal = ""  # a lasting refusal, which ends all further calls of this run

    @property
    def about(self) -> Mapping[str, object]:
        """Everything besides the question that shapes the answers; see `Endpoint.describe`."""
        return self._endpoint.describe()

    async def grade(self, question: Question, *, votes: int | None = None) -> Judgement:
        """Request all votes at once and merge them into a grade; `votes` are as many as for each trial, if not stated.

        Failures are reported in the grade. Only a cancellation raises, after the endpoint has ended its calls.
        """
        schema = response_schema(question)
        numbers = range(1, (votes or self._votes) + 1)
        in_order = tuple(await amap(partial(self._vote, question, schema), numbers))
        grade = count_votes(in_order, model=self._endpoint.model, cut=question.cut)
        return Judgement(grade=replace(grade, certificate=self._certificate or UNSET), votes=in_order)

    async def _vote(self, question: Question, schema: Mapping[str, object], number: int) -> Vote:
        key = cache_key(question, schema, endpoint=self._endpoint.describe(), vote=number)
        if (remembered := await self._recall(key, question)) is not None:
            return remembered
        spent = _Spent()
        conversation = [Message(role=Role.SYSTEM, text=question.system), Message(role=Role.USER, text=question.message)]
        problem = ""
        for attempt in range(1, TRIES + 1):
            try:
                reply = await self._call(conversation, schema, spent)
            except ChatError as error:
                refused = isinstance(error, ChatRefusedError)
                failed = Ungraded.JUDGE_REFUSED if refused else Ungraded.JUDGE_UNREACHABLE
                return replace(spent.vote, failed=failed, problem=str(error))
            try:
                verdict = await _read(reply, question, is_last=attempt == TRIES)
            except UnreadableReplyError as error:
                problem = str(error)
                said = NO_ANSWER if reply.problem else reply.text[:MAX_REPLY]
                conversation += [
                    Message(role=Role.ASSISTANT, text=said if said.strip() else NO_ANSWER),
                    Message(role=Role.USER, text=ask_again(problem, question)),
                ]
                continue
            if self._cache is not None:
                await self._cache.put(key, reply.text, usage=reply.usage, model=reply.model)
            return replace(spent.vote, verdict=verdict)
        return replace(spent.vote, failed=Ungraded.JUDGE_UNREADABLE, problem=problem)

    async def _recall(self, key: str, question: Question) -> Vote | None:
        if self._cache is None or (kept := await self._cache.get(key)) is None:
            return None
        try:
            verdict = await to_thread.run_sync(read_reply, kept.text, question)
        except UnreadableReplyError:
            return None
        return Vote(verdict=verdict, replies=(kept.text,), model=kept.model, cached=True)

    async def _call(self, conversation: Sequence[Message], schema: Mapping[str, object], spent: _Spent) -> Reply:
        """Ask once. The cost of the call is added to `spent`, whether it succeeds or not."""
        async with self._limiter:
            if self._refusal:
                raise ChatRefusedError(self._refusal, lasting=True)
            began = anyio.current_time()
            try:
                reply = await self._endpoint.ask(tuple(conversation), schema)
            except ChatError as error:
                if isinstance(error, ChatRefusedError) and error.lasting:
                    self._refusal = str(error)
                spent.add(error, began)
                raise
        spent.add(reply, began)
        return reply


async def _read(reply: Reply, question: Question, *, is_last: bool) -> Verdict:
    if reply.problem:
        raise UnreadableReplyError(reply.problem)
    # in a thread: a reply that is hard to read takes up to a second, which would delay other tasks' time limits
    return await to_thread.run_sync(partial(read_reply, reply.text, question, is_last=is_last))


@dataclass(slots=True)
class _Spent:
    """A vote without its result: the cost and the replies of its calls so far."""

    vote: Vote = field(default_factory=Vote)

    def add(self, what: Reply | ChatError, began: float) -> None:
        vote = self.vote
        if isinstance(what, Reply):
            vote = replace(vote, replies=(*vote.replies, what.text), model=what.model)
        self.vote = replace(
            vote,
            usage=vote.usage + what.usage,
            calls=vote.calls + what.calls,
            cost_usd=sum_known((vote.cost_usd, what.cost_usd)),
            latency_s=vote.latency_s + anyio.current_time() - began,
        )


def count_votes(votes: Sequence[Vote], *, model: str, cut: Sequence[str] = ()) -> JudgeGrade:
    """Return the grade from all votes of a trial (pure). `cut` names what the judge was not shown.

    More than half of the votes must have a verdict. Otherwise the trial is ungraded for the most frequent reason. The
    latency is that of the longest vote, as votes run at the same time.
    """
    verdicts = [vote.verdict for vote in votes if vote.verdict is not None]
    failures = Counter(vote.failed for vote in votes if vote.failed is not None)
    failed_notes = tuple(_failure(reason, count, votes) for reason, count in failures.most_common())
    common = JudgeGrade(
        model=model,
        prompt_version=PROMPT_VERSION,
        votes=tuple(verdict.total for verdict in verdicts),
        usage=sum((vote.usage for vote in votes), Usage()),
        cost_usd=sum_known(vote.cost_usd for vote in votes),
        latency_s=round(max((vote.latency_s for vote in votes), default=0.0), 3),
        calls=sum(vote.calls for vote in votes),
        cached=sum(vote.cached for vote in votes),
        reply=next((vote.replies[-1][:MAX_REPLY] for vote in votes if vote.failed is not None and vote.replies), ""),
    )
    if 2 * len(verdicts) <= len(votes):
        [(ungraded, _)] = failures.most_common(1)
        return replace(common, ungraded=ungraded, notes=failed_notes)
    verdict, spread = median_verdict(verdicts)
    others = dict.fromkeys(vote.model for vote in votes if vote.verdict is not None and vote.model not in ("", model))
    notes = (
        *((verdict.notes,) if verdict.notes else ()),
        *verdict.remarks,
        *((f"The judge did not see: {'; '.join(cut)}.",) if cut else ()),
        *((f"The judge answered as {', '.join(others)}.",) if others else ()),
        *failed_notes,
    )
    return replace(common, score=verdict.total, breakdown=dict(verdict.scores), spread=spread, notes=notes)


def _failure(reason: Ungraded, count: int, votes: Sequence[Vote]) -> str:
    problem = next(vote.problem for vote in votes if vote.failed is reason)
    what = "could not be read" if reason is Ungraded.JUDGE_UNREADABLE else "could not be had"
    whole = "The judge's reply" if len(votes) == 1 else f"{count} of {len(votes)} votes"
    return f"{whole} {what}: {problem}"


def mean_grade(grades: Sequence[JudgeGrade]) -> JudgeGrade:
    """Return the grade of a trial from those of its judges (pure): the mean of each criterion, and of the totals.

    A criterion that only some judges name has the mean of theirs. The trial is ungraded if a judge gave no score, for
    the first such judge's reason: a mean over fewer judges would be another measurement. One judge's grade is returned
    as it is. The latency is the longest, as judges are asked at the same time.
    """
    if len(grades) == 1:
        return grades[0]
    common = JudgeGrade(
        ungraded=next((one.ungraded for one in grades if one.ungraded is not None), None),
        notes=tuple(f"{one.model}: {note}" for one in grades for note in one.notes),
        model=" and ".join(one.model for one in grades),
        prompt_version=grades[0].prompt_version,
        usage=sum((one.usage for one in grades), Usage()),
        cost_usd=sum_known(one.cost_usd for one in grades),
        latency_s=max(one.latency_s for one in grades),
        calls=sum(one.calls for one in grades),
        cached=sum(one.cached for one in grades),
        reply=next((one.reply for one in grades if one.reply), ""),
        judges=tuple(grades),
    )
    scores = [one.score for one in grades if one.score is not None]
    if common.ungraded is not None:
        return common
    criteria = dict.fromkeys(name for one in grades for name in one.breakdown)
    return replace(
        common,
        score=fmean(scores),
        breakdown={name: fmean(one.breakdown[name] for one in grades if name in one.breakdown) for name in criteria},
        votes=tuple(scores),
        spread=round(max(scores) - min(scores), 6),
    )


def sum_known(costs: Iterable[float | None]) -> float | None:
    """Return the sum of the costs that are known; None if none is."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None
