"""Runs pinchbench-async on a provider whose hosts are this machine: `python native_run.py SETTINGS`, in namespaces.

The caller has given this machine the address of the provider's host (/etc/hosts), and is root in a network of its own,
so that port 443 is free. Writes what the provider was asked, and what became of the trial, to `told.json` in the folder
that the settings name.
"""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import psutil
from anyio import create_task_group, create_tcp_listener, to_thread
from anyio.streams.tls import TLSListener

from pinchbench import RunConfig, run_benchmark
from pinchbench.config.rerun_configs import ReplayConfig
from pinchbench.config.run_config import ReplaySettings
from pinchbench.runner.again.rerun import replay
from pinchbench.wire.tunnel import Certificate
from real_openclaw import TaskFile, write_suite
from scripted_provider import Asked, reply, scripted_provider

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from anyio.abc import SocketStream

    from pinchbench.results.finished_run import Result

LOOK_S = 0.2
JSON = (("Content-Type", "application/json"),)


def _events(*values: object, named: bool = False) -> bytes:
    def event(value: object) -> bytes:
        name = f"event: {value['type']}\n" if named and isinstance(value, dict) else ""
        return f"{name}data: {json.dumps(value)}\n\n".encode()

    return b"".join(map(event, values))


def _anthropic() -> bytes:
    usage = {"input_tokens": 10, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    return _events(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello there."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
        named=True,
    )


def _responses() -> bytes:
    part = {"type": "output_text", "text": "Hello there.", "annotations": []}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    usage = {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13}
    begun = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    done = {**begun, "status": "completed", "output": [item], "usage": usage}
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    return _events(
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.content_part.added", **at, "part": {**part, "text": ""}},
        {"type": "response.output_text.delta", **at, "delta": "Hello there."},
        {"type": "response.output_text.done", **at, "text": "Hello there."},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
        named=True,
    )


def _gemini() -> bytes:
    content = {"role": "model", "parts": [{"text": "Hello there."}]}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 3, "totalTokenCount": 13}
    return _events({"candidates": [{"content": content, "finishReason": "STOP"}], "usageMetadata": usage})


def _chat() -> bytes:
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
    said = {"index": 0, "delta": {"role": "assistant", "content": "Hello there."}, "finish_reason": None}
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    return (
        _events(
            {"id": "1", "choices": [said]}, {"id": "1", "choices": [end]}, {"id": "1", "choices": [], "usage": usage}
        )
        + b"data: [DONE]\n\n"
    )


REPLIES = {"/v1/messages": _anthropic, "/v1/responses": _responses, "/chat/completions": _chat, "Generate": _gemini}


async def _answer(key: str, asked: Asked, stream: SocketStream) -> bool:
    """Say hello, that there is nothing, such as models, or that a key is wrong."""
    if not _has_key(asked, key):
        await stream.send(reply(b'{"error": {"message": "wrong key"}}', status=401, headers=JSON))
    elif (says := _reply_to(asked)) is None:
        await stream.send(reply(b'{"data": []}', headers=JSON))
    else:
        await stream.send(reply(says(), headers=(("Content-Type", "text/event-stream"),)))
    return True


def _has_key(asked: Asked, key: str) -> bool:
    return key in asked.target or any(key in value for _, value in asked.headers)


def _reply_to(asked: Asked) -> Callable[[], bytes] | None:
    """Return what replies to a call of the model; None for another request."""
    path = asked.target.lower() if asked.method == "POST" else ""
    return next((make for what, make in REPLIES.items() if what.lower() in path), None)


def _leaks(key: str, folder: Path, found: set[str]) -> None:
    """Look for the key in environments and command lines of OpenClaw's processes, and in the homes.

    The wire has it, and what the runner itself asks of Node at its start, and a child that still is the runner's copy.
    """
    own = psutil.Process().cmdline()
    for process in psutil.Process().children(recursive=True):
        try:
            command = process.cmdline()
            words = " ".join([*process.environ().values(), *command])
        except psutil.Error:
            continue
        name = " ".join(command)
        if key in words and command != own and "pinchbench.wire" not in name and not name.endswith("node --version"):
            found.add(name[:200])
    # unlike `rglob`, it goes on where a folder has gone meanwhile
    paths = (Path(place, name) for place, _, names in os.walk(folder) for name in names)
    found.update(str(path) for path in paths if _has(path, key))


def _has(path: Path, key: str) -> bool:
    try:
        return path.is_file() and key.encode() in path.read_bytes()
    except OSError:  # it has gone meanwhile
        return False


async def _watch(key: str, folder: Path, found: set[str]) -> None:
    while True:
        await to_thread.run_sync(_leaks, key, folder, found)
        await anyio.sleep(LOOK_S)


def _config(settings: Mapping[str, str], folder: Path, mode: str) -> RunConfig:
    return RunConfig(
        model=settings["model"],
        tasks_dir=folder / "suite",
        openclaw=settings["openclaw"],
        output_dir=folder / f"results-{mode}",
        run_root=folder / f"runs-{mode}",
        preflight=False,
        accept_unknown_model=True,
        infra_retries=0,
        wire=mode == "wired",
    )


def _told(result: Result, asked: Iterable[Asked], key: str) -> dict[str, object]:
    [outcome] = result.outcomes
    calls = [one for one in asked if _reply_to(one) is not None]
    return {
        "reason": outcome.reason,
        "note": outcome.note,
        "calls": outcome.wire.calls if outcome.wire is not None else None,
        "network": outcome.sandbox.network if outcome.sandbox is not None else None,
        "attempts": outcome.sandbox.attempts if outcome.sandbox is not None else (),
        "divergences": outcome.replay.divergences if outcome.replay is not None else None,
        "asked": [
            {"path": one.target, "headers": {name.lower(): value for name, value in one.headers}, "body": text}
            for one in calls
            if (text := one.body.decode())
        ],
        "others": [(one.method, one.target, _has_key(one, key)) for one in asked if one not in calls],
    }


async def main(settings: Mapping[str, str]) -> None:
    folder = Path(settings["folder"])
    certificate = Certificate(settings["host"])
    (folder / "ca.pem").write_bytes(certificate.pem)
    for name in ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"):
        os.environ[name] = str(folder / "ca.pem")
    key = os.environ[settings["key_name"]]
    write_suite(folder / "suite", [TaskFile(task_id="task_hello", turns=[("Say hello.", [], "")])])
    told: dict[str, object] = {}
    recorded = ""
    for mode in settings["modes"].split():
        found = set[str]()
        listener = TLSListener(
            await create_tcp_listener(local_host="0.0.0.0", local_port=443),
            certificate.context,
            standard_compatible=False,
        )
        async with scripted_provider(partial(_answer, key), at=listener) as host, create_task_group() as group:
            group.start_soon(_watch, key, folder / f"runs-{mode}", found)
            if mode == "replayed":
                del os.environ[settings["key_name"]]
                result = await replay(ReplayConfig(run=recorded, replay=ReplaySettings(folder="")))
            else:
                result = await run_benchmark(_config(settings, folder, mode))
                recorded = str(result.folder)
            group.cancel_scope.cancel()
        kept = [path for what in ("results", "runs") for path in (folder / f"{what}-{mode}").rglob("*")]
        told[mode] = {
            **_told(result, host.asked, key),
            "leaks": sorted(found),
            "files_with_key": [str(path) for path in kept if _has(path, key)],
        }
    (folder / "told.json").write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    anyio.run(main, json.loads(sys.argv[1]))
