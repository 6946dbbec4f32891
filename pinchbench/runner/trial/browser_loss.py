"""Whether a trial's agent was left without its browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pinchbench.decoding import decode_json
from pinchbench.transcripts import Role, ToolCall, read_conversation

if TYPE_CHECKING:
    from pathlib import Path

BROWSER = "browser"
# What OpenClaw 2026.9 says of a browser that ended during a call. An error that a script in a page throws has "Error:"
# before it. One that does not start gives a time-out, as a slow script does.
LOST = re.compile(
    r"(?:Error: )?(?:(?:page|frame|locator|browser)[\w.]*: )?(?:guarded cdp endpoint|failed to start chrome"
    r"|target page, context or browser has been closed|browser (?:has been closed|disconnected)|\w* ?socket closed)",
    re.IGNORECASE,
)
NOT_STARTED = re.compile(r"timed out\. Run `openclaw browser doctor`|Can't reach the OpenClaw browser")
WRAPPED = re.compile(r"^---\n(.*)\n<<<END_", re.DOTALL | re.MULTILINE)  # within warnings for the model
HARMLESS = frozenset({"apply_patch", "edit", "ls", "message", "read", "view_image", "write"})
ENDS = re.compile(r"evaluate|close|stop|chrome:|crash", re.IGNORECASE)  # in a call of the browser


def browser_loss(transcript: Path) -> str:
    """Return OpenClaw's error if the browser was lost in the agent's last call of it, or never started. Blocks.

    OpenClaw starts a browser that has ended at the next call, so that an agent which goes on has lost nothing. One that
    could have ended it, by a command or by a script in a page, gets no excuse, and so no further attempt. The text is
    empty if there is none. Raises ResultsError if the transcript can't be read.
    """
    messages = read_conversation(transcript)
    errors = [_error(one.text) for one in messages if one.role is Role.TOOL and one.tool == BROWSER]
    calls = [call for message in messages for call in message.calls]
    if never_worked := bool(errors) and all(errors):  # and what the agent did afterwards is not why
        first = next((number for number, call in enumerate(calls, 1) if call.name == BROWSER), len(calls))
        calls = calls[:first]
    if not errors or not all(map(_is_harmless, calls)):
        return ""
    is_lost = LOST.match(errors[-1]) or (never_worked and NOT_STARTED.match(errors[-1]))
    return errors[-1] if is_lost else ""


def _is_harmless(call: ToolCall) -> bool:
    return not ENDS.search(str(call.arguments)) if call.name == BROWSER else call.name in HARMLESS


def _error(text: str) -> str:
    """Return the error in OpenClaw's answer to a call, empty if it has none. What a page says is never one."""
    try:
        answer = decode_json(text)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(answer, dict) or answer.get("status") != "error":
        return ""
    error = str(answer.get("error", ""))
    wrapped = WRAPPED.search(error)
    return wrapped[1] if wrapped else error
