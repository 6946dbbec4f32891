"""How long does `report.html` take: to be written, and to open in a browser?

`python tests/bench/report_page.py [--trials 500] [--rounds 5]` makes a run of so many trials, four a task, writes its
report and
opens it in a headless Chromium. The times to open are the page's own: until its scripts have run (interactive), and
until all is there (loaded).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent))

from browser import chromium, opened
from past_runs import PlannedRun, random_trials, write_run
from pinchbench.report.html.page import write_report
from pinchbench.results.finished_run import read_run

REPETITIONS = 4
TIMING = """() => {
  const [told] = performance.getEntriesByType("navigation");
  return [told.domContentLoadedEventEnd, told.loadEventEnd];
}"""


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, chromium() as browser:
        trials = random_trials(tasks=asked.trials // REPETITIONS, repetitions=REPETITIONS, trouble=0.1)
        run = read_run(write_run(Path(place), PlannedRun(trials=trials, slots=8)))
        path = Path(place) / "report.html"
        began = time.perf_counter()
        write_report([run], path)
        took_s = time.perf_counter() - began
        print(f"{asked.trials} trials: written in {took_s:.2f} s, {path.stat().st_size / 1e6:.1f} MB")  # noqa: T201
        times = []
        for _ in range(asked.rounds):
            with opened(browser, path) as watched:
                times.append(watched.page.evaluate(TIMING))
        interactive, loaded = (median(column) for column in zip(*times, strict=True))
        print(f"opened: interactive after {interactive:.0f} ms, loaded after {loaded:.0f} ms (medians)")  # noqa: T201


if __name__ == "__main__":
    main()
