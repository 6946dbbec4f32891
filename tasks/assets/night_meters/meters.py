"""The districts' meters: an HTTP service. What it prints is the journal of all readings."""

import json
import os
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

DATA = json.loads(Path(__file__).with_name("districts.json").read_text())
BUSY = Lock()
LEFT = {name: one["readings"] for name, one in DATA["districts"].items()}


def reached(one, closed):
    """Return the blocks that still get water when these valves are turned; some of them don't shut."""
    shut = set(closed) - set(one["passing"])
    near = {}
    for valve, (a, b) in one["valves"].items():
        if valve not in shut:
            near.setdefault(a, []).append(b)
            near.setdefault(b, []).append(a)
    found, todo = {one["inlet"]}, [one["inlet"]]
    while todo:
        for block in near.get(todo.pop(), ()):
            if block not in found:
                found.add(block)
                todo.append(block)
    return found


def wobble(*what):
    """Return a number near 0, nearly normal with a deviation of 1, and always the same for the same words."""
    digest = sha256(" ".join(map(str, what)).encode()).digest()
    return (sum(digest[:12]) / 255) - 6


def reading(name, closed):
    """Return what the meter shows, in tenths of a litre a minute."""
    one = DATA["districts"][name]
    blocks = reached(one, closed)
    number = one["readings"] - LEFT[name]
    flow = sum(one["leaks"].get(block, 0) for block in blocks)
    used = sum(10 + 5 * wobble(DATA["form"], name, number, block) for block in sorted(blocks))
    return max(0, flow + round(used + one["error"] * wobble(DATA["form"], name, number, "meter")))


class Handler(BaseHTTPRequestHandler):
    wbufsize = -1  # an answer is one packet
    timeout = 60

    def reply(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path == "/health":
            self.reply(200, {"ready": True})
        elif self.path == "/districts":
            self.reply(200, {"readings_left": LEFT})
        else:
            self.reply(404, {"error": "no such thing"})

    def do_POST(self):
        try:
            text = self.rfile.read(min(100_000, max(0, int(self.headers.get("Content-Length") or 0))))
        except ValueError:
            text = b""
        _, *parts = self.path.split("/")
        if len(parts) != 3 or parts[0] != "districts" or parts[1] not in LEFT or parts[2] != "reading":
            return self.reply(404, {"error": "no such thing"})
        name = parts[1]
        try:
            closed = json.loads(text)["closed"]
            unknown = [one for one in closed if one not in DATA["districts"][name]["valves"]]
        except (ValueError, KeyError, TypeError, RecursionError):
            return self.reply(422, {"error": 'the body must be like {"closed": ["V01"]}'})
        if unknown or not isinstance(closed, list):
            return self.reply(422, {"error": f"this district has no valves {unknown[:5]}"})
        with BUSY:
            if not LEFT[name]:
                return self.reply(409, {"error": "no readings are left in this district"})
            litres = reading(name, closed) / 10
            LEFT[name] -= 1
            print(DATA["form"], name, litres, *sorted(set(closed)), flush=True)
        return self.reply(200, {"litres_a_minute": litres, "readings_left": LEFT[name]})

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, *_):
        """A client that went away is none of the journal's business."""


if __name__ == "__main__":
    Server(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
