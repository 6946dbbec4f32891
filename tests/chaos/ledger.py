"""What a run has said was done, held against what its journal says and what is run."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pinchbench.model.ending import Reason
from pinchbench.model.trial import TrialKey
from pinchbench.results.journal.journal import Journal, read_journal
from pinchbench.results.records import TrialFinished, TrialStarted

TIMES = frozenset(
    (
        *("journal", "run_id", "run", "timestamp", "started_at", "ended_at", "graded_at", "execution_time", "setup_s"),
        *("execution_time_s", "duration_s", "latency_s", "cpu_s", "peak_rss_bytes", "load"),
        *("session_ids", "workspace", "slot", "agent_id", "sessions"),
    )
)
LINE = re.compile(r"^\d\d:\d\d:\d\d +(?P<what>[a-z_]+)  (?P<key>task_\w+(?:@\d+)?)(?:, attempt \d+)?  (?P<rest>.+)$")
REASONS = frozenset(reason.value for reason in Reason)
# What attempts have used that were ended from outside: they were paid for, and the undisturbed run had none.
SPENT = frozenset({"other_attempts_usage"})
SHOWN_DIFFERENCES = 10


@dataclass(slots=True, kw_only=True)
class Findings:
    """What came out. All but the figures are sentences, and there should be none of them."""

    kills: int = 0
    sessions: int = 0
    ends: int = 0  # of trials, that were shown
    grades: int = 0
    torn: int = 0  # journal lines that a death has cut
    runs: int = 0
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    journal: list[str] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)

    @property
    def bad(self) -> list[str]:
        """All that should not be."""
        return [*self.lost, *self.twice, *self.left, *self.journal, *self.differs, *self.other]


class Ledger:
    """The books of one run. After each of its runners' deaths, give them to `take`."""

    def __init__(self, findings: Findings) -> None:
        """What is wrong goes to `findings`."""
        self._findings = findings
        self._torn: set[int] = set()  # numbers of lines
        self._told: set[int] = set()  # lines whose fault is known
        self._ended: dict[str, str] = {}  # what was shown: the reason of each trial, if it counts
        self._graded: dict[str, str] = {}  # and its score, as it was shown
        self._counted: dict[str, Reason] = {}  # what the journal had
        self._calls = 0
        self._starts = 0

    @property
    def done(self) -> int:
        """How many ends and grades that count have been shown."""
        return len(self._ended) + len(self._graded)

    def take(self, path: Path | None, shown: Sequence[str], calls: Path | None) -> None:
        """Check what a runner has shown and started before it died."""
        ends, grades = read_shown(shown)
        self._findings.ends += len(ends)
        self._findings.grades += len(grades)
        if path is None:
            if ends or grades:
                self._findings.lost.append(f"no journal, but shown: {ends} {grades}")
            return
        torn = cut_line(path)
        if torn is not None and torn not in self._torn:
            self._torn.add(torn)
            self._findings.torn += 1
        journal = read_journal(path)
        self._check_lines(journal)
        self._check_shown(journal, ends, grades)
        if calls is not None:
            self._check_calls(calls)
        self._check_starts(journal)
        counted = {str(one.key): one.reason for one in journal.state.outcomes if one.reason.is_valid}
        for key, reason in self._counted.items():
            if counted.get(key) is not reason:
                self._findings.lost.append(f"{key} had ended ({reason.value}) and has not any more: {counted.get(key)}")
        self._counted = counted

    def close(self, data: Mapping[str, object]) -> None:
        """Check the final result against all that was ever shown."""
        final = scores(data)
        for key, reason in self._ended.items():
            if final.get(key, ("", ""))[0] != reason:
                self._findings.lost.append(f"{key} was shown as {reason} and is in the result as {final.get(key)}")
        for key, grade in self._graded.items():
            if final.get(key, ("", ""))[1] != grade:
                self._findings.lost.append(
                    f"{key} was shown as graded {grade}, and is in the result as {final.get(key)}"
                )

    def _check_lines(self, journal: Journal) -> None:
        for problem in journal.problems:
            number = int(problem.split(".jsonl:", 1)[1].split(":")[0])
            if number not in self._torn and number not in self._told:
                self._told.add(number)
                self._findings.journal.append(problem)

    def _check_shown(
        self, journal: Journal, ends: Sequence[tuple[str, str]], grades: Sequence[tuple[str, str]]
    ) -> None:
        written = {(str(one.key), one.reason.value) for one in journal.state.attempts}
        for end in ends:
            if end not in written:
                self._findings.lost.append(f"shown, and not in the journal: {end}")
            if Reason(end[1]).is_valid:
                self._ended[end[0]] = end[1]
        given = {
            (str(key), score_text(one.score, one.ungraded)) for (key, _), one in journal.state.attempt_grades.items()
        }
        for grade in grades:
            if grade not in given:
                self._findings.lost.append(f"grade shown, and not in the journal: {grade}")
        self._graded.update(grades)

    def _check_calls(self, calls: Path) -> None:
        """No agent was started for a trial that had ended before."""
        sessions = started_sessions(calls)
        for session in sessions[self._calls :]:
            task_id = session.rpartition("_")[0]
            if task_id in self._counted:
                self._findings.twice.append(f"{task_id} was started again")
        self._calls = len(sessions)

    def _check_starts(self, journal: Journal) -> None:
        ended: set[TrialKey] = set()
        starts = 0
        for record in journal.records:
            match record:
                case TrialStarted(key=key):
                    starts += 1
                    if key in ended and starts > self._starts:
                        self._findings.twice.append(f"{key} was started behind its end, as the journal says")
                case TrialFinished(outcome=outcome) if outcome.reason.is_valid:
                    ended.add(outcome.key)
                case _:
                    pass
        self._starts = starts


def read_shown(lines: Sequence[str]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The ends and the grades of trials that a runner has shown: trial and reason, trial and score."""
    ends, grades = [], []
    for line in lines:
        found = LINE.match(line)
        if found is None:
            continue
        what, key, rest = found["what"], found["key"], found["rest"]
        if what in REASONS:
            ends.append((key, what))
        elif what in ("graded", "ungraded"):
            grades.append((key, rest.split(",")[0].split()[0]))
    return ends, grades


def score_text(score: object, ungraded: object) -> str:
    """A grade as it is shown."""
    return f"{score:.2f}" if isinstance(score, float | int) else str(ungraded)


def scores(data: Mapping[str, object]) -> dict[str, tuple[str, str]]:
    """The reason and the grade of each trial in a result."""
    found = {}
    tasks = data["tasks"]
    assert isinstance(tasks, list)
    for task in tasks:
        for run in task["runs"]:
            key = TrialKey(task_id=task["task_id"], repetition=run.get("repetition", 1))
            grade = run.get("grade") or {}
            found[str(key)] = (run["reason"], score_text(grade.get("score"), grade.get("ungraded")))
    return found


def started_sessions(calls: Path) -> list[str]:
    """The session ids of the agents that a fake was asked to play, in order."""
    if not calls.exists():
        return []
    argvs = [json.loads(line) for line in calls.read_text("utf-8").split("\n") if line]
    return [
        next(word.removeprefix("--session-id=") for word in argv if word.startswith("--session-id="))
        for argv in argvs
        if argv[0] == "agent" and "--help" not in argv
    ]


def cut_line(path: Path) -> int | None:
    """The number of the last line if it has no end."""
    data = path.read_bytes()
    return None if not data or data.endswith(b"\n") else data.count(b"\n") + 1


def timeless(value: object) -> object:
    """A result without what differs between any two runs: times, names made of them, and what disturbance has cost.

    Of the processes that an agent left, only whether there were any: one that has just been started still has the name
    of its shell.
    """
    if isinstance(value, dict):
        return {
            key: bool(one) if key == "leftovers" else timeless(one)
            for key, one in value.items()
            if key not in TIMES | SPENT
        }
    return [timeless(one) for one in value] if isinstance(value, list) else value


def differences(one: object, other: object, at: str = "") -> list[str]:
    """Where two results differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = dict.fromkeys([*one, *other])
        found = [line for key in keys for line in differences(one.get(key), other.get(key), f"{at}.{key}")]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        found = [line for place, (a, b) in pairs for line in differences(a, b, f"{at}[{place}]")]
    else:
        found = [] if one == other else [f"{at}: {str(one)[:200]} and not {str(other)[:200]}"]
    return found[:SHOWN_DIFFERENCES]
