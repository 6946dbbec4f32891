"""A trial whose programs run in sandboxes."""

from collections.abc import Iterator

import pytest

from sampling import sampled
from sandbox_programs import Trial, trial_of, users


@pytest.fixture(params=sampled(users(), users()[-1:]))
def trial(request: pytest.FixtureRequest) -> Iterator[Trial]:
    yield from trial_of(request.param)
