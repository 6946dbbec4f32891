"""The provider whose replies are written by hand."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import httpx2
import pytest
from click.testing import CliRunner

from by_hand import ByHand, main, write


@contextmanager
def served(folder: Path) -> Iterator[str]:
    with ByHand(folder, 0) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1/chat/completions"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_that_is_written_to_a_file_is_what_the_model_says(tmp_path: Path, stream: bool) -> None:
    request = {"messages": [{"role": "user", "content": "Tidy up."}], "stream": stream}
    with served(tmp_path) as url, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(httpx2.post, url, json=request, timeout=30)
        shown = CliRunner().invoke(main, ["next", str(tmp_path)], catch_exceptions=False).output
        write(tmp_path / "0001.reply.json", {"content": "It is tidy."})
        text = answer.result().text
    assert shown == "=== request 0001\n--- user\nTidy up.\n"
    events = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
    choices = [json.loads(one)["choices"][0] for one in (events if stream else [text])]
    said = [choice["delta" if stream else "message"].get("content") for choice in choices]
    assert [one for one in said if one] == ["It is tidy."]
    assert choices[-1]["finish_reason"] == "stop"
