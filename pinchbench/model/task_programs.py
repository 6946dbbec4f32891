"""What comes with a task besides its text: programs that fill or grade the workspace, and files that it shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MODEL_PORT = 18080  # of a trial's own 127.0.0.1, where the model is; no program listens there
MAX_SERVICES = 8  # of a task; each has a file of its own in a trial's evidence
SERVICE_LIMIT_S = 20.0  # until a service takes connections


@dataclass(frozen=True, kw_only=True, slots=True)
class SetupScript:
    """A script that fills the empty workspace before the task's files are copied there and the agent starts.

    It is run by bash with the workspace's absolute path as its argument, in a copy of `folder`, to which `script` is
    relative. Its exit code is ignored. One that takes longer than `limit_s` seconds fails the attempt.
    """

    folder: Path
    script: str
    limit_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PytestVerifier:
    """Tests of pytest that grade the workspace, whose path they get as `--workspace`.

    Attributes:
        file: the tests; its folder is visible to them.
        root: pytest's root folder, whose `conftest.py` they use.
        limit_s: how long they may take, in seconds.
        default_weight: the weight of a test without a marker `weight(n)`.
        needs: modules that have to be importable; without one of them there is no score.
        beside: further files and folders of the suite that are visible to them, if they exist.
        workspace_variables: variables that have the workspace's path too.
    """

    file: Path
    root: Path
    limit_s: float
    default_weight: float
    needs: tuple[str, ...] = ()
    beside: tuple[Path, ...] = ()
    workspace_variables: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RewardVerifier:
    """A script that grades the workspace and writes a reward.

    It is run by bash in the workspace with a copy of `folder` at `/tests`; its exit code is ignored. The reward is the
    number of that name in `/logs/verifier/reward.json`, an object of numbers, or without that file the number in
    `reward.txt` next to it. Without a reward, or with one that is not in 0-1, there is no score.

    Attributes:
        folder: the folder of the script.
        script: its path in there.
        limit_s: how long it may take, in seconds.
        env: what its environment has besides that of the task.
    """

    folder: Path
    script: str
    limit_s: float
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class FileAssertion:
    """What must be true of a file of the workspace: that it is not there, or is, with what `contains` and so on say.

    `matches` is a regular expression of which `.` is any character and `^` any line's beginning; empty for none.
    """

    path: str
    exists: bool = True
    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    matches: str = ""
    min_bytes: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandAssertion:
    """A command that must end with an exit code, and say what is expected.

    Attributes:
        name: its name in the result.
        command: for `sh`, or without `shell` words that are quoted as for `sh`.
        cwd: its working directory, relative to the workspace.
        env: what its environment has besides that of checks.
        limit_s: how long it may take, in seconds.
        stdout_contains: texts of its output; `stdout_lacks` and `stderr_contains` likewise.
        stdout_matches: a regular expression as that of a `FileAssertion`; `stderr_matches` likewise.
        stdout: all of its output, without white space at both ends; None for any.
        stdout_file: a file of the workspace with all of its output; empty for any.
        stdout_json: the value that its output must have as JSON, as JSON; None for any.
        stdout_json_file: a file of the workspace with that value; empty for any.
    """

    name: str
    command: str
    cwd: str = "."
    env: Mapping[str, str] = field(default_factory=dict)
    limit_s: float = 60.0
    shell: bool = True
    exit_code: int = 0
    stdout_contains: tuple[str, ...] = ()
    stdout_lacks: tuple[str, ...] = ()
    stderr_contains: tuple[str, ...] = ()
    stdout_matches: str = ""
    stderr_matches: str = ""
    stdout: str | None = None
    stdout_file: str = ""
    stdout_json: str | None = None
    stdout_json_file: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class AssertionsVerifier:
    """Assertions on files of the workspace and on commands in it. The score is the share of those that hold.

    `WORKSPACE_MARK` stands for the workspace's path in commands, in their environment and in what is expected. Files
    that are `kept` are the same before each command, whatever an earlier one, which may run the agent's code, did.
    """

    files: tuple[FileAssertion, ...] = ()
    commands: tuple[CommandAssertion, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def limit_s(self) -> float:
        """How long all of them may take, in seconds."""
        return 30.0 + sum(one.limit_s for one in self.commands)

    def __str__(self) -> str:
        """Return a line for each assertion."""
        files = (f"file {one.path}{'' if one.exists else ' is not there'}" for one in self.files)
        return "\n".join((*files, *(f"{one.name}: {one.command}" for one in self.commands)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """A program that runs alongside a task's agent, from before its first turn until after its last one.

    It has namespaces of its own, in which it sees the workspace, a copy of `folder` at `/service` and programs, and can
    connect to the services before it. The agent reaches its port at 127.0.0.1.

    Attributes:
        name: its name in messages and in the check's copy of the workspace.
        command: its command line; it must not leave the foreground.
        port: the port of 127.0.0.1 that it listens on, which `PORT` in its environment states too.
        folder: a folder of the suite; None for the workspace.
        cwd: its working directory, relative to the copy of `folder`, or to the workspace.
        ready: the path that has to be answered with a status of 2xx before the agent starts; empty if it is enough that
            the port takes a connection.
        limit_s: how long that may take, in seconds.
        env: what its environment has besides that of services.
    """

    name: str
    command: tuple[str, ...]
    port: int
    folder: Path | None = None
    cwd: str = "."
    ready: str = ""
    limit_s: float = SERVICE_LIMIT_S
    env: Mapping[str, str] = field(default_factory=dict)


Verifier: TypeAlias = PytestVerifier | RewardVerifier | AssertionsVerifier


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownFile:
    """A file or folder of the suite that agents and checks see, read-only, at the absolute path `path`."""

    source: Path
    path: str
