"""Writes what waits in an engine to a file, and reads it back."""

import json
from pathlib import Path
from typing import Any

from courier.job import Job
from courier.plugins import resolve


def save(engine: Any, path: Path) -> None:
    """Write the class, the id and the waiting jobs. The engine is empty afterwards."""
    jobs = []
    engine.run(lambda job: jobs.append({"target": job.target, "data": job.data}))
    kind = type(engine)
    state = {"class": f"{kind.__module__}:{kind.__qualname__}", "dispatcher_id": engine.dispatcher_id, "jobs": jobs}
    path.write_text(json.dumps(state), encoding="utf-8")


def load(path: Path) -> Any:
    """Return an engine with the jobs of a file."""
    state = json.loads(path.read_text(encoding="utf-8"))
    engine = resolve(state["class"])(state["dispatcher_id"])
    for job in state["jobs"]:
        engine.push_job(Job(**job))
    return engine
