"""Providers that OpenClaw knows: the wire reads requests to their own hosts, and changes nothing in them."""

import json
import os
import shlex
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from fakes import NEW_RELEASE, OLD_RELEASE
from pinchbench.openclaw.command import OpenClaw
from pinchbench.wire.exchange import Exchange
from pinchbench.wire.reply_matching import Replay
from real_openclaw import newest_release

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]

KEY = "sk-planted-native-0123456789abcdef"
RUN_LIMIT_S = 400
# In the network of the test only: OpenClaw asks no provider at an address that is private, or kept for examples.
PUBLIC = "93.184.215.14"
TESTS = Path(__file__).parents[1]
# What differs by its nature: connections, tracing, ids of requests, and sizes of bodies with other paths in them.
OWN_HEADERS = {
    *("connection", "content-length", "traceparent", "host", "accept-encoding"),
    *("x-openclaw-turn-id", "x-openclaw-session-id", "x-client-request-id", "session_id", "session-id"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """A provider that OpenClaw knows."""

    model: str
    host: str
    key_name: str

    def __str__(self) -> str:
        return self.model


ANTHROPIC = Known(model="anthropic/claude-sonnet-4-6", host="api.anthropic.com", key_name="ANTHROPIC_API_KEY")
OTHERS = [
    Known(model="openai/gpt-5.5", host="api.openai.com", key_name="OPENAI_API_KEY"),
    Known(model="openrouter/anthropic/claude-sonnet-4.6", host="openrouter.ai", key_name="OPENROUTER_API_KEY"),
    Known(model="google/gemini-3-pro", host="generativelanguage.googleapis.com", key_name="GEMINI_API_KEY"),
]


def _run(tmp_path: Path, openclaw: OpenClaw, known: Known, *modes: str) -> list[dict[str, Any]]:
    """Run a task in each of these modes, in a network in which the provider's host is this machine."""
    hosts = tmp_path / "hosts"
    hosts.write_text(f"127.0.0.1 localhost\n{PUBLIC} {known.host}\n", encoding="utf-8")
    settings = {**asdict(known), "folder": str(tmp_path), "openclaw": openclaw.version, "modes": " ".join(modes)}
    program = shlex.join([sys.executable, str(TESTS / "e2e" / "native_run.py"), json.dumps(settings)])
    network = f"ip link set lo up && ip address add {PUBLIC}/32 dev lo"
    script = f"{network} && mount --bind {shlex.quote(str(hosts))} /etc/hosts && exec {program}"
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--net", "--mount", "sh", "-c", script],
        env={**os.environ, "PYTHONPATH": str(TESTS), known.key_name: KEY},
        capture_output=True,
        text=True,
        timeout=RUN_LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told = json.loads((tmp_path / "told.json").read_text("utf-8"))
    return [told[mode] for mode in modes]


def _exchange(number: int, asked: dict[str, Any]) -> Exchange:
    body = asked["body"].encode()
    return Exchange(number=number, began_at=time.time(), provider="p", method="POST", path=asked["path"], request=body)


def _headers(asked: dict[str, Any]) -> dict[str, str]:
    return {name: value for name, value in asked["headers"].items() if name not in OWN_HEADERS}


@pytest.mark.parametrize(
    ("openclaw", "known"),  # the older release has other models
    [(OLD_RELEASE, ANTHROPIC), *((NEW_RELEASE, known) for known in (ANTHROPIC, *OTHERS))],
    indirect=["openclaw"],
    ids=str,
)
def test_the_provider_is_asked_the_same_with_and_without_the_wire(
    openclaw: OpenClaw, tmp_path: Path, known: Known
) -> None:
    direct, wired = _run(tmp_path, openclaw, known, "direct", "wired")
    for one in (direct, wired):  # OpenClaw's own, such as for a title, may come later than the end of the run
        one["asked"] = [each for each in one["asked"] if json.loads(each["body"]).get("tools")]

    assert (direct["reason"], wired["reason"]) == ("completed", "completed"), (direct["note"], wired["note"])
    assert len(direct["asked"]) == len(wired["asked"]) > 0
    assert direct["calls"] is None
    # the wire is the only way out of an empty network, and OpenClaw asks for no other
    assert (direct["network"], wired["network"], wired["attempts"]) == ("open", "model", [])
    assert wired["calls"] >= len(wired["asked"])  # OpenClaw's own calls as well
    replay = Replay([_exchange(number, one) for number, one in enumerate(direct["asked"], start=1)])
    for one in wired["asked"]:
        found = replay.match(one["path"], one["body"].encode(), at=time.time())
        assert found.divergence is None
    for before, after in zip(direct["asked"], wired["asked"], strict=True):
        assert json.loads(before["body"]).keys() == json.loads(after["body"]).keys()
        assert _headers(before) == _headers(after)
    assert (wired["leaks"], wired["files_with_key"]) == ([], [])
    assert direct["leaks"] != []  # the key is found where there is one


@newest_release
def test_a_replay_asks_no_model_and_needs_no_key(openclaw: OpenClaw, tmp_path: Path) -> None:
    wired, replayed = _run(tmp_path, openclaw, ANTHROPIC, "wired", "replayed")

    assert len(wired["asked"]) > 0
    assert (replayed["reason"], replayed["divergences"]) == ("completed", 0), replayed["note"]
    assert (replayed["asked"], replayed["others"]) == ([], [])
