"""Run checks in the test's own process: a process for each takes more CPU time than a trial of the fake OpenClaw."""

import json
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, nullcontext, redirect_stderr, redirect_stdout

import pytest

from pinchbench.grading import check_child, checks
from pinchbench.process.spec import EndReason, ProcessEnd, ProcessSpec


async def _answer_here(spec: ProcessSpec, *, timeout_s: float) -> ProcessEnd:
    """Answer as the check's process does, without its limits, its clock and its separation."""
    del timeout_s
    assert spec.input is not None
    finders = sys.meta_path[:]
    with (
        pytest.MonkeyPatch.context() as patch,
        chdir(spec.cwd),
        spec.stdout.open("a", encoding="utf-8") as log,
        redirect_stdout(log),
        redirect_stderr(log),
    ):
        patch.setattr(check_child, "_restorer", lambda: lambda: None)  # of limits that are not set
        answer = check_child._answer(json.loads(spec.input), lambda *_, **__: nullcontext())
    sys.meta_path[:] = finders
    data = {name: getattr(answer, name) for name in check_child.Answer.__slots__}
    return ProcessEnd(reason=EndReason.EXITED, exit_code=0, answer=f"begun\n{check_child.encode(data)}")


@contextmanager
def checks_here() -> Iterator[None]:
    """Run the checks of runners in this process here, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "supervise", _answer_here)
        yield
