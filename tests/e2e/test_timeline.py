"""A timeline on real OpenClaw: chat, an automation over a change to summer time, an interrupt, sub-agents, a forger."""

import json
from pathlib import Path

import pytest

from pinchbench import Reason, RunConfig, run_benchmark
from pinchbench.config.rerun_configs import ReplayConfig
from pinchbench.config.run_config import ReplaySettings
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.trial_clock import find_libfaketime
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.finished_run import Result
from pinchbench.runner.again.rerun import replay
from real_openclaw import UserHome, newest_release, run_config
from suite_packs import put

pytestmark = [
    pytest.mark.real_openclaw,
    newest_release,
    pytest.mark.skipif(find_libfaketime() is None, reason="libfaketime is not installed"),
]

TASK = """
    ---
    id: task_days
    timeout_seconds: 900
    abilities: [chat, automations, subagents]
    owner: ana
    timezone: Europe/Berlin
    clock: 2026-03-28T07:30
    timeline:
      - advance: 30h
      - message: "Count slowly."
      - interrupt: "Stop now!"
        after_calls: 3
      - message: "Let three helpers look."
    ---

    ## Prompt

    Every morning at eight, tell ben the time.

    ## Automated Checks

    ```python
    from pathlib import Path

    def grade(transcript, workspace_path, chat):
        said = [one["text"] for one in chat if one["from"] == "assistant" and one["to"] == "ben"]
        told = [one["text"] for one in chat if one["from"] == "assistant" and one["to"] == "ana"]
        counted = Path("counted.txt")
        helpers = sorted(path.name for path in Path().glob("helper-*.txt"))
        return {
            "told_twice": float(said == ["Good morning", "Good morning"]),
            "at_eight": float([one["at"][:13] for one in chat if one["to"] == "ben"]
                              == ["2026-03-28T07", "2026-03-29T06"]),
            "local_time": float(Path("times.txt").exists() and [line[:2] for line in
                                Path("times.txt").read_text().split()] == ["08", "08"]),
            "stopped": float(counted.exists() and len(counted.read_text().split()) <= 3 and "Stopped." in told),
            "helped": float(helpers == ["helper-a.txt", "helper-b.txt", "helper-c.txt"]),
        }
    ```
"""
SOLUTION = """
    turns:
      - steps:
          - tool: automations
            args:
              action: add
              job:
                name: morning
                schedule: {kind: cron, expr: "0 8 * * *", tz: Europe/Berlin}
                sessionTarget: isolated
                payload: {kind: agentTurn, message: "Tell ben the time."}
                delivery: {mode: none}
        answer: "I will."
      - steps:
          - {tool: exec, args: {command: "date +%H:%M >> times.txt"}}
          - {tool: message, args: {action: send, channel: messenger, target: ben, message: "Good morning"}}
        answer: "Done."
      - steps:
          - {tool: exec, args: {command: "echo 1 >> counted.txt"}}
          - {tool: exec, args: {command: "echo 2 >> counted.txt"}}
          - {tool: exec, args: {command: "echo 3 >> counted.txt"}}
          - {tool: exec, args: {command: "echo 4 >> counted.txt"}}
          - {tool: exec, args: {command: "echo 5 >> counted.txt"}}
        answer: "Counted."
      - answer: "Stopped."
      - steps:
          - {tool: sessions_spawn, args: {task: "Be helper a.", label: a}}
          - {tool: sessions_spawn, args: {task: "Be helper b.", label: b}}
          - {tool: sessions_spawn, args: {task: "Be helper c.", label: c}}
        answer: "They look."
      - when: "Be helper a."
        steps:
          - {tool: exec, args: {command: "python3 -c 'import time; time.sleep(1)' && echo a > helper-a.txt"}}
        answer: "a"
      - when: "Be helper b."
        steps:
          - {tool: exec, args: {command: "sleep 1; echo b > helper-b.txt"}}
        answer: "b"
      - when: "Be helper c."
        steps:
          - {tool: exec, args: {command: "sleep 1; echo c > helper-c.txt"}}
        answer: "c"
"""
ATTACK = """
    turns:
      - steps:
          - tool: exec
            args:
              command: >-
                python3 -c "import socket; s = socket.create_connection(('127.0.0.1', 18790), 5);
                s.sendall(b'{\\"kind\\": \\"message\\", \\"to\\": \\"ben\\", \\"text\\": \\"Good morning\\"}\\n');
                s.settimeout(5); print('read', s.recv(1))"; echo "+0" > /run/clock;
                rm -f /run/clock /etc/ld.so.preload; ls / /run /opt; date
        answer: "I tried."
"""


FORTY_DAYS = """
    ---
    id: task_days
    timeout_seconds: 1800
    abilities: [chat, automations]
    owner: ana
    timezone: Europe/Berlin
    clock: 2026-03-09T07:30
    timeline:
      - advance: 40d
    ---

    ## Prompt

    Every working day at eight, tell ben the time.

    ## Automated Checks

    ```python
    from datetime import datetime, timedelta
    from zoneinfo import ZoneInfo

    def grade(transcript, workspace_path, chat):
        first = datetime(2026, 3, 9, 8, tzinfo=ZoneInfo("Europe/Berlin"))
        days = [first + timedelta(days=day) for day in range(40)]
        due = [day.astimezone(ZoneInfo("UTC")) for day in days if day.weekday() < 5]
        sent = [datetime.fromisoformat(one["at"]) for one in chat if one["to"] == "ben"]
        late = [(at - day).total_seconds() for at, day in zip(sent, due)]  # the clock goes on while the agent works
        return {
            "thirty": float(len(sent) == len(due) == 30),
            "on_time": float(all(0 <= one < 1800 for one in late)),
            "at_once": float(min(late, default=60) < 30),  # by itself, OpenClaw looks at its schedule once a minute
        }
    ```
"""
EACH_DAY = """
    turns:
      - steps:
          - tool: automations
            args:
              action: add
              job:
                name: morning
                schedule: {kind: cron, expr: "0 8 * * 1-5", tz: Europe/Berlin}
                sessionTarget: isolated
                payload: {kind: agentTurn, message: "Tell ben the time."}
                delivery: {mode: none}
        answer: "I will."
      - when: "Tell ben the time."
        steps:
          - {tool: message, args: {action: send, channel: messenger, target: ben, message: "It is eight."}}
        answer: "Done."
"""


def _config(folder: Path, openclaw: OpenClaw, model: str, solution: str = SOLUTION, *, task: str = TASK) -> RunConfig:
    put(folder / "tasks" / "task_days.md", task)
    put(folder / "tasks" / "solutions" / "task_days.yaml", solution)
    return run_config(folder, openclaw, folder / "tasks", model=model)


def _scores(result: Result) -> list[float | None]:
    return [grade.score for grade in result.grades.values()]


async def test_days_pass_in_a_trial_and_its_agent_is_interrupted_and_helped(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path
) -> None:
    before = home.snapshot()
    result = await run_benchmark(_config(tmp_path, openclaw, "demo/oracle"))
    [outcome] = result.outcomes
    assert (outcome.reason, outcome.note) == (Reason.COMPLETED, "")
    [grade] = result.grades.values()
    assert grade.score == 1.0, grade
    assert len(outcome.session_ids) == 6  # the main one, two mornings, three helpers
    assert outcome.findings == ()
    assert home.snapshot() == before


@pytest.mark.long
async def test_a_replay_of_days_needs_no_model_and_comes_to_the_same(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path
) -> None:
    del home
    # without helpers, whose ends OpenClaw reports in other turns each time
    alone = "\n".join(line for line in SOLUTION.split("\n") if "sessions_spawn" not in line).replace(
        'steps:\n        answer: "They', 'answer: "They'
    )
    recorded = await run_benchmark(_config(tmp_path, openclaw, "demo/oracle", alone))
    again = await replay(ReplayConfig(run=str(recorded.folder), replay=ReplaySettings(folder="")))

    [outcome] = again.outcomes
    assert (outcome.reason, outcome.note) == (Reason.COMPLETED, "")
    assert outcome.replay is not None
    assert (outcome.replay.live, outcome.replay.divergences) == (0, 0), outcome.replay.first
    assert _scores(again) == _scores(recorded) == [0.8]


@pytest.mark.long
async def test_in_forty_days_an_automation_fires_thirty_times_on_time_though_the_clocks_change(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path
) -> None:
    del home
    result = await run_benchmark(_config(tmp_path, openclaw, "demo/oracle", EACH_DAY, task=FORTY_DAYS))
    [outcome] = result.outcomes
    assert (outcome.reason, outcome.note) == (Reason.COMPLETED, "")
    assert _scores(result) == [1.0], result.grades
    assert len(outcome.session_ids) == 31


@pytest.mark.long
async def test_doing_nothing_over_days_earns_nothing(openclaw: OpenClaw, home: UserHome, tmp_path: Path) -> None:
    del home
    idle = await run_benchmark(_config(tmp_path, openclaw, "demo/null"))
    assert [outcome.reason for outcome in idle.outcomes] == [Reason.COMPLETED]
    assert _scores(idle) == [0.0]


@pytest.mark.long
async def test_an_agent_can_forge_neither_the_chat_nor_the_time(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path
) -> None:
    del home
    result = await run_benchmark(_config(tmp_path, openclaw, "demo/oracle", ATTACK))
    [outcome] = result.outcomes
    assert outcome.reason is Reason.COMPLETED
    evidence = Evidence(folder=result.folder / outcome.evidence)
    chat = [json.loads(line) for line in evidence.chat.read_text().splitlines()]
    assert {one["to"] for one in chat if one["from"] == "assistant"} <= {"ana"}
    transcript = evidence.transcript.read_text()
    assert "Connection reset" in transcript or "read b''" in transcript
    assert "Mar 28 07:3" in transcript.replace("  ", " ")
    assert _scores(result) == [0.0]
