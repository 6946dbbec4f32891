"""Scripts played without an agent, and in trials of the built-in model where only OpenClaw can play them."""

import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from anyio import fail_after

from fakes import fake_openclaw
from made_tasks import made_task, task_text
from pinchbench.authoring.check import check_tasks
from pinchbench.authoring.check_results import CheckedTask, Part
from pinchbench.authoring.play import PlayFolders, StepFailedError, play, write_transcript
from pinchbench.cli.selected_tasks import with_solutions
from pinchbench.config.run_config import RunConfig
from pinchbench.defaults import Sandbox
from pinchbench.model.task import Task, Turn, TurnGate
from pinchbench.process.leftovers import find_marked
from pinchbench.suite.loading import load_suite
from pinchbench.suite.solution import SolutionTurn, ToolStep
from pinchbench.transcript_lines import parse_line
from suite_packs import put


@pytest.fixture
def stage(tmp_path: Path) -> PlayFolders:
    place = tmp_path / "stage"
    for name in ("workspace", "home"):
        (place / name).mkdir(parents=True)
    return PlayFolders(
        workspace=place / "workspace", home=place / "home", output=place / "output.log", marker=uuid4().hex
    )


def task(*prompts: str) -> Task:
    return made_task(turns=tuple(Turn(prompt=prompt) for prompt in prompts))


def turn(*steps: tuple[str, dict[str, object]], answer: str = "Done.") -> SolutionTurn:
    return SolutionTurn(steps=tuple(ToolStep(tool=tool, args=args) for tool, args in steps), answer=answer)


async def test_steps_work_in_the_workspace_and_the_transcript_tells_of_them(stage: PlayFolders, tmp_path: Path) -> None:
    first = turn(
        ("write", {"path": "deep/in/a.txt", "content": "é\r\n"}),
        ("exec", {"command": "cat deep/in/a.txt; pwd; echo oops >&2"}),
        answer="Written.",
    )
    second = turn(("read", {"path": "deep/in/a.txt"}), answer="Read.")

    events = await play([first, second], task("Write it.", "Read it."), stage)
    write_transcript(tmp_path / "transcript.jsonl", events)

    assert (stage.workspace / "deep/in/a.txt").read_bytes() == "é\r\n".encode()
    lines = (tmp_path / "transcript.jsonl").read_bytes().splitlines()
    assert [event for line in lines for event in parse_line(line).events] == events
    messages = [event["message"] for event in events if event["type"] == "message"]
    assert [message["role"] for message in messages] == [  # type: ignore[index]
        *("user", "assistant", "toolResult", "assistant", "toolResult", "assistant"),
        *("user", "assistant", "toolResult", "assistant"),
    ]
    reported = json.dumps(messages, ensure_ascii=False)
    assert all(
        text in reported for text in ("Write it.", str(stage.workspace), "oops", "Written.", "Read it.", "Read.")
    )


async def test_a_command_finds_neither_keys_nor_the_home_of_the_user(
    stage: PlayFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-secret")
    await play(
        [turn(("exec", {"command": 'env > env.txt; echo "$HOME"; test "$TMPDIR" = "$HOME"'}))], task("Go."), stage
    )
    reported = (stage.workspace / "env.txt").read_text(encoding="utf-8")
    assert "sk-secret" not in reported
    assert f"HOME={stage.home}\n" in reported


async def test_what_a_command_leaves_running_is_ended_and_reported(stage: PlayFolders) -> None:
    with pytest.raises(StepFailedError, match=r"the command leaves processes running .*sleep"):
        await play([turn(("exec", {"command": "setsid sleep 600 & sleep 600 & echo started"}))], task("Go."), stage)
    assert find_marked(stage.marker) == []


@pytest.mark.parametrize("tool", ["read", "write"])
@pytest.mark.parametrize("kind", ["pipe", "endless", "outside", "folder"])
async def test_only_regular_files_of_the_workspace_are_read_and_written(
    stage: PlayFolders, tool: str, kind: str
) -> None:
    place = stage.workspace / "x"
    outside = stage.home / "secret"
    outside.write_text("mine", encoding="utf-8")
    match kind:
        case "pipe":
            os.mkfifo(place)
        case "endless":
            place.symlink_to("/dev/zero")
        case "outside":
            place.symlink_to(outside)
        case _:
            place.mkdir()
    args: dict[str, object] = {"path": "x"} if tool == "read" else {"path": "x", "content": "new"}
    with fail_after(60), pytest.raises(StepFailedError, match=r"x can't be|leaves the workspace"):
        await play([turn((tool, args))], task("Go."), stage)
    assert outside.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("tool", "args", "said"),
    [
        ("exec", {"command": "echo why; exit 3"}, r"turn 1, step 1 \(exec\): the command ended with exit code 3: why$"),
        ("exec", {}, "the argument `command` is missing"),
        ("exec", {"command": ["ls"]}, "`command` must be a text"),
        ("exec", {"command": "ls", "workdir": "x"}, "the argument `workdir` is not known here; exec has command"),
        ("write", {"path": "x", "content": True}, "`content` must be a text"),
        ("exec", {"command": "yes"}, "the command ended as output_limit"),
        ("read", {"path": "nowhere.txt"}, "nowhere.txt can't be read: .*No such file"),
        ("read", {"path": "../secret"}, "the path '../secret' holds `..`"),
        ("write", {"path": "/etc/x", "content": "x"}, "the path '/etc/x' is absolute"),
        ("write", {"path": "a\0b", "content": "x"}, "control character"),
        ("write", {"path": "taken/x", "content": "x"}, "taken/x can't be written"),
        ("browse", {"url": "x"}, "there is no tool 'browse' without an agent; use write, read, exec"),
    ],
)
async def test_a_step_that_fails_says_which_and_why(
    stage: PlayFolders, tool: str, args: dict[str, object], said: str
) -> None:
    (stage.workspace / "taken").touch()
    with pytest.raises(StepFailedError, match=said):
        await play([turn((tool, args))], task("Go."), stage)


async def test_a_turn_whose_gate_does_not_hold_is_not_played(stage: PlayFolders) -> None:
    turns = (
        Turn(prompt="one"),
        Turn(prompt="two", gate=TurnGate(replies=2, pattern="done")),
        Turn(prompt="three", gate=TurnGate(pattern="never said")),
        Turn(prompt="four"),
        Turn(prompt="five", new_session=True),
    )
    touch = [turn(("exec", {"command": f"touch {number}"})) for number in range(1, 6)]
    await play(touch, replace(task(), turns=turns), stage)
    assert sorted(path.name for path in stage.workspace.iterdir()) == ["1", "2", "5"]


pytestmark = pytest.mark.usefixtures("checks_in_process")

CHECK = """
    def grade(transcript, workspace_path):
        return {"said": float(any(one.get("message", {}).get("role") == "assistant" for one in transcript))}
"""
SOLUTION = """
    turns:
      - answer: "Done."
    near_misses:
      - {name: late, check: [0.4, 0.6], turns: [{answer: "Late."}]}
      - {name: long, check: [0.4, 0.6], turns: [{answer: "Long."}, {answer: "Too long."}]}
"""


@pytest.fixture(autouse=True)
def _unboxed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the fake OpenClaw work where it is."""
    unboxed = partial(RunConfig, sandbox=Sandbox.NONE, wire=False, infra_retries=0)
    monkeypatch.setattr("pinchbench.authoring.play.RunConfig", unboxed)


async def check(folder: Path, prompt: str, openclaw: str) -> tuple[CheckedTask, ...]:
    put(folder / "tasks" / "task_a.md", task_text("id: task_a\nabilities: [memory]", prompt=prompt, check=CHECK))
    put(folder / "tasks" / "solutions" / "task_a.yaml", SOLUTION)
    suite = load_suite(folder / "tasks").suite
    found = await check_tasks(
        with_solutions(suite, suite.tasks), show=lambda _: None, openclaw=openclaw, run_root=folder / "pb"
    )
    assert not list((folder / "pb").iterdir())
    return found


async def test_each_script_has_a_trial_of_its_own_and_is_held_to_its_score(tmp_path: Path) -> None:
    found = await check(tmp_path, "Do it.", str(fake_openclaw(tmp_path)))

    assert [(one.part, one.name, one.check, one.untried) for one in found] == [
        (Part.ORACLE, "oracle", 1.0, ""),
        (Part.NEAR_MISS, "late", 1.0, ""),
        (Part.NEAR_MISS, "long", None, ""),
        (Part.NOTHING, "nothing", 1.0, ""),
    ]
    assert [one.problems for one in found[:1]] == [()]
    assert ["its check gives 1.000, not 0.4 to 0.6" in str(one.problems) for one in found] == [
        False,
        True,
        False,
        False,
    ]
    assert "it has 2 turns, the task 1" in str(found[2].problems)


async def test_a_trial_that_fails_and_an_openclaw_that_is_missing_or_broken_are_named(tmp_path: Path) -> None:
    failed = await check(tmp_path, "scenario: exit 3", str(fake_openclaw(tmp_path)))
    missing = await check(tmp_path, "Do it.", str(tmp_path / "nowhere"))
    broken = await check(tmp_path, "Do it.", str(fake_openclaw(tmp_path, add_fails="no room")))

    assert all("in OpenClaw it ended as nonzero_exit" in str(one.problems) for one in failed if one.name != "long")
    assert all("only OpenClaw can play it" in one.untried for one in (*missing, *broken) if one.name != "long")
