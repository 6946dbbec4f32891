"""The processes of a task's agent: what they are called with, and what they see."""

from dataclasses import replace
from pathlib import Path

from fakes import fake_openclaw, make_task
from home_templates import template_of
from pinchbench.model.task import Task, Turn
from pinchbench.model.timeline import Ability, ChatMessage
from pinchbench.model.trial import TrialEvents
from pinchbench.openclaw.agent_processes import (
    CHANNEL,
    LINK_PORT,
    MESSENGER,
    SEEN_AS,
    TaskExecution,
    gateway_settings,
    owner_of,
    task_places,
)
from pinchbench.openclaw.agent_progress import Progress
from pinchbench.openclaw.homes.private import clone
from pinchbench.openclaw.homes.shared import SharedHome
from pinchbench.process.spec import Limits, StopSignal
from pinchbench.results.evidence_files import Evidence
from pinchbench.sandbox.sandbox_spec import Mount


def _task(folder: str = "") -> Task:
    return make_task(workspace_path=folder, home_folders=("skills",) if folder else (), timezone="Europe/Berlin")


async def _execution(folder: Path) -> TaskExecution:
    template = await template_of(folder, fake_openclaw(folder))
    return TaskExecution(
        home=clone(template, folder / "homes" / "slot-1"),
        task=_task(),
        workspace=folder / "work",
        files=Evidence(folder=folder / "evidence"),
        progress=Progress(events=TrialEvents()),
        marker="run/task/1",
        timeout_s=60,
        stop_signal=StopSignal(),
        thinking="high",
        limits=Limits(grace_s=1),
    )


async def test_a_turn_goes_to_its_agent_and_session_with_openclaws_own_limit_beyond_ours(tmp_path: Path) -> None:
    run = await _execution(tmp_path)
    assert (await run.of_turn(Turn(prompt="Hi"), "s_1", 90.7)).argv == [
        str(run.home.openclaw.program),
        "agent",
        "--local",
        f"--agent={run.home.agent_id}",
        "--session-id=s_1",
        "--thinking=high",
        "--timeout=3690",
        "--message=Hi",
    ]


async def test_through_a_gateway_of_the_users_there_is_no_local(tmp_path: Path) -> None:
    run = await _execution(tmp_path)
    users = SharedHome(
        agent_id="bench-x", openclaw=run.home.openclaw, base_env={}, user_state=tmp_path, link=tmp_path / "link"
    )
    spec = await replace(run, home=users).of_turn(Turn(prompt="Hi"), "s_1", 90.7)
    assert "--local" not in spec.argv
    assert "--agent=bench-x" in spec.argv


async def test_a_gateway_gets_time_to_shut_down(tmp_path: Path) -> None:
    run = await _execution(tmp_path)

    spec = run.of_gateway(tmp_path / "link.sock")

    assert spec.argv == [str(run.home.openclaw.program), "gateway", "run"]
    assert spec.limits.grace_s > run.limits.grace_s


def test_a_folder_of_the_home_that_is_kept_lies_in_the_workspace(tmp_path: Path) -> None:
    assert task_places(_task("/work"), tmp_path) == (
        Mount(source=str(tmp_path), target="/work", writable=True),
        Mount(source=f"{tmp_path}/.home/skills", target="/home/agent/skills", writable=True),
    )


def chat(sender: str = "ana") -> Task:
    turn = Turn(prompt="Hi", event=ChatMessage(sender=sender, is_owner=True))
    return make_task(turn, abilities=(Ability.CHAT,), timezone="Europe/Berlin")


def test_the_plugin_is_loaded_from_where_the_sandbox_sees_it_and_knows_the_way_to_the_runner() -> None:
    plugins = gateway_settings(chat(), "bench")["plugins"]
    assert isinstance(plugins, dict)
    assert plugins["load"] == {"paths": [SEEN_AS]}
    assert plugins["entries"][CHANNEL]["config"] == {"port": LINK_PORT}
    assert {path.name for path in MESSENGER.iterdir()} >= {"index.mjs", "openclaw.plugin.json", "package.json"}


def test_the_owner_sends_the_prompt_and_messages_go_to_the_slot_s_agent() -> None:
    settings = gateway_settings(chat("ben"), "bench")
    assert owner_of(chat("ben")) == "ben"
    assert settings["commands"] == {"ownerAllowFrom": ["messenger:ben"]}
    assert settings["bindings"] == [{"agentId": "bench", "match": {"channel": "messenger"}}]
    assert settings["agents"] == {"defaults": {"userTimezone": "Europe/Berlin"}}


def test_every_trial_has_a_token_of_its_own() -> None:
    assert gateway_settings(chat(), "bench")["gateway"] != gateway_settings(chat(), "bench")["gateway"]
