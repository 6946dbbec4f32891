"""Pictures of every page in every state: `python tests/gallery.py FOLDER [NAME]`, to be looked at when a page changes.

The states are those that a user meets: a run that has just begun, one that is half done, one that ended well, one that
ended badly, and one that was interrupted; comparison, choice and experiment are of models that differ and of models
that do not. Each page is taken on a desk and on a phone, by day and by night; with a name, only pages that have it in
theirs. Scores are made up. Needs a Chromium.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from browser import chromium, opened
from history_states import BEGAN as BEGAN_AT
from history_states import Said, UserState, candidate
from mischief import transcript_line
from past_experiments import write_variants
from past_runs import BEGAN, Made, PlannedRun, random_trials, write_run
from pinchbench.authoring.history.privacy import Masker
from pinchbench.experiment.experiment_page import read_experiment_runs, write_experiment
from pinchbench.model.ending import Reason
from pinchbench.model.trial import TrialKey
from pinchbench.report.html.report_page import write_report
from pinchbench.report.html.variants_page import choice_page
from pinchbench.results.finished_run import read_run
from pinchbench.results.journal.journal import JournalWriter
from pinchbench.results.records import RunFinished, TrialStarted
from pinchbench.serve.history_review import HistoryReview
from site_server import serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from playwright.sync_api import Browser

    from pinchbench.authoring.history.candidates import Candidate
    from pinchbench.results.paths import RunFiles

SCREENS = {
    f"{name}-{time}": (*size, time == "night")
    for name, size in {"desk": (1300, 900), "phone": (390, 844)}.items()
    for time in ("day", "night")
}
TOLD = """Done. **Three rows** were wrong; I mended them in `orders.csv`:

| row | was | is |
|-----|----:|---:|
| 12 | 4.10 | 41.0 |
| 97 | -3 | 3 |

1. I read `orders.csv`.
2. I checked it:
   - all totals
   - all dates

```sh
python3 check.py --strict
```
"""
MOST_PX = 8000  # of a page's height: Chromium takes no picture of twice as much
LIMIT_MS = 180_000  # for one picture, on a busy machine
HEADS = sorted((Path(__file__).parents[1] / "tasks").glob("task_*/task.md"))
CATEGORIES = ("basics", "productivity", "data", "coding", "memory", "analysis")


def _field(name: str, path: Path) -> str:
    found = re.search(rf"^{name}: (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1].strip("'\"") if found else ""


TITLES = {path.parent.name: _field("name", path) for path in HEADS[:20]}


def _run(state: str, number: int, *, ability: float, trouble: float = 0.0) -> PlannedRun:
    made = random_trials(tasks=len(TITLES), repetitions=2, ability=ability, seed=number, trouble=trouble)
    trials = dict(zip(TITLES, made.values(), strict=True))
    return PlannedRun(
        trials=trials,
        model=f"example/{state}",
        run_id=f"20260102-030000-{number:04x}",
        titles=TITLES,
        categories={task: CATEGORIES[place % len(CATEGORIES)] for place, task in enumerate(trials)},
    )


def _states(folder: Path, opened_journals: ExitStack) -> Mapping[str, RunFiles]:
    """Write a run in each state; those that go on are held by this process until the stack closes."""
    now = time.time()  # a page that is live shows how long ago
    half = replace(_run("half", 2, ability=0.7, trouble=0.1), has_ended=False, planned_beyond=1, began=now - 1800)
    broken = _run("badly", 4, ability=0.2, trouble=0.5)
    first = next(iter(broken.trials))
    lost = Made(score=None, reason=Reason.PROVIDER_ERROR, note="429 You exceeded your current quota.")
    broken = replace(broken, trials={**broken.trials, first: (lost, lost)})
    said: list[dict[str, object]] = [
        {"role": "user", "content": "Mend `orders.csv`."},
        {"role": "assistant", "content": TOLD},
    ]
    well = _run("well", 3, ability=0.95)
    told = replace(well.trials[first][0], transcript="".join(map(transcript_line, said)))
    written = {
        "begun": replace(half, model="example/begun", run_id="20260102-030000-0001", began=now - 5,
                         trials=dict.fromkeys(TITLES, ())),
        "half": half,
        "well": replace(well, trials={**well.trials, first: (told, well.trials[first][1])}),
        "badly": broken,
        "interrupted": replace(_run("interrupted", 5, ability=0.7), has_ended=False, planned_beyond=1),
    }  # fmt: skip
    files = {state: write_run(folder, run) for state, run in written.items()}
    for state in ("begun", "half"):
        journal = opened_journals.enter_context(JournalWriter(files[state].journal, go_on=True))
        done = len(written[state].trials[first])
        keys = [TrialKey(task_id=task, repetition=done + 1) for task in list(TITLES)[:2]]
        journal.append([TrialStarted(key=key, slot=n, attempt=1, at=now) for n, key in enumerate(keys, start=1)])
    with JournalWriter(files["interrupted"].journal, go_on=True) as journal:
        journal.append([RunFinished(at=BEGAN + 1200, interrupted="SIGINT")])
    return files


def _conversations(folder: Path) -> list[Candidate]:
    """Return two past conversations with proposals of each kind for their grading."""
    state, broken = UserState(folder=folder), "python3 -m unittest"
    letter = "Dear Ms Lovelace,\n\nthe order leaves on Friday, and the invoice comes with it.\n\nKind regards\nBo\n" * 4
    state.put({"count.txt": "2\n", "prices.csv": "tea,3\nrice,2\n", "mail.md": letter}, at=BEGAN_AT + 6)
    orders = [
        Said(
            prompt="Count the rows of orders.csv, write the number to count.txt, and draft mail.md to Ms Lovelace",
            calls=[("write", {"path": name, "content": letter}, "") for name in ("count.txt", "mail.md", "prices.csv")],
        ),
        Said(
            prompt="No, it is 2: two of them are equal", calls=[("write", {"path": "count.txt", "content": "2\n"}, "")]
        ),
    ]
    repair = Said(
        prompt="Repair the sum in calc.py. " + "The total is one too high whenever a row is empty. " * 8,
        calls=[("exec", {"command": broken}, "FAILED (failures=1)"), ("exec", {"command": broken}, "OK")],
    )
    return [candidate(state, orders), candidate(state, [repair])]


def _pages(folder: Path, site: str, files: Mapping[str, RunFiles]) -> Iterator[tuple[str, str]]:
    """Yield the name and address of every page."""
    yield "runs", f"{site}/"
    yield "items", f"{site}/items"
    yield "history", f"{site}/history"
    yield "judges", f"{site}/judges"
    yield "login", f"{site}/login"
    yield "problem", f"{site}/run/none"
    for state, one in files.items():
        report = folder / f"{state}.html"
        write_report([read_run(one)], report)
        yield f"{state}-report", report.as_uri()
        if state == "well":
            yield "report-trial", f"{report.as_uri()}#trial/{next(iter(TITLES))}"
        yield f"{state}-run", f"{site}/run/{one.name}"
        if state not in ("begun", "half"):
            yield f"{state}-trial", f"{site}/run/{one.name}/trial/{list(TITLES)[0 if state == 'badly' else 3]}"
    pair = urlencode([("run", files["well"].name), ("run", files["badly"].name)])
    yield "compare", f"{site}/compare?{pair}"
    for name, abilities in {"differ": None, "alike": {"low": 0.6, "high": 0.6}}.items():
        variants = write_variants(folder / name, tasks=18, repetitions=3, names=list(TITLES)[:18],
                                  **({"variants": abilities} if abilities else {}))  # type: ignore[arg-type] # fmt: skip
        experiment = read_experiment_runs(variants)
        write_experiment(experiment, folder / f"{name}.html")
        (folder / f"{name}-choice.html").write_text(choice_page(experiment.choice()), encoding="utf-8")
        yield f"experiment-{name}", (folder / f"{name}.html").as_uri()
        yield f"choice-{name}", (folder / f"{name}-choice.html").as_uri()


def main(browser: Browser, pictures: Path, wanted: str) -> None:
    """Write the pictures into a folder, and print their paths."""
    pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        runs = Path(place) / "runs"
        files = _states(runs, stack)
        review = HistoryReview(candidates=_conversations(Path(place) / "state"), masker=Masker())
        site = stack.enter_context(serving(runs, review=review))
        pages = dict(_pages(Path(place), site.url, files))
        for screen, (width, height, is_dark) in SCREENS.items():
            for name, url in ((name, url) for name, url in pages.items() if wanted in name):
                path = pictures / f"{name}-{screen}.png"
                with opened(browser, url, width=width, height=height, is_dark=is_dark) as watched:
                    shown = min(watched.page.evaluate("document.documentElement.scrollHeight"), MOST_PX)
                    clip = {"x": 0, "y": 0, "width": width, "height": shown}
                    watched.page.screenshot(path=path, full_page=True, clip=clip, timeout=LIMIT_MS)  # type: ignore[arg-type]
                print(path)  # noqa: T201 - a script's result


if __name__ == "__main__":
    with chromium() as started:
        main(started, Path(sys.argv[1]), "".join(sys.argv[2:]))
