"""Whether a trial's agent was left without its browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pinchbench.decoding import decode_json
from pinchbench.transcripts import Role, read_conversation

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
ENDS_PROCESSES = re.compile(r"kill|chrom", re.IGNORECASE)


def browser_loss(transcript: Path) -> str:
    """Return OpenClaw's error if the browser was lost in the agent's last call of it, or never started. Blocks.

    OpenClaw starts a browser that has ended at the next call, so that an agent which goes on has lost nothing. One
    whose commands may have ended the browser, or whose first call runs a script, gets no excuse. The text is empty if
    there is none. Raises ResultsError if the transcript can't be read.
    """
    messages = read_conversation(transcript)
    calls = [call for message in messages for call in message.calls]
    errors = [_error(one.text) for one in messages if one.role is Role.TOOL and one.tool == BROWSER]
    if not errors or not errors[-1]:
        return ""
    first = next((str(call.arguments) for call in calls if call.name == BROWSER), "")
    never_started = all(errors) and NOT_STARTED.match(errors[-1]) and "evaluate" not in first
    if not never_started and not LOST.match(errors[-1]):
        return ""
    commands = (str(value) for call in calls if call.name != BROWSER for value in call.arguments.values())
    return "" if any(map(ENDS_PROCESSES.search, commands)) else errors[-1]


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
