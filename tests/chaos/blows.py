"""When a runner is hit, and with what: drawn at random, waited for in the runner's own progress."""

import signal
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from chaos.session import Place, Session

KILLED = 0.6  # of the first signals; the rest is shared by the two that ask
AT_ONCE = 0.5  # of the moments that follow an event: the others come a little later
LATER_S = 0.05
AGAIN_S = 0.5  # until a second signal, in the clean-up after the first
AHEAD = 0.05  # of a run: from then on it is hit before it gets anything done
FEW_STARTS = 4  # of agents: as many as there are slots in the smallest scene
FEW = 12  # lines, or writes of the journal, until the moment comes


class Moment(StrEnum):
    """What the moment of a blow is measured by."""

    CLOCK = "clock"
    SETUP = "set-up"
    LINE = "line shown"
    JOURNAL = "journal grown"
    END = "trial ended"
    START = "agent started"


@dataclass(frozen=True, kw_only=True, slots=True)
class Blow:
    """One blow: after `count` events of a kind and `after_s` seconds comes `first`, and `again_s` later `again`."""

    moment: Moment
    count: int
    after_s: float
    first: signal.Signals
    again: signal.Signals | None = None
    again_s: float = 0.0


def draw(rng: Random, *, setup_s: float, work_s: float, ends: int, lead: float) -> Blow:
    """Draw a blow. `work_s` and `ends` are what the run should get done between two blows.

    `lead` is the share of the run that is done, less the share of the blows: a run that is behind is let to work first,
    and one that is far ahead is hit early, so that the last blow finds something left to do.
    """
    first = signal.SIGKILL
    if rng.random() >= KILLED:
        first = rng.choice((signal.SIGTERM, signal.SIGINT))
    again = None
    if first is not signal.SIGKILL:
        again = rng.choice((signal.SIGKILL, signal.SIGKILL, first, None))
    among = list(Moment) if lead < AHEAD else [Moment.SETUP, Moment.START]
    moment = Moment.END if lead < 0 else rng.choice(among)
    after_s = 0.0 if rng.random() < AT_ONCE else rng.uniform(0, LATER_S)
    count = rng.randint(1, FEW)
    match moment:
        case Moment.CLOCK:
            after_s, count = rng.uniform(0, setup_s + 2 * work_s), 0
        case Moment.SETUP:
            after_s, count = rng.uniform(0, setup_s), 0
        case Moment.END:
            count = rng.randint(1, 2 * ends)
        case Moment.START:
            count = rng.randint(1, FEW_STARTS)
        case Moment.LINE | Moment.JOURNAL:
            pass
    return Blow(moment=moment, count=count, after_s=after_s, first=first, again=again, again_s=rng.uniform(0, AGAIN_S))


def strike(session: Session, place: Place, blow: Blow) -> bool:
    """Wait for the moment, and hit; false when the runner had ended before."""
    _wait_for(session, place, blow)
    session.wait(limit_s=blow.after_s)
    if not session.hit(blow.first):
        return False
    if blow.again is not None:
        session.wait(limit_s=blow.again_s)
        session.hit(blow.again)
    return True


def _wait_for(session: Session, place: Place, blow: Blow) -> None:
    match blow.moment:
        case Moment.LINE:
            session.wait(lambda: len(session.shown()) >= blow.count)
        case Moment.END:
            session.wait(lambda: sum(_is_end(line) for line in session.shown()) >= blow.count)
        case Moment.START:
            session.wait(lambda: sum(" started  task_" in line for line in session.shown()) >= blow.count)
        case Moment.JOURNAL:
            for _ in range(blow.count):
                before = _size(place)
                session.wait(lambda before=before: _size(place) > before)  # type: ignore[misc]
        case Moment.CLOCK | Moment.SETUP:
            pass


def _is_end(line: str) -> bool:
    return any(f" {word}  task_" in line for word in ("completed", "nonzero_exit", "graded", "ungraded"))


def _size(place: Place) -> int:
    journal = place.journal
    return journal.stat().st_size if journal is not None else 0
