"""Command lines and names."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.openclaw.command import (
    LONG_MESSAGE,
    MAX_AGENT_ID,
    agent_id,
    model_slug,
    preloaded,
)


@pytest.mark.parametrize(
    ("model", "slug"),
    [
        ("anthropic/claude-sonnet-4", "anthropic-claude-sonnet-4"),
        ("openai/gpt-4.1", "openai-gpt-4-1"),
        ("openrouter/meta-llama/Llama-3:free", "openrouter-meta-llama-Llama-3-free"),
        ("../x y", "---x-y"),
    ],
)
def test_a_models_slug_is_plain_in_a_file_name(model: str, slug: str) -> None:
    assert model_slug(model) == slug


@pytest.mark.parametrize(
    ("model", "slot", "name"),
    [
        ("mock/m1", 1, "bench-mock-m1"),
        ("mock/m1", 2, "bench-mock-m1-2"),
        ("OpenRouter/Llama:Free", 1, "bench-openrouter-llama-free"),
        ("m" * 58, 1, "bench-" + "m" * 58),
    ],
)
def test_an_agents_id_is_as_openclaw_gives_it(model: str, slot: int, name: str) -> None:
    assert agent_id(model, slot) == name


@given(st.text(min_size=1), st.integers(1, 64))
def test_an_agents_id_fits_and_is_lower_case(model: str, slot: int) -> None:
    name = agent_id(model, slot)
    assert len(name) <= MAX_AGENT_ID
    assert name == name.lower()
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_")


def test_the_preload_keeps_the_users_node_options() -> None:
    env = preloaded({"NODE_OPTIONS": "--trace-warnings", "A": "b"}, Path("/m.txt"))
    assert env["A"] == "b"
    assert env["NODE_OPTIONS"] == f"--trace-warnings --import={LONG_MESSAGE.as_uri()}"
    assert env["PINCHBENCH_NODE_OPTIONS"] == "--trace-warnings"
    assert env["PINCHBENCH_MESSAGE_FILE"] == "/m.txt"
    assert preloaded({}, Path("/m.txt"))["NODE_OPTIONS"] == f"--import={LONG_MESSAGE.as_uri()}"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
@pytest.mark.parametrize("before", ["", "--no-deprecation"])
def test_node_puts_a_long_message_in_its_place_and_leaves_no_trace(tmp_path: Path, before: str) -> None:
    program = tmp_path / "openclaw.mjs"
    program.write_text("console.log(JSON.stringify({argv: process.argv.slice(2), env: process.env}))", encoding="utf-8")
    text = "é\u2028" + "x" * 300_000
    message = tmp_path / "message.txt"
    message.write_bytes(text.encode())
    plain = {"PATH": os.environ["PATH"], **({"NODE_OPTIONS": before} if before else {})}
    env = preloaded({**plain, "NODE_COMPILE_CACHE": str(tmp_path)}, message)
    argv = ["node", str(program), "agent", "--agent=x", "--message="]
    done = subprocess.run(argv, env=env, capture_output=True, timeout=60, check=True)
    seen = json.loads(done.stdout)
    assert seen["argv"] == ["agent", "--agent=x", f"--message={text}"]
    assert seen["env"] == {**plain, "OPENCLAW_NO_RESPAWN": "1"}
