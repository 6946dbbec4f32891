"""A suite of a history that real OpenClaw has written: conversations of all kinds."""

import json
import os
import socket
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from command_line import call, clean_environment
from fakes import until
from history_states import UserState
from pinchbench.llm.demo.script import ScriptedTurn
from pinchbench.llm.demo.scripted_model import provider_config, scripted_model
from pinchbench.openclaw.command import OpenClaw
from pinchbench.suite.solution import SolutionTurn, ToolStep
from real_openclaw import running_gateway

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]

TOKEN = "e2e-token"
KEY = "sk-proj-abcDEF0123456789abcd"
RAW = b"a;b\r\n\xef\xbb\xbf\xe4;1\r\n\x00\x01"  # no text, no end of line: to be restored byte for byte
LETTER = "Dear Ada,\n\nthe order leaves on Friday, and the invoice comes with it.\n\nKind regards\nBo\n" * 3
CODE = "def total(rows):\n    return sum(rows) + 1\n"
TEST = (
    "import calc, unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        assert calc.total([1]) == 1\n"
)
FILES: dict[str, str | bytes] = {
    "rows.csv": "a\nb\nb\n",
    "calc.py": CODE,
    "test_calc.py": TEST,
    "raw.bin": RAW,
    "MEMORY.md": "Bo likes tea.\n",
}
RUN_TESTS = "python3 -m unittest test_calc"


def write(path: str, content: str) -> ToolStep:
    return ToolStep(tool="write", args={"path": path, "content": content})


def shell(command: str) -> ToolStep:
    return ToolStep(tool="exec", args={"command": command})


def edit(path: str, old: str, new: str) -> ToolStep:
    return ToolStep(tool="edit", args={"path": path, "edits": [{"oldText": old, "newText": new}]})


# Each conversation's messages; for each message what the agent does, and why it is left out, if it is.
ANSWER = "The bridge was opened in 1932."
ASKED: dict[str, tuple[tuple[str, tuple[ToolStep, ...]], ...]] = {
    "count": (
        (
            f"Count the rows of rows.csv, my key is {KEY}",
            (ToolStep(tool="read", args={"path": "rows.csv"}), write("count.txt", "3\n")),
        ),
        ("No, 2: two of them are equal", (edit("count.txt", "3", "2"),)),
    ),
    "repair": (("Repair the sum in calc.py", (shell(RUN_TESTS), edit("calc.py", " + 1", ""), shell(RUN_TESTS))),),
    "letter": (("Draft a mail to Ada about her order", (write("mail.md", LETTER),)),),
    "json": (("Keep the ports of our servers as JSON", (write("ports.json", f'{{"web": 80, "key": "{KEY}"}}\n'),)),),
    "table": (("Make a table of prices", (write("prices.csv", "tea,3\nrice,2\n"),)),),
    "script": (("Put the weekday of 2026-01-01 into day.txt", (shell("echo Thursday > day.txt"),)),),
    "binary": (("How long is raw.bin? Write it to size.txt", (shell("wc -c < raw.bin > size.txt"),)),),
    "folder": (("Begin a diary in a folder of its own", (write("diary/first.txt", "It rains.\n"),)),),
    "thanks": (("When was the bridge opened?", ()), ("Thanks, perfect!", ())),
    "question": (("Tell me a joke about otters", ()),),
    "memory": (("What do I like to drink?", (ToolStep(tool="memory_search", args={"query": "drink"}),)),),
    "web": (
        (
            "Save tomorrow's forecast as sky.md",
            (ToolStep(tool="web_fetch", args={"url": "http://127.0.0.1:1/sky"}), write("sky.md", "unknown\n")),
        ),
    ),
    "curl": (("Is the shop open today?", (shell("curl -s http://127.0.0.1:1/ || true"),)),),
    "outside": (("Which system is this?", (ToolStep(tool="read", args={"path": "/etc/os-release"}),)),),
    "part": (
        (
            "Sum up the end of notes.txt",
            (ToolStep(tool="read", args={"path": "notes.txt", "offset": 2}), write("sum.txt", "Nothing.\n")),
        ),
    ),
    "device": (("Is my phone near?", (ToolStep(tool="nodes", args={"action": "status"}),)),),
    "chat": (("Write to Bo that I am late", (ToolStep(tool="message", args={"action": "send", "message": "late"}),)),),
    "helper": (("Let a helper look at the rows", (ToolStep(tool="sessions_spawn", args={"task": "Look closely"}),)),),
    "compacted": (("Write the colour of the sky to sky.txt", (write("sky.txt", "blue\n"),)), ("Shorter", ())),
    "left": (("List the left shoes", (write("shoes.txt", "left\n"),)),),
    "right": (("List the right shoes", (write("shoes.txt", "right\n"),)),),
    "aborted": (("Wait for the delivery", (shell("touch waiting && sleep 60"),)),),
}
AT_ONCE = ("left", "right")
CLASH = "another conversation changed its files at the same time"
NOTHING = "nothing in it settles what is right: no file of it was kept or corrected, and no test was repaired"
LEFT_OUT = {
    "question": [NOTHING],
    "memory": ["your agent's memory, which it searched"],
    "curl": ["live web or this machine: curl"],
    "outside": ["files outside its workspace"],
    "part": ["files that are gone: 0 of 1 files that it used can be restored"],
    "device": ["devices or media: nodes"],
    "chat": ["channels: message"],
    "helper": ["other sessions: sessions_spawn"],
    "left": [CLASH],
    "right": [CLASH],
    "aborted": ["it was ended before the agent had answered"],
}


class Chat:
    """Messages to the user's gateway, over HTTP."""

    def __init__(self, state: UserState, model_url: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        gateway = {
            "mode": "local",
            "port": self._port,
            "bind": "loopback",
            "auth": {"mode": "token", "token": TOKEN},
            "http": {"endpoints": {"chatCompletions": {"enabled": True}}},
        }
        workspace = str(state.workspace)
        defaults = {"model": {"primary": "mock/m1"}, "workspace": workspace, "skipBootstrap": True}
        providers = {"mock": provider_config(model_url, "m1")}
        state.configure(
            {
                "gateway": gateway,
                "agents": {"defaults": defaults},
                "tools": {"exec": {"host": "gateway", "security": "full", "ask": "off"}},
                "models": {"mode": "merge", "providers": providers},
            }
        )

    async def say(self, session: str, message: str) -> None:
        """Send a message and wait for the answer."""
        async with await anyio.connect_tcp("127.0.0.1", self._port) as stream:
            await stream.send(_request(session, message))
            answer = b""
            with suppress(anyio.EndOfStream):
                while True:
                    answer += await stream.receive()
        assert answer.startswith(b"HTTP/1.1 200"), answer

    async def abort(self, session: str, begun: Path) -> None:
        """Send the first message of a conversation, and go as soon as a file is there."""
        async with await anyio.connect_tcp("127.0.0.1", self._port) as stream:
            await stream.send(_request(session, ASKED[session][0][0]))
            await until(begun.exists)


def _request(session: str, message: str) -> bytes:
    body = json.dumps({"model": "openclaw", "messages": [{"role": "user", "content": message}]})
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nx-openclaw-session-key: agent:main:{session}\r\n"
        f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return (head + body).encode("ascii")


async def _compact(home: Path, openclaw: OpenClaw) -> None:
    command = [str(openclaw.program), "gateway", "call", "sessions.compact", "--token", TOKEN, "--timeout", "120000"]
    env = {"HOME": str(home), "PATH": openclaw.path(os.environ["PATH"])}
    await anyio.run_process([*command, "--params", '{"key": "agent:main:compacted"}'], env=env)


async def _converse(home: Path, state: UserState, openclaw: OpenClaw) -> None:
    cases = tuple(
        SolutionTurn(steps=steps, answer=ANSWER if "bridge" in message else "Done.", when=message.split(",")[0])
        for turns in ASKED.values()
        for message, steps in turns
    )
    async with scripted_model() as model:
        script = ScriptedTurn(in_gateway=True, cases=cases, answer="Done.")
        model.play("user", script)
        chat = Chat(state, model.base_url("user"))
        async with running_gateway(openclaw, home):
            for session in [one for one in ASKED if one not in (*AT_ONCE, "aborted")]:
                for number, (message, _) in enumerate(ASKED[session]):
                    if session == "compacted" and number:
                        await _compact(home, openclaw)
                    await chat.say(session, message)
            async with anyio.create_task_group() as group:
                for session in AT_ONCE:
                    group.start_soon(chat.say, session, ASKED[session][0][0])
            await chat.abort("aborted", state.workspace / "waiting")


def test_what_real_openclaw_has_stored_is_listed_and_restored_and_scores_one(
    tmp_path: Path, openclaw: OpenClaw
) -> None:
    state = UserState(folder=tmp_path / ".openclaw")
    state.put(FILES)
    state.commit()
    state.put({"notes.txt": "one\ntwo\nthree\n"})
    anyio.run(_converse, tmp_path, state, openclaw)
    (state.workspace / "notes.txt").unlink()
    before = state.snapshot()
    env = clean_environment(tmp_path, PINCHBENCH_DATA=str(tmp_path / "data"))

    rows = json.loads(call("tasks", "from-history", "--json", cwd=tmp_path, env=env).stdout)
    made = call("tasks", "from-history", "--pick", "suggested", "--yes", cwd=tmp_path, env=env)

    assert state.snapshot() == before
    found = {name: row for row in rows for name in ASKED if row["title"][:20] == ASKED[name][0][0][:20]}
    assert found.keys() == ASKED.keys()
    assert [row["title"] for row in rows if row not in found.values()] == []
    assert {name: row["left_out"] for name, row in found.items() if row["left_out"]} == LEFT_OUT
    assert {name for name, row in found.items() if row["suggested"]} == ASKED.keys() - LEFT_OUT.keys()
    assert found["compacted"]["notes"] == ["OpenClaw compacted it"]
    assert found["count"]["proposals"] == ["`count.txt` contains '2'", "`count.txt` holds what you kept"]
    assert f"{len(ASKED) - len(LEFT_OUT)} tasks. Played again, each old conversation scores 1.0" in made.stderr
    suite = Path(made.stdout.strip())
    (restored,) = suite.glob(f"*_{found['binary']['id']}/files/raw.bin")
    assert restored.read_bytes() == RAW
    (index,) = suite.glob(f"*_{found['web']['id']}/files/recorded_web/index.md")
    assert "- 01.txt: web_fetch http://127.0.0.1:1/sky" in index.read_text(encoding="utf-8")
    assert (index.parent / "01.txt").stat().st_size > 0
    for path in [path for path in suite.rglob("*") if path.is_file()]:
        assert not any(private in path.read_bytes() for private in (KEY.encode(), str(tmp_path).encode()))
