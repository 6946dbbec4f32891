"""What the simulated users of a run said and used (pure)."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

from pinchbench.model.usage import Usage
from pinchbench.results.result_json import UserTotals

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinchbench.model.outcome import Outcome


def user_totals(outcomes: Iterable[Outcome]) -> UserTotals | None:
    """Return the totals over all attempts, for what was asked was paid; None if none had a simulated user."""
    known = [(one.key, one.user) for one in outcomes if one.user is not None]
    if not known:
        return None
    users = [user for _, user in known]
    costs = [user.cost_usd for user in users if user.cost_usd is not None]
    return UserTotals(
        models=tuple(sorted({user.model for user in users if user.model})),
        trials=len({key for key, _ in known}),
        messages=sum(user.messages for user in users),
        calls=sum(user.calls for user in users),
        usage=sum((user.usage for user in users), Usage()),
        cost_usd=fsum(costs) if costs else None,
        calls_without_cost=sum(user.calls_without_cost for user in users),
        latency_s=round(fsum(user.latency_s for user in users), 3),
    )
