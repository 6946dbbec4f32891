"""Run the work of a command with a live view, and exit with the code that matches its result."""

from __future__ import annotations

import json
import os
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from pinchbench.cli.actions.after_run import follow_up
from pinchbench.cli.deferred import action
from pinchbench.cli.output import print_result
from pinchbench.errors import ResultsError
from pinchbench.model import Stop
from pinchbench.report.terminal.console import END_LIMIT_S, report_console, stderr_writer
from pinchbench.report.terminal.live import LiveView, can_draw
from pinchbench.report.terminal.summary import print_summary
from pinchbench.results.gate.rules import GateVerdict
from pinchbench.results.paths import RunFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from rich.console import Console

    from pinchbench.results.finished_run import Result
    from pinchbench.results.gate.gate import Gate

INCOMPLETE = 5  # some trials failed for infrastructure reasons
GATES = {GateVerdict.FAILED: 11, GateVerdict.NOT_APPLICABLE: ResultsError.exit_code}
STOPPED = {Stop.INCONCLUSIVE: 7, Stop.BUDGET: 8, Stop.DECIDED: 0}  # the run ended itself early


def carry_out(
    work: Callable[..., Coroutine[Any, Any, Result]], *, page: bool, offers: bool = False, gate: Gate | None = None
) -> tuple[Result, GateVerdict | None]:
    """Do the work of a run with the live view on stderr, print its summary, and run the follow-up steps.

    Returns the result, and what the gate comes to unless a signal has ended the run.
    """
    verdict = None
    with stderr_writer() as writer:
        console = report_console(writer)
        view = LiveView(console, is_full=writer.is_full, draws=can_draw(console, os.environ))
        result = anyio.run(partial(work, observer=view.watch, handle_signals=True))
        # everything is done and saved: an impatient Ctrl-C must not suppress the message on how to continue
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        writer.be_patient(END_LIMIT_S)
        view.say_left_out()
        print_summary(console, result.data, result.outcomes, result.grades, folder=result.folder)
        if result.unfinished:
            files = RunFiles(output_dir=result.path.parent, name=result.folder.name)
            left = f"{result.unfinished} of {result.planned} trials are left"
            _tell(console, resume_hint(left, files.argument, result.stopped if result.stop is Stop.BUDGET else ""))
        if gate is not None and result.interrupted is None:
            verdict = action("gate.apply_gate")(gate, result, partial(_tell, console))
        follow_up(result, partial(_tell, console), page=page, offers=offers)
    return result, verdict


def _tell(console: Console, text: str) -> None:
    console.print(text, soft_wrap=True, highlight=False, markup=False)


def resume_hint(left: str, where: str, limit: str) -> str:
    """Return a sentence with the command that runs what is left.

    `where` names the run or experiment; `limit` is the sentence about the budget that has ended it, empty for none.
    """
    if limit:
        option = limit.split(" ", 1)[0]
        return f"{left}; go on, within a higher limit, with: pinchbench-async resume {where} {option} …"
    return f"{left}; go on with: pinchbench-async resume {where}"


def leave(result: Result, verdict: GateVerdict | None, *, as_json: bool) -> None:
    """Print the result, and exit with the matching code: that of the gate's verdict only if the run is complete."""
    print_result(json.dumps(msgspec.to_builtins(result.data)) if as_json else result.path, stands_in=result.path)
    if result.interrupted is not None:
        sys.exit(128 + signal.Signals[result.interrupted])
    if result.stop is not None and (code := STOPPED[result.stop]):
        sys.exit(code)
    if not result.complete:
        sys.exit(INCOMPLETE)
    if verdict in GATES:
        sys.exit(GATES[verdict])
