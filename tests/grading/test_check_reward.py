"""Verifiers that are scripts: the reward that they write, and when there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from grading.conftest import IN_NAMESPACES
from pinchbench.grading.check_pytest import UnusableTestsError
from pinchbench.grading.check_reward import Rewards, read_rewards
from pinchbench.model.grade import Ungraded
from pinchbench.model.task import HOME_FOLDERS, WorkspaceFile
from pinchbench.model.task_programs import RewardVerifier, ShownFile
from suite_packs import put

if TYPE_CHECKING:
    from pathlib import Path

    from grading.conftest import Desk


@pytest.mark.parametrize(
    ("files", "score", "points"),
    [
        ({"reward.txt": "0.5\n"}, 0.5, {"reward": 0.5}),
        ({"reward.txt": "1", "reward.json": '{"reward": 0, "speed": 7}'}, 0.0, {"reward": 0.0, "speed": 1.0}),
    ],
)
def test_the_reward_of_the_json_file_wins(
    tmp_path: Path, files: dict[str, str], score: float, points: dict[str, float]
) -> None:
    for name, text in files.items():
        put(tmp_path / name, text)
    assert read_rewards(tmp_path) == Rewards(score=score, points=points)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, "neither reward.json nor reward.txt"),
        ({"reward.txt": ""}, "reward.txt is not a number"),
        ({"reward.txt": "pass"}, "reward.txt is not a number"),
        ({"reward.txt": "nan"}, "not within 0-1"),
        ({"reward.txt": "1.5"}, "not within 0-1"),
        ({"reward.txt": "0", "reward.json": '{"error": "no key"}'}, "not an object of finite numbers"),
        ({"reward.txt": "0", "reward.json": "{"}, "not valid JSON"),
        ({"reward.json": "[1]"}, "not an object"),
        ({"reward.json": '{"reward": true}'}, "not an object of finite numbers"),
        ({"reward.json": '{"reward": 1, "_meta_x": "y"}'}, "not an object of finite numbers"),
        ({"reward.json": '{"reward": NaN}'}, "not an object of finite numbers"),
        ({"reward.json": '{"speed": 1}'}, "no number `reward`"),
        ({"reward.json": '{"reward": -1}'}, "not within 0-1"),
    ],
)
def test_what_is_no_reward_is_no_score(tmp_path: Path, files: dict[str, str], why: str) -> None:
    for name, text in files.items():
        put(tmp_path / name, text)
    with pytest.raises(UnusableTestsError, match=why):
        read_rewards(tmp_path)


def verifier(folder: Path, script: str) -> RewardVerifier:
    put(folder / "test.sh", script)
    return RewardVerifier(folder=folder, script="test.sh", limit_s=60, env={"WANTED": "hello"})


@pytest.mark.anyio
@pytest.mark.parametrize("desk", [IN_NAMESPACES], indirect=True)
async def test_a_script_finds_the_paths_that_its_task_states(desk: Desk, tmp_path: Path) -> None:
    put(desk.workspace / "out.txt", "hello")
    script = """
        set -e
        test "$PWD" = /app
        cat /tests/test.sh > /tests/copy.sh
        grep -q said /srv/sessions/chat.jsonl
        test "$(cat "$HOME/skills/new.txt")" = left
        test "$(cat /app/out.txt) $(cat gt.txt) $(cat /srv/shown.txt) $TONE" = "$WANTED hidden shown kind"
        echo '{"reward": 0.25, "all": 1}' > /logs/verifier/reward.json
        exit 3
    """
    put(desk.workspace / HOME_FOLDERS / "skills" / "new.txt", "left")
    desk.tell({"type": "message", "message": {"role": "user", "content": "said"}})
    grade = await desk.check(
        "",
        verifier=verifier(tmp_path / "tests", script),
        workspace_path="/app",
        transcript_path="/srv/sessions/chat.jsonl",
        home_folders=("skills", "never-made"),
        files=(WorkspaceFile(dest="gt.txt", content="hidden"),),
        shown=(ShownFile(source=put(tmp_path / "shown.txt", "shown"), path="/srv/shown.txt"),),
        env={"TONE": "kind"},
    )
    assert (grade.score, grade.breakdown) == (0.25, {"reward": 0.25, "all": 1.0}), (grade, desk.said())
    assert [path.name for path in (tmp_path / "tests").iterdir()] == ["test.sh"]
    lacking = verifier(tmp_path / "tests", "gone-and-away --now; echo 0 > /logs/verifier/reward.txt\n")
    grade = await desk.check("", verifier=lacking, workspace_path="/app")
    assert grade.ungraded is Ungraded.CHECK_NO_SCORES
    assert "commands that are not here: gone-and-away" in grade.notes[0]


@pytest.mark.anyio
@pytest.mark.parametrize("desk", [None], indirect=True)
async def test_without_namespaces_there_is_no_score(desk: Desk) -> None:
    grade = await desk.check("def grade(**given): return {'a': 0}", workspace_path="/app")
    assert grade.ungraded is Ungraded.CHECK_NOT_STARTED
    assert "this machine has no namespaces" in grade.notes[0]
