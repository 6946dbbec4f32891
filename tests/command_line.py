"""`pinchbench-async` called as a user calls it, in the process of the test."""

import io
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from pinchbench.cli import main

OWN_PREFIXES = ("PINCHBENCH_", "OPENCLAW_")


@dataclass(frozen=True, kw_only=True, slots=True)
class Completed:
    """What a command wrote, and the exit code it left with."""

    returncode: int
    stdout: str
    stderr: str


def clean_environment(home: Path, **env: str) -> dict[str, str]:
    """The environment of somebody who lives in `home` and has none of our settings, and `env`."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(OWN_PREFIXES)}
    own = {"HOME": str(home), "PINCHBENCH_CACHE": str(home / "cache"), "PINCHBENCH_SANDBOX": "none"}
    return {**inherited, **own, **env}


def call(*args: str | bytes, cwd: Path, env: Mapping[str, str] | None = None, stdout: Path | None = None) -> Completed:
    """Run a command in this process, which costs a fraction of a program's start.

    Without `env`, the user has none of our settings and lives in the current folder.
    Its streams are files with descriptors of their own; arguments are decoded as Python does with those of a program.
    What depends on the process itself (signals, pipes, a terminal, the interpreter's exit) needs a program of its own.
    """
    env = clean_environment(cwd) if env is None else env
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        out = io.TextIOWrapper(
            stack.enter_context(stdout.open("r+b")) if stdout else stack.enter_context(TemporaryFile()),
            encoding="utf-8",
        )
        err = io.TextIOWrapper(
            stack.enter_context(TemporaryFile()), encoding="utf-8", errors="backslashreplace", write_through=True
        )
        for name in os.environ.keys() - env.keys():
            patch.delenv(name)
        for name, value in env.items():
            patch.setenv(name, value)
        patch.chdir(cwd)
        patch.setattr(sys, "argv", ["pinchbench-async", *map(os.fsdecode, args)])
        patch.setattr(sys, "stdin", stack.enter_context(Path(os.devnull).open(encoding="utf-8")))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        code = 0
        try:
            main()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else int(left.code is not None)
        return Completed(returncode=code, stdout="" if stdout else _written(out), stderr=_written(err))


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()
