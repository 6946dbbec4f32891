"""Run the work of a command, here or on a cluster, with a live view and traces, and exit with its code."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import anyio
import msgspec

from pinchbench.cli.gate import apply_gate
from pinchbench.cli.output import print_result, say
from pinchbench.defaults import REPORT_FILE
from pinchbench.errors import ClusterError, ConfigError, PinchBenchError, ResultsError, exit_code_of
from pinchbench.model.ending import Stop
from pinchbench.report.terminal.console import END_LIMIT_S, report_console, stderr_writer
from pinchbench.report.terminal.live import LiveView, can_draw
from pinchbench.report.terminal.summary import print_summary
from pinchbench.report.text import left_text, plain
from pinchbench.results.finished_run import Result, read_run
from pinchbench.results.gate.gate_record import GateVerdict
from pinchbench.results.paths import RunFiles
from pinchbench.runner.run_context import Observer, with_listeners

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Generator, Sequence

    from pinchbench.publish.otel.exporter import TraceExporter
    from pinchbench.results.gate.gate_run import Gate


@contextmanager
def traced(otlp: str | None) -> Generator[TraceExporter | None]:
    """Send the traces of the block, and the end of the run if an error ends it, as `--otlp` says; None without it.

    An exporter can neither delay a run nor make it fail. Raises ConfigError if its library is not installed.
    """
    if otlp is None:
        yield None
        return
    try:
        from pinchbench.publish.otel.exporter import TraceExporter  # with --otlp only
    except ModuleNotFoundError as error:
        raise ConfigError(
            "--otlp needs OpenTelemetry's SDK, which is not installed: pip install 'pinchbench-async[otel]'."
        ) from error
    exporter = TraceExporter(otlp)
    with exporter.sending(warn=say):
        try:
            yield exporter
        except (PinchBenchError, ExceptionGroup, KeyboardInterrupt) as error:
            exporter.end({}, exit_code_of(error))
            raise


def heard_by(
    exporter: TraceExporter | None, observer: Observer, variant: str = "", *, warn: Callable[[str], None]
) -> Observer:
    """Return an observer of a run whose events the exporter gets too; `variant` names it in an experiment."""
    return observer if exporter is None else with_listeners(observer, [exporter.listener(variant, warn=warn)])


INCOMPLETE = 5  # some trials failed for infrastructure reasons
GATES = {GateVerdict.FAILED: 11, GateVerdict.NOT_APPLICABLE: ResultsError.exit_code}
STOPPED = {Stop.INCONCLUSIVE: 7, Stop.BUDGET: 8, Stop.FAILURE: 11, Stop.DECIDED: 0}  # the run ended itself early


def carry_out(
    work: Work[Result],
    *,
    page: bool,
    as_json: bool,
    is_quiet: bool = False,
    gate: Gate | None = None,
    otlp: str | None = None,
    cluster: str | None = None,
) -> None:
    """Do the work of a run with the live view on stderr, print its summary and its result, and exit with its code.

    `otlp` and `cluster` are as for `traced` and `on_cluster`. `is_quiet` shows none of it.
    """
    work, verdict = on_cluster(work, cluster), None
    with traced(otlp) as exporter:
        with stderr_writer() as writer:
            console = report_console(writer)
            console.quiet = is_quiet
            view = LiveView(console, is_full=writer.is_full, draws=can_draw(console, os.environ))
            observer = heard_by(exporter, view.watch, warn=view.say)
            result = anyio.run(partial(work, observer=observer, handle_signals=True))
            # everything is done and saved: an impatient Ctrl-C must not suppress the message on how to continue
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            writer.be_patient(END_LIMIT_S)
            view.say_left_out()
            said: list[str] = []
            files = RunFiles(output_dir=result.path.parent, name=result.folder.name)
            if result.unfinished:
                left = left_text(result.unfinished, result.planned)
                said.append(resume_hint(left, files.argument, result.stopped if result.stop is Stop.BUDGET else ""))
            if gate is not None and result.interrupted is None:
                verdict = apply_gate(gate, result, said.append)
            # a user who stopped the run wants to leave
            if page and result.interrupted is None:
                write_run_page(files, said.append)
            print_summary(
                console,
                result.data,
                result.outcomes,
                result.grades,
                folder=result.folder,
                titles=result.titles,
                follow_up=said,
            )
        print_result(json.dumps(msgspec.to_builtins(result.data)) if as_json else result.path, stands_in=result.path)
        code = exit_code([result], {verdict} if verdict else (), interrupted=result.interrupted)
        if exporter is not None:
            exporter.end({"": result.data.score.mean}, code)
    if code:
        sys.exit(code)


def resume_hint(left: str, where: str, limit: str) -> str:
    """Return a sentence with the command that runs what is left.

    `where` names the run or experiment; `limit` is the sentence about the budget that has ended it, empty for none.
    """
    if limit:
        option = limit.split(" ", 1)[0]
        return f"{left}; go on, within a higher limit, with: pinchbench-async resume {where} {option} …"
    return f"{left}; go on with: pinchbench-async resume {where}"


def exit_code(
    results: Sequence[Result], verdicts: Collection[GateVerdict], *, interrupted: str | None, is_whole: bool = True
) -> int:
    """Return the code that matches the results of runs: that of a gate's verdict only if all are complete.

    Without `is_whole`, there should have been more results.
    """
    if interrupted is not None:
        return 128 + signal.Signals[interrupted]
    for one in results:
        if one.stop is not None and (code := STOPPED[one.stop]):
            return code
    if not is_whole or not all(one.complete for one in results):
        return INCOMPLETE
    return next((code for verdict, code in GATES.items() if verdict in verdicts), 0)


def write_run_page(files: RunFiles, report: Callable[[str], None]) -> None:
    """Write the page of a run, and report its path or why it could not be written. Raises nothing; a Ctrl-C ends it."""
    again = f"`pinchbench-async report {files.folder}` writes it."
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored since the run ended
    try:
        from pinchbench.report.html.report_page import write_report  # a run without a page needs no templates

        path = files.folder / REPORT_FILE
        write_report([read_run(files)], path)
        report(f"Report: {plain(str(path))}")
    except PinchBenchError as error:
        report(plain(f"There is no report: {error}"))
    except Exception as error:  # noqa: BLE001 - a bug here must not cost the run's own exit code; `report` shows it whole
        report(f"There is no report, for an error in this program ({type(error).__name__}). {again}")
    except KeyboardInterrupt:
        report(f"The report was not written. {again}")
    finally:
        signal.signal(signal.SIGINT, before)


T = TypeVar("T")
Work: TypeAlias = "Callable[..., Coroutine[Any, Any, T]]"


def on_cluster(work: Work[T], head: str | None, *, runs: int | None = None) -> Work[T]:
    """Return the work of a run with its slots on the nodes of the cluster with this head; unchanged without a head.

    With `runs`, it is the work of so many runs, which share the nodes. Raises ClusterError when Ray is not installed.
    """
    if head is None:
        return work
    if find_spec("ray") is None:
        raise ClusterError("--cluster needs Ray. Install it here and on each node: pip install 'pinchbench-async[ray]'")

    async def connected(**how: Any) -> T:  # noqa: ANN401 - passed on
        from pinchbench.cluster.pool import ClusterPool, SharedNodes  # with a cluster only
        from pinchbench.cluster.ray_cluster import connect  # Ray takes 0.3 s and 69 MB

        async with connect(head) as nodes:
            if runs is None:
                return await work(pool=ClusterPool(nodes), **how)
            return await work(pools=partial(ClusterPool, nodes, SharedNodes(runs)), **how)

    return connected
