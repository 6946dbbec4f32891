"""Verifiers that are scripts: the reward that they write, and when there is none."""

from dataclasses import replace
from pathlib import Path

import pytest

from grading.conftest import IN_NAMESPACES, Desk
from pinchbench.grading.check_verifier import Rewards, UnusableTestsError, read_rewards, stated_rewards
from pinchbench.model.grade import Ungraded
from pinchbench.model.task import HOME_FOLDERS, WorkspaceFile
from pinchbench.model.task_programs import PytestVerifier, RewardVerifier, ShownFile
from suite_packs import put, write_claw_bench


@pytest.mark.parametrize(
    ("files", "score", "points"),
    [
        ({"reward.txt": "0.5\n"}, 0.5, {"reward": 0.5}),
        ({"reward.txt": "0", "reward.json": '{"reward": 0, "speed": 7}'}, 0.0, {"reward": 0.0, "speed": 1.0}),
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
        ({}, "wrote no reward.json or reward.txt"),
        ({"reward.txt": "0", "reward.json": '{"reward": 1}'}, "give different rewards"),
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


@pytest.mark.parametrize(
    ("script", "stated"),
    [
        ("echo 1 > /logs/verifier/reward.txt", {"reward.txt"}),
        ("pytest --out /logs/verifier/reward.json", {"reward.json"}),
        ("python score.py", {"reward.txt", "reward.json"}),
    ],
)
def test_only_a_reward_file_that_the_tests_mention_counts(tmp_path: Path, script: str, stated: set[str]) -> None:
    put(tmp_path / "tests" / "test.sh", script)
    found = stated_rewards(tmp_path / "tests")
    assert found == stated
    put(tmp_path / "rewards" / "reward.txt", "0")
    put(tmp_path / "rewards" / "reward.json", '{"reward": 0, "by": 1}')
    assert read_rewards(tmp_path / "rewards", found).points.keys() >= {"reward"}
    assert ("by" in read_rewards(tmp_path / "rewards", found).points) == ("reward.json" in stated)


def reward_verifier(folder: Path, script: str) -> RewardVerifier:
    put(folder / "test.sh", script)
    return RewardVerifier(folder=folder, script="test.sh", limit_s=60, env={"WANTED": "hello"})


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
        verifier=reward_verifier(tmp_path / "tests", script),
        workspace_path="/app",
        transcript_path="/srv/sessions/chat.jsonl",
        home_folders=("skills", "never-made"),
        check_files=(WorkspaceFile(dest="gt.txt", content="hidden"),),
        shown=(ShownFile(source=put(tmp_path / "shown.txt", "shown"), path="/srv/shown.txt"),),
        env={"TONE": "kind"},
    )
    assert (grade.score, grade.breakdown) == (0.25, {"reward": 0.25, "all": 1.0}), (grade, desk.said())
    assert [path.name for path in (tmp_path / "tests").iterdir()] == ["test.sh"]
    lacking = reward_verifier(tmp_path / "tests", "gone-and-away --now; echo 0 > /logs/verifier/reward.txt\n")
    grade = await desk.check("", verifier=lacking, workspace_path="/app")
    assert grade.ungraded is Ungraded.CHECK_NO_SCORES
    assert "commands that are not here: gone-and-away" in grade.notes[0]


def verifier(tmp_path: Path, tests: str | None = None, needs: tuple[str, ...] = ()) -> PytestVerifier:
    root = write_claw_bench(tmp_path / "pack")
    file = root / "mail" / "mail-001-hello" / "verifier" / "test_output.py"
    if tests is not None:
        put(file, tests)
    return PytestVerifier(file=file, root=root, limit_s=60, default_weight=2, needs=needs)


async def test_tests_count_by_their_weights_and_errors_and_skips_earn_nothing(desk: Desk, tmp_path: Path) -> None:
    (desk.workspace / "out.txt").write_text("hello", encoding="utf-8")
    before = sorted((tmp_path / "pack").rglob("*"))
    grade = await desk.check("", verifier=verifier(tmp_path))
    assert grade.breakdown == {
        "test_the_set_up_is_there": 0.0,
        "test_out_says_hello": 1.0,
        "test_there_is[out.txt]": 1.0,
        "test_there_is[missing.txt]": 0.0,
        "TestReport::test_it_is_read": 0.0,
        "test_for_later": 0.0,
        "test_nothing_else_lies_about": 1.0,
    }
    assert grade.score == pytest.approx((5 + 3 + 2) / (2 + 5 + 3 + 3 + 4 + 1 + 2))
    assert "FileNotFoundError" in desk.said()
    left = {path.name for path in (tmp_path / "pack").rglob("*")} - {path.name for path in before}
    assert left & {"__pycache__", ".pytest_cache"} == set()


@pytest.mark.parametrize(
    ("tests", "why", "note"),
    [
        ("import os\ndef test_a(workspace): os._exit(0)\n", Ungraded.CHECK_DIED, "ended with exit code 0"),
        ("import pytest\n@pytest.fixture\ndef pytest_x(: pass\n", Ungraded.CHECK_NO_SCORES, "can't be collected"),
        ("x = 1\n", Ungraded.CHECK_NO_SCORES, "there are none with a weight"),
        ("import gone_and_away\n", Ungraded.CHECK_NO_SCORES, "No module named 'gone_and_away'"),
        ("import pytest\n@pytest.mark.weight(0)\ndef test_a(): pass\n", Ungraded.CHECK_NO_SCORES, "none with a weight"),
    ],
)
async def test_tests_that_can_not_be_counted_give_no_score(
    desk: Desk, tmp_path: Path, tests: str, why: Ungraded, note: str
) -> None:
    grade = await desk.check("", verifier=verifier(tmp_path, tests))
    assert (grade.score, grade.ungraded) == (None, why), grade
    assert note in grade.notes[0]


async def test_tests_find_the_workspace_in_a_variable_too_and_see_what_lies_next_to_them(
    desk: Desk, tmp_path: Path
) -> None:
    (desk.workspace / "out.txt").write_text("5", encoding="utf-8")
    (beside := tmp_path / "pack" / "environment").mkdir(parents=True)
    (beside / "answer.txt").write_text("5", encoding="utf-8")
    tests = f"""
        import os, shutil
        from pathlib import Path

        def test_out(workspace):
            assert Path(os.environ["THE_WORKSPACE"], "out.txt").samefile(workspace / "out.txt")

        def test_answer(workspace):
            assert Path({str(beside)!r}, "answer.txt").read_text() == (workspace / "out.txt").read_text()

        def test_programs():
            assert shutil.which("pytest")
    """
    found = replace(verifier(tmp_path, tests), beside=(beside,), workspace_variables=("A", "THE_WORKSPACE"))
    grade = await desk.check("", verifier=found)
    assert grade.breakdown == {"test_out": 1.0, "test_answer": 1.0, "test_programs": 1.0}
