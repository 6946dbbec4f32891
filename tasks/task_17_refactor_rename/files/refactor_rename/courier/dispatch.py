"""The engine: `Dispatcher` takes jobs and hands them to a target function."""

import json
import logging
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic

from courier.job import Job
from courier.queue import JobQueue

log = logging.getLogger(__name__)


class DispatchError(Exception):
    """A job was refused."""


class Dispatcher:
    """Takes jobs with `push_job` and hands them over with `run`."""

    def __init__(self, dispatcher_id: str | None = None) -> None:
        self.dispatcher_id = dispatcher_id or os.environ.get("COURIER_DISPATCHER_ID", "d-0")
        self.queue = JobQueue()
        self.seconds = 0.0
        self._next = 1

    def push_job(self, job: Job) -> int:
        """Take a job and return its number. A job without a target raises `DispatchError`."""
        if not job.target:
            log.warning("refused a job without a target")
            raise DispatchError("a job needs a target")
        job.number = self._next
        self._next += 1
        self.queue.push(job)
        return job.number

    def run(self, target: Callable[[Job], object]) -> int:
        """Hand over all jobs; return how many."""
        begin = monotonic()
        count = 0
        while self.queue:
            target(self.queue.pop())
            count += 1
        self.seconds += monotonic() - begin
        return count


def push_job(dispatcher: Dispatcher, job: Job) -> int:
    """Give a job to a `Dispatcher`; return its number."""
    return dispatcher.push_job(job)


def push_batch(dispatcher: Dispatcher, jobs: Iterable[Job]) -> int:
    """Give several jobs to a `Dispatcher`; return how many."""
    return sum(1 for job in jobs if push_job(dispatcher, job))


def main(arguments: list[str] | None = None) -> int:
    """Replay a file with one job a line, and print each."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if len(arguments) != 1:
        print("usage: courier-dispatch FILE", file=sys.stderr)
        return 2
    dispatcher = Dispatcher()
    lines = Path(arguments[0]).read_text(encoding="utf-8").splitlines()
    push_batch(dispatcher, (Job(**json.loads(line)) for line in lines if line.strip()))
    dispatcher.run(lambda job: print(job.number, job.target))
    return 0


if __name__ == "__main__":
    sys.exit(main())
