"""A browser that is lost, by the transcript of its agent."""

import json
from pathlib import Path

import pytest

from pinchbench.runner.trial.browser_loss import browser_loss

CRASHED = "Error: Guarded CDP endpoint did not expose a usable WebSocket URL."
TIMED_OUT = "timed out. Run `openclaw browser doctor` and check the Gateway logs."
CLOSED = "page.goto: Target page, context or browser has been closed"


def _failed(error: str) -> str:
    """Return OpenClaw's answer to a call that fails, with its warning around the error."""
    said = f"SECURITY NOTICE: ...\n\n<<<EXTERNAL_UNTRUSTED_CONTENT>>>\nSource: API\n---\n{error}\n<<<END_EXTERNAL>>>"
    return json.dumps({"status": "error", "tool": "browser", "error": said}, indent=2)


def _transcript(folder: Path, *results: str, tool: str = "read", action: str = "open", last: str = "ls") -> Path:
    """Write a transcript of browser calls with these results, after and before one of another tool."""
    calls = [(tool, {"path": "notes.md"}, "done"), *(("browser", {"action": action}, one) for one in results)]
    calls.append((last, {"path": "."}, "done"))
    messages: list[dict[str, object]] = []
    for number, (name, arguments, result) in enumerate(calls):
        call = {"type": "toolCall", "id": f"{number}", "name": name, "arguments": arguments}
        messages.append({"role": "assistant", "content": [call]})
        content = [{"type": "text", "text": result}]
        messages.append({"role": "toolResult", "toolCallId": f"{number}", "toolName": name, "content": content})
    path = folder / "transcript.jsonl"
    path.write_text("".join(json.dumps({"type": "message", "message": one}) + "\n" for one in messages))
    return path


@pytest.mark.parametrize("error", [CRASHED, CLOSED])
def test_a_browser_that_fails_in_the_last_call_is_lost(tmp_path: Path, error: str) -> None:
    assert browser_loss(_transcript(tmp_path, "a page", _failed(error))) == error


def test_a_browser_that_never_starts_is_lost_whatever_the_agent_tries_then(tmp_path: Path) -> None:
    assert browser_loss(_transcript(tmp_path, _failed(TIMED_OUT), _failed(TIMED_OUT), last="exec")) == TIMED_OUT


def test_a_call_that_takes_too_long_in_a_browser_that_has_worked_is_no_loss(tmp_path: Path) -> None:
    assert browser_loss(_transcript(tmp_path, "a page", _failed(TIMED_OUT))) == ""


def test_a_browser_that_works_again_is_not_lost(tmp_path: Path) -> None:
    assert browser_loss(_transcript(tmp_path, _failed(CRASHED), "a page")) == ""


def test_an_agent_that_never_used_the_browser_has_lost_none(tmp_path: Path) -> None:
    assert browser_loss(_transcript(tmp_path)) == ""


@pytest.mark.parametrize(
    "result",
    [
        _failed("navigation blocked by policy"),
        _failed("page.evaluate: Error: Target page, context or browser has been closed"),
        CRASHED,
        json.dumps({"error": CRASHED}),
        "[" * 100_000,
    ],
)
def test_what_pages_say_and_other_errors_are_no_loss(tmp_path: Path, result: str) -> None:
    assert browser_loss(_transcript(tmp_path, result)) == ""


@pytest.mark.parametrize("tool", ["exec", "process", "Exec", "functions.exec"])
def test_an_agent_with_a_command_may_have_ended_the_browser_and_has_no_excuse(tmp_path: Path, tool: str) -> None:
    assert browser_loss(_transcript(tmp_path, _failed(CRASHED), tool=tool)) == ""
    assert browser_loss(_transcript(tmp_path, "a page", _failed(CRASHED), last=tool)) == ""


@pytest.mark.parametrize("action", ["evaluate", "close", "stop", "open chrome://crash"])
def test_an_agent_that_may_have_ended_the_page_has_no_excuse(tmp_path: Path, action: str) -> None:
    assert browser_loss(_transcript(tmp_path, _failed(CLOSED), action=action)) == ""
