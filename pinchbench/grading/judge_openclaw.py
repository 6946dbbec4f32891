"""An OpenClaw agent as a judge: the question is its prompt, its last words are the reply."""

from __future__ import annotations

import re
import tempfile
import time
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import Semaphore, move_on_after, to_thread

from pinchbench.folders import remove_folder
from pinchbench.grading.judge import JudgeRefusedError, JudgeUnreachableError, Reply, Role
from pinchbench.limits import OPENCLAW_JUDGE
from pinchbench.model import GradingType, Reason, Task, Turn

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from pinchbench.grading.judge import Message
    from pinchbench.openclaw.agent import OpenClawAgent
    from pinchbench.openclaw.task_result import TaskResult

TIMEOUT_S = 600.0  # a start of OpenClaw takes up to half a minute, and a model may think for minutes
CLEAN_UP_LIMIT_S = 10.0  # deleting a workspace that nobody wrote to, a transcript and two output files
LAST_BYTES = 4096  # of stderr, in which its last line is looked for
MAX_NOTE = 500  # characters of what OpenClaw says about a failure
# how a provider's words, which is all that OpenClaw passes on, tell that the account is refused
REFUSED = re.compile(r"\b40[123]\b|unauthori[sz]ed|invalid.{0,10}api.?key|insufficient.?quota", re.IGNORECASE)


class OpenClawJudge:
    """Agents that judge, each one question at a time; a question waits until one of them is free."""

    def __init__(
        self,
        agents: Sequence[OpenClawAgent],
        folder: Path,
        *,
        model: str,
        base_url: str | None = None,
        timeout_s: float = TIMEOUT_S,
        marker: str = "judge",
    ) -> None:
        """Take agents with homes of their own and, if the judge is to be fair and safe, without tools.

        `folder` exists; what a call needs is made below it and deleted. `model` (without `openclaw:`) and
        `base_url` are those the homes were made for. `marker` begins the name of a call in the environment of
        its processes.
        """
        self.model = f"{OPENCLAW_JUDGE}{model}"
        self._folder = folder
        self._timeout_s = timeout_s
        self._marker = marker
        self._about = {
            "kind": "openclaw",
            "model": self.model,
            "base_url": base_url,
            "openclaw": agents[0].openclaw.version,
            "thinking": agents[0].thinking,
        }
        self._free = list(agents)
        self._some_free = Semaphore(len(agents))

    def describe(self) -> Mapping[str, object]:
        """The model, its address, the release and its thinking level."""
        return self._about

    async def ask(self, conversation: Sequence[Message], schema: Mapping[str, object]) -> Reply:
        """Run a turn of a free agent in an empty workspace.

        The schema is not passed on: OpenClaw has no place for it, and the question asks for that shape in words.
        Raises JudgeUnreachableError when the agent ended without an answer and JudgeRefusedError when its provider
        refused. On return and on cancellation its processes are dead and its folders are gone.
        """
        del schema
        async with self._some_free:
            agent = self._free.pop()
            try:
                async with self._fresh_folders() as (workspace, evidence):
                    result = await agent.execute_task(
                        _task(flatten(conversation)),
                        workspace=workspace,
                        evidence=evidence,
                        timeout_s=self._timeout_s,
                        marker=f"{self._marker}/{time.time_ns()}",
                    )
                    said = "" if result.reason.counts else await to_thread.run_sync(_last_words, result.evidence.stderr)
            except OSError as error:
                raise JudgeUnreachableError(f"OpenClaw could not be started as a judge: {error}.") from error
            finally:
                self._free.append(agent)
        return read_result(result, said=said)

    @asynccontextmanager
    async def _fresh_folders(self) -> AsyncGenerator[tuple[Path, Path]]:
        folder = Path(await to_thread.run_sync(partial(tempfile.mkdtemp, prefix="judge-", dir=self._folder)))
        workspace, evidence = folder / "workspace", folder / "evidence"
        try:
            for one in (workspace, evidence):
                await to_thread.run_sync(partial(one.mkdir, mode=0o700))
            yield workspace, evidence
        finally:
            with move_on_after(CLEAN_UP_LIMIT_S, shield=True):
                await to_thread.run_sync(remove_folder, folder, abandon_on_cancel=True)


def flatten(conversation: Sequence[Message]) -> str:
    """Write a conversation as one prompt: its system text and question as they are, what followed under its speaker."""
    heads = {Role.ASSISTANT: "Your reply was:", Role.USER: "", Role.SYSTEM: ""}
    return "\n\n".join(part for message in conversation for part in (heads[message.role], message.text) if part)


def _last_words(stderr: Path) -> str:
    """The last line that OpenClaw wrote to stderr, where it says why it could not start; empty without one."""
    try:
        text = stderr.read_bytes()[-LAST_BYTES:].decode("utf-8", "replace")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(text.split("\n")) if line.strip()), "")


def read_result(result: TaskResult, *, said: str = "") -> Reply:
    """Take the agent's last words as the reply (pure); `said` is what OpenClaw wrote to stderr when it failed.

    Raises JudgeUnreachableError and JudgeRefusedError.
    """
    usage = result.usage
    cost_usd = usage.cost_usd or None  # OpenClaw writes 0 where it knows no price
    if result.reason is Reason.COMPLETED:
        text = result.facts.final_text
        return Reply(
            text=text,
            usage=usage,
            cost_usd=cost_usd,
            calls=usage.requests,
            model=f"{OPENCLAW_JUDGE}{result.facts.models[-1]}" if result.facts.models else "",
            problem="" if text.strip() else "the agent ended without a word",
        )
    note = "".join(f": {text[:MAX_NOTE]}" for text in (result.note, said) if text)
    sentence = f"The judge's agent ended as {result.reason.value}{note}"
    if result.reason is Reason.PROVIDER_ERROR and REFUSED.search(result.note):
        raise JudgeRefusedError(sentence, lasting=True, calls=usage.requests, usage=usage, cost_usd=cost_usd)
    if result.reason is Reason.MODEL_ERROR:  # this question is too long for it, or more than its filter lets pass
        raise JudgeRefusedError(sentence, lasting=False, calls=usage.requests, usage=usage, cost_usd=cost_usd)
    raise JudgeUnreachableError(sentence, calls=usage.requests, usage=usage, cost_usd=cost_usd)


def _task(prompt: str) -> Task:
    return Task(
        task_id="judge",
        name="judge",
        category="",
        grading_type=GradingType.AUTOMATED,
        prompt=prompt,
        turns=(Turn(prompt=prompt),),
    )
