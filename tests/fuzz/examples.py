"""How many examples each property of these tests gets, and how many have run."""

import os
from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from hypothesis import HealthCheck, settings

P = ParamSpec("P")

ENVIRONMENT = "PINCHBENCH_FUZZ"
USUAL_TOTAL = 1_000
TOTAL = int(os.environ.get(ENVIRONMENT) or USUAL_TOTAL)
# Of all properties together, and no name twice: so that the total is what was asked for. The weight of a property
# follows from how much hostile text its parser sees, and from what an example costs.
SHARES = {
    "task": 90,
    "task files": 20,
    "manifest": 40,
    "solution": 40,
    "yaml": 45,
    "yaml readers": 30,
    "transcript line": 80,
    "transcript": 40,
    "deep transcript": 10,
    "lines": 45,
    "jsonl store": 20,
    "sqlite store": 25,
    "sqlite file": 30,
    "reply": 80,
    "free reply": 30,
    "quoting reply": 30,
    "criteria": 20,
    "completion": 40,
    "complaint": 30,
    "retry after": 20,
    "judge cache": 30,
    "check answer": 20,
    "journal": 40,
    "facts": 40,
    "numbers of a transcript": 10,
    "summary": 10,
    "config": 40,
    "logins": 20,
    "dotenv": 20,
    "version": 20,
    "plain": 30,
    "live": 10,
    "task ids": 5,
}
counts: Counter[str] = Counter()


def examples_of(name: str) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Mark a property, below its `@given`: it gets its share of all examples, and each that runs is counted."""
    most = max(1, TOTAL * SHARES[name] // sum(SHARES.values()))
    is_long = TOTAL > USUAL_TOTAL

    def mark(check: Callable[P, None]) -> Callable[P, None]:
        @wraps(check)
        def counted(*args: P.args, **kwargs: P.kwargs) -> None:
            counts[name] += 1
            check(*args, **kwargs)

        return settings(
            max_examples=most,
            deadline=None,
            derandomize=False if is_long else settings().derandomize,
            # one folder serves all examples of a property: each writes its own files anew
            suppress_health_check=[
                HealthCheck.function_scoped_fixture,
                HealthCheck.too_slow,
                HealthCheck.data_too_large,
                HealthCheck.large_base_example,
            ],
        )(counted)

    return mark
