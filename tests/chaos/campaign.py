"""A run that is hit again and again, and resumed each time, until it is whole."""

import json
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import psutil

from chaos.blows import Blow, draw, strike
from chaos.ledger import Findings, Ledger, differences, timeless
from chaos.session import COMMAND, Place, Session, wait_until_gone
from chaos.suite import write_suite
from fakes import MODEL, fake_openclaw
from processes import lives

IMMEDIATELY = 0.25  # of the resumes: before those of the dead runner are gone
TORN = Path(__file__).with_name("torn_writes.py")
STORES = ("jsonl", "sqlite")


@dataclass(frozen=True, kw_only=True, slots=True)
class Undisturbed:
    """What a run of the same suite comes to in peace, and how long its set-up and the rest of it take."""

    data: dict[str, Any]
    setup_s: float
    work_s: float


class Peace:
    """Undisturbed runs of a suite of so many trials, made when they are first asked for."""

    def __init__(self, folder: Path, *, trials: int, concurrency: int) -> None:
        """Below `folder`."""
        self._folder = folder
        self._known: dict[str, Undisturbed] = {}
        self.trials = trials
        self.concurrency = concurrency

    def place(self, folder: Path, store: str) -> Place:
        """A fake OpenClaw, the suite, and options for another run of it, all in a new folder."""
        folder.mkdir(parents=True)
        options = (
            f"--model={MODEL}",
            f"--tasks-dir={write_suite(folder, self.trials)}",
            f"--openclaw={fake_openclaw(folder, store=store)}",
            f"--concurrency={self.concurrency}",
            "--sandbox=none",  # the fake and its Python exist outside only
        )
        return Place(folder=folder, options=options)

    def with_store(self, store: str) -> Undisturbed:
        """What comes out where OpenClaw keeps its sessions so."""
        if store not in self._known:
            self._known[store] = run_undisturbed(self.place(self._folder / store, store))
        return self._known[store]


def run_undisturbed(place: Place) -> Undisturbed:
    """Run it once in peace. Raises RuntimeError when even that goes wrong."""
    with Session(place, 0) as session:
        session.wait(lambda: any(" started  task_" in line for line in session.shown()))
        begun = time.monotonic()
        session.wait()
        ended = time.monotonic()
        if session.code != 0:
            raise RuntimeError(f"an undisturbed run ended with {session.code}: {session.shown()[-3:]}")
    return Undisturbed(data=result_of(place), setup_s=begun - session.began, work_s=ended - begun)


def result_of(place: Place) -> dict[str, Any]:
    """The aggregate of the run."""
    [path] = place.output_dir.glob("*.json")
    data: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return data


class Campaign:
    """The blows of one run. `is_over` once it has come to its end; `code` and `shown` are of its last runner."""

    def __init__(self, place: Place, findings: Findings, *, has_calls: bool = True) -> None:
        """What comes out goes to `findings`. Without `has_calls`, the journal alone tells what was started."""
        self.place = place
        self.findings = findings
        self._calls = place.calls if has_calls else None
        self._ghosts: list[psutil.Process] = []
        self._number = 0
        self.ledger = Ledger(findings)
        self.is_over = False
        self.code: int | None = None
        self.shown: list[str] = []

    def go_on(
        self,
        *,
        blow: Blow | None = None,
        command: tuple[str, ...] = COMMAND,
        immediately: bool = False,
        meanwhile: Callable[[Session], None] | None = None,
        may_fail: bool = False,
    ) -> bool:
        """Begin or resume the run, hit it if there is a blow, and settle the books; whether it was hit.

        `meanwhile` is called while it runs. Without `may_fail`, every end of its own but success is a surprise.
        `immediately`: return before those whom the runner has left behind are gone; they are looked for the next time.
        """
        if self.place.run is None:
            self.ledger = Ledger(self.findings)  # nothing could be resumed: what comes is another run
            for journal in self.place.output_dir.glob("*/journal.jsonl"):
                self.findings.lost.append(f"{journal} has no run.json: it can't be resumed")
        self._number += 1
        self.findings.sessions += 1
        with Session(self.place, self._number, command=command) as session:
            if meanwhile is not None:
                meanwhile(session)
            was_hit = blow is not None and strike(session, self.place, blow)
            if not session.wait():
                self.findings.other.append(f"session {self._number} hung: {session.shown()[-3:]}")
                session.hit(signal.SIGKILL)
                session.wait()
            self.code = session.code
            self._look_for_ghosts()
            if immediately:
                self._ghosts = session.survivors()
            else:
                self._note_left(wait_until_gone(session.survivors))
        self.findings.kills += was_hit
        self._settle(session, may_fail=was_hit or may_fail)
        return was_hit

    def _settle(self, session: Session, *, may_fail: bool) -> None:
        shown = self.shown = session.shown()
        self.ledger.take(self.place.journal, shown, self._calls)
        if any("Traceback" in line for line in shown) and "KeyboardInterrupt" not in shown[-1]:
            self.findings.other.append(f"session {self._number} showed a traceback: {shown[-1][:300]}")
        self.is_over = session.code == 0
        if not may_fail and session.code not in (0, -signal.SIGKILL):
            self.findings.other.append(f"session {self._number} ended with {session.code}: {shown[-1:]}")

    def _note_left(self, left: list[str]) -> None:
        self.findings.left += [f"after session {self._number}: {one}" for one in left]

    def _look_for_ghosts(self) -> None:
        """See whether those of the runner before have gone meanwhile."""
        _, living = psutil.wait_procs(self._ghosts, timeout=0)
        self._note_left(wait_until_gone(lambda: [one for one in living if lives(one)]))
        self._ghosts = []

    def close(self, expected: Undisturbed | None) -> None:
        """The run is over: check its result."""
        if not self.is_over:
            self.findings.other.append(f"the run could not be finished: exit code {self.code}")
            return
        self.findings.runs += 1
        data = result_of(self.place)
        self.ledger.close(data)
        if expected is not None:
            self.findings.differs += differences(timeless(data), timeless(msgspec.to_builtins(expected.data)))


def torment(folder: Path, rng: Random, peace: Peace, *, kills: int) -> Findings:
    """Hit runs so many times, and resume them each time; the store of the fake changes from run to run."""
    findings = Findings()
    stores = list(STORES)
    rng.shuffle(stores)
    number = 0
    while findings.kills < kills and not findings.bad:
        store = stores[number % len(stores)]
        number += 1
        _torment_one(Campaign(peace.place(folder / f"run-{number}", store), findings), rng, peace, store, kills)
    return findings


def _torment_one(campaign: Campaign, rng: Random, peace: Peace, store: str, kills: int) -> None:
    """Hit one run until it is whole, or there were `kills` in all; then let it come to its end."""
    findings = campaign.findings
    expected = peace.with_store(store)
    before = findings.kills
    while not campaign.is_over:
        if findings.kills >= kills:
            campaign.go_on()
            break
        share = (findings.kills - before) / (kills - before)
        blow = draw(
            rng,
            setup_s=expected.setup_s,
            work_s=expected.work_s / kills,
            ends=max(1, 2 * peace.trials // kills),
            lead=campaign.ledger.done / (2 * peace.trials) - share,
        )
        was_hit = campaign.go_on(blow=blow, immediately=rng.random() < IMMEDIATELY)
        if not was_hit and not campaign.is_over:
            break  # it has ended itself, and would again
    campaign.close(expected)


def tear(folder: Path, rng: Random, peace: Peace, *, deaths: int) -> Findings:
    """Run on a disk that tears the journal's writes, and resume after each death that comes of it."""
    findings = Findings()
    store = rng.choice(STORES)
    campaign = Campaign(peace.place(folder / "torn", store), findings)
    while not campaign.is_over and findings.sessions < deaths:
        operations = rng.randint(1, max(2, 8 * peace.trials // deaths))
        campaign.go_on(command=(sys.executable, str(TORN), str(rng.randrange(2**32)), str(operations)))
        if campaign.code == -signal.SIGKILL:
            findings.kills += 1
    if not campaign.is_over:
        campaign.go_on()
    campaign.close(peace.with_store(store))
    return findings
