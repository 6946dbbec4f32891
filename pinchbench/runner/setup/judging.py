"""The models that a run asks besides the one under test: its judges, and who plays simulated users."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from anyio import to_thread

from pinchbench.files.user_data import cache_dir
from pinchbench.grading.judge.kept_replies import JudgeCache
from pinchbench.grading.judge.openclaw_judge import OpenClawJudge
from pinchbench.grading.judge.prompt import PROMPT_VERSION
from pinchbench.grading.judge.votes import Judge
from pinchbench.openclaw.agent import OpenClawAgent
from pinchbench.results.judge_certificate import read_certificate
from pinchbench.runner.setup.make_homes import make_judge_homes
from pinchbench.runner.setup.this_machine import Machine, identified, read_machine

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from pinchbench.config.asked_models import AskedModel, JudgeConfig, UserModelConfig
    from pinchbench.llm.openai_api import Endpoint

JUDGE_CACHE = "judge"


@asynccontextmanager
async def open_judges(
    config: JudgeConfig | None,
    *,
    folder: Path,
    run_id: str,
    machine: Machine | None = None,
    openclaw: str | None = None,
) -> AsyncGenerator[tuple[Judge, ...]]:
    """The judges, as long as the block; none when none is asked for.

    Only `openclaw:` judges need a `machine`, which is read without one; `openclaw` is then the choice of `--openclaw`.
    Their agents live below `folder`, and their processes carry the `run_id`. Raises OpenClawError when OpenClaw is
    missing or refuses to make them, and ResultsError if a judge's certificate can't be read.
    """
    if machine is None and config is not None and config.asks_openclaw:
        machine = await identified(await to_thread.run_sync(read_machine, openclaw))
    async with AsyncExitStack() as stack:
        judges = []
        for number, one in enumerate(config.each if config is not None else (), start=1):
            endpoint: Endpoint
            if one.is_openclaw:
                assert machine is not None  # noqa: S101 - read above
                own = folder if number == 1 else folder / f"judges-{number}"
                homes = await make_judge_homes(one, machine, own)
                agents = [OpenClawAgent(home=home) for home in homes]
                endpoint = OpenClawJudge(
                    agents, own, model=one.model_id, base_url=one.base_url, marker=f"{run_id}/judge"
                )
            else:
                endpoint = await stack.enter_async_context(_open(one))
            certificate = await to_thread.run_sync(read_certificate, endpoint.describe(), PROMPT_VERSION)
            judge = Judge(
                endpoint,
                votes=one.votes,
                concurrency=one.concurrency,
                cache=JudgeCache(cache_dir() / JUDGE_CACHE) if one.cache else None,
                certificate=certificate.told if certificate is not None else "",
            )
            judges.append(judge)
        yield tuple(judges)


@asynccontextmanager
async def open_user_model(config: UserModelConfig | None) -> AsyncGenerator[Endpoint | None]:
    """The model that plays simulated users, as long as the block; None when none is asked for. Raises ConfigError."""
    if config is None:
        yield None
        return
    async with _open(config) as client:
        yield client


@asynccontextmanager
async def _open(config: AskedModel) -> AsyncGenerator[Endpoint]:
    # an HTTP client takes long to import: only runs that need it do so, and not in the event loop's thread
    await to_thread.run_sync(import_module, "pinchbench.llm.http")
    from pinchbench.llm.http import open_endpoint  # noqa: PLC0415 - imported above

    async with open_endpoint(config) as client:
        yield client
