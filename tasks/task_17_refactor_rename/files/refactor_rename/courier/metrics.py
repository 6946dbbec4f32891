"""Lines for the metrics page."""

from typing import Any


def jobs_waiting(engine: Any) -> str:
    """Return the line for an engine: `courier_jobs_waiting{worker="dispatcher",id="d-0"} 3`."""
    worker = type(engine).__name__.lower()
    return f'courier_jobs_waiting{{worker="{worker}",id="{engine.dispatcher_id}"}} {len(engine.queue)}'
