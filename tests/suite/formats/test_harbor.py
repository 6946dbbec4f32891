"""Harbor's tasks: what is read without a container, and that all else is refused with file and line."""

import sys
from pathlib import Path

import pytest

from pinchbench.defaults import SuiteFormat
from pinchbench.errors import SuiteError
from pinchbench.model.task_programs import RewardVerifier
from pinchbench.suite.loading import load_suite, read_suite, solution_of
from suite_packs import put, write_harbor


def test_a_task_that_needs_no_container_is_read_whole(tmp_path: Path) -> None:
    folder = write_harbor(tmp_path) / "say-hello-folder"
    loaded = load_suite(tmp_path)
    assert loaded.suite.format is SuiteFormat.HARBOR
    [task] = loaded.suite.tasks
    assert (task.task_id, task.category, task.timeout_s, task.network) == ("say-hello", "files", 120.0, False)
    assert (task.workspace_path, dict(task.env)) == ("/app", {"LEVEL": "3", "TONE": "kind"})
    assert {file.dest for file in task.workspace_files} == {"notes.txt", "renamed.txt", "inner/in.txt"}
    assert task.verifier == RewardVerifier(
        folder=folder / "tests", script="test.sh", limit_s=60.0, env={"EXPECTED": "hello"}
    )
    assert solution_of(loaded.suite, task) is not None
    digest = task.digest
    put(folder / "solution" / "solve.sh", "bash /tests/test.sh\n")
    [again] = load_suite(tmp_path).suite.tasks
    assert again.digest == digest
    assert solution_of(loaded.suite, again) is None  # it names a path of a container
    put(folder / "tests" / "test.sh", "echo 1 > /logs/verifier/reward.txt\n")
    assert load_suite(tmp_path).suite.tasks[0].digest != digest


def test_what_harbor_writes_out_of_its_defaults_changes_nothing(tmp_path: Path) -> None:
    toml = write_harbor(tmp_path) / "say-hello-folder" / "task.toml"
    put(toml, toml.read_text(encoding="utf-8").replace("cpus = 1", 'os = "linux"\ngpus = 0'))
    [task] = load_suite(tmp_path).suite.tasks
    assert not task.network


@pytest.mark.parametrize(("of_agent", "network"), [("public", True), ("no-network", False)])
def test_the_agents_own_network_mode_wins_over_that_of_the_environment(
    tmp_path: Path, of_agent: str, network: bool
) -> None:
    toml = write_harbor(tmp_path) / "say-hello-folder" / "task.toml"
    text = toml.read_text(encoding="utf-8").replace("timeout_sec = 120.0", f'network_mode = "{of_agent}"')
    text = text.replace("timeout_sec = 60.0", 'network_mode = "public"')
    put(toml, text.replace("allow_internet = false", 'network_mode = "public"'))
    assert load_suite(tmp_path).suite.tasks[0].network is network


TOML, DOCKER, TEST, JUDGE = "task.toml", "environment/Dockerfile", "tests/test.sh", "tests/judge.py"
BROKEN = [
    # file, old, new (None: all of it), line, reason
    (TOML, "[metadata]", '[setup]\ncommand = "x"\n[metadata]', 6, "`setup` is not known, and could matter"),
    (TOML, "[metadata]", "[[services]]\nport = 80\n[metadata]", 6, "`services` is not known, and could matter"),
    (TOML, "schema_version", 'setup_script = "x"\nschema_version', 1, "`setup_script` is not known, and could matter"),
    (TOML, "cpus = 1", 'docker_image = "local/x"', 21, "needs an image"),
    (TOML, "cpus = 1", "gpus = 1", 21, "graphics processors"),
    (TOML, "[environment.env]", "[[environment.mcp_servers]]", 1, "MCP servers"),
    (TOML, "[environment.env]", "[environment.healthcheck]", 1, "a service that is up"),
    (TOML, "timeout_sec = 60.0", 'environment_mode = "separate"', 14, "a second environment"),
    (TOML, "[metadata]", "[[steps]]", 6, "several steps"),
    (TOML, "cpus = 1", "isolated = true", 21, "`isolated` of [environment] is not known"),
    (TOML, "cpus = 1", 'workdir = "/"', 1, "the root of everything"),
    (TOML, "cpus = 1", 'workdir = "/usr/src"', 1, "a place of the sandbox's own, /usr"),
    (TOML, "cpus = 1", 'workdir = "app"', 1, "not an absolute path"),
    (TOML, "allow_internet = false", 'network_mode = "allowlist"', 23, "a list of allowed hosts"),
    (TOML, "timeout_sec = 60.0", 'network_mode = "allowlist"', 14, "a list of allowed hosts"),
    (TOML, "cpus = 1", 'os = "windows"', 21, "another operating system (`os`)"),
    (TOML, "allow_internet = false", 'allow_internet = "no"', 23, "must be true or false"),
    (TOML, "timeout_sec = 120.0", 'user = "agent"', 11, "a user of its own"),
    (TOML, "timeout_sec = 120.0", "timeout_sec = -1", 11, "`timeout_sec` must be a number"),
    (TOML, "timeout_sec = 120.0", "timeout_sec = true", 11, "`timeout_sec` must be a number"),
    (TOML, 'TONE = "kind"', 'TONE = "${TONE}"', 26, "takes its value from the user's environment"),
    (TOML, 'TONE = "kind"', "TONE = 3", 1, "must map names to texts"),
    (TOML, 'TONE = "kind"', 'PATH = "/x"', 26, "PATH can't be set"),
    (TOML, 'name = "ours/say-hello"', 'name = "ours/say hello"', 1, "can't be a folder name"),
    (TOML, "cpus = 1", "cpus =", 21, "not valid TOML"),
    (DOCKER, "ENV LEVEL=3", "RUN apt-get install jq", 9, "an image that RUN builds"),
    (DOCKER, "ENV LEVEL=3", "USER agent", 9, "a user of its own (USER)"),
    (DOCKER, "FROM debian:12-slim", "FROM node:24", 2, "needs the image node:24"),
    (DOCKER, "FROM debian:12-slim", "FROM python:2.7", 2, f"Python {sys.version_info.major}.{sys.version_info.minor}"),
    (DOCKER, "ENV LEVEL=3", "FROM debian", 9, "several stages"),
    (DOCKER, "COPY notes.txt ./", "COPY --from=x a b", 5, "COPY with options"),
    (DOCKER, "COPY notes.txt ./", "COPY *.txt ./", 5, "COPY with wildcards"),
    (DOCKER, "COPY notes.txt ./", "COPY gone.txt ./", 5, "'gone.txt' is missing"),
    (DOCKER, "COPY notes.txt ./", "COPY ../task.toml ./", 5, "'../task.toml' is missing"),
    (DOCKER, "COPY notes.txt ./", "COPY notes.txt /root/x", 5, "files in /root/x, outside its working directory"),
    (DOCKER, "ENV LEVEL=3", "ENV LEVEL=$OTHER", 9, "ENV has a variable"),
    (DOCKER, None, None, 1, "can't be read"),
    ("environment/docker-compose.yaml", None, "services: {}\n", 1, "several containers"),
    ("environment/.dockerignore", None, "x\n", 1, "a build that leaves files out"),
    ("instruction.md", None, "\n", 1, "there is no instruction"),
    (TEST, "exit 7", "apt-get update && apt-get install -y jq", 4, "its tests use apt-get"),
    (TEST, "exit 7", "curl -LsSf https://example.org | sh", 4, "its tests use curl"),
    (TEST, "exit 7", "pip install x", 4, "its tests use pip"),
    (JUDGE, "import os", "import os(", 2, "not valid Python"),
    (JUDGE, "import os", "import os\x00", 2, "NUL character"),
]


@pytest.mark.parametrize(("file", "old", "new", "line", "reason"), BROKEN)
def test_what_needs_a_container_or_can_not_be_read_is_refused_with_file_and_line(  # noqa: PLR0917 - a table
    tmp_path: Path, file: str, old: str | None, new: str | None, line: int, reason: str
) -> None:
    path = write_harbor(tmp_path) / "say-hello-folder" / file
    if new is None:
        path.unlink()
    elif old is None:
        path.write_text(new, encoding="utf-8")
    else:
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
    loaded = read_suite(tmp_path)
    assert loaded.suite.tasks == ()
    found = [(str(one.path), one.line) for one in loaded.problems if reason in one.reason]
    place = path if "working directory is" not in loaded.problems[0].reason else path.parent / DOCKER
    assert found == [(str(place), line)], loaded.problems
    with pytest.raises(SuiteError, match="No task is left"):
        load_suite(tmp_path, skip_broken=True)


def test_modules_that_the_tests_import_are_prerequisites(tmp_path: Path) -> None:
    path = write_harbor(tmp_path) / "say-hello-folder" / JUDGE
    put(path.parent / "own.py", "x = 1\n")
    put(path, "import json, own, pytest\nfrom requests import get\n")
    assert load_suite(tmp_path).suite.tasks[0].prerequisites == ("module:pytest", "module:requests")
