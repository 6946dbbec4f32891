"""The checks of an examination, bounded in time, in a thread if they block; and their findings in words."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import anyio
from anyio import Event, from_thread
from anyio.lowlevel import current_token
from rich.text import Text

from pinchbench.errors import PinchBenchError, first_error
from pinchbench.model.finding import Finding, Level
from pinchbench.report.text import many, plain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from rich.console import Console


T = TypeVar("T")
Check: TypeAlias = "Callable[[], Awaitable[list[Finding]]]"


def blocking_check(look: Callable[[], Finding]) -> Check:
    """Return a check that looks in a thread of its own."""

    async def check() -> list[Finding]:
        return [await in_thread(look)]

    return check


async def find_within(subject: str, check: Check, limit_s: float) -> list[Finding]:
    """Make a check; one that fails, or takes too long, is a finding of its own."""
    try:
        with anyio.fail_after(limit_s):
            return await check()
    except Exception as error:  # noqa: BLE001 - one broken check must not cost the others
        return [_of_failure(subject, first_error(error), limit_s=limit_s)]


def _of_failure(subject: str, error: BaseException, *, limit_s: float) -> Finding:
    match error:
        case TimeoutError():
            said, do = f"within {limit_s:g} s.", "Is the machine overloaded, or a file system dead?"
        case PinchBenchError():
            return Finding.problem(subject, str(error))
        case OSError():
            said, do = f"({error}).", ""
        case _:
            said, do = f"({type(error).__name__}: {error}).", "Please report it: it is a bug of pinchbench-async."
    return Finding.problem(subject, f"This could not be checked {said}", do=do)


async def in_thread(work: Callable[[], T]) -> T:
    """Do blocking work in a thread of its own, which is let go of on cancellation and never holds the exit.

    A pool's threads would: one that looks into a dead network mount may stay there for good.
    """
    done, token = Event(), current_token()
    results: list[T] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            results.append(work())
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            errors.append(error)
        with suppress(RuntimeError):  # the event loop is gone
            from_thread.run_sync(done.set, token=token)

    threading.Thread(target=run, name="doctor", daemon=True).start()
    await done.wait()
    if errors:
        raise errors[0]
    return results[0]


STYLES = {Level.OK: "green", Level.NOTE: "cyan", Level.WARNING: "yellow", Level.PROBLEM: "bold red"}
LEVEL_WIDTH = max(len(level.value) for level in Level)
SUBJECT_WIDTH = len("judge's key")


def print_finding(console: Console, finding: Finding) -> None:
    """Print a finding, folded to the width; the remedy is below it."""
    indent = LEVEL_WIDTH + SUBJECT_WIDTH + 4
    head = Text.assemble(
        (f"{finding.level.value:<{LEVEL_WIDTH}}", STYLES[finding.level]), f"  {finding.subject:<{SUBJECT_WIDTH}}  "
    )
    console.print(Text.assemble(head, plain(finding.said)), soft_wrap=True)
    if finding.do:
        # not folded: commands must stay easy to copy
        console.print(Text.assemble(" " * indent, ("→ ", "bold"), plain(finding.do)), soft_wrap=True)


def verdict(findings: Sequence[Finding]) -> str:
    """Summarise all findings in one sentence."""
    counts = {level: sum(one.level is level for one in findings) for level in Level}
    warnings = many(counts[Level.WARNING], "warning")
    if counts[Level.PROBLEM]:
        subjects = ", ".join(dict.fromkeys(one.subject for one in findings if one.level is Level.PROBLEM))
        return f"{many(counts[Level.PROBLEM], 'problem')} ({subjects}) and {warnings}: a run would fail."
    if counts[Level.WARNING]:
        return f"No problem, {warnings}."
    return "No problem."


def record(finding: Finding) -> dict[str, str]:
    """Return a finding as a JSON object."""
    return {
        "level": finding.level.value,
        "subject": plain(finding.subject),
        "said": plain(finding.said),
        "do": plain(finding.do),
    }
