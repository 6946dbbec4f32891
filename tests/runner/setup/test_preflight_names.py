"""A model that OpenClaw does not know ends a run before anything is set up."""

import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fakes import calls, fake_openclaw, run_config, with_models
from pinchbench.config.run_config import RunConfig
from pinchbench.config.served import ServedModel
from pinchbench.errors import ConfigError
from pinchbench.openclaw.model_catalogue import Catalogue, Provider
from pinchbench.runner.run_benchmark import run_benchmark
from pinchbench.runner.setup.preflight import check_thinking
from pinchbench.runner.setup.this_machine import Machine


async def _run(config: RunConfig) -> None:
    try:
        await run_benchmark(config)
    except ExceptionGroup as group:
        error: Exception = group
        while isinstance(error, ExceptionGroup):
            [error] = error.exceptions
        raise error from None


@pytest.mark.parametrize(
    ("model", "said"), [("mock/m1-larg", "did you mean mock/m1-large"), ("m1-large", "such as mock/m1-large")]
)
async def test_a_wrong_name_costs_no_set_up(tmp_path: Path, model: str, said: str) -> None:
    program = with_models(fake_openclaw(tmp_path))

    with pytest.raises(ConfigError, match=re.escape(said)):
        await _run(replace(run_config(tmp_path, program, {"task_a": "Hello."}), model=model))

    assert calls(program) == [["--version"]]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"base_url": "http://127.0.0.1:9/v1"}, "models: {m1: {reasoning: true}}"),
        ({"model": "demo/oracle"}, "demo/oracle does not think, by what is known. Leave it out"),
        ({"base_url": "http://127.0.0.1:9/v1", "served": ServedModel(reasoning=True)}, ""),
        ({"base_url": "http://127.0.0.1:9/v1", "thinking": "off"}, ""),
        ({"model": "mock/m1-large"}, ""),
        ({"model": "mock/m2-plain"}, "mock/m2-plain does not think"),
    ],
)
def test_a_thinking_level_that_openclaw_would_refuse_is_refused_first(changes: dict[str, Any], said: str) -> None:
    provider = Provider(models=frozenset({"m1-large", "m2-plain"}), thoughtless=frozenset({"m2-plain"}))
    machine = cast("Machine", SimpleNamespace(catalogue=Catalogue(providers={"mock": provider})))
    config = replace(RunConfig(model="mock/m1", thinking="high"), **changes)
    with pytest.raises(ConfigError, match=re.escape(said)) if said else nullcontext():
        check_thinking(config, machine)


async def test_a_name_without_a_provider_is_refused_whatever_is_accepted(tmp_path: Path) -> None:
    program = with_models(fake_openclaw(tmp_path))
    config = run_config(tmp_path, program, {"task_a": "Hello."})

    with pytest.raises(ConfigError, match="names no provider") as refused:
        await _run(replace(config, model="m1-large", accept_unknown_model=True))

    assert "--accept-unknown-model" not in str(refused.value)
