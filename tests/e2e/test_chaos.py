"""Bundled tasks on real OpenClaw, killed and resumed: the scores equal those of an undisturbed run."""

from __future__ import annotations

from random import Random
from signal import SIGKILL
from typing import TYPE_CHECKING

import pytest
from anyio import to_thread

from chaos.blows import Blow, Moment
from chaos.campaign import Campaign, result_of
from chaos.ledger import Findings, scores
from chaos.session import Place
from fake_judge import fake_judge, good
from fakes import NEW_RELEASE
from pinchbench.openclaw.install import cache_dir

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.openclaw.command import OpenClaw

pytestmark = [pytest.mark.openclaw, pytest.mark.anyio]

TASKS = (
    *("task_00_sanity", "task_01_calendar", "task_02_shipment_audit"),
    *("task_03_rota_repair", "task_04_workshop_memory", "task_05_outage_brief"),
)
ANYWHERE_S = 20.0  # about as long as a set-up
AT_WORK_S = 8.0  # about as long as a trial


def blows(rng: Random) -> list[Blow]:
    """One at any time, some while agents run, and some when a trial has just ended and must not be lost."""
    anywhere = Blow(moment=Moment.CLOCK, count=0, after_s=rng.uniform(0, ANYWHERE_S), first=SIGKILL)
    at_work = [
        Blow(moment=Moment.START, count=rng.randint(1, 2), after_s=rng.uniform(0, AT_WORK_S), first=SIGKILL)
        for _ in range(2)
    ]
    at_ends = [
        Blow(moment=Moment.END, count=1, after_s=after_s, first=SIGKILL) for after_s in (0.0, rng.uniform(0, AT_WORK_S))
    ]
    return [anywhere, *at_work, *at_ends]


def torment(place: Place, findings: Findings, kills: int) -> None:
    """Hit the run this often, until the blows are used up or it is whole."""
    rng = Random(place.options[1])
    waiting = blows(rng)
    rng.shuffle(waiting)
    del waiting[:-kills]
    campaign = Campaign(place, findings, has_calls=False)
    while not campaign.is_over and (waiting or not findings.bad):
        campaign.go_on(blow=waiting.pop() if waiting else None)
    campaign.close(None)


# Each kill costs another set-up, so that one release has to do.
@pytest.mark.parametrize("openclaw", [NEW_RELEASE], indirect=True)
@pytest.mark.parametrize(("tasks", "kills"), [(TASKS[:3], 3), pytest.param(TASKS, 5, marks=pytest.mark.long)])
async def test_a_run_that_is_killed_again_and_again_gives_every_task_its_score_and_runs_none_twice(
    openclaw: OpenClaw, tmp_path: Path, tasks: tuple[str, ...], kills: int
) -> None:
    findings = Findings()
    async with fake_judge(good(1.0)) as judge:
        options = (
            "--model=demo/oracle",
            f"--openclaw={openclaw.version}",
            "--concurrency=2",
            "--no-judge-cache",
            f"--suite={','.join(tasks)}",
        )
        judging = ("--judge=judge-1", f"--judge-base-url={judge.base_url}")
        place = Place(folder=tmp_path, options=(*options, *judging), cache=cache_dir())
        await to_thread.run_sync(torment, place, findings, kills)
    assert findings.bad == []
    assert findings.kills == kills
    assert findings.ends >= len(tasks)
    assert scores(result_of(place)) == dict.fromkeys(tasks, ("completed", "1.00"))
