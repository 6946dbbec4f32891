"""Passes jobs on to a partner, whose client is given to us."""

from typing import Any, Protocol

from courier.job import Job


class PartnerClient(Protocol):
    """The part of the partner's client that we use."""

    def push_job(self, name: str, body: dict[str, Any]) -> str: ...


def forward(client: PartnerClient, job: Job) -> str:
    """Give a job to the partner; return the partner's receipt."""
    return client.push_job(job.target, job.data)
