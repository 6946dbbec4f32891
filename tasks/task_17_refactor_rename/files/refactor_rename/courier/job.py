"""What is handed over."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Job:
    """A target's name and data for it. `number` is given by the `Dispatcher` that takes the job."""

    target: str
    data: dict[str, Any] = field(default_factory=dict)
    number: int | None = None
