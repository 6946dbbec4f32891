"""Prices of an endpoint of the run's own: stated, they make the cost and its limit; without them it is unknown."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from anyio.streams.memory import MemoryObjectReceiveStream

from pinchbench import Isolation, Reason, run_benchmark
from pinchbench.events import Event, TrialBegan
from pinchbench.llm.demo.script import ScriptedTurn
from pinchbench.llm.demo.scripted_model import scripted_model
from pinchbench.model.ending import Stop
from pinchbench.openclaw.command import OpenClaw
from pinchbench.results.finished_run import Result
from real_openclaw import TaskFile, UserHome, newest_release, run_config

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]

PRICE_IN, PRICE_OUT = 80.0, 500.0  # USD per million tokens
TASKS = [TaskFile(task_id=f"task_{name}", turns=[("Say done.", [], "Done.")], timeout_s=240) for name in "ab"]


async def _run(folder: Path, openclaw: OpenClaw, tasks: Sequence[TaskFile] = TASKS, **prices: float) -> Result:
    """Trials, one after the other, on an endpoint that OpenClaw knows no price of."""
    async with scripted_model() as model:

        async def play(events: MemoryObjectReceiveStream[Event]) -> None:
            async for event in events:
                if isinstance(event, TrialBegan):
                    model.play("own", ScriptedTurn(answer="Done."))

        config = run_config(
            folder,
            openclaw,
            tasks,
            model="mine/m1",
            base_url=model.base_url("own"),
            isolation=Isolation.PRIVATE,
            preflight=False,
        )
        return await run_benchmark(replace(config, **prices), observer=play)  # type: ignore[arg-type]


@newest_release
async def test_stated_prices_make_the_cost_and_its_limit_ends_the_run(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path
) -> None:
    before = home.snapshot()

    # enough for one trial, a prompt of 2 500 to 5 000 tokens, but not for two
    result = await _run(tmp_path, openclaw, price_in=PRICE_IN, price_out=PRICE_OUT, max_cost=0.4)

    [ran] = [one for one in result.outcomes if one.reason is Reason.COMPLETED]
    assert ran.wire is not None
    used = ran.wire.usage
    told = json.loads(result.path.read_bytes())["usage"]
    sent = used.input_tokens + used.cache_read_tokens
    assert told["cost_usd"] == pytest.approx((sent * PRICE_IN + used.output_tokens * PRICE_OUT) / 1e6)
    assert 0.2 < told["cost_usd"] < 0.4
    assert (result.stop, len(result.outcomes)) == (Stop.BUDGET, 1)
    assert "--max-cost $0.40" in result.stopped
    assert home.snapshot() == before
