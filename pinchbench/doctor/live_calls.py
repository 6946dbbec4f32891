"""One small question to the model, as a run asks it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from anyio import current_time, to_thread

from pinchbench.defaults import Isolation
from pinchbench.llm.demo.script import ScriptedTurn
from pinchbench.llm.demo.scripted_model import ScriptedModel, scripted_model
from pinchbench.model.ending import Ending, Reason
from pinchbench.model.finding import Finding, Level
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.openclaw.agent import OpenClawAgent
from pinchbench.runner.run_folders import HOMES, open_work_folder
from pinchbench.runner.scheduling.diagnosis import cause_of
from pinchbench.runner.setup.make_homes import make_homes
from pinchbench.runner.setup.this_machine import read_machine_for
from pinchbench.runner.trial.model_wire import ModelAccess
from pinchbench.runner.trial.slot import slot_name

if TYPE_CHECKING:
    from pinchbench.config.run_config import RunConfig
    from pinchbench.model.usage import Usage
    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.openclaw.task_result import TaskResult

# For one call, the set-up of a home included: a turn takes 10 s, and on a busy machine several times that.
CALL_LIMIT_S = 120.0
QUESTION = "Reply with the single word: ready"


async def ask_model(config: RunConfig, openclaw: OpenClaw) -> Finding:
    """Run one real turn of `openclaw agent` in a private home and say what became of it; nothing is left behind.

    What dead runs have left is removed first, as by a run. In the user's own OpenClaw (`--isolation shared`) nothing is
    changed for it: the home is a private one then, too. Raises OpenClawError when OpenClaw refuses to make the home,
    ResultsError when there is no room for it.
    """
    began = current_time()
    result = await _turn(replace(config, isolation=Isolation.PRIVATE), openclaw)
    own = config.base_url is None  # the user's OpenClaw knows nothing of an address that the command line states
    by_hand = openclaw.by_hand("agent", "--local", "--agent", "main", "--message", "hello") if own else ""
    took_s = current_time() - began
    finding = of_turn(result, model=config.model, took_s=took_s, by_hand=by_hand, is_free=config.is_demo)
    if config.isolation is not Isolation.SHARED or finding.level is not Level.OK:
        return finding
    return replace(finding, said=f"{finding.said} That was in a private home: your own gateway was not asked.")


async def _turn(config: RunConfig, openclaw: OpenClaw) -> TaskResult:
    demo = scripted_model() if config.is_demo else nullcontext()
    async with open_work_folder(config.run_root, prefix="doctor-") as folder, demo as scripted:
        machine = replace(await to_thread.run_sync(read_machine_for, config), openclaw=openclaw)
        [home] = await make_homes(config, machine, folder, slots=1, access=ModelAccess(scripted=scripted))
        # among the homes, which are removed, if need be by the next run
        return await OpenClawAgent(home=home, thinking=config.thinking).execute_prompt(
            QUESTION,
            folder / HOMES,
            name="doctor",
            timeout_s=CALL_LIMIT_S,
            marker=f"{folder.name}/doctor",
            before_turn=partial(_play, scripted) if scripted is not None else None,
        )


async def _play(scripted: ScriptedModel, turn: int) -> None:
    del turn  # there is one
    scripted.play(slot_name(1), ScriptedTurn(answer="ready"))


def of_turn(result: TaskResult, *, model: str, took_s: float, by_hand: str, is_free: bool = False) -> Finding:
    """Describe the result of the turn, and what to do if it was not an answer (pure).

    `by_hand` is the command that asks again, empty if there is none; `is_free` says that its price is fictitious.
    """
    said = " ".join(result.note.split())
    outcome = Outcome(
        key=TrialKey(task_id=result.task_id, repetition=1),
        reason=result.reason,
        digest="",
        note=result.note,
        rate_limits=result.rate_limits,
    )
    if result.reason is Reason.COMPLETED:
        used = _used(result.usage, None if is_free else result.usage.cost_usd or None)
        return Finding.ok("model", f"{model} answered through OpenClaw in {took_s:.1f} s, its set-up included{used}.")
    what = f"{model} did not answer: {result.reason.value}{f' ({said})' if said else ''}."
    if result.reason is Reason.TIMED_OUT:
        do = "Is the endpoint up and reachable, and the model loaded?"
    elif result.reason is not Reason.AGENT_NOT_STARTED and result.reason.ending is Ending.INFRASTRUCTURE:
        do = cause_of(outcome).advice
    else:
        do = f"Try it by hand: {by_hand}" if by_hand else "Was its reply empty? Look at the server's log."
    return Finding.problem("model", what, do=do)


def _used(usage: Usage, cost_usd: float | None) -> str:
    tokens = f", {usage.total_tokens} tokens" if usage.total_tokens else ""
    return f"{tokens}, ${cost_usd:.4f}" if cost_usd is not None else tokens
