"""When probes are sent, and that whatever comes of them disturbs nobody."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from anyio import Event, create_task_group, fail_after
from msgspec import UNSET
from msgspec.structs import replace as replace_in

from fakes import fake_openclaw, run_config
from http_server import Response, running
from pinchbench.config.replay import ReplaySettings
from pinchbench.config.run import RunConfig
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.openclaw.homes.credentials import UserState
from pinchbench.preflight.question import Target
from pinchbench.report.soundness import run_told
from pinchbench.results.journal.records import PaceSet, ProbeEnded, TrialFinished, TrialStarted
from pinchbench.results.soundness.drift import Measure, drift_of
from pinchbench.results.soundness.probes import points_of, stated_changes
from pinchbench.runner.expected_probes import PROBES, expected_probes
from pinchbench.runner.probing import Probing, probed_model
from pinchbench.runner.run import run_benchmark
from pinchbench.runner.signals import Interrupt
from probed_model import KEY, Behaviour, ProbedModel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from pinchbench.results.journal.records import Record
    from pinchbench.results.probe_json import ProbeFacts

pytestmark = pytest.mark.anyio
OTHER = TrialKey(task_id="other", repetition=1)
STARTED = TrialStarted(key=TrialKey(task_id="t", repetition=1), slot=1, attempt=1, at=1.0)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Run:
    """A run whose trials the test starts and ends."""

    def __init__(self, model: ProbedModel, *, every: int = 1, base_url: str = "") -> None:
        self.records: list[Record] = []
        self.over = Event()
        self.interrupt = Interrupt()
        self.probing = Probing(
            Target(subject="model", model="m", base_url=base_url or model.url, key=KEY),
            every=every,
            first_point=0,
            prices=(3.0, 15.0),
            record=self.records.append,
            interrupt=self.interrupt,
        )

    @property
    def probes(self) -> list[ProbeFacts]:
        return [one.probe for one in self.records if isinstance(one, ProbeEnded)]

    def trial(self) -> None:
        self.probing.follow(STARTED)
        self.probing.follow(_finished())

    @asynccontextmanager
    async def going_on(self) -> AsyncGenerator[None]:
        """Probe within the block, and until the end."""
        with fail_after(60):
            async with create_task_group() as group:
                group.start_soon(self.probing.run, self.over)
                yield
                self.over.set()


def _finished(key: TrialKey = STARTED.key) -> TrialFinished:
    return TrialFinished(outcome=Outcome(key=key, digest="", reason=Reason.COMPLETED))


async def test_a_provider_that_becomes_another_model_midway_is_named_with_the_place() -> None:
    async with running(ProbedModel(Behaviour(turn=8 * PROBES))) as model:
        run = Run(model)
        async with run.going_on():
            for point in range(1, 15):
                await model.wait_for_requests(point * PROBES)
                run.trial()
            await model.wait_for_requests(15 * PROBES)
    probes = run.probes

    assert [one.point for one in probes] == [point for point in range(15) for _ in range(PROBES)]
    assert not any(one.error for one in probes)
    (renamed,) = stated_changes("v", probes)
    assert (renamed.before, renamed.after) == (("m-1",), ("m-2",))
    assert (renamed.last_at, renamed.at) == (probes[8 * PROBES - 1].at, probes[8 * PROBES].at)
    answers = [
        one for one in drift_of([], probes=points_of("v", probes)).changes if one.measure is Measure.PROBE_ANSWER
    ]
    assert [(one.at, {one.before, one.after}) for one in answers] == [(probes[8 * PROBES].at, {0.0, 1.0})]


async def test_every_probe_is_the_same_small_question_with_the_key_and_has_its_cost() -> None:
    async with running(ProbedModel()) as model:
        run = Run(model)
        async with run.going_on():
            run.trial()
    bodies = {request.body for request in model.requests}
    (asked,) = {request.headers["authorization"] for request in model.requests}

    assert (len(bodies), len(model.requests)) == (1, 2 * PROBES)
    assert asked == f"Bearer {KEY}"
    assert model.requests[0].json["temperature"] == 0
    assert [one.cost_usd for one in run.probes] == pytest.approx([(400 * 3 + 20 * 15) / 1e6] * 6)
    assert all(one.first_token_s is not None and 0 <= one.first_token_s <= one.duration_s for one in run.probes)


async def test_a_point_comes_after_so_many_trials_and_the_last_one_when_no_trial_runs() -> None:
    async with running(ProbedModel()) as model:
        run = Run(model, every=2)
        async with run.going_on():
            await model.wait_for_requests(PROBES)
            run.probing.follow(_finished())  # could not be started
            run.probing.follow(replace_in(STARTED, key=OTHER))
            run.trial()
            run.trial()
            await model.wait_for_requests(2 * PROBES)
            run.over.set()
            assert len(model.requests) == 2 * PROBES
            run.probing.follow(_finished(OTHER))
    assert [one.point for one in run.probes] == [point for point in range(3) for _ in range(PROBES)]


async def test_an_endpoint_that_refuses_the_temperature_is_asked_without_it() -> None:
    async with running(ProbedModel(Behaviour(refuses="temperature"))) as model:
        run = Run(model)
        async with run.going_on():
            run.trial()
    assert not any(one.error for one in run.probes)
    assert len(model.requests) == 2 * PROBES + 1


@pytest.mark.parametrize(
    ("response", "requests"),
    [
        (Response(status=500, body=b"out of order"), 2),
        (Response(cut="before"), 2),
        (Response(status=429, headers={"Retry-After": "600"}), 1),
        (Response(status=429), 1),
    ],
)
async def test_a_failure_ends_a_point_and_an_answer_of_429_those_that_would_come_too_soon(
    response: Response, requests: int
) -> None:
    async with running(ProbedModel(Behaviour(response=response))) as model:
        run = Run(model)
        async with run.going_on():
            run.trial()
    assert len(model.requests) == requests
    assert len(run.probes) == requests
    assert all(one.error for one in run.probes)


async def test_a_run_that_is_paused_sends_none() -> None:
    async with running(ProbedModel()) as model:
        run = Run(model)
        run.probing.follow(PaceSet(at=1.0, limit=0, why="The provider fails."))
        async with run.going_on():
            run.trial()
    assert model.requests == []


async def test_a_run_that_is_asked_to_stop_does_not_wait_for_an_answer() -> None:
    async with running(ProbedModel(Behaviour(response=Response(silent=True)))) as model:
        run = Run(model)
        async with run.going_on():
            await model.wait_for_requests(1)
            run.interrupt.stop.set()
    assert run.probes == []


@pytest.mark.parametrize(
    ("change", "is_local", "told"),
    [
        (lambda config: replace(config, model="demo/oracle"), True, "built-in model"),
        (lambda config: replace(config, replay=ReplaySettings(folder="x")), True, "in a replay"),
        (lambda config: config, False, "on a cluster"),
        (lambda config: replace(config, probes=None), True, ""),
    ],
)
async def test_where_no_probe_can_be_sent_it_says_why(
    change: Callable[[RunConfig], RunConfig], is_local: bool, told: str
) -> None:
    said: list[str] = []
    config = change(RunConfig(model="own/m", probes=2))

    assert await probed_model(config, None, UserState(), is_local=is_local, tell=said.append) is None
    assert (told in said[0]) if told else not said


async def test_a_run_keeps_its_probes_beside_its_trials_and_never_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROBED_KEY", KEY)
    refusing = Behaviour(refuses="stream")  # every form of the question, with the key in the message
    for behaviour, failed in ((Behaviour(turn=PROBES), 0), (refusing, 2)):
        async with running(ProbedModel(behaviour)) as model:
            folder = tmp_path / str(failed)
            folder.mkdir()
            tasks = {"task_a": "Write out.txt.", "task_b": "Write out.txt."}
            config = replace(run_config(folder, fake_openclaw(folder), tasks), probes=2, base_url=model.url)
            config = replace(config, api_key_env="PROBED_KEY", price_in=1.0, price_out=1.0)
            with fail_after(60):
                result = await run_benchmark(config)
        probes = result.data.probes
        assert result.complete
        assert probes is not UNSET
        assert probes.failed == failed
        files = [path.read_bytes() for path in result.folder.rglob("*") if path.is_file()]
        assert not any(KEY.encode() in content for content in (*files, result.path.read_bytes()))
        if failed:
            continue
        assert (probes.sent, probes.usage.output_tokens) == (2 * PROBES, 2 * PROBES * 20)
        assert probes.cost_usd == pytest.approx(2 * PROBES * 420 / 1e6)
        expected = expected_probes(config, 2)  # of a run like this one
        assert expected is not None
        assert expected.count == 2 * PROBES
        assert expected.cost_usd == pytest.approx(probes.cost_usd)
        assert expected.took_s == pytest.approx(sum(one.duration_s for one in probes.probes))
        assert result.data.usage.requests == 4  # of the agents alone
        changed, spent = run_told(result.data)
        assert changed.startswith("The provider began to state another model between ")
        assert changed.endswith(": m-2, before m-1.")
        assert spent == "Probes, which are in no total: 6 sent, 2.5k tokens, $0.0025."


async def test_settings_of_the_environment_that_can_not_be_used_are_a_failed_probe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "nonsense://user:secret@here")
    async with running(ProbedModel()) as model:
        run = Run(model, base_url="https://far.example/v1")
        async with run.going_on():
            pass
    assert [one.error for one in run.probes] == ["the proxy or certificate settings of the environment: ValueError"]
