"""Make the README's pictures of `report.html`, from a run that is made here.

The run is made up, and so is its model, `example/model`: no score in the pictures is that of any real model.

`python tests/screenshots.py [FOLDER]` writes `report-light.png`, `report-dark.png`, `report-phone.png` and
`report-trial.png`, by default to `docs/pictures/`. Needs a Chromium, as the tests do.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from browser import chromium, opened
from past_runs import PlannedRun, random_trials, write_run
from pinchbench.report.html.report_page import write_report
from pinchbench.results.finished_run import read_run

MOST_BYTES = 200_000
FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
NAMES = (
    "sanity", "calendar", "shipment_audit", "rota_repair", "workshop_memory", "outage_brief", "invoice_match",
    "log_triage", "unit_tests", "meeting_notes", "csv_cleanup", "release_notes", "photo_index", "price_watch",
    "mail_merge", "code_review", "travel_plan", "data_join", "faq_draft", "config_diff",
)  # fmt: skip
CATEGORIES = ("basics", "productivity", "data", "coding", "memory", "analysis")


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """What is shown: where in the page, and on which screen, in pixels."""

    name: str
    anchor: str = ""
    width: int = 1200
    height: int = 900
    is_dark: bool = False
    scale: float = 1


PICTURES = (
    Picture(name="report-light"),
    Picture(name="report-dark", is_dark=True),
    Picture(name="report-phone", width=390, height=844, scale=1.5),
    Picture(name="report-trial", anchor="#trial/task_03_rota_repair", height=1000),
)


def _transcript() -> str:
    told = {"role": "assistant", "provider": "demo", "model": "m1", "usage": {"totalTokens": 7400}}

    def say(text: str) -> dict[str, object]:
        return {"type": "text", "text": text}

    def call(name: str, **arguments: str) -> dict[str, object]:
        return {"type": "toolCall", "id": name, "name": name, "arguments": arguments}

    def answer(name: str, text: str, *, is_error: bool = False) -> dict[str, object]:
        return {"role": "toolResult", "toolCallId": name, "toolName": name, "content": [say(text)], "isError": is_error}

    messages: list[dict[str, object]] = [
        {"role": "user", "content": "`python3 test_rota.py` fails. Repair `rota.py` so that the tests pass."},
        {**told, "content": [{"type": "thinking", "thinking": "First the code."}, call("read", path="rota.py")]},
        answer("read", "def weekly_hours(shifts):\n    ..."),
        {**told, "content": [call("exec", command="python3 test_rota.py 2>&1 | tail -n 40")]},
        answer("exec", "FAIL: test_weekends\nAssertionError: 41.5 != 40.0\nexit code 1", is_error=True),
        {**told, "content": [say("A shift over midnight counts twice."), call("edit", path="rota.py")]},
        answer("edit", "Edited rota.py."),
        {**told, "content": [say("All tests pass. Minutes were added and never carried past midnight.")]},
    ]
    return "".join(
        json.dumps({"type": "message", "timestamp": f"2026-01-02T03:02:{n:02d}Z", "message": one}) + "\n"
        for n, one in enumerate(messages)
    )


def _run() -> PlannedRun:
    made = random_trials(tasks=len(NAMES), repetitions=3, ability=0.75, seed=7, trouble=0.1).values()
    trials = {f"task_{number:02d}_{name}": one for number, (name, one) in enumerate(zip(NAMES, made, strict=True))}
    first, *others = trials["task_03_rota_repair"]
    trials["task_03_rota_repair"] = (replace(first, score=0.85, transcript=_transcript()), *others)
    categories = {task: CATEGORIES[number % len(CATEGORIES)] for number, task in enumerate(trials)}
    titles = {task: task[len("task_00_") :].replace("_", " ").capitalize() for task in trials}
    return PlannedRun(trials=trials, categories=categories, titles=titles, model="example/model", slots=4)


def main() -> None:
    """Write the pictures, and print their paths and sizes."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, chromium() as browser:
        page = Path(place) / "report.html"
        write_report([read_run(write_run(Path(place), _run()))], page)
        for picture in PICTURES:
            path = folder / f"{picture.name}.png"
            with opened(
                browser,
                page,
                anchor=picture.anchor,
                width=picture.width,
                height=picture.height,
                is_dark=picture.is_dark,
                scale=picture.scale,
            ) as watched:
                if picture.anchor:
                    watched.page.locator("details").nth(2).evaluate("one => { one.open = true; }")
                watched.page.screenshot(path=path)
            size = path.stat().st_size
            if size > MOST_BYTES:
                raise RuntimeError(f"{path} takes {size} bytes, which is more than {MOST_BYTES}.")
            print(path, size)  # noqa: T201 - a script's result


if __name__ == "__main__":
    main()
