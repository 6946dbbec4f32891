"""`wire show`: the recorded exchanges of a trial, in short, as a whole, and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from command_line import Completed, call, clean_environment
from past_runs import Made, PlannedRun, write_run
from pinchbench.results.evidence import Evidence
from pinchbench.wire.recording import RecordingWriter
from wire.exchanges import CHAT, exchange, sse

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.results.paths import RunFiles

HELLO = {"model": "m-2", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel\x1b[2Jlo"}}]}
DONE = {
    "model": "m-2",
    "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
}
ASKED = {
    "model": "m",
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say hello."}],
}


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    files = write_run(tmp_path, PlannedRun(trials={"task_a": (Made(score=1.0),), "task_b": (Made(score=1.0),)}))
    with RecordingWriter(Evidence(folder=files.folder / "trials" / "task_a" / "1").wire) as recording:
        recording.append(exchange(CHAT, ASKED, b"slow down", number=1, status=429, reply_headers=()))
        recording.append(exchange(CHAT, ASKED, sse(HELLO, DONE, end="[DONE]"), number=2))
    return files


def _show(files: RunFiles, *arguments: str) -> Completed:
    folder = files.folder
    return call("wire", "show", str(folder), *arguments, cwd=folder, env=clean_environment(folder))


def test_the_list_names_failed_calls_and_the_model_that_answered(files: RunFiles) -> None:
    done = _show(files, "task_a")

    first, second = done.stdout.splitlines()
    assert first.split()[:4] == ["1", "turn", "1", "429"]
    assert "slow down" in first
    assert "12 tokens, m-2" in second
    assert "\x1b" not in done.stdout


def test_an_exchange_is_shown_as_a_whole(files: RunFiles) -> None:
    said = _show(files, "task_a", "2").stdout

    assert "system:\nBe brief." in said
    assert "user:\nSay hello." in said
    assert "reply: 200, 1 chunk, complete" in said


def test_json_has_an_object_a_line(files: RunFiles) -> None:
    lines = _show(files, "task_a", "--json").stdout.splitlines()

    assert [json.loads(line)["status"] for line in lines] == [429, 200]
    assert json.loads(lines[1])["chunks"][0][0] == 0.1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["task_b"], "were not recorded"),
        (["task_c"], "no trial task_c"),
        (["task_a", "3"], "has 2 exchanges; there is no number 3"),
        (["task_a", "--attempt", "2"], "had 1 attempt; there is no number 2"),
    ],
)
def test_what_is_not_there_is_named(files: RunFiles, arguments: list[str], problem: str) -> None:
    done = _show(files, *arguments)

    assert done.returncode == 6
    assert problem in done.stderr
