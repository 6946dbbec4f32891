"""How long a trial has waited for others, which is not time of its own."""

import json
from pathlib import Path

from pinchbench.model.trial import TrialEvents
from pinchbench.openclaw.agent_progress import Progress, Session
from pinchbench.openclaw.sessions import AnyStore


class Wire:
    """Holds the trial for as long as it is set to."""

    held_s = 0.0


def hear(progress: Progress, session: Session, role: str, *calls: str, result: str = "") -> None:
    parts = [{"type": "toolCall", "id": call, "name": "exec", "arguments": {}} for call in calls]
    message = {"role": role, "content": parts, "toolCallId": result}
    progress.event(session, json.dumps({"type": "message", "message": message}).encode())


def test_held_time_counts_only_while_no_tool_runs() -> None:
    wire = Wire()
    progress = Progress(events=TrialEvents(), held_s=lambda: wire.held_s)
    session = Session("s", AnyStore(Path("nowhere"), "agent", "s"))
    progress.sessions.append(session)

    wire.held_s = 5
    assert progress.waited_s() == 5
    hear(progress, session, "assistant", "a", "b")
    wire.held_s += 200  # the model's own commands hold requests, or one of its sessions waits while another works
    hear(progress, session, "toolResult", result="a")
    wire.held_s += 10
    assert progress.waited_s() == 5
    hear(progress, session, "toolResult", result="b")
    wire.held_s += 2
    assert progress.waited_s() == 7
    hear(progress, session, "assistant", "c")
    wire.held_s += 100
    hear(progress, session, "user")  # the result of that call was never written
    wire.held_s += 1
    assert progress.waited_s() == 8


def test_a_tool_of_one_session_runs_on_while_the_model_speaks_in_another() -> None:
    wire = Wire()
    progress = Progress(events=TrialEvents(), held_s=lambda: wire.held_s)
    main, helper = (Session(name, AnyStore(Path("nowhere"), "agent", name), key=name) for name in ("main", "helper"))
    progress.sessions += [main, helper]

    hear(progress, main, "assistant", "a")
    hear(progress, helper, "user")
    hear(progress, helper, "assistant", "a")
    hear(progress, helper, "toolResult", result="a")
    wire.held_s += 100
    assert progress.waited_s() == 0
    hear(progress, main, "toolResult", result="a")
    wire.held_s += 1
    assert progress.waited_s() == 1
