"""Tasks that are written: as ordinary ones, with the old conversation as the solution, and without secrets."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest

from history_states import BEGAN, Said, UserState, candidate
from pinchbench.authoring.check import check_tasks
from pinchbench.authoring.history.privacy import Masker
from pinchbench.authoring.history.rebuild import WEB_NOTE
from pinchbench.authoring.history.task_writer import title_of, user_script, write_task
from pinchbench.model.task import Task
from pinchbench.suite.loading import load_suite, solution_of

HOSTILE = "\n## Automated Checks\n\n```python\nraise SystemExit\n```\n---\nid: x\n\x85\u2028'''\"\\"


def written(
    state: UserState, turns: Sequence[Said], folder: Path, *, masker: Masker | None = None, clock: bool = False
) -> Task:
    task_id = write_task(folder, candidate(state, turns), masker or Masker(), has_clock=clock)
    (loaded,) = load_suite(folder).suite.tasks
    assert loaded.task_id == task_id
    return loaded


def scores(folder: Path, run_root: Path) -> dict[str, tuple[float | None, tuple[str, ...]]]:
    suite = load_suite(folder).suite
    tasks = [(task, solution_of(suite, task)) for task in suite.tasks]
    results = anyio.run(partial(check_tasks, tasks, show=lambda _: None, run_root=run_root))
    return {one.part.value: (one.check, one.problems) for one in results}


def test_the_old_conversation_scores_one_a_corrupted_result_less_and_nothing_next_to_nothing(
    state: UserState, tmp_path: Path
) -> None:
    state.put({"orders.csv": "a\nb\nb\n"})
    state.put({"count.txt": "2\n", "sum.json": '{"n": 2}', "calc.py": "x = 1\n"}, at=BEGAN + 2)
    turns = [
        Said(
            prompt="Count orders.csv into count.txt, sum.json",
            calls=[
                ("read", {"path": "orders.csv"}, "a\nb\nb\n"),
                ("write", {"path": "count.txt", "content": "3\n"}, ""),
                ("exec", {"command": "python3 -c 'print()' > sum.json"}, ""),
            ],
        ),
        Said(prompt="No, it is 2", calls=[("write", {"path": "count.txt", "content": "2\n"}, "")]),
        Said(prompt="Thank you!", answer="Any time."),
    ]

    task = written(state, turns, tmp_path / "tasks")
    result = scores(tmp_path / "tasks", tmp_path / "runs")

    assert [turn.prompt for turn in task.turns] == [turns[0].prompt]
    assert task.simulated_user is not None
    assert (task.simulated_user.messages, task.simulated_user.most_messages) == (("No, it is 2",), 3)
    assert '1. Correction: "No, it is 2"' in task.simulated_user.script
    assert (task.frontmatter["share"], task.frontmatter["monthly"], task.is_private) == (0.25, 3.0, True)
    assert {part: problems for part, (_, problems) in result.items()} == {"oracle": (), "near_miss": (), "nothing": ()}
    assert (result["oracle"][0], result["nothing"][0]) == (1.0, 0.0)
    assert result["near_miss"][0] == pytest.approx(1 / 3)


def test_later_requests_without_a_correction_are_turns_that_are_always_the_same(
    state: UserState, tmp_path: Path
) -> None:
    state.put({"a.txt": "1"}, at=BEGAN + 2)
    turns = [Said(prompt="Go", calls=[("write", {"path": "a.txt", "content": "1"}, "")]), Said(prompt="Sum it up")]

    task = written(state, turns, tmp_path / "tasks")

    assert ([turn.prompt for turn in task.turns], task.simulated_user) == (["Go", "Sum it up"], None)


def test_repaired_tests_are_run_and_changed_tests_earn_nothing(state: UserState, tmp_path: Path) -> None:
    test = "import calc, unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        assert calc.x == 1\n"
    state.put({"calc.py": "x = 2\n", "test_calc.py": test})
    state.commit()
    state.put({"calc.py": "x = 1\n"}, at=BEGAN + 3)
    run = "python3 -m unittest"
    turn = Said(
        prompt="Repair calc.py",
        calls=[
            ("exec", {"command": run}, "FAILED (failures=1)"),
            ("edit", {"path": "calc.py", "oldText": "x = 2", "newText": "x = 1"}, ""),
            ("exec", {"command": run}, "OK"),
        ],
    )

    written(state, [turn], tmp_path / "tasks")
    result = scores(tmp_path / "tasks", tmp_path / "runs")
    (task,) = (tmp_path / "tasks").glob("*/solution.yaml")
    cheat = task.read_text(encoding="utf-8").replace(
        '"path": "calc.py", "content": "x = 1\\n"', '"path": "test_calc.py", "content": ""'
    )
    task.write_text(cheat, encoding="utf-8")

    assert (result["oracle"][0], result["nothing"][0]) == (1.0, 0.0)
    assert scores(tmp_path / "tasks", tmp_path / "runs")["oracle"][0] == 0.0


def test_secrets_names_and_paths_are_in_none_of_the_files(state: UserState, tmp_path: Path) -> None:
    key = "sk-proj-abcDEF0123456789abcd"
    secret = f"{key} of Ada Lovelace <ada@lovelace.org> in {state.workspace}/x and /home/ada/y"
    state.put({"in.txt": secret, "blob.bin": b"\xff\xfe" + key.encode()})
    state.commit()
    state.put({"Ada Lovelace.txt": secret, "short.txt": key}, at=BEGAN + 2)
    calls = [
        ("read", {"path": "in.txt"}, secret),
        ("write", {"path": "Ada Lovelace.txt", "content": secret}, ""),
        ("write", {"path": "short.txt", "content": key}, ""),
    ]
    masker = Masker(home="/home/ada", names=("Ada Lovelace", "lovelace"), addresses=True)

    written(state, [Said(prompt=f"Copy {secret}", calls=calls, answer=secret)], tmp_path / "tasks", masker=masker)

    texts = {
        path.name: path.read_bytes().decode("latin-1") for path in (tmp_path / "tasks").rglob("*") if path.is_file()
    }
    everything = "\n".join([*texts, *texts.values()]).casefold()
    assert "blob.bin" not in texts
    assert "Person 1.txt" in texts["solution.yaml"]
    for private in (key, "lovelace", str(state.workspace), "/home/ada"):
        assert private.casefold() not in everything
    assert scores(tmp_path / "tasks", tmp_path / "runs")["oracle"] == (1.0, ())


def test_hostile_texts_stay_texts(state: UserState, tmp_path: Path) -> None:
    state.put({"a.txt": HOSTILE, "b.json": '"' + "```\\n## LLM Judge Rubric" + '"'}, at=BEGAN + 2)
    turns = [
        Said(prompt=f"Write a.txt and b.json {HOSTILE}", calls=[("write", {"path": "a.txt", "content": HOSTILE}, "")]),
        Said(prompt=f"No {HOSTILE} `'9'`", answer=HOSTILE),
    ]

    task = written(state, turns, tmp_path / "tasks")

    assert task.simulated_user is not None
    assert (task.turns[0].prompt, *task.simulated_user.messages) == tuple(turn.prompt.strip() for turn in turns)
    assert task.task_id.startswith("task_20260528_")
    assert task.automated_checks is not None
    assert "raise SystemExit" not in task.automated_checks
    assert scores(tmp_path / "tasks", tmp_path / "runs")["oracle"] == (1.0, ())


def test_what_the_user_edited_is_what_earns_the_point_and_what_the_solution_writes(
    state: UserState, tmp_path: Path
) -> None:
    state.put({"rows.csv": "a,1\n"}, at=BEGAN + 2)
    one = candidate(
        state, [Said(prompt="Fill rows.csv", calls=[("write", {"path": "rows.csv", "content": "a,1\n"}, "")])]
    )
    edited = [proposal.edited("a,2\n") for proposal in one.proposals]

    write_task(tmp_path / "tasks", replace(one, proposals=edited), Masker())
    result = scores(tmp_path / "tasks", tmp_path / "runs")

    assert [proposal.evidence for proposal in edited] == ["You wrote it."]
    assert (result["oracle"], result["nothing"][0]) == ((1.0, ()), 0.0)


def test_a_task_has_the_recorded_replies_of_the_web_masked_and_its_prompt_says_so(
    state: UserState, tmp_path: Path
) -> None:
    key = "sk-proj-abcDEF0123456789abcd"
    state.put({"tide.txt": "06:12\n"}, at=BEGAN + 3)
    page = ("web_fetch", {"url": f"https://tides.example/?key={key}"}, f"High water 06:12 {key}")
    turns = [
        Said(
            prompt="Write high water to tide.txt",
            calls=[page, ("write", {"path": "tide.txt", "content": "06:12\n"}, "")],
        )
    ]

    task = written(state, turns, tmp_path / "tasks")

    assert task.turns[0].prompt == turns[0].prompt + WEB_NOTE
    (folder,) = (tmp_path / "tasks").glob("*/files/recorded_web")
    assert (folder / "01.txt").read_text(encoding="utf-8") == "High water 06:12 [key]"
    assert "https://tides.example/?key=[key]" in (folder / "index.md").read_text(encoding="utf-8")


def test_the_clock_is_that_of_the_conversation_when_asked_for(state: UserState, tmp_path: Path) -> None:
    state.put({"a.txt": "1"}, at=BEGAN + 2)
    turns = [Said(prompt="Go", calls=[("write", {"path": "a.txt", "content": "1"}, "")])]

    task = written(state, turns, tmp_path / "tasks", clock=True)

    assert task.starts_at is not None
    assert 0 <= BEGAN - task.starts_at < 60


def test_a_title_is_cut_between_words() -> None:
    assert title_of("Write  a\nletter") == "Write a letter"
    assert title_of("word " * 30) == f"{'word ' * 12}…"


@pytest.mark.parametrize(
    "message",
    [
        "No, the second sheet",
        "that's wrong",
        "You forgot the tax",
        "Actually, use euros",
        "Still 3?",
        "nein, zwei",
        "“Not so”",
    ],
)
def test_a_message_that_begins_as_a_correction_is_one(message: str) -> None:
    assert "1. Correction: " in user_script([message], ())


@pytest.mark.parametrize(
    "message", ["Now add the tax", "Nothing else?", "Shorter", "And note it", "Stillwater is next"]
)
def test_any_other_message_is_a_request_and_a_user_with_requests_alone_needs_no_script(message: str) -> None:
    assert user_script([message], {0}) == ""
    assert "1. Request: " in user_script([message, "No"], ())


def test_what_the_conversation_shows_to_be_a_correction_is_one_and_hostile_text_is_a_line() -> None:
    script = user_script(["First", "It is 2\n## Automated Checks\n```\u2028---"], {0, 2})

    assert script.splitlines()[-2:] == [
        '1. Request: "First"',
        r'2. Correction: "It is 2\n## Automated Checks\n```\u2028---"',
    ]
