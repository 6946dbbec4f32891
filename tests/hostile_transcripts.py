"""Hostile transcripts: torn, spliced, with calls that share ids and numbers beyond floats; and a run that has one."""

import json

from past_runs import Made, PlannedRun
from pinchbench.model.ending import Reason
from pinchbench.model.grade import Ungraded

AT = "2026-01-02T03:00:0{}.000Z"
HALF = "\ud83d"  # of a surrogate pair: JSON may hold it, no encoding does
TORN = '{"type":"message","id":"m9","timestamp":"2026-01-02T03:0'


def line(second: int, message: dict[str, object]) -> str:
    """A line of a transcript."""
    return (
        json.dumps({"type": "message", "id": f"m{second}", "timestamp": AT.format(second), "message": message}) + "\n"
    )


def session(name: str) -> str:
    """The line that a session begins with."""
    return json.dumps({"type": "session", "version": 4, "id": name, "timestamp": AT.format(0), "cwd": "/w"}) + "\n"


def call(name: str, **arguments: object) -> dict[str, object]:
    """A call of a tool, as a part of a model's message."""
    return {"type": "toolCall", "id": name, "name": "exec", "arguments": arguments}


def said(*parts: dict[str, object], stop: str = "toolUse", **usage: object) -> dict[str, object]:
    """A model's message."""
    told = {"role": "assistant", "provider": "mock", "model": "m1", "content": list(parts), "stopReason": stop}
    return {**told, "usage": usage}


def answered(name: str, text: str, *, is_error: bool = False) -> dict[str, object]:
    """What a tool answers."""
    content = [{"type": "text", "text": text}]
    return {"role": "toolResult", "toolCallId": name, "toolName": "exec", "content": content, "isError": is_error}


def nested(levels: int) -> object:
    """A list in a list in a list."""
    value: object = "deep"
    for _ in range(levels):
        value = [value]
    return value


HOSTILE = "".join((
    session("first"),
    line(1, {"role": "user", "content": f"Go on{HALF}."}),
    line(2, said(
        call("c", text=HALF, big=10**40, deep=nested(200)), call("c", n=2), input=900, output=10, cacheRead=50
    )),
    line(3, answered("c", "one")),
    TORN + "\n",
    line(4, answered("c", "two", is_error=True)),
    line(5, answered("c", "three: of no call")),
    line(6, answered("nobody", "of no call either")),
    session("second"),
    line(7, {"role": "user", "content": "And now?"}),
    line(8, said(call("c"), input=1e300, cost={"total": 1e300})),
    line(9, said({"type": "text", "text": "\x00\x1b[31mdone\u202e"}, stop="error")),
    "\x00\xff\n[1, 2]\n",
))  # fmt: skip

# a run with a trial of each kind
MIXED = PlannedRun(
    trials={
        "task_a": (Made(score=1.0), Made(score=0.4)),
        "task_b": (Made(score=0.0, reason=Reason.TIMED_OUT, note="It took too long."), Made(score=0.9)),
        "task_c": (
            Made(score=None, reason=Reason.NO_TRANSCRIPT, note="OpenClaw left no transcript."),
            Made(score=None, ungraded=Ungraded.JUDGE_UNREACHABLE, notes=("The judge did not answer.",)),
        ),
        "task_d": (Made(score=0.5, retried=(Reason.PROVIDER_ERROR,)), Made(score=0.7, reason=Reason.NONZERO_EXIT)),
        "task_e": (Made(score=0.3, transcript=HOSTILE), Made(score=0.3, transcript="")),
    },
    planned_beyond=1,
)
