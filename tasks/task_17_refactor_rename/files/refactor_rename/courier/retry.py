"""Tries to get a job in more than once."""

from courier import dispatch
from courier.job import Job


def with_retries(engine: "dispatch.Dispatcher", job: Job, attempts: int = 3) -> int:
    """Call `push_job` until it works, at most `attempts` times."""
    for attempt in range(1, attempts + 1):
        try:
            return dispatch.push_job(engine, job)
        except dispatch.DispatchError:
            if attempt == attempts:
                raise
    raise ValueError("attempts must be positive")
