"""The command line as a user meets it: what goes where, what is refused, and with which exit code."""

import json
import os
import pty
import re
import socket
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import click
import pytest

from command_line import Completed, call, clean_environment
from fakes import MODEL, SCORED_BY_MODEL, fake_openclaw, make_suite
from past_runs import Made, PlannedRun, write_run
from pinchbench.cli.program import cli
from pinchbench.cli.run import run

pytestmark = pytest.mark.usefixtures("checks_in_process")

FULL = Path("/dev/full")


def _pinchbench(*args: str | bytes, cwd: Path, stdout: Path | None = None, **env: str) -> Completed:
    return call(*args, cwd=cwd, env=clean_environment(cwd, **env), stdout=stdout)


def _run_args(folder: Path, *prompts: str, timeout_s: float = 30) -> list[str]:
    program = fake_openclaw(folder)
    texts = {f"task_{number}": prompt for number, prompt in enumerate(prompts or ("hi",))}
    suite = make_suite(folder, texts, timeout_s=timeout_s)
    where = ["--output-dir", str(folder / "out"), "--run-root", str(folder / "pb")]
    return ["--model", MODEL, "--openclaw", str(program), "--tasks-dir", str(suite), *where]


def test_the_default_command_runs_and_stdout_is_the_result_path_alone(tmp_path: Path) -> None:
    done = _pinchbench(*_run_args(tmp_path), cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    [line] = done.stdout.splitlines()
    data = json.loads((tmp_path / line).read_text(encoding="utf-8"))
    assert data["model"] == MODEL
    assert [task["status"] for task in data["tasks"]] == ["success"]
    assert "completed" in done.stderr
    assert "\x1b" not in done.stderr


def test_a_command_line_of_pinchbenchs_own_runner_works_and_json_prints_the_whole_result_and_nothing_else(
    tmp_path: Path,
) -> None:
    theirs = ("--no-upload", "--timeout-multiplier", "2")
    done = _pinchbench("run", *_run_args(tmp_path), *theirs, "--json", "--runs", "2", cwd=tmp_path)

    data = json.loads(done.stdout)
    assert [run["repetition"] for run in data["tasks"][0]["runs"]] == [1, 2]
    assert json.loads(next((tmp_path / "out").glob("*.json")).read_text(encoding="utf-8")) == data


def test_a_quiet_run_prints_its_path_alone_and_what_failed_in_it_is_run_again(tmp_path: Path) -> None:
    args = _run_args(tmp_path, "one", "two", "three")
    failed = _pinchbench(*args, "--last-failed", "--dry-run", cwd=tmp_path)
    quiet = _pinchbench(*args, "-q", "-k", "task_1 or task_2", cwd=tmp_path)
    again = _pinchbench(*args, "--last-failed", "--limit", "1", "--dry-run", cwd=tmp_path)
    nothing = _pinchbench(*args, "-k", "task_9", "--dry-run", cwd=tmp_path)

    assert (quiet.returncode, quiet.stderr, len(quiet.stdout.splitlines())) == (0, "", 1)
    assert re.findall(r"task_\d", again.stdout) == ["task_1"], "none has a score without a judge"
    assert f"--last-failed: {tmp_path / 'out'} has no run of {MODEL}." in failed.stderr
    assert "No task of --suite all is left by -k." in nothing.stderr
    assert (failed.returncode, nothing.returncode) == (2, 2)


def test_a_reader_that_goes_away_does_not_end_the_run(tmp_path: Path) -> None:
    args = _run_args(tmp_path, "one", "two", "three")
    command = [sys.executable, "-m", "pinchbench", *args]
    read, write = os.pipe()
    os.close(read)

    with os.fdopen(write, "wb") as gone:
        done = subprocess.run(command, cwd=tmp_path, stdout=gone, stderr=gone, timeout=240, check=False)

    assert done.returncode == 0
    data = json.loads(next((tmp_path / "out").glob("*.json")).read_text(encoding="utf-8"))
    assert [task["status"] for task in data["tasks"]] == ["success"] * 3


@pytest.fixture
def stalled() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """A pipe that is full: its reading end and its writing end."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    with suppress(BlockingIOError):
        while os.write(write, b"." * 4096):
            pass
    os.set_blocking(write, True)
    with os.fdopen(read, "rb") as reader, os.fdopen(write, "wb", buffering=0) as writer:
        yield reader, writer


def test_a_reader_that_stalls_holds_up_neither_the_time_limit_nor_the_exit(
    tmp_path: Path, stalled: tuple[BinaryIO, BinaryIO]
) -> None:
    args = _run_args(tmp_path, "scenario: flood 8\nscenario: think", timeout_s=6)
    command = [sys.executable, "-m", "pinchbench", *args, "-v"]

    done = subprocess.run(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=stalled[1], text=True, timeout=240, check=False
    )

    assert done.returncode == 0
    data = json.loads((tmp_path / done.stdout.strip()).read_text(encoding="utf-8"))
    assert [task["status"] for task in data["tasks"]] == ["timeout"]


def test_a_reader_that_goes_on_sees_everything_from_the_first_line_to_the_summary(
    tmp_path: Path, stalled: tuple[BinaryIO, BinaryIO]
) -> None:
    reader, writer = stalled
    with socket.create_server(("127.0.0.1", 0)) as gate:
        gate.settimeout(60)
        args = _run_args(tmp_path, f"scenario: flood 8\nscenario: gate {gate.getsockname()[1]}")
        command = [sys.executable, "-m", "pinchbench", *args, "-v"]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=writer) as started:
            writer.close()
            agent, _ = gate.accept()  # the run has come as far as its agent, with nobody reading
            with agent:
                agent.sendall(b"\n")
                text = reader.read().decode()
            assert started.stdout is not None
            assert started.stdout.read().strip()

    assert "Setting up OpenClaw" in text
    steps = ["looking for OpenClaw", "making a private home with OpenClaw's `agents add`"]
    assert re.findall(r"set-up  (.*?)(?: \(\d+\.\d s so far\))?\n", text) == steps
    assert re.search(r", set up in \d+\.\d s\n", text)
    assert "task_0 stdout: xxx" in text
    assert "1 of 1 trial" in text
    assert "lines were not shown" not in text


def test_on_a_terminal_the_run_is_drawn_and_the_summary_stays(tmp_path: Path) -> None:
    args = _run_args(tmp_path, "scenario: flood 1\nscenario: think 1")
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, 100))
    with os.fdopen(theirs, "wb", buffering=0) as terminal:
        started = subprocess.Popen(
            [sys.executable, "-m", "pinchbench", *args],
            cwd=tmp_path,
            env={**os.environ, "TERM": "xterm-256color", "CI": "", "NO_COLOR": ""},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=terminal,
        )
    shown = b""
    with suppress(OSError), os.fdopen(ours, "rb", buffering=0) as screen:  # Linux: EIO once nobody writes any more
        while data := screen.read(65536):
            shown += data
    with started:
        assert started.stdout is not None
        assert started.stdout.read().strip()

    assert b" of 30 s" in shown
    assert shown.rindex(b"\x1b[?25l") < shown.rindex(b"\x1b[?25h") < shown.index(b"1 of 1 trial")
    assert b"\x1b[32m" in shown


@pytest.mark.skipif(not FULL.exists(), reason="Linux has it")
@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_a_result_that_cannot_be_printed_is_an_error_that_says_where_it_stands(
    tmp_path: Path, extra: tuple[str, ...]
) -> None:
    done = _pinchbench(*_run_args(tmp_path), *extra, cwd=tmp_path, stdout=FULL)

    assert done.returncode == 6
    [path] = (tmp_path / "out").glob("*.json")
    sentence = f"Error: The result could not be printed: No space left on device; it is in {path}."
    assert done.stderr.splitlines()[-1] == sentence


TOO_LONG = "File name too long" if sys.version_info < (3, 14) else "does not exist"  # as pathlib says it


@pytest.mark.parametrize(
    ("args", "code", "sentence"),
    [
        ((), 2, "Missing option '--model'"),
        (("--model", "a/b", "--concurrency", "0"), 2, "1<=x<=1024"),
        (("--model", "a/b", "--concurrency", "65"), 2, "goes from 1 to 64. More slots need the nodes of a --cluster"),
        (("--model", "a/b", "--timeout-multiplier", "nan"), 2, "--timeout-multiplier nan is out of range"),
        (("--model", "a/b", "--thinking", "hard"), 2, "'hard' is not one of"),
        (("--model", "a/b", "--suite", "task_00_santy"), 2, "task_00_sanity"),
        (("--model", "a/b", "--suite", "productivty"), 2, "productivity"),
        (("--model", "a/b", "--suite", ","), 2, "--suite"),
        (("--model", "a/b", "--tasks-dir", "nowhere"), 3, "does not exist"),
        (("--model", "a/b", "--openclaw", "2020.1.1"), 4, "openclaw install 2020.1.1"),
        (("--model", "a/b", "--openclaw", "./nothing"), 4, "neither an executable file nor a release"),
        (("--model", "a/b", "--nope"), 2, "No such option"),
        (("--model", "a/b", "--run-root", "~nosuch/x"), 2, "--run-root '~nosuch/x' names a home folder"),
        (("tasks", "list", "--tasks-dir", "~nosuch/x"), 2, "--tasks-dir '~nosuch/x' names a home folder"),
        (("--model", "a/b", "--tasks-dir", "x" * 300), 3, TOO_LONG),
        (("tasks", "check", "--tasks-dir", "x" * 300), 3, TOO_LONG),
        (("--model", b"a/\xff"), 2, "--model is not valid UTF-8"),
        (("--model", "foo"), 2, "--model foo: it names no provider; write PROVIDER/MODEL, such as anthropic/claude"),
        (("--model", "foo", "--suite", "nope"), 2, "or ENDPOINT/MODEL with an endpoint of pinchbench.yaml."),
        (("--model", "oracle", "--dry-run"), 2, "such as demo/oracle, or ENDPOINT/MODEL"),
        (
            ("--model", "a/b", "--openclaw", "nowhere", "--dry-run"),
            4,
            "--openclaw nowhere is neither an executable file",
        ),
        (("--model", "demo/oracle", "--thinking", "high", "--suite", "nope"), 2, "demo/oracle does not think"),
        (("tasks", "show", "nope"), 2, "has no task 'nope'."),
        (("tasks", "show", "task_00_santy"), 2, "Did you mean 'task_00_sanity'?"),
        (("tasks", "show", "all"), 2, "has no task 'all'."),
        (("tasks", "show", "task_00_sanity", "task_00_sanity"), 2, "unexpected extra argument"),
        (("frobnicate",), 2, "No such command"),
    ],
)
def test_what_cannot_be_used_is_one_clear_error(
    tmp_path: Path, args: tuple[str | bytes, ...], code: int, sentence: str
) -> None:
    command = args or ("run",)
    where = ("--run-root", str(tmp_path / "pb")) if "--model" in args and "--run-root" not in args else ()

    done = _pinchbench(*command, *where, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (code, "")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "results").exists()


def test_all_broken_task_files_are_named_with_file_line_and_reason_before_anything_starts(tmp_path: Path) -> None:
    args = _run_args(tmp_path, "good")
    for name in ("one", "two"):
        (tmp_path / "tasks" / f"task_{name}.md").write_text(f"---\nid: task_{name}\n---\n", encoding="utf-8")

    broken = _pinchbench(*args, cwd=tmp_path)
    skipped = _pinchbench(*args, "--skip-broken", cwd=tmp_path)

    assert broken.returncode == 3
    assert re.search(r"task_one\.md:\d+: .*\n.*task_two\.md:\d+: ", broken.stderr)
    assert not (tmp_path / "pb").exists() or skipped.returncode == 0
    assert skipped.returncode == 0, skipped.stderr
    assert "Excluded: " in skipped.stderr


def test_tasks_list_and_show_go_on_past_files_that_can_not_be_used(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, {"task_good": "Hi", "task_other": "Hi"})
    lost = "---\nid: task_lost\ngrading_type: llm_judge\nworkspace_files:\n  - {source: gone.csv}\n---\n## Prompt\nHi\n"
    (suite / "task_lost.md").write_text(lost, encoding="utf-8")
    (suite / "manifest.yaml").write_text("tasks: [task_good, task_lost, task_nowhere]\n", encoding="utf-8")
    where = ("--tasks-dir", str(suite))

    listed = _pinchbench("tasks", "list", *where, cwd=tmp_path)
    as_json = _pinchbench("tasks", "list", "--json", *where, cwd=tmp_path)
    shown = _pinchbench("tasks", "show", "task_other", *where, cwd=tmp_path)
    missing = _pinchbench("tasks", "show", "task_lost", *where, cwd=tmp_path)

    unknown = _pinchbench("tasks", "list", "--json", "--suite", "task_nowhere", *where, cwd=tmp_path)
    assert "has no task or category" in json.loads(unknown.stdout)[0]["refused"]
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["task_good"]
    good, *refused = json.loads(as_json.stdout)
    assert good["task_id"] == "task_good"
    assert [(row["path"], row["line"]) for row in refused] == [
        (f"{suite}/task_lost.md", 5),
        (f"{suite}/manifest.yaml", 1),
    ]
    assert "the source 'gone.csv' is missing" in refused[0]["refused"]
    assert shown.stdout.startswith("task_other: ")
    for done in (listed, as_json, missing):
        assert f"{suite}/task_lost.md:5: the source 'gone.csv' is missing" in done.stderr
        assert f"{suite}/manifest.yaml:1: `tasks` names the task 'task_nowhere', which does not exist" in done.stderr
    assert "manifest.yaml does not list 1 file: task_other.md (task_other)." in listed.stderr
    assert [done.returncode for done in (listed, as_json, shown, missing)] == [3, 3, 0, 2]


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("--jobs=3", "No such option '--jobs'. Did you mean '--concurrency'?"),
        ("--concurency=3", "No such option '--concurency'. Did you mean '--concurrency'?"),
        ("--tag=a", "No such option '--tag'.\n"),
        ("-j", "No such option '-j'. Did you mean '--concurrency'?"),
        ("--core", "No such option '--core'. Did you mean '--suite core'?"),
        ("--fail-fast", "No such option '--fail-fast'. Did you mean '--exitfirst'?"),
        ("--max-cost=much", "'much' is not a valid number."),
        ("--concurrency=2.5", "'2.5' is not a valid integer."),
        ("--suite=sanity", "'sanity' (did you mean 'task_00_sanity'?)"),
    ],
)
def test_a_wrong_word_is_met_with_the_right_one_if_there_is_one(tmp_path: Path, word: str, sentence: str) -> None:
    done = _pinchbench("--model", "a/b", "--dry-run", word, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("runn",), "run"),
        (("histroy",), "history"),
        (("tasks", "chek"), "check"),
        (("runs",), "history"),
        (("show",), "report"),
        (("install",), "openclaw install"),
        (("help",), "--help"),
        (("tasks", "ls"), "list"),
        (("tasks", "stop"), ""),
        (("xyz",), ""),
    ],
)
def test_an_unknown_command_is_met_with_the_one_of_that_meaning_or_the_most_similar(
    words: tuple[str, ...], meant: str
) -> None:
    with pytest.raises(click.UsageError) as refused:
        cli.main(words, standalone_mode=False)

    assert refused.value.message.startswith(f"No such command {words[-1]!r}.")
    assert (f"Did you mean {meant!r}?" in refused.value.message) is bool(meant)


def test_help_that_cannot_be_printed_is_one_clear_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pinchbench", "--help"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)

    assert (done.returncode, done.stderr) == (6, "Error: The output could not be printed: No space left on device.\n")


@pytest.mark.parametrize("command", [(), ("run",), ("compare",), ("tasks", "list")])
def test_every_command_tells_the_version(tmp_path: Path, command: tuple[str, ...]) -> None:
    assert _pinchbench(*command, "--version", cwd=tmp_path).stdout.startswith("pinchbench-async, version ")


def test_a_dry_run_shows_plan_and_longest_time_and_starts_nothing(tmp_path: Path) -> None:
    shown = _pinchbench("--model", "a/b", "--dry-run", "--concurrency", "4", cwd=tmp_path)
    as_json = _pinchbench("--model", "a/b", "--dry-run", "--json", "--suite", "task_00_sanity", cwd=tmp_path)

    assert shown.returncode == 0
    assert "task_05_outage_brief" in shown.stdout
    assert "Not checked: whether OpenClaw knows the model, its key, endpoint" in shown.stderr
    assert "Nothing was started." in shown.stdout
    at = ("--base-url", "http://127.0.0.1:9", "--api", "ollama")
    own = _pinchbench("--model", "a/b", *at, "--dry-run", "--suite", "task_00_sanity", cwd=tmp_path)
    assert f"`pinchbench-async doctor --model a/b {' '.join(at)}` does." in own.stderr
    assert json.loads(as_json.stdout) == {
        "model": "a/b",
        "trials": [{"task_id": "task_00_sanity", "repetition": 1, "timeout_s": 120.0, "expected_s": None}],
        "slots": 1,
        "worst_case_s": 120.0,
        "expected_s": None,
        "expected_usd": None,
    }
    assert [path.name for path in tmp_path.rglob("*")] == ["cache", "bundled-suite.pickle"]


def test_a_dry_run_shows_what_is_started_first_and_how_long_it_takes_going_by_earlier_runs(tmp_path: Path) -> None:
    took = {"task_a": (Made(took_s=5, setup_s=0, cost_usd=0.5),), "task_b": (Made(took_s=20, setup_s=0, cost_usd=0.5),)}
    write_run(tmp_path / "results", PlannedRun(trials=took, model="a/b"))
    where = (
        "--tasks-dir",
        str(make_suite(tmp_path, dict.fromkeys(("task_a", "task_b", "task_c"), "Hi"), timeout_s=30)),
    )

    shown = _pinchbench("--model", "a/b", "--dry-run", "--concurrency", "2", *where, cwd=tmp_path)
    as_json = _pinchbench("--model", "a/b", "--dry-run", "--json", "--concurrency", "2", *where, cwd=tmp_path)

    assert re.findall(r"task_\w", shown.stdout) == ["task_c", "task_b", "task_a"]
    assert "30.0 s    30.0 s" in shown.stdout.splitlines()[1]
    assert (
        "at most 1 min 00 s (all limits used up), and about 30.0 s going by earlier runs, at about $1.50 without a"
        in shown.stdout
    )
    reported = json.loads(as_json.stdout)
    assert [row["expected_s"] for row in reported["trials"]] == [30, 20, 5], "the unknown one takes its limit"
    assert (reported["expected_s"], reported["expected_usd"]) == (30, 1.5)


def test_the_plan_and_the_list_of_tasks_tell_how_often_a_task_is_run(tmp_path: Path) -> None:
    make_suite(tmp_path, {"task_a": "Hi"}, timeout_s=30)
    where = ("--tasks-dir", str(make_suite(tmp_path, {"task_b": "Hi"}, timeout_s=30, head="runs: 3")))

    plan = _pinchbench("--model", "a/b", "--dry-run", *where, cwd=tmp_path)
    once = _pinchbench("--model", "a/b", "--dry-run", "--runs", "1", *where, cwd=tmp_path)
    listed = _pinchbench("tasks", "list", *where, cwd=tmp_path)
    as_json = _pinchbench("tasks", "list", "--json", *where, cwd=tmp_path)
    shown = _pinchbench("tasks", "show", "task_b", *where, cwd=tmp_path)

    assert re.findall(r"task_\S+", plan.stdout) == ["task_a", "task_b", "task_b@2", "task_b@3"]
    assert "4 trials on 1 slot; the agents take at most 2 min 00 s" in plan.stdout
    assert re.findall(r"task_\S+", once.stdout) == ["task_a", "task_b"]
    assert [line.endswith("(3 runs)") for line in listed.stdout.splitlines()] == [False, True]
    assert [row["runs"] for row in json.loads(as_json.stdout)] == [1, 3]
    assert "is run 3 times, unless --runs says otherwise" in shown.stdout


def test_every_option_of_run_has_an_environment_variable_of_its_name(tmp_path: Path) -> None:
    for option in (one for one in run.params if one.expose_value):  # all but `--version`
        long = next(name for name in option.opts if name.startswith("--"))
        assert option.envvar == "PINCHBENCH_" + long[2:].replace("-", "_").upper()

    done = _pinchbench(
        "run",
        cwd=tmp_path,
        PINCHBENCH_MODEL="a/b",
        PINCHBENCH_DRY_RUN="1",
        PINCHBENCH_JSON="1",
        PINCHBENCH_SUITE="task_00_sanity",
        PINCHBENCH_RUNS="3",
    )
    assert [trial["repetition"] for trial in json.loads(done.stdout)["trials"]] == [1, 2, 3]


def test_an_empty_environment_variable_is_one_that_is_not_set(tmp_path: Path) -> None:
    names = [str(option.envvar) for option in run.params]
    empty = dict.fromkeys(names, "")
    done = _pinchbench("--model", "a/b", "--dry-run", "--json", cwd=tmp_path, stdout=None, **empty)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["trials"]) > 1

    without_args = _pinchbench(cwd=tmp_path, PINCHBENCH_MODEL="")
    assert without_args.stderr.startswith("PinchBench async")


def test_a_current_folder_that_is_gone_is_one_clear_error(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'rmdir "$PWD" && exec "$@"'
    command = ["sh", "-c", script, "sh", sys.executable, "-m", "pinchbench", "--model", "a/b", "--dry-run"]

    done = subprocess.run(command, cwd=gone, capture_output=True, text=True, timeout=240, check=False)

    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("Error: --output-dir 'results': the current folder can't be found")


def test_task_text_reaches_the_terminal_without_control_characters_and_without_markup(tmp_path: Path) -> None:
    head = 'category: "[/x]\\e[2J"\nname: "\\e]0;title\\a [red]"'
    where = ("--tasks-dir", str(make_suite(tmp_path, {"task_a": "see \x1b[31mred\n\tbelow"}, head=head)))

    planned = _pinchbench("--model", "a/b", "--dry-run", *where, cwd=tmp_path)
    listed = _pinchbench("tasks", "list", *where, cwd=tmp_path)
    shown = _pinchbench("tasks", "show", "task_a", *where, cwd=tmp_path)

    for done in (planned, listed, shown):
        assert done.returncode == 0, done.stderr
        assert "[/x] [2J" in done.stdout
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", done.stdout)
    assert "see  [31mred\n\tbelow" in shown.stdout
    assert "[red]" in listed.stdout


def test_tasks_can_be_listed_shown_and_checked(tmp_path: Path) -> None:
    listed = _pinchbench("tasks", "list", cwd=tmp_path)
    as_json = _pinchbench("tasks", "list", "--json", "--suite", "automated-only", cwd=tmp_path)
    shown = _pinchbench("tasks", "show", "task_04_workshop_memory", cwd=tmp_path)
    table = _pinchbench("tasks", "list", "--markdown", "--suite", "task_00_sanity", cwd=tmp_path)
    checked = _pinchbench("tasks", "check", "--suite", "task_00_sanity", cwd=tmp_path)
    details = _pinchbench("tasks", "check", "--suite", "task_00_sanity", "--json", cwd=tmp_path)

    assert len(listed.stdout.splitlines()) >= 6
    assert all(row["grading_type"] == "automated" for row in json.loads(as_json.stdout))
    assert "Turn 3, new session:" in shown.stdout
    assert len(table.stdout.splitlines()) == 3
    assert re.fullmatch(
        r"task_00_sanity  ok +oracle 1\.00  near misses 0\.\d\d, 0\.\d\d  nothing 0\.00\n", checked.stdout
    )
    assert checked.stderr == "1 task, 2 near misses: all as expected.\n"
    assert [row["part"] for row in json.loads(details.stdout)] == ["oracle", "near_miss", "near_miss", "nothing"]
    assert {done.returncode for done in (listed, as_json, shown, table, checked, details)} == {0}


@pytest.mark.long
def test_checks_are_attacked_and_a_weak_one_is_named(tmp_path: Path) -> None:
    new = _pinchbench("tasks", "new", "task_mine", "--tasks-dir", "mine", cwd=tmp_path)
    assert new.returncode == 0
    attack = ("tasks", "check", "--tasks-dir", "mine", "--attack", "--mutants", "3")
    sound = _pinchbench(*attack, "--json", cwd=tmp_path)
    [found] = json.loads(sound.stdout)
    assert len(found["mutants"]) == 3
    assert sound.returncode == 0, sound.stderr

    path = tmp_path / "mine" / "task_mine" / "task.md"
    text = path.read_text(encoding="utf-8")
    start = text.index("def grade")
    generous = "def grade(transcript, workspace_path):\n    return {'all': 1.0}\n"
    path.write_text(f"{text[:start]}{generous}{text[text.index('```', start) :]}", encoding="utf-8")
    weak = _pinchbench(*attack, cwd=tmp_path)
    assert weak.returncode == 3
    assert weak.stdout.splitlines()[0].split() == ["task", "mutants", "killed", "score", "best", "cheat"]
    assert weak.stdout.splitlines()[1].split()[0] == "task_mine"
    assert (
        "Error: 1 of 1 check fall short of the goal (mutation score at least 0.95, no points for the opposite,"
        " no cheat above 0.2): task_mine." in weak.stderr
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--attack", "--judge", "openai/gpt-5.5"), "--attack goes without --judge"),
        (("--seed", "3"), "--mutants and --seed go with --attack"),
        (("--attack", "--suite", "task_15_farewell_speech"), "None of these tasks has both a check and a solution"),
    ],
)
def test_an_attack_that_can_not_be_made_is_refused(options: tuple[str, ...], problem: str, tmp_path: Path) -> None:
    done = _pinchbench("tasks", "check", *options, cwd=tmp_path)
    assert done.returncode != 0
    assert problem in done.stderr


def test_a_new_task_passes_the_check_until_it_is_changed_for_the_worse(tmp_path: Path) -> None:
    new = _pinchbench("tasks", "new", "task_mine", "--tasks-dir", "my tasks", cwd=tmp_path)
    again = _pinchbench("tasks", "new", "task_mine", "--tasks-dir", "my tasks", cwd=tmp_path)
    checked = _pinchbench("tasks", "check", "--tasks-dir", "my tasks", cwd=tmp_path)
    solution = tmp_path / "my tasks" / "task_mine" / "solution.yaml"
    solution.write_text(solution.read_text(encoding="utf-8").replace('== "sent"', '!= "lost"'), encoding="utf-8")
    worse = _pinchbench("tasks", "check", "--tasks-dir", "my tasks", cwd=tmp_path)

    assert new.stdout.splitlines() == ["my tasks/task_mine/task.md", "my tasks/task_mine/solution.yaml"]
    assert new.stderr.endswith("pinchbench-async tasks check --tasks-dir 'my tasks' --suite task_mine\n")
    assert "is there already" in again.stderr
    assert re.match(r"task_mine  ok ", checked.stdout), checked.stderr
    assert re.match(r"task_mine  WRONG ", worse.stdout)
    assert worse.stderr.splitlines() == [
        "task_mine, oracle: its check gives 0.000, not 1 to 1 (number 0.00, form 0.00)",
        "Error: 1 of 1 task not as stated: task_mine.",
    ]
    assert [done.returncode for done in (new, again, checked, worse)] == [0, 2, 0, 3]


def test_a_broken_solution_fails_the_check_with_its_place(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, {"task_a": "hi"})
    (suite / "solutions").mkdir()
    (suite / "solutions" / "task_a.yaml").write_text("turns: 3\n", encoding="utf-8")

    done = _pinchbench("tasks", "check", "--tasks-dir", str(suite), cwd=tmp_path)

    assert done.returncode == 3
    assert "task_a.yaml:1" in done.stderr


CHECK = "def grade(transcript, workspace_path):\n    return {'a': 0.5}\n"


def _give_check(folder: Path, code: str) -> None:
    """Make the one task of `_run_args` an automated one."""
    path = folder / "tasks" / "task_0.md"
    text = path.read_text("utf-8").replace("llm_judge", "automated")
    path.write_text(f"{text}\n## Automated Checks\n\n```python\n{code}```\n", encoding="utf-8")


@pytest.mark.usefixtures("checks_apart")
def test_a_run_that_could_not_be_graded_gives_exit_code_5_and_can_be_graded_again(tmp_path: Path) -> None:
    args = _run_args(tmp_path)
    _give_check(tmp_path, "import os\ndef grade(transcript, workspace_path):\n    os._exit(3)\n")
    done = _pinchbench(*args, cwd=tmp_path)
    assert done.returncode == 5, done.stderr
    assert "task_0: ungraded, check crashed: the check ended with exit code 3 and gave no answer" in done.stderr
    assert "No score: no trial has one." in done.stderr

    path = Path(done.stdout.strip())
    (tmp_path / "tasks" / "task_0.md").unlink()
    args = _run_args(tmp_path)
    _give_check(tmp_path, CHECK)
    where = ["--output-dir", str(tmp_path / "out"), "--run-root", str(tmp_path / "pb")]
    again = _pinchbench("regrade", path.stem.partition("_")[2], *where, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert again.stdout == done.stdout
    assert "Changed since the run, and graded as they are now: task_0." in again.stderr
    assert re.search(r"graded +task_0 +0\.50", again.stderr)
    assert json.loads(path.read_text(encoding="utf-8"))["score"]["mean"] == 0.5

    reported = _pinchbench("regrade", str(path), "--json", *where, cwd=tmp_path)
    assert json.loads(reported.stdout) == json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("args", "code", "sentence"),
    [
        (["--judge-votes", "3"], 2, "--judge-votes goes with --judge, which names the judge's model."),
        (["--no-judge-cache"], 2, "--no-judge-cache goes with --judge"),
        (["--judge", "m1"], 2, "--judge m1 begins neither with openai/"),
        (["--judge-base-url", "http://127.0.0.1:9/v1"], 2, "--judge-base-url goes with --judge"),
        (["--judge", "openai/m", "--judge-api-key-env", "K"], 2, "--judge-api-key-env goes with --judge-base-url"),
        (["--judge", "a", "--judge", "b", "--judge-base-url", "http://127.0.0.1:9/v1"], 2, "is for one judge"),
        (["--pass-threshold", "0"], 2, "0.0 is not in the range 0<x<=1"),
    ],
)
def test_a_judge_that_cannot_be_used_is_one_clear_error(
    tmp_path: Path, args: list[str], code: int, sentence: str
) -> None:
    for command in (["--model", MODEL], ["regrade", "some-run"]):
        if command[0] == "regrade" and args[0] == "--pass-threshold":
            continue  # it belongs to the run
        done = _pinchbench(*command, *args, cwd=tmp_path, OPENAI_API_KEY="")
        assert done.returncode == code
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr


def test_a_run_that_can_not_work_is_inconclusive_exit_code_7_and_says_how_to_go_on(tmp_path: Path) -> None:
    refused = "scenario: outage counter 1\n"  # the first attempt alone, were there no pause
    args = _run_args(tmp_path, refused.replace("counter", str(tmp_path / "counter")) + "scenario: silent")
    done = _pinchbench(*args, "--infra-retries", "0", cwd=tmp_path)

    assert done.returncode == 7, done.stderr
    assert "Stopped early (inconclusive): task_0: provider_error (401 invalid api key" in done.stderr
    assert "No score: no trial has one." in done.stderr
    assert re.search(
        r"1 of 1 trial is left; go on with: pinchbench-async resume \S+/out/mock-m1_\S+$", done.stderr, re.MULTILINE
    )


def test_a_budget_that_is_used_up_is_exit_code_8_and_the_printed_command_goes_on(tmp_path: Path) -> None:
    args = _run_args(tmp_path, "hi", "hi", "hi")
    done = _pinchbench(*args, "--max-tokens", "300", cwd=tmp_path)

    assert done.returncode == 8, done.stderr
    assert "Stopped early (budget): --max-tokens 300" in done.stderr
    [command] = re.findall(r"within a higher limit, with: pinchbench-async (.*) …$", done.stderr, re.MULTILINE)
    again = _pinchbench(*command.split(), "30000", "--json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["counts"]["success"] == 3
    assert "3 trials on 2 slots" not in again.stderr
    assert "1 of them done before" in again.stderr
    assert "go on with" not in again.stderr

    whole = _pinchbench("resume", done.stdout.strip(), cwd=tmp_path)
    assert whole.returncode == 0
    assert whole.stdout == done.stdout
    assert "Nothing is left to run or to grade." in whole.stderr


def test_a_run_to_end_at_the_first_failure_has_exit_code_11_and_can_be_resumed(tmp_path: Path) -> None:
    go = tmp_path / "go"
    args = _run_args(tmp_path)
    make_suite(tmp_path, {"task_0": "hi", "task_1": f"scenario: wait_for {go}"}, check=SCORED_BY_MODEL)
    failing = ["mock/bad" if one == MODEL else one for one in args]

    go.touch()
    passed = _pinchbench(*args, "-x", cwd=tmp_path)
    go.unlink()
    done = _pinchbench(*failing, "-x", cwd=tmp_path)
    go.touch()

    assert passed.returncode == 0, passed.stderr
    assert done.returncode == 11, done.stderr
    assert re.search(r"Stopped early \(failure\): task_0\S* did not pass \(score 0\.000\)", done.stderr)
    [command] = re.findall(r"go on with: pinchbench-async (.*)$", done.stderr, re.MULTILINE)
    again = _pinchbench(*command.split(), cwd=tmp_path)
    assert again.returncode == 0, "the rest is run without it"
    assert "the mean of 2 tasks (2 trials)" in again.stderr


def test_a_run_to_end_at_the_first_failure_has_exit_code_11_if_that_is_its_last_trial(tmp_path: Path) -> None:
    args = _run_args(tmp_path)
    make_suite(tmp_path, {"task_0": "hi"}, check=SCORED_BY_MODEL)
    done = _pinchbench(*("mock/bad" if one == MODEL else one for one in args), "-x", "--json", cwd=tmp_path)
    assert done.returncode == 11, done.stderr
    assert json.loads(done.stdout)["stop"] == "failure"


def test_a_run_without_a_terminal_says_when_an_attempt_is_retried(tmp_path: Path) -> None:
    args = _run_args(tmp_path, f"scenario: outage {tmp_path / 'counter'} 1 503 unavailable")
    done = _pinchbench(*args, "--json", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert re.search(r"provider_error +task_0 .*, to be retried +503 unavailable", done.stderr)
    assert re.search(r"completed +task_0, attempt 2 ", done.stderr)
    assert "Retries: 1 trial retried (1 further attempt); 1 of them counts only because of that" in done.stderr
    assert json.loads(done.stdout)["retries"]["recovered"] == 1


@pytest.mark.parametrize(
    ("args", "code", "sentence"),
    [
        ((), 6, "has no unfinished run"),
        (("nothing",), 6, "There is no folder "),
        (("--judge-votes", "3"), 2, "--judge-votes goes with --judge"),
        (("--suite", "core"), 2, "No such option"),
        (("--max-cost", "0"), 2, "--max-cost"),
    ],
)
def test_what_can_not_be_resumed_is_one_clear_error(
    tmp_path: Path, args: tuple[str, ...], code: int, sentence: str
) -> None:
    done = _pinchbench("resume", *args, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (code, "")
    assert sentence in done.stderr


def test_the_environment_does_not_change_a_run_that_is_resumed(tmp_path: Path) -> None:
    done = _pinchbench(*_run_args(tmp_path, "hi", "hi"), "--max-tokens", "100", cwd=tmp_path)
    assert done.returncode == 8, done.stderr
    where = str(Path(done.stdout.strip()).with_suffix(""))
    again = _pinchbench(
        "resume", where, "--max-tokens", "9000", cwd=tmp_path, PINCHBENCH_MODEL="a/b", PINCHBENCH_THINKING="high"
    )
    assert again.returncode == 0, again.stderr
