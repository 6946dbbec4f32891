"""Which OpenClaw is used, and what is said when there is none."""

import ast
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import pinchbench
from fakes import fake_openclaw
from pinchbench.errors import OpenClawError
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.find import (
    find_openclaw,
    node_version,
    read_version,
    release_warning,
)
from pinchbench.openclaw.install import managed, node_folder


@pytest.fixture
def no_openclaw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'empty'}:/bin")


def put_managed(tmp_path: Path, release: str) -> Path:
    program = tmp_path / "cache" / f"openclaw-{release}" / "node_modules" / ".bin" / "openclaw"
    program.parent.mkdir(parents=True)
    program.symlink_to(fake_openclaw(tmp_path / release, release=release))
    put_program(node_folder(tmp_path / "cache") / "node", "echo v24.19.0")
    return program


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def put_program(path: Path, script: str) -> str:
    return str(put(path, f"#!/bin/sh\n{script}\n"))


async def test_without_a_choice_the_one_on_path_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_managed(tmp_path, "2026.9.6")
    program = fake_openclaw(tmp_path, release="2026.6.5")
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    assert await find_openclaw(None) == OpenClaw(program=program, version="2026.6.5")


@pytest.mark.usefixtures("no_openclaw")
async def test_else_the_newest_managed_one_is_used_with_its_node(tmp_path: Path) -> None:
    put_managed(tmp_path, "2026.9.6")
    newest = put_managed(tmp_path, "2026.10.1")
    node = node_folder(tmp_path / "cache") / "node"
    found = await find_openclaw(None)
    assert found == OpenClaw(program=newest, version="2026.10.1", path_first=(node.parent,))
    assert await node_version(found) == "v24.19.0"
    assert (await find_openclaw("2026.9.6")).version == "2026.9.6"


@pytest.mark.usefixtures("no_openclaw")
@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (None, "neither on PATH nor installed"),
        ("2026.9.6", r"openclaw install 2026\.9\.6"),
        ("/no/such/openclaw", "neither an executable file nor a release"),
        ("latest", "nor a release"),
        ("/", "neither an executable file"),
        ("/etc/passwd", "neither an executable file"),
    ],
)
async def test_an_openclaw_that_is_not_there_is_reported(choice: str | None, said: str) -> None:
    with pytest.raises(OpenClawError, match=said):
        await find_openclaw(choice)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'needs Node >= 24.16' >&2; exit 1", r"does not run on the Node of this machine \(needs Node >= 24.16\)"),
        ("echo hello", r"is not OpenClaw: `--version` says 'hello'\.$"),
        ("echo 2026.9.6; exit 3", "exit code 3"),
        ("exit 0", "is not OpenClaw: `--version` says nothing"),
    ],
)
async def test_a_program_that_does_not_tell_its_release_is_reported(tmp_path: Path, script: str, said: str) -> None:
    with pytest.raises(OpenClawError, match=said):
        await find_openclaw(put_program(tmp_path / "openclaw", script))


async def test_a_program_that_cannot_be_started_is_reported(tmp_path: Path) -> None:
    path = put(tmp_path / "openclaw", "#!/no/such/interpreter\n")
    with pytest.raises(OpenClawError, match="can't be run"):
        await find_openclaw(str(path))


@pytest.mark.parametrize(
    ("output", "version"),
    [
        (b"OpenClaw 2026.9.6 (abc1234)\n", "2026.9.6"),
        (b"openclaw/2026.10.1-beta.3, linux-x64\n", "2026.10.1-beta.3"),
        (b"\x1b[1m2026.9.6\x1b[0m\x1b]52;c;eA==\x07\n", "2026.9.6"),
        (b"2026.9." + b"9" * 5_000, ""),
        ("٢٠٢٦.9.6".encode(), ""),
        (b"\xff\xfe", ""),
    ],
)
def test_a_version_is_short_and_plain_whatever_stands_around_it(output: bytes, version: str) -> None:
    assert read_version(output) == version
    assert "\x1b" not in release_warning(version)


ECHO = """#!/usr/bin/env node
printf '%s|' "$@"
cat
exit 7
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two releases whose Node is a shell, which the machine has not got."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("PINCHBENCH_CACHE", str(cache))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    put(node_folder(cache) / "node", '#!/bin/sh\nexec /bin/sh "$@"\n')
    put(cache / "openclaw-2026.6.5/node_modules/.bin/openclaw", ECHO.replace("'%s|'", "'old|%s|'"))
    put(cache / "openclaw-2026.9.6/node_modules/.bin/openclaw", ECHO)
    return cache


def run(*arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pinchbench", "openclaw", "exec", *arguments]
    return subprocess.run(command, input=said, capture_output=True, text=True, check=False, timeout=180)


@pytest.mark.usefixtures("cache")
def test_arguments_input_output_and_exit_code_are_those_of_openclaw() -> None:
    done = run("--", "agents", "a b", "--", "--help", said="hello")
    assert (done.stdout, done.stderr, done.returncode) == ("agents|a b|--|--help|hello", "", 7)
    assert run("2026.6.5", "--", "models").stdout == "old|models|"
    assert run("2026.6.5", "models", "--json").stdout.startswith("old|models|")
    assert run("models", "list").stdout == "models|list|"


@pytest.mark.usefixtures("cache")
def test_what_is_not_installed_is_reported_with_what_installs_it() -> None:
    for arguments, sentence in (
        (
            ("2026.7.1", "--", "x"),
            "OpenClaw 2026.7.1 is not installed here; `pinchbench-async openclaw install 2026.7.1`",
        ),
        (("latest", "--", "x"), "'latest' is not an OpenClaw release; they look like 2026.9.6."),
    ):
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (4, "")
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr
    assert run("--help").stdout.startswith("Usage: ")


def test_a_signal_reaches_openclaw_which_has_the_place_of_this_program(cache: Path) -> None:
    put(cache / "openclaw-2026.9.6/node_modules/.bin/openclaw", "#!/bin/sh\ntrap 'exit 9' TERM\necho $$\nread line\n")
    command = [sys.executable, "-m", "pinchbench", "openclaw", "exec", "--", "gateway"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert int(process.stdout.readline()) == process.pid
        assert psutil.Process(process.pid).children() == []
        process.send_signal(signal.SIGTERM)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 9


def test_hints_name_a_command_that_runs_this_openclaw(cache: Path, tmp_path: Path) -> None:
    found = managed("2026.9.6")
    assert found is not None
    assert found.by_hand("agents", "delete", "a b") == "pinchbench-async openclaw exec 2026.9.6 -- agents delete 'a b'"
    own = put(tmp_path / "bin" / "openclaw", "")
    assert OpenClaw(program=own, version="").by_hand("status") == "openclaw status"
    other = cache / "x y" / "openclaw"
    assert OpenClaw(program=other, version="").by_hand("status") == f"'{other}' status"


def test_no_message_names_a_bare_openclaw_command() -> None:
    bare = re.compile(
        r"(?<!pinchbench-async )(?<![\w/.-])openclaw (?:agents?|config|models|gateway|onboard|doctor|status|plugins)\b"
    )
    package = Path(pinchbench.__file__).parent
    named = []
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not bare.search(text):
            continue
        tree = ast.parse(text)
        docs = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        named += [
            f"{path.name}:{node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
            if bare.search(node.value)
        ]
    assert named == []
