"""Runs pinchbench-async on a provider whose hosts are this machine: `python native_run.py SETTINGS`, in namespaces.

The caller has given this machine the address of the provider's host (/etc/hosts), and is root in a network of its own,
so that port 443 is free. Writes what the provider was asked, and what became of the trial, to `told.json` in the folder
that the settings name.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import psutil
from anyio import create_task_group, create_tcp_listener, to_thread

from pinchbench import Isolation, RunConfig, run_benchmark
from pinchbench.wire.certificates import Authority
from pinchbench.wire.http1 import LOST, Inbound
from pinchbench.wire.transport import serve_clients
from real_openclaw import TaskFile, write_suite

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator

    from pinchbench.wire.transport import TransportStream

KEY_PIECE = "planted"
LOOK_S = 0.2


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
    return _events(
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {
            "type": "response.content_part.added",
            "item_id": "msg_1",
            "output_index": 0,
            "content_index": 0,
            "part": {**part, "text": ""},
        },
        {
            "type": "response.output_text.delta",
            "item_id": "msg_1",
            "output_index": 0,
            "content_index": 0,
            "delta": "Hello there.",
        },
        {
            "type": "response.output_text.done",
            "item_id": "msg_1",
            "output_index": 0,
            "content_index": 0,
            "text": "Hello there.",
        },
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


class ProviderHost:
    """A provider's host, which notes what it is asked and says hello."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.asked: list[dict[str, object]] = []
        self._context = context

    async def serve(self, outer: TransportStream) -> None:
        async with outer:
            try:
                stream = await outer.start_tls(self._context)
                inbound = Inbound(stream)
                while (head := await inbound.next_request()) is not None:
                    body = b"".join([part async for part in _parts(inbound)])
                    path = head.target.decode()
                    reply = next((make() for what, make in REPLIES.items() if what.lower() in path.lower()), None)
                    if reply is not None and head.method == b"POST":
                        headers = {name.decode(): value.decode() for name, value in head.headers}
                        self.asked.append({"path": path, "headers": headers, "body": body.decode()})
                        kind, status = "text/event-stream", b"200 OK"
                    else:
                        reply, kind, status = b'{"data": []}', "application/json", b"200 OK"
                    await stream.send(
                        b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b"
                        % (status, kind.encode(), len(reply), reply)
                    )
            except LOST:
                return


async def _parts(inbound: Inbound) -> AsyncIterator[bytes]:
    while not inbound.is_complete and (part := await inbound.receive_body()):
        yield part


def _leaks(key: str, found: set[str]) -> None:
    """Look for the key in the environments and command lines of OpenClaw's processes."""
    for process in psutil.Process().children(recursive=True):
        try:
            words = " ".join([*process.environ().values(), *process.cmdline()])
            name = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if key in words and "pinchbench.wire" not in name:
            found.add(name[:200])


async def _watch(key: str, found: set[str]) -> None:
    while True:
        await to_thread.run_sync(_leaks, key, found)
        await anyio.sleep(LOOK_S)


async def main(settings: dict[str, str]) -> None:
    folder = Path(settings["folder"])
    authority = Authority([settings["host"]])
    (folder / "ca.pem").write_bytes(authority.pem)
    for name in ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"):
        os.environ[name] = str(folder / "ca.pem")
    key = os.environ[settings["key_name"]]
    suite = write_suite(folder / "suite", [TaskFile(task_id="task_hello", turns=[("Say hello.", [], "")])])
    told: dict[str, object] = {}
    for wire in (False, True):
        config = RunConfig(
            model=settings["model"],
            tasks_dir=suite,
            openclaw=settings["openclaw"],
            isolation=Isolation(settings["isolation"]),
            output_dir=folder / f"results-{wire}",
            run_root=folder / f"runs-{wire}",
            preflight=False,
            accept_unknown_model=True,
            infra_retries=0,
            wire=wire,
        )
        host, found = ProviderHost(authority.context(settings["host"])), set[str]()
        async with (
            await create_tcp_listener(local_host="0.0.0.0", local_port=443) as listener,
            create_task_group() as group,
        ):
            group.start_soon(serve_clients, listener, host.serve)
            group.start_soon(_watch, key, found)
            result = await run_benchmark(config)
            group.cancel_scope.cancel()
        [outcome] = result.outcomes
        kept = [*(folder / f"results-{wire}").rglob("*"), *(folder / f"runs-{wire}").rglob("*")]
        told[f"wire={wire}"] = {
            "reason": outcome.reason,
            "note": outcome.note,
            "calls": outcome.wire.calls if outcome.wire is not None else None,
            "asked": host.asked,
            "leaks": sorted(found),
            "files_with_key": [str(one) for one in kept if one.is_file() and key.encode() in one.read_bytes()],
        }
    (folder / "told.json").write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    anyio.run(main, json.loads(sys.argv[1]))
