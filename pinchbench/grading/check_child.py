"""The process of one check: its clock, its transcript, and its answer.

A new Python calls `main`, with a spec (JSON) as its input and a channel to its guardian. An answer counts only if this
process itself sends it and then exits with code 0: it can't be forged through output, files or the programs that a
check starts, and there is no secret for them to find. Code that runs in this process, such as a module of the agent's
that the check imports, can send an answer of its own. Programs that a check starts see the real clock; the check's own
clock begins at the trial's end and runs at normal speed.
"""

from __future__ import annotations

import builtins
import contextlib
import inspect
import json
import linecache
import math
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING

from pinchbench.defaults import CheckTotal, FailureEvent
from pinchbench.grading.check_limits import exclude_chance, limit, separate, spare
from pinchbench.grading.check_totals import UnknownScaleError, number, shares
from pinchbench.process.guardian.answer import take_channel
from pinchbench.process.guardian.process_tree import OWN_NAMES
from pinchbench.transcript_lines import chat_messages, parse_line, writable

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Any

    from pinchbench.grading.check_verifier import Rewards, TestResults

CHECK = "<check>"  # the check's file name in tracebacks
MAX_CRITERIA = 500  # in the breakdown; the score is the mean of all
MAX_KEY = 200  # characters of a criterion's name
MAX_NOTES = 20
MAX_MESSAGE = 500  # characters of an exception's text
EVENTS = "events"  # the key of what went wrong, which has no part in the score
MAX_EVENTS = 1_000_000  # of one kind, in one trial
MAX_TRACE = 64 * 1024  # characters of a traceback
BEGUN = b"begun\n"  # sent before the answer
UNUSED = ("pytest", "dateutil", "unittest")  # time_machine imports them, for uses that a check does not have

# References taken before a check can replace the originals.
encode = json.JSONEncoder().encode
write_bytes, get_pid, end_process = os.write, os.getpid, os._exit


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """The outcome of the check: `kind` is `scored`, `raised`, `no_memory`, `no_scores`, `no_scale` or `lost`.

    `message` says why there is no score; `trace` holds the traceback.
    """

    kind: str
    score: float | None = None
    breakdown: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    message: str = ""
    trace: str = ""
    events: Mapping[FailureEvent, tuple[int, int]] = field(default_factory=dict)


def read_transcript(path: str, localise: Callable[[object], None]) -> Iterator[dict[str, object]]:
    """Yield the events in the form that checks expect. Raises OSError if the file is missing or unreadable."""
    with open(path, "rb") as file:  # noqa: PTH123
        for line in file:
            for event in parse_line(line).events:
                message = event.get("message")
                if isinstance(message, dict) and isinstance(message.get("content"), str):
                    message["content"] = [{"type": "text", "text": message["content"]}]
                localise(event)
                yield event


def read_chat(path: str, localise: Callable[[object], None]) -> list[dict[str, object]]:
    """Return the messages of a chat; none if there was no chat. Raises OSError if the file is unreadable."""
    if not os.path.exists(path):  # noqa: PTH110
        return []
    with open(path, "rb") as file:  # noqa: PTH123
        chat = list(chat_messages(file))
    localise(chat)
    return chat


def localiser(workspaces: list[str], copy: str) -> Callable[[object], None]:
    """Return a function that replaces each of `workspaces` by `copy` in all texts of a value, as whole paths only."""
    if not workspaces:
        return lambda _: None
    # Match neither the end of a longer path nor the beginning of a longer name. A full stop may end a sentence;
    # `--out=`, `@` and the like may precede a path.
    paths = "|".join(map(re.escape, workspaces))
    whole = re.compile(rf"(?<![\w.~-])(?:{paths})(?![\w~@+%=-]|\.\w)")
    put = partial(whole.sub, lambda _: copy)

    def localise(value: object) -> None:
        waiting = [value]  # no recursion: a transcript may be nested as deeply as JSON allows
        while waiting:
            node = waiting.pop()
            if isinstance(node, dict | list):
                for key, inner in list(node.items() if isinstance(node, dict) else enumerate(node)):
                    if isinstance(inner, str):
                        node[key] = put(inner)
                    else:
                        waiting.append(inner)

    return localise


def run(
    code: str,
    transcript: list[dict[str, object]],
    workspace: str,
    total: CheckTotal = CheckTotal.CLAMPED_MEAN,
    chat: Sequence[dict[str, object]] = (),
) -> Answer:
    """Run a check in its own module and tally what it returns. Anything it raises becomes an answer."""
    module = ModuleType("check")  # in `sys.modules` too: dataclasses and pickle look there
    sys.modules["check"] = module
    linecache.cache[CHECK] = (len(code), None, code.splitlines(keepends=True), CHECK)
    restore, anything, missing = _restorer(), BaseException, _MissingModules()
    sys.meta_path.append(missing)
    try:
        exec(compile(code, CHECK, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - the check itself
        grade = module.__dict__.get("grade")
        if not callable(grade):
            return Answer(kind="raised", message="the check has no function `grade` once it has been read")
        returned = _call(grade, transcript, workspace, list(chat))
        restore()
        # inside `try`: its keys and values may be objects of the check, whose methods can raise
        answer = tally(returned, total)
        return replace(answer, notes=(*answer.notes, *missing.notes()))
    except anything as error:  # including SystemExit
        restore()
        return _failure(error)


class _MissingModules:
    """The last of the finders of modules: it finds none, and notes those that the check itself has asked for."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def find_spec(self, name: str, *_: object) -> None:
        frame = inspect.currentframe()
        while frame is not None and ("importlib" in frame.f_code.co_filename or frame.f_code.co_filename == __file__):
            frame = frame.f_back
        if frame is not None and frame.f_code.co_filename == CHECK:
            self._names.add(name)

    def notes(self) -> tuple[str, ...]:
        names = ", ".join(sorted(self._names)[:MAX_NOTES])
        return (f"the check went on without modules that are not here: {writable(names)}",) if names else ()


def _run_verifier(spec: Mapping[str, Any], workspace: str) -> Answer:
    """Run a verifier and return its score. Anything that it raises becomes an answer."""
    from pinchbench.grading.check_verifier import UnusableTestsError, run_reward, run_tests  # noqa: PLC0415 - few have one

    verify: Callable[[Mapping[str, Any], str], TestResults | Rewards] = run_reward if "rewards" in spec else run_tests
    if "commands" in spec:
        from pinchbench.grading.check_assertions import run_assertions as verify  # noqa: PLC0415
    restore = _restorer()
    try:
        results = verify(spec, workspace)
    except UnusableTestsError as error:
        return Answer(kind="no_scores", message=writable(str(error))[:MAX_MESSAGE])
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - what agents write may raise anything
        return _failure(error)
    finally:
        restore()
    points = {writable(name[:MAX_KEY]): point for name, point in list(results.points.items())[:MAX_CRITERIA]}
    return Answer(kind="scored", score=results.score, breakdown=points)


def _restorer() -> Callable[[], None]:
    """Return a function that undoes changes a check may have made to Python itself."""
    update, builtin, recursion = vars(builtins).update, dict(vars(builtins)), sys.getrecursionlimit()

    def restore() -> None:
        update(builtin)
        sys.setrecursionlimit(recursion)
        sys.settrace(None)
        sys.setprofile(None)
        signal.setitimer(signal.ITIMER_REAL, 0)
        spare()

    return restore


def _call(
    grade: Callable[..., object], transcript: list[dict[str, object]], workspace: str, chat: list[dict[str, object]]
) -> object:
    given: dict[str, object] = {"transcript": transcript, "workspace_path": workspace}
    try:
        parameters = inspect.signature(grade).parameters.values()
    except (TypeError, ValueError):
        return grade(transcript, workspace)
    named = {one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)}
    if "chat" in named:
        given["chat"] = chat
    takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters)
    if given.keys() <= named or (takes_any and named <= given.keys()):
        return grade(**given)
    is_positional = [one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in parameters]
    if len(parameters) == 1 and all(is_positional):
        (only,) = parameters
        return grade(workspace if only.name.startswith("workspace") else transcript)
    return grade(transcript, workspace)


def _failure(error: BaseException) -> Answer:
    is_memory = isinstance(error, MemoryError)
    if is_memory:
        traceback.clear_frames(error.__traceback__)  # frees what filled the memory
    trace = f"{type(error).__name__}, which can't be shown\n"
    with contextlib.suppress(BaseException):  # formatting the check's own exception may raise
        trace = "".join(traceback.format_exception(type(error), error, _from_check(error.__traceback__)))
    if len(trace) > MAX_TRACE:
        trace = f"{trace[: MAX_TRACE // 2]}\n  …\n{trace[-MAX_TRACE // 2 :]}"
    line = _line_of(error)
    place = f" (line {line} of the check)" if line else ""
    return Answer(kind="no_memory" if is_memory else "raised", message=f"{_said(error)}{place}", trace=writable(trace))


def _from_check(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback without our own frames at its beginning; all of it if no frame is the check's."""
    below = trace
    while below is not None and below.tb_frame.f_code.co_filename != CHECK:
        below = below.tb_next
    return below or trace


def _said(error: BaseException) -> str:
    name, text = type(error).__name__, "its text can't be shown"
    with contextlib.suppress(BaseException):
        text = " ".join(str(error).split())
    return writable(f"{name}: {text}" if text else name)[:MAX_MESSAGE]


def _line_of(error: BaseException) -> int | None:
    if isinstance(error, SyntaxError) and error.filename == CHECK:
        return error.lineno
    lines = [number for frame, number in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == CHECK]
    return lines[-1] if lines else None


def tally(returned: object, total: CheckTotal = CheckTotal.CLAMPED_MEAN) -> Answer:
    """Return the score that follows from the numeric values that a check returned, and notes on invalid ones.

    The breakdown has each value clamped to 0-1, whatever `total` makes of them. For PinchBench's own rule, a value `x`
    next to `max_x` is so many points of those, `score` next to `max_score` is the check's own total, also of each
    value where all are dicts, and a dict `events` counts what went wrong.
    """
    events: Mapping[FailureEvent, tuple[int, int]] = {}
    if total is CheckTotal.CLAMPED_MEAN and isinstance(returned, Mapping) and isinstance(returned.get(EVENTS), Mapping):
        try:
            events = read_events(returned[EVENTS])
        except ValueError as error:
            return Answer(kind="no_scores", message=writable(f"the check's `{EVENTS}`: {error}"))
        returned = {key: value for key, value in returned.items() if key != EVENTS}
    try:
        return replace(_tally(returned, total), events=events)
    except UnknownScaleError as error:
        return Answer(kind="no_scale", message=writable(str(error))[:MAX_MESSAGE])


def _tally(returned: object, total: CheckTotal) -> Answer:
    if not isinstance(returned, Mapping):
        return Answer(kind="no_scores", message=f"the check returned {_described(returned)}, not a dict of numbers")
    if not returned:
        return Answer(kind="no_scores", message="the check returned an empty dict")
    notes: list[str] = []
    points: list[float] = []  # as `total` counts them
    breakdown: dict[str, float] = {}
    values, own = shares(returned) if total is CheckTotal.CLAMPED_MEAN else (returned, "")
    for key, value in values.items():
        given = number(value)
        if given is None:
            notes.append(f"`{_name(key)}` is left out of the score: {_described(value)} is not a number")
            continue
        point = 0.0 if math.isnan(given) else min(max(given, 0.0), 1.0)
        is_clamped = total is CheckTotal.CLAMPED_MEAN or not math.isfinite(given)
        if is_clamped and point != given and own in ("", key):
            notes.append(f"`{_name(key)}` was {given:g}, which is not in 0–1: counted as {point:g}")
        points.append(point if is_clamped else given)
        if len(breakdown) < MAX_CRITERIA:
            breakdown[_free(_name(key), breakdown)] = point
    if not points:
        return Answer(kind="no_scores", message="the check returned a dict without any number", notes=_limited(notes))
    cut: tuple[str, ...] = ()
    if len(points) > MAX_CRITERIA:
        cut = (f"the check gave {len(points)} points: the score is over all, the first {MAX_CRITERIA} are listed",)
    overall = breakdown.get(CheckTotal.OVERALL) if total is CheckTotal.OVERALL else None
    if own:
        overall = breakdown.get(own)
    mean = min(max(math.fsum(points) / len(points), 0.0), 1.0)
    score = mean if overall is None else overall
    return Answer(kind="scored", score=score, breakdown=breakdown, notes=cut + _limited(notes) + _two_totals(breakdown))


def _limited(notes: Sequence[str]) -> tuple[str, ...]:
    more = [f"{len(notes) - MAX_NOTES} more values were clamped or left out"] if len(notes) > MAX_NOTES else []
    return (*notes[:MAX_NOTES], *more)


def _two_totals(breakdown: Mapping[str, float]) -> tuple[str, ...]:
    totals = [f"`{key}` is {breakdown[key]:g}" for key in ("score", "total") if key in breakdown]
    differ = len(totals) > 1 and breakdown["score"] != breakdown["total"]
    return (f"the check gives two totals: {' and '.join(totals)}",) if differ else ()


def read_events(stated: Mapping[Any, Any]) -> dict[FailureEvent, tuple[int, int]]:
    """Return how often each event happened, and how often it could have. Raises ValueError for anything else."""
    found = {}
    for name, value in stated.items():
        try:
            event = FailureEvent(name)
        except ValueError:
            raise ValueError(f"`{_name(name)}` is no event; there are {', '.join(FailureEvent)}") from None
        match value:
            case [n, of] if type(n) is type(of) is int and 0 <= n <= of <= MAX_EVENTS:
                found[event] = (n, of)
            case _:
                needed = f"[n, of] with whole numbers, 0 <= n <= of <= {MAX_EVENTS}"
                raise ValueError(f"the event `{event}` is {repr(value)[:MAX_KEY]}, not {needed}")
    return found


def _described(value: object) -> str:
    if value is None:
        return "None"
    if inspect.iscoroutine(value):
        return "a coroutine (`async def grade` is not awaited)"
    return f"a value of type {type(value).__name__[:MAX_KEY]}"


def _name(key: object) -> str:
    text = key if isinstance(key, str) else str(key)
    return writable(text[: MAX_KEY - 1] + "…" if len(text) > MAX_KEY else text)


def _free(name: str, taken: Mapping[str, float]) -> str:
    """Return the name, with a number appended if another key has the same text by now."""
    names = (f"{name} ({number})" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(one for one in names if one not in taken)


def _import_clock() -> Callable[..., AbstractContextManager[object]]:
    """Import `time_machine.travel` without what that would import for other uses: most of the start of a check."""
    for name in UNUSED:
        sys.modules[name] = None  # type: ignore[assignment]
    cases = ModuleType("unittest")  # without which it can't be imported
    vars(cases)["TestCase"] = type("TestCase", (), {})
    sys.modules["unittest"] = cases
    from time_machine import travel  # noqa: PLC0415

    for name in UNUSED:
        del sys.modules[name]
    return travel


def _take_environment(env: Mapping[str, str]) -> None:
    """Make `env` this process's environment.

    Programs that it starts inherit the markers, by which they are found. `os.environ` does not contain them, so that a
    check's result can't depend on its runner or its start time.
    """
    markers = {name: os.environ[name] for name in OWN_NAMES if name in os.environ}
    os.environ.clear()
    os.environ.update(env)
    for name, value in markers.items():
        os.putenv(name, value)
    time.tzset()


def main() -> None:
    """Run the check that the input describes; see the module's docstring."""
    argument, channel = take_channel()
    spec: dict[str, Any] = json.loads(argument)
    sys.argv = ["check"]
    sys.modules["__main__"] = ModuleType("__main__")  # a check must not find this program's
    _take_environment(spec["env"])
    travel = _import_clock()
    own = os.getpid()
    limit(spec["timeout_s"])
    separate()
    exclude_chance()
    outputs = (sys.stdout, sys.stderr)
    for output in outputs:
        output.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # never fail to print
    write_bytes(channel, BEGUN)
    answer = _answer(spec, travel)
    for output in outputs:
        with contextlib.suppress(Exception):  # a check may have closed it
            output.flush()
    if get_pid() == own:  # a check may fork, and return from `grade` in both processes
        _send(channel, answer)
    end_process(0)  # immediately: neither threads nor exit handlers of the check run


def _send(channel: int, answer: Answer) -> None:
    data = encode({name: getattr(answer, name) for name in Answer.__slots__}).encode("ascii")
    while data:
        data = data[write_bytes(channel, data) :]


def _answer(spec: Mapping[str, Any], travel: Callable[..., AbstractContextManager[object]]) -> Answer:
    copy = spec["copy"]
    try:
        localise = localiser(spec["workspace"], copy)
        transcript = list(read_transcript(spec["transcript"], localise))
        chat = read_chat(spec["chat"], localise)
    except OSError as error:
        what = "chat" if error.filename == spec["chat"] else "transcript"
        return Answer(kind="lost", message=f"the {what} can't be read: {error.strerror}")
    except MemoryError as error:
        return _failure(error)
    if len(transcript) != spec["transcript_length"]:
        said = (
            f"the transcript holds {len(transcript)} events, but had {spec['transcript_length']} when the trial ended"
        )
        return Answer(kind="lost", message=said)
    with travel(spec["now"], tick=True):
        if (verifier := spec["verifier"]) is not None:
            return _run_verifier(verifier, copy)
        if (modules := spec["modules"]) is not None:
            sys.dont_write_bytecode = True  # the suite's folder stays as it is
            sys.path.append(modules)
        return run(spec["code"], transcript, copy, CheckTotal(spec["total"]), chat)
