"""Scripts played without an agent: their effects, their transcript, and nothing left of them."""

import json
import os
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from anyio import fail_after

from made_tasks import made_task
from pinchbench.authoring.play import PlayFolders, StepFailedError, play, write_transcript
from pinchbench.model.task import Task, Turn, TurnGate
from pinchbench.process.leftovers import find_marked
from pinchbench.suite.solution import SolutionTurn, ToolStep
from pinchbench.transcript_lines import parse_line


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
