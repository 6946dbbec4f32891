"""What `tasks new --with` adds to a new task: a working example of each ability, of a clock and of a service."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from pinchbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A piece of a task: what it adds to the head, the prompt, the check and the solution.

    Attributes:
        ask: what the prompt asks in addition.
        criterion: what is expected, for people and judges.
        point: one item of the dict that the check returns.
        steps: the solution's tool calls after the prompt, as items of YAML.
        needs: parts without which it does not work.
        head: lines of the head.
        service: an item of its services.
        given: an item of its workspace files.
        timeline: items of the timeline.
        turns: the solution's entries for these items, and others by `when`.
        files: what the task's folder holds besides, each with its place.
    """

    ask: str
    criterion: str
    point: str
    steps: str
    needs: tuple[str, ...] = ()
    head: str = ""
    service: str = ""
    given: str = ""
    timeline: str = ""
    turns: str = ""
    files: tuple[tuple[str, bytes], ...] = ()


# A red square.
_SEAL = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAKklEQVR42mM4ISdHU8QwasGoBaMWjFowasGoBaMWjFowasGoBaMW"
    "DBULACXLED1gHZEpAAAAAElFTkSuQmCC"
)
_SHOP = b"""\
# A shop whose page asks it for the price of A-2 by a script.
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

PAGE = b'''<h1>Order A-2</h1><p id="price"></p>
<script>
fetch("/price").then(got => got.text()).then(text => document.getElementById("price").textContent = text)
</script>'''


class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        print(self.path, flush=True)
        body = b"5.00 euros" if self.path == "/price" else PAGE
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Shop).serve_forever()
"""
_MAIL = b"""\
# The mails of a trial: POST /mails takes one, GET /mails lists them.
import json
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

mails = []


class Mails(BaseHTTPRequestHandler):
    def do_POST(self):
        mails.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer({"kept": len(mails)})

    def do_GET(self):
        self.answer(mails)

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Mails).serve_forever()
"""
# In the order in which they happen.
PARTS: Mapping[str, Part] = MappingProxyType(
    {
        "clock": Part(
            ask="Write today's date to `today.txt`, such as 2026-12-31.",
            criterion="`today.txt` holds the date of the task's clock",
            point='"date": float(read("today.txt").strip() == "2026-03-02"),',
            steps='      - {tool: exec, args: {command: "date +%F > today.txt"}}\n',
            head="clock: 2026-03-02T07:30\ntimezone: Europe/Berlin\n",
        ),
        "memory": Part(
            ask="Write to `checker.txt` who checks our orders, as I said some time ago.",
            criterion="`checker.txt` names Zoe, who is in a note of the agent's memory",
            point='"checker": float("Zoe" in read("checker.txt")),',
            steps="""\
      - {tool: memory_search, args: {query: who checks orders}}
      - {tool: write, args: {path: checker.txt, content: Zoe}}
""",
            given="  - {path: memory/2026-01-12.md, content: Zoe checks the orders from now on.}\n",
        ),
        "images": Part(
            ask="Write the colour of `seal.png` to `seal.txt`.",
            criterion="`seal.txt` says red",
            point='"colour": float(read("seal.txt").strip().lower() == "red"),',
            steps="""\
      - {tool: view_image, args: {path: seal.png}}
      - {tool: write, args: {path: seal.txt, content: red}}
""",
            given="  - {source: seal.png, dest: seal.png}\n",
            files=(("files/seal.png", _SEAL),),
        ),
        "browser": Part(
            ask="Write the price of A-2, which http://127.0.0.1:8026/ shows, to `price.txt`.",
            criterion="`price.txt` holds the price, which the page's script has fetched",
            point='"price": float(read("price.txt").strip() == "5.00" and "/price" in read(".services/shop.log")),',
            steps="""\
      - {tool: browser, args: {action: open, url: "http://127.0.0.1:8026/"}}
      - {tool: browser, args: {action: snapshot}}
      - {tool: write, args: {path: price.txt, content: "5.00"}}
""",
            service="  - {name: shop, command: [python3, shop.py], folder: shop, port: 8026}\n",
            files=(("files/shop/shop.py", _SHOP),),
        ),
        "subagents": Part(
            ask="Have a sub-agent write the number of cancelled orders to `cancelled.txt`.",
            criterion="`cancelled.txt` holds `1`",
            point='"cancelled": float(read("cancelled.txt").strip() == "1"),',
            steps='      - {tool: sessions_spawn, args: {task: "Count the cancelled orders of orders.csv."}}\n',
            turns="""\
  - when: Count the cancelled orders
    steps:
      - {tool: exec, args: {command: "grep -c ,cancelled, orders.csv > cancelled.txt"}}
    answer: "One order was cancelled."
""",
        ),
        "chat": Part(
            ask="Tell bob the number by chat.",
            criterion="bob has got the number, and the owner the answer to the second message",
            point='"told": said("bob", "2"),\n        "answer": said("sam", "A-2"),',
            steps="""\
      - tool: message
        args: {action: send, channel: messenger, target: bob, message: 2 orders were sent.}
""",
            timeline="  - message: Thanks! Which order was cancelled?\n",
            turns="  - answer: It was A-2.\n",
        ),
        "automations": Part(
            needs=("chat", "clock"),
            ask="And every morning at eight, remind me by chat to look at the new orders.",
            criterion="the owner gets a message at eight the next morning",
            point='"reminder": said("sam", "orders", at="2026-03-03T07:0"),  # UTC',
            steps="""\
      - tool: automations
        args:
          action: add
          job:
            name: orders
            schedule: {kind: cron, expr: "0 8 * * *", tz: Europe/Berlin}
            sessionTarget: isolated
            payload: {kind: agentTurn, message: "Remind sam by chat to look at the new orders."}
            delivery: {mode: none}
""",
            timeline="  - advance_to: 2026-03-03T08:15\n",
            turns="""\
  - steps:
      - {tool: message, args: {action: send, channel: messenger, target: sam, message: Please look at the new orders.}}
    answer: NO_REPLY
""",
        ),
        "service": Part(
            needs=("chat",),
            ask="My mails are at http://127.0.0.1:8025/mails.",
            criterion="the owner learns what a mail says that comes later",
            point='"mail": said("sam", "A-9"),',
            steps="",
            service="  - {name: mail, command: [python3, mail.py], folder: mail, port: 8025}\n",
            timeline="""\
  - {service: mail, path: /mails, body: {from: ida, text: Please cancel A-9 as well.}}
  - message: Is there a new mail, and which order is it about?
""",
            turns="""\
  - answer: NO_REPLY
  - steps:
      - {tool: exec, args: {command: "python3 -c 'import urllib.request as u; print(u.urlopen(\\"http://127.0.0.1:8025/mails\\").read())'"}}
    answer: Ida asks you to cancel A-9.
""",
            files=(("files/mail/mail.py", _MAIL),),
        ),
    }
)

_CHECK = '''\
## Automated Checks

```python
# {canary}
def grade(transcript: list[dict], workspace_path: str, chat: list[dict]) -> dict[str, float]:
    """Look at what was written to files, and to whom what was said."""
    from pathlib import Path

    sent = [one for one in chat if one["from"] == "assistant"]

    def read(name: str) -> str:
        try:
            return Path(workspace_path, name).read_text(encoding="utf-8-sig", errors="replace")
        except OSError:
            return ""

    def said(to: str, word: str, at: str = "") -> float:
        return float(any(one["to"] == to and word in one["text"] and one["at"].startswith(at) for one in sent))

    return {
        "number": float(read("count.txt").strip() == "2"),
        {points}
    }
```

'''


def with_needed(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of parts together with those that they need, in the order of PARTS.

    Raises ConfigError for an unknown one.
    """
    if unknown := [name for name in names if name not in PARTS]:
        raise ConfigError(f"--with does not know {unknown[0]!r}: there are {', '.join(PARTS)}.")
    wanted = {*names, *(needed for name in names for needed in PARTS[name].needs)}
    return tuple(name for name in PARTS if name in wanted)


def head_of(names: Sequence[str]) -> str:
    """Return the lines of the head that these parts add."""
    abilities = [name for name in names if name not in {"clock", "service"}]
    lines = [f"abilities: [{', '.join(abilities)}]\n"] if abilities else []
    lines += [PARTS[name].head for name in names]
    services = "".join(PARTS[name].service for name in names)
    timeline = "".join(PARTS[name].timeline for name in names)
    lines += [f"{key}:\n{items}" for key, items in (("services", services), ("timeline", timeline)) if items]
    return "".join(lines)


def check_of(names: Sequence[str], *, canary: str) -> str:
    """Return the section of the check, with a point for each of these parts."""
    points = "\n        ".join(PARTS[name].point for name in names)
    return _CHECK.replace("{canary}", canary).replace("{points}", points)
