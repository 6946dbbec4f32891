"""What attacking a task's check has found, and the sentences about it (pure)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from pinchbench.authoring.attack.data_mutants import MutantKind
from pinchbench.report.text import many, plain

if TYPE_CHECKING:
    from collections.abc import Sequence


MUTATION_SCORE = 0.95  # at least, of each check
PAID = 0.2  # a cheat may earn, as much as doing nothing may


@dataclass(frozen=True, kw_only=True, slots=True)
class Played:
    """A mutant or a cheat, and the score that the check gave it; None: it gave none, `ungraded` says why."""

    name: str
    kind: str
    score: float | None
    killed: bool
    ungraded: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class AttackedTask:
    """What came of attacking one task's check.

    `score` is that of the solution. `results` are the files that were mutated, `generated` counts all mutants that
    there are, of which `mutants` were played. `equivalent` are the names of those that the solution's file declares to
    be as good as the solution, which are not played. `problems` say why there was nothing to attack, and `untried` what
    is missing on this machine.
    """

    task_id: str
    score: float | None = None
    results: tuple[str, ...] = ()
    generated: int = 0
    mutants: tuple[Played, ...] = ()
    cheats: tuple[Played, ...] = ()
    equivalent: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    untried: str = ""

    @property
    def killed(self) -> int:
        """How many mutants lost their points."""
        return sum(one.killed for one in self.mutants)

    @property
    def mutation_score(self) -> float | None:
        """The share of mutants that lost their points; None without any."""
        return self.killed / len(self.mutants) if self.mutants else None

    @property
    def best_cheat(self) -> Played | None:
        """The cheat with the highest score; one that the check could not grade is worse than any."""
        return max(self.cheats, key=lambda one: (one.score is None, one.score or 0.0), default=None)

    @property
    def is_sound(self) -> bool:
        """Whether enough mutants lost their points, each of those that say the opposite, and no cheat is paid."""
        enough = self.mutation_score is None or self.mutation_score >= MUTATION_SCORE
        denials = [one for one in self.mutants if one.kind == MutantKind.NEGATED.value]
        return not self.problems and enough and all(one.killed for one in (*denials, *self.cheats))


def table_head(*, width: int) -> str:
    """Format the table's first line; the tasks' ids take `width` columns."""
    return f"{'task':<{width}}         mutants  killed  score  best cheat"


def table_line(one: AttackedTask, *, width: int) -> str:
    """Format one task's line of the table."""
    state = "-" if one.untried else "ok" if one.is_sound else "WEAK"
    score = "-" if one.mutation_score is None else f"{one.mutation_score:.3f}"
    best = one.best_cheat
    cheat = "-" if best is None else f"{_score(best)} {best.name}"
    return f"{one.task_id:<{width}}  {state:<5}  {len(one.mutants):>7}  {one.killed:>6}  {score:>5}  {cheat}"


def _score(one: Played) -> str:
    return "none" if one.score is None else f"{one.score:.2f}"


def finding_lines(one: AttackedTask) -> str:
    """Name each mutant that kept its points and each cheat that is paid, one per line; empty if there are none."""
    lines = [f"{one.task_id}: {plain(problem)}" for problem in one.problems]
    for title, played in (("survived", one.mutants), ("paid", one.cheats)):
        lines += [f"{one.task_id}: {title}: {_named(each)}" for each in played if not each.killed]
    return "\n".join(lines)


def _named(one: Played) -> str:
    return plain(f"{one.name} ({_score(one)}{f', {one.ungraded}' if one.ungraded else ''})")


def record(one: AttackedTask) -> dict[str, object]:
    """Return one task's result as a JSON object."""
    return {**asdict(one), "killed": one.killed, "mutation_score": one.mutation_score, "is_sound": one.is_sound}


def weak_tasks(results: Sequence[AttackedTask]) -> str:
    """Return the sentence about all checks that are not sound; empty if there are none."""
    weak = [one.task_id for one in results if not one.is_sound]
    goal = f"mutation score at least {MUTATION_SCORE:g}, no points for the opposite, no cheat above {PAID:g}"
    return (
        f"{len(weak)} of {many(len(results), 'check')} fall short of the goal ({goal}): {', '.join(weak)}."
        if weak
        else ""
    )


def verdict(results: Sequence[AttackedTask]) -> str:
    """Return the closing sentence when all checks are sound."""
    mutants = sum(len(one.mutants) for one in results)
    killed, cheats = sum(one.killed for one in results), sum(len(one.cheats) for one in results)
    checks = many(len(results), "check")
    return f"{checks}: {killed} of {many(mutants, 'mutant')} lost points, none of {many(cheats, 'cheat')} is paid."
