"""Reads logs with Inspect and prints what it found; a separate program, because importing it takes seconds."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from inspect_ai.log import (
    list_eval_logs,
    read_eval_log,
    read_eval_log_sample,
    read_eval_log_sample_summaries,
    read_eval_log_samples,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


REBUILT = ("events_data", "input", "input_refs")  # by Inspect, out of one another


def as_written(path: str) -> dict[str, object]:
    """What the file holds, before Inspect has made anything of it."""
    if path.endswith(".json"):
        with Path(path).open(encoding="utf-8") as file:
            log: dict[str, object] = json.load(file)
            return log
    with ZipFile(path) as archive:
        samples = [json.loads(archive.read(name)) for name in archive.namelist() if name.startswith("samples/")]
        head: dict[str, object] = json.loads(archive.read("header.json"))
        return {
            **head,
            "samples": sorted(samples, key=order),
            "reductions": json.loads(archive.read("reductions.json")),
        }


def order(one: dict[str, Any]) -> tuple[int, str]:
    """As Inspect sorts the samples of an archive."""
    return (one["epoch"], one["id"])


def lost(given: object, read: object, path: str = "") -> Iterator[str]:
    """Where a log says something that Inspect has not understood, such as a field that it does not have."""
    if isinstance(given, dict) and isinstance(read, dict):
        for name, value in given.items():
            if name not in REBUILT and value is not None:
                yield from lost(value, read.get(name), f"{path}.{name}")
    elif isinstance(given, list) and isinstance(read, list) and len(given) == len(read):
        for number, (one, other) in enumerate(zip(given, read, strict=True)):
            yield from lost(one, other, f"{path}.{number}")
    elif given != read and not is_same_time(given, read):
        yield f"{path}: {given!r} is {read!r}"


def is_same_time(one: object, other: object) -> bool:
    """Whether two texts are one time, in whatever way they are written."""
    try:
        return datetime.fromisoformat(str(one)) == datetime.fromisoformat(str(other))
    except ValueError:
        return False


def main(folder: str, paths: list[str]) -> None:
    """Print one JSON object: what is listed of the folder, and by path what is read."""
    told: dict[str, object] = {}
    for path in paths:
        log = read_eval_log(path)
        samples = log.samples or []
        written = json.loads(log.model_dump_json())
        told[path] = {
            "log": written,
            "lost": list(lost(as_written(path), written)),
            "header": json.loads(read_eval_log(path, header_only=True).model_dump_json()),
            "summaries": [json.loads(one.model_dump_json()) for one in read_eval_log_sample_summaries(path)],
            "streamed": [[one.id, one.epoch] for one in read_eval_log_samples(path, all_samples_required=False)],
            "alone": [
                read_eval_log_sample(path, id=one.id, epoch=one.epoch).model_dump_json() == one.model_dump_json()
                for one in samples
            ],
        }
    told["listed"] = [log.name.rpartition("/")[2] for log in list_eval_logs(folder)]
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
