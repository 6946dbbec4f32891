"""A run as the leaderboard takes it (pure): whether it does, and every field; what is not named is not sent.

Numbers are checked to be numbers; all else is of closed sets, has a shape that holds no more than a release or an id,
or is the id or the category of a bundled task. What an agent or a judge wrote is never sent.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from datetime import UTC, datetime
from math import fsum
from typing import TYPE_CHECKING

from pinchbench.config.asked_models import stored_models
from pinchbench.defaults import THINKING_LEVELS, Isolation
from pinchbench.json_values import object_at
from pinchbench.publish.leaderboard.public_names import PrivateNames, public_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pinchbench.model.task import Task
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.finished_run import PastRun


DECIMALS = 6
SYSTEMS = {"linux": "Linux", "macos": "macOS", "darwin": "macOS"}
MACHINES = frozenset({"x86_64", "amd64", "arm64", "aarch64"})
ISOLATIONS = (*Isolation, "gateway")  # the last of runs by earlier releases

_RELEASE = re.compile(r"v?\d{1,5}(?:\.\d{1,5}){0,3}(?:[-+.]?(?:a|b|rc|dev|post|alpha|beta|next)[-.]?\d{0,5})?")
_RUN_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4,8}")


def make_payload(
    run: PastRun, *, submission_id: str, known: Mapping[str, Task], private: PrivateNames
) -> dict[str, object]:
    """Describe a run without `obstacles` to the leaderboard. `known` are the bundled tasks.

    Scores are means over a task's repetitions, each out of 1.
    """
    config = run.facts.config
    own_endpoint = config.get("base_url") is not None
    model = public_model(run.model, private, own_endpoint=own_endpoint)
    tasks = _tasks(run, known)
    scores = [_number(task["score"]) or 0.0 for task in tasks]
    usage = run.data.usage
    # nothing is what OpenClaw says of a model without a price
    cost = None if own_endpoint else _number(usage.cost_usd) or None
    release = _release(run.facts.versions.get("pinchbench_async"))
    payload: dict[str, object] = {
        "submission_id": submission_id,
        "timestamp": _date(run.data.timestamp),
        "model": model,
        "provider": model.partition("/")[0] if "/" in model else None,
        "run_id": _shaped(_RUN_ID, run.facts.run_id),
        "client_version": release,
        "benchmark_version": f"{release or '0'}+{_suite_digest(known)}",
        "openclaw_version": _release(run.facts.versions.get("openclaw")),
        "total_score": min(round(fsum(scores), DECIMALS), float(len(scores))),
        "max_score": float(len(scores)),
        "total_execution_time_seconds": _number(run.data.execution_time),
        "total_cost_usd": cost,
        "tasks": tasks,
        "usage_summary": _without_nothing(
            {
                "total_input_tokens": _number(usage.input_tokens),
                "total_output_tokens": _number(usage.output_tokens),
                "total_requests": _number(usage.requests),
                "total_cost_usd": cost,
            }
        ),
        "metadata": _metadata(run, known, private),
    }
    return _without_nothing(payload)


def encode(payload: Mapping[str, object]) -> bytes:
    """Return the body of the request."""
    return json.dumps(payload, indent=2).encode()


def _tasks(run: PastRun, known: Mapping[str, Task]) -> list[dict[str, object]]:
    """Return the tasks in the plan's order."""
    keys: dict[str, list[TrialKey]] = {}
    for key in run.facts.keys:
        keys.setdefault(key.task_id, []).append(key)
    outcomes = {outcome.key: outcome for outcome in run.outcomes}
    tasks: list[dict[str, object]] = []
    for task_id, trials in keys.items():
        grades = [run.grades[key] for key in trials]
        scores = [score for key in trials if (score := run.score(key)) is not None]
        ended = [outcomes[key] for key in trials]
        tasks.append(
            _without_nothing(
                {
                    "task_id": task_id,
                    "score": min(1.0, round(fsum(scores) / len(scores), DECIMALS)),
                    "max_score": 1.0,
                    "grading_type": max(grades, key=lambda grade: grade.graded_at).grading_type.value,
                    "timed_out": any(one.timed_out for one in ended),
                    "execution_time_seconds": _number(fsum(one.execution_time_s for one in ended) / len(ended)),
                    "category": known[task_id].category,
                }
            )
        )
    return tasks


def _suite_digest(known: Mapping[str, Task]) -> str:
    """Return a name for this very set of tasks: 12 hexadecimal digits."""
    together = "\n".join(sorted(f"{task.task_id} {task.digest}" for task in known.values()))
    return hashlib.sha256(together.encode()).hexdigest()[:12]


def _metadata(run: PastRun, known: Mapping[str, Task], private: PrivateNames) -> dict[str, object]:
    config = run.facts.config
    score = run.data.score
    return _without_nothing(
        {
            "suite": "all",
            "suite_tasks": len(known),
            "runs": max((key.repetition for key in run.facts.keys), default=0),
            "score": {name: _number(getattr(score, name)) for name in ("mean", "low", "high", "tasks", "trials")},
            "timeout_multiplier": _number(config.get("timeout_multiplier")),
            "thinking": _one_of(THINKING_LEVELS, config.get("thinking")),
            "isolation": _one_of(ISOLATIONS, config.get("isolation")),
            "own_endpoint": config.get("base_url") is not None,
            "judge": _judge(run, private),
            "system": _system(run.facts.versions),
        }
    )


def _judge(run: PastRun, private: PrivateNames) -> dict[str, object] | None:
    judge = run.data.judge
    if judge is None:
        return None
    asked = object_at(run.facts.config, "judge")
    own_endpoint = any(one.get("base_url") is not None for one in stored_models(asked))
    return _without_nothing(
        {
            "models": sorted({public_model(name, private, own_endpoint=own_endpoint) for name in judge.models}),
            "votes": _number(asked.get("votes")),
            "total_requests": _number(judge.calls),
            "total_cost_usd": _number(judge.cost_usd),
        }
    )


def _system(versions: Mapping[str, str]) -> dict[str, object]:
    """What kind of machine: nothing that tells one from another of its kind."""
    system = re.split(r"[-_ ]", versions.get("os", "").casefold())[0]
    return _without_nothing(
        {
            "os": SYSTEMS.get(system),
            "machine": _one_of(tuple(MACHINES), versions.get("machine")),
            "python": _release(versions.get("python")),
            "node": _release(versions.get("node")),
        }
    )


def _date(value: object) -> str:
    number = _number(value) or 0.0
    return datetime.fromtimestamp(min(number, 2.0**33), UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _release(value: object) -> str | None:
    return _shaped(_RELEASE, value)


def _shaped(shape: re.Pattern[str], value: object) -> str | None:
    return value if isinstance(value, str) and shape.fullmatch(value) else None


def _one_of(allowed: Iterable[str], value: object) -> str | None:
    return next((str(one) for one in allowed if one == value), None)


def _number(value: object) -> float | int | None:
    """A number that is an amount, floats rounded; None for all else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 2**53:
        return None
    return value if isinstance(value, int) else round(value, DECIMALS) if math.isfinite(value) else None


def _without_nothing(members: Mapping[str, object]) -> dict[str, object]:
    """Without what is not known, and without empty parts."""
    return {name: value for name, value in members.items() if value is not None and value != {}}


NAMED_TASKS = 3  # in a sentence
ADDITIONS = ("skills", "workspace_files", "openclaw_config", "env")  # options that give agents more than others have


def obstacles(run: PastRun, known: Mapping[str, Task], private: PrivateNames) -> Iterator[str]:
    """Yield what keeps a run from the leaderboard, a clause each. `known` are the bundled tasks."""
    if any(task.private is True for task in run.facts.tasks.values()):
        yield "it has private tasks, which are made of your own work"
    if run.model.startswith("demo/"):
        yield f"{run.model} is a built-in script, not a model"
    planned = {key.task_id for key in run.facts.keys}
    if missing := sorted(known.keys() - planned):
        yield f"it leaves out {len(missing)} of the {len(known)} bundled tasks ({_some(missing)})"
    if changed := sorted(task_id for task_id in planned if not _is_bundled(run, task_id, known)):
        yield f"{len(changed)} of its tasks are not as this release bundles them ({_some(changed)})"
    if run.journal.state.changes:
        yield "it was resumed with other settings or releases than it began with"
    if added := [name for name in ADDITIONS if run.facts.config.get(name)]:
        yield f"its agents had more than others ({', '.join(added)})"
    graded = [grade for key, grade in run.grades.items() if key.task_id in planned.difference(changed)]
    if others := sorted(
        {grade.key.task_id for grade in graded if grade.digest not in ("", known[grade.key.task_id].digest)}
    ):
        yield f"{len(others)} of its tasks were graded by other versions of them ({_some(others)})"
    yield from _trial_obstacles(run)
    own_endpoint = run.facts.config.get("base_url") is not None
    if public_model(run.model, private, own_endpoint=own_endpoint) != run.model:
        yield "its model's name holds a path, an address or a name of yours"


def _trial_obstacles(run: PastRun) -> Iterator[str]:
    if retried := {one.key for one in run.journal.state.control.requeued}:
        yield f"{len(retried)} of its trials were retried by hand ({_some(sorted(map(str, retried)))})"
    if reused := sum((run.data.reused or {}).values()):
        yield f"{reused} of its trials were reused from earlier runs"
    if run.end is not None and (run.end.stop is not None or run.end.interrupted):
        yield "it was ended early"
    keys = run.facts.keys
    if scoreless := [str(key) for key in keys if run.score(key) is None]:
        yield (
            f"{len(scoreless)} of {len(keys)} trials have no score ({_some(scoreless)}); `report` gives the reasons,"
            " and `resume` or `regrade` completes what can be completed"
        )


def _is_bundled(run: PastRun, task_id: str, known: Mapping[str, Task]) -> bool:
    """Whether a task of a run is the bundled one, unchanged, in all trials that count."""
    task = known.get(task_id)
    facts = run.facts.tasks.get(task_id)
    if task is None or facts is None or facts.digest != task.digest:
        return False
    return all(one.digest == task.digest for one in run.outcomes if one.key.task_id == task_id)


def _some(task_ids: list[str]) -> str:
    more = len(task_ids) - NAMED_TASKS
    return ", ".join(task_ids[:NAMED_TASKS]) + (f" and {more} more" if more > 0 else "")
