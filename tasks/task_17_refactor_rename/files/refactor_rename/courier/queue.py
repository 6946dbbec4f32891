"""The queue inside an engine."""

from collections import deque
from collections.abc import Iterable

from courier.job import Job


class JobQueue:
    """First in, first out."""

    def __init__(self) -> None:
        self._jobs: deque[Job] = deque()

    def __len__(self) -> int:
        return len(self._jobs)

    def push(self, job: Job) -> None:
        self._jobs.append(job)

    def push_jobs(self, jobs: Iterable[Job]) -> None:
        """Add several jobs; unlike `push_batch` it gives them no numbers."""
        self._jobs.extend(jobs)

    def push_job_ids(self) -> list[int | None]:
        """Return the numbers of the waiting jobs."""
        return [job.number for job in self._jobs]

    def pop(self) -> Job:
        return self._jobs.popleft()
