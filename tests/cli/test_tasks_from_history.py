"""`tasks from-history` as a user meets it: the list, the choice, the suite, a run, and what is refused."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import click
import pytest

from command_line import Completed, call, clean_environment
from history_states import Said, UserState
from past_runs import Made, PlannedRun, write_run
from pinchbench.cli import tasks_from_history
from pinchbench.suite.loading import load_suite

pytestmark = pytest.mark.usefixtures("checks_in_process")

KEY = "sk-proj-abcDEF0123456789abcd"
STORED_KEY = "own-0123456789-abcdefghij"


class Home:
    """A user's home with an OpenClaw state in it."""

    def __init__(self, folder: Path, store: str) -> None:
        config: dict[str, object] = {"models": {"providers": {"mock": {"apiKey": STORED_KEY}}}}
        self.path = folder
        self.state = UserState(folder=folder / ".openclaw", store=store, config=config)
        self.now = time.time()
        self.state.put({"orders.csv": f"a\nb\n{STORED_KEY}\n"}, at=self.now - 9000)
        self.state.put({"count.txt": "2\n"}, at=self.now - 3590)
        turns = [
            Said(
                prompt=f"Count {folder}/.openclaw/workspace/orders.csv into count.txt with {KEY}",
                calls=[
                    ("read", {"path": "orders.csv"}, f"a\nb\n{STORED_KEY}\n"),
                    ("write", {"path": "count.txt", "content": "3\n"}, ""),
                ],
            ),
            Said(prompt="No, it is 2", calls=[("write", {"path": "count.txt", "content": "2\n"}, "")]),
        ]
        self.state.converse("counted", turns, at=self.now - 3600)
        web = Said(prompt="What is the weather?", calls=[("browser", {"url": "x"}, "sun")])
        self.state.converse("weather", [web], at=self.now - 1800)

    def call(self, *args: str) -> Completed:
        env = clean_environment(self.path, PINCHBENCH_DATA=str(self.path / "data"))
        return call("tasks", "from-history", *args, cwd=self.path, env=env)

    def rows(self) -> dict[str, dict[str, object]]:
        return {row["title"][:5]: row for row in json.loads(self.call("--json").stdout)}


@pytest.fixture(params=["jsonl", "sqlite"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    return Home(tmp_path, request.param)


def test_the_list_says_what_can_be_asked_again_and_why_the_rest_cannot(home: Home) -> None:
    before = home.state.snapshot()

    done = home.call()
    rows = home.rows()

    assert (done.returncode, home.state.snapshot()) == (0, before)
    assert "2 conversations, of which 1 can be asked again; * marks 1 that stand for your work." in done.stderr
    assert "left out: live web: browser" in done.stdout
    assert rows["Count"]["proposals"] == ["`count.txt` contains '2'", "`count.txt` holds what you kept"]
    assert (rows["Count"]["suggested"], rows["What "]["left_out"]) == (True, ["live web: browser"])
    assert rows["Count"]["coverage"] == "1 of 1 files that it used can be restored"


def test_a_suite_is_made_without_keys_and_paths_and_can_be_listed_and_checked(home: Home) -> None:
    before = home.state.snapshot()

    made = home.call("--pick", "suggested", "--yes")
    env = clean_environment(home.path, PINCHBENCH_DATA=str(home.path / "data"))
    listed = call("tasks", "list", "--suite", "history", cwd=home.path, env=env)
    suites = call("suite", cwd=home.path, env=env)
    (task,) = load_suite(Path(made.stdout.strip())).suite.tasks
    shown = call("tasks", "show", task.task_id, "--tasks-dir", made.stdout.strip(), cwd=home.path, env=env)

    assert "without a model: No, it is 2" in shown.stdout
    assert (made.returncode, home.state.snapshot()) == (0, before)
    assert "1 task. Played again, each old conversation scores 1.0 in its check" in made.stderr
    folder = home.path / "data" / "suites" / "history"
    assert made.stdout.strip() == str(folder / "files")
    assert folder.stat().st_mode & 0o077 == 0
    texts = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file())
    for private in (KEY, STORED_KEY, str(home.state.workspace)):
        assert private not in texts + made.stdout.replace(str(folder), "") + made.stderr + listed.stdout
    assert "Count orders.csv into count.txt with [key]" in listed.stdout
    assert "your conversations with OpenClaw" in suites.stdout


def test_a_suite_that_is_there_is_replaced_only_when_asked_for(tmp_path: Path) -> None:
    home = Home(tmp_path, "jsonl")
    assert home.call("--pick", "suggested", "--yes").returncode == 0

    refused = home.call("--pick", "suggested", "--yes")
    replaced = home.call("--pick", "suggested", "--yes", "--replace")

    assert (refused.returncode, "Replace it with --replace" in refused.stderr) == (2, True)
    assert replaced.returncode == 0


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--since", "soon"], "write a number and h, d or w"),
        (["--pick", "suggested"], "Cannot prompt: not a terminal."),
        (["--pick", "12345678", "--yes"], "There is no conversation '12345678' in the list."),
        (["--match", "weather", "--pick", "suggested", "--yes"], "None of these conversations can become a task."),
        (["--agent", "mian"], "no agent 'mian'"),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path: Path, args: list[str], why: str) -> None:
    done = Home(tmp_path, "jsonl").call(*args)

    assert (done.returncode, why in done.stderr) == (2, True)


def test_a_run_is_weighed_against_the_work_of_a_month(tmp_path: Path) -> None:
    home = Home(tmp_path, "jsonl")
    made = home.call("--pick", "suggested", "--yes")
    (task,) = load_suite(Path(made.stdout.strip())).suite.tasks
    digests = {task.task_id: task.digest}
    write_run(tmp_path / "results", PlannedRun(trials={task.task_id: (Made(score=0.25),)}, digests=digests))

    done = home.call("--weigh", "20260102-030000-0001")

    assert done.stdout.startswith("mock/m1: 0.25 of your work, at $")
    assert done.stdout.endswith(f"Failed: {task.task_id}.\n")


def test_an_empty_history_is_an_empty_list(tmp_path: Path) -> None:
    state = UserState(folder=tmp_path / ".openclaw")
    (state.folder / "agents").mkdir()

    done = call("tasks", "from-history", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("0 conversations")


def test_each_proposal_is_shown_with_its_evidence_and_kept_edited_or_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path, "jsonl")
    answers = iter(["suggested", "e", "d"])  # which conversations; the correction; the kept file
    asked: list[str] = []

    def answer(text: str, **_: object) -> str:
        asked.append(text.strip())
        return next(answers)

    monkeypatch.setattr(tasks_from_history, "_is_terminal", lambda: True)
    monkeypatch.setattr(click, "prompt", answer)
    monkeypatch.setattr(click, "edit", lambda before: f"{before}\n")

    done = home.call()

    assert asked == ["Which of them? Ids, or", *["Keep it (y), edit it (e) or drop it (d)?"] * 2]
    assert "`count.txt` contains '2'.\n    You corrected it: “No, it is 2”" in done.stderr
    assert "You kept it: it has not been changed since.\n    It held:\n      2\n" in done.stderr
    (task,) = load_suite(Path(done.stdout.splitlines()[-1])).suite.tasks
    assert [line.split(" (")[0] for line in task.grading_criteria] == ["`count.txt` contains '2'"]


def test_proposals_are_confirmed_in_a_browser_and_the_suite_has_what_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path, "jsonl")
    answers: list[int] = []

    def confirm(url: str, token: str) -> None:
        origin, body = url.removesuffix("/history"), urlencode({"what-0-0": "keep", "text-0-0": "2"}).encode()
        headers = {"Authorization": f"Bearer {token}", "Origin": origin}
        with urlopen(Request(url, body, headers), timeout=60) as answer:
            answers.append(answer.status)

    def hear(text: str) -> None:
        if found := re.search(r"at (http\S+/history) with the token (\S{16,})$", text):
            threads.submit(confirm, found[1], found[2])

    monkeypatch.setattr(tasks_from_history, "say", hear)
    with ThreadPoolExecutor(1) as threads:
        done = home.call("--pick", "suggested", "--serve", "0")

    assert (done.returncode, answers) == (0, [200])
    (task,) = load_suite(Path(done.stdout.strip())).suite.tasks
    assert [line.split(" (")[0] for line in task.grading_criteria] == ["`count.txt` contains '2'"]
