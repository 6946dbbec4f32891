"""Several engines that share work."""

from itertools import cycle

from courier.dispatch import Dispatcher
from courier.job import Job


class DispatcherGroup:
    """Gives each job to the next `Dispatcher` in turn."""

    def __init__(self, count: int) -> None:
        self.members = [Dispatcher(f"d-{place}") for place in range(count)]
        self._turn = cycle(self.members)

    def submit(self, job: Job) -> str:
        """Give a job to the next member; return that member's `dispatcher_id`."""
        member = next(self._turn)
        member.push_job(job)
        return member.dispatcher_id
