"""An OpenClaw agent as a judge: the question is its prompt, its final text is the reply."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from anyio import Semaphore, to_thread

from pinchbench.defaults import OPENCLAW_JUDGE
from pinchbench.llm.openai_api import ChatRefusedError, ChatUnreachableError, Message, Reply, Role
from pinchbench.model.ending import Reason
from pinchbench.openclaw.short_command import short_lived_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pinchbench.openclaw.agent import OpenClawAgent
    from pinchbench.openclaw.task_result import TaskResult

TIMEOUT_S = 600.0  # OpenClaw takes up to half a minute to start, and a model may reason for minutes
LAST_BYTES = 4096  # of stderr, searched for its last line
MAX_NOTE = 500  # characters of OpenClaw's message about a failure
# OpenClaw passes on only the provider's message, which is matched to detect a refused account
REFUSED = re.compile(r"\b40[123]\b|unauthori[sz]ed|invalid.{0,10}api.?key|insufficient.?quota", re.IGNORECASE)


class OpenClawJudge:
    """A pool of agents that judge, one question each at a time; a question waits until an agent is free."""

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
        """Take agents with homes of their own and, for a fair and safe judge, without tools.

        `folder` must exist; temporary folders are created in it and deleted. `model` (without `openclaw:`) and
        `base_url` are those that the homes were configured for. `marker` is the prefix of a call's name in the
        environment of its processes.
        """
        self.model = f"{OPENCLAW_JUDGE}{model}"
        self._folder = folder
        self._timeout_s = timeout_s
        self._marker = marker
        version, thinking = agents[0].home.openclaw.version, agents[0].thinking
        address = {"kind": "openclaw", "model": self.model, "base_url": base_url}
        self._about = {**address, "openclaw": version, "thinking": thinking}
        self._free = list(agents)
        self._some_free = Semaphore(len(agents))

    def describe(self) -> Mapping[str, object]:
        """Return the model, its address, the OpenClaw version and the thinking level."""
        return self._about

    async def ask(self, conversation: Sequence[Message], schema: Mapping[str, object]) -> Reply:
        """Run a turn of a free agent in an empty workspace.

        The schema is ignored: OpenClaw can't pass it on, and the question describes the same form in words. Raises
        ChatUnreachableError if the agent ended without an answer, and ChatRefusedError if its provider refused. On
        return and on cancellation its processes are dead and its folders are removed.
        """
        del schema
        async with self._some_free:
            agent = self._free.pop()
            try:
                async with short_lived_folder(self._folder, "judge-") as folder:
                    prompt, marker = flatten(conversation), f"{self._marker}/{time.time_ns()}"
                    result = await agent.execute_prompt(
                        prompt, folder, name="judge", timeout_s=self._timeout_s, marker=marker
                    )
                    failed = not result.reason.is_valid
                    said = await to_thread.run_sync(_last_words, result.evidence.stderr) if failed else ""
            except OSError as error:
                raise ChatUnreachableError(f"OpenClaw could not be started as a judge: {error}.") from error
            finally:
                self._free.append(agent)
        return read_result(result, said=said)


def flatten(conversation: Sequence[Message]) -> str:
    """Return a conversation as one prompt: system text and question unchanged, later messages with a heading."""
    heads = {Role.ASSISTANT: "Your reply was:", Role.USER: "", Role.SYSTEM: ""}
    return "\n\n".join(part for message in conversation for part in (heads[message.role], message.text) if part)


def _last_words(stderr: Path) -> str:
    """Return the last line of stderr, where OpenClaw says why it could not start; empty if there is none."""
    try:
        text = stderr.read_bytes()[-LAST_BYTES:].decode("utf-8", "replace")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(text.split("\n")) if line.strip()), "")


def read_result(result: TaskResult, *, said: str = "") -> Reply:
    """Return the agent's final text as the reply (pure); `said` is what OpenClaw wrote to stderr when it failed.

    Raises ChatUnreachableError and ChatRefusedError.
    """
    usage = result.usage
    cost_usd = usage.cost_usd or None  # OpenClaw reports 0 for an unknown price
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
        raise ChatRefusedError(sentence, lasting=True, calls=usage.requests, usage=usage, cost_usd=cost_usd)
    if result.reason is Reason.MODEL_ERROR:  # this question is too long, or was blocked by a filter
        raise ChatRefusedError(sentence, lasting=False, calls=usage.requests, usage=usage, cost_usd=cost_usd)
    raise ChatUnreachableError(sentence, calls=usage.requests, usage=usage, cost_usd=cost_usd)
