"""A suite of a history that real OpenClaw has written."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from command_line import call, clean_environment
from history_states import UserState
from pinchbench.llm.demo.completion import provider_config
from pinchbench.llm.demo.script import ScriptedTurn
from pinchbench.llm.demo.scripted_model import scripted_model
from pinchbench.model.trial import TrialKey
from pinchbench.openclaw.command import OpenClaw
from pinchbench.suite.solution import SolutionTurn, ToolStep
from real_openclaw import newest_release

pytestmark = pytest.mark.long

CASES = {
    "Count the rows": [
        ToolStep(tool="read", args={"path": "rows.csv"}),
        ToolStep(tool="write", args={"path": "count.txt", "content": "3\n"}),
    ],
    "two of them": [ToolStep(tool="edit", args={"path": "count.txt", "edits": [{"oldText": "3", "newText": "2"}]})],
    "What is the weather": [ToolStep(tool="web_fetch", args={"url": "http://127.0.0.1:1/"})],
}
SAID = (("one", "Count the rows of rows.csv"), ("one", "No, 2: two of them are equal"), ("web", "What is the weather?"))


@newest_release
def test_conversations_with_real_openclaw_become_tasks_that_score_one(tmp_path: Path, openclaw: OpenClaw) -> None:
    state = UserState(folder=tmp_path / ".openclaw")
    state.put({"rows.csv": "a\nb\nb\n"})

    async def converse() -> None:
        cases = tuple(SolutionTurn(steps=tuple(steps), answer="Done.", when=when) for when, steps in CASES.items())
        async with scripted_model() as model:
            model.play("user", TrialKey(task_id="user", repetition=1), ScriptedTurn(in_gateway=True, cases=cases))
            provider = provider_config(model.base_url("user"), "m1")
            state.configure(
                {
                    "agents": {
                        "defaults": {
                            "model": {"primary": "mock/m1"},
                            "workspace": str(state.workspace),
                            "skipBootstrap": True,
                        }
                    },
                    "models": {"mode": "merge", "providers": {"mock": provider}},
                }
            )
            env = clean_environment(tmp_path, PATH=openclaw.path(os.environ["PATH"]), OPENCLAW_NO_RESPAWN="1")
            for session, message in SAID:
                command = [str(openclaw.program), "agent", "--local", "--agent", "main", "--session-id", session]
                await anyio.run_process([*command, "--message", message], env=env, cwd=state.workspace)

    anyio.run(converse)
    env = clean_environment(tmp_path, PINCHBENCH_DATA=str(tmp_path / "data"))

    listed = call("tasks", "from-history", cwd=tmp_path, env=env)
    made = call("tasks", "from-history", "--pick", "suggested", "--yes", cwd=tmp_path, env=env)

    assert "left out: live web: web_fetch" in listed.stdout
    assert "2 conversations, of which 1 can be asked again" in listed.stderr
    assert "1 task. Played again, each old conversation scores 1.0 in its check" in made.stderr
