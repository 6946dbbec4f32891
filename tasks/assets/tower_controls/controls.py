"""The towers' controls: an HTTP service. What it prints is the journal of all that was done."""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

from tower import CLEAN, SETTINGS, Tower

DATA = json.loads(Path(__file__).with_name("towers.json").read_text())
TOWERS = {name: Tower(one) for name, one in DATA["towers"].items()}
BUSY = Lock()


def shown(name):
    tower = TOWERS[name]
    kwh, short, spilt, what = tower.seen
    notices = [text for hour, text in tower.one["notices"] if hour <= tower.hour]
    return {
        "tower": name,
        "hour": tower.hour,
        "left": tower.left,
        "level": tower.reading,
        "setting": tower.setting,
        "kwh": kwh,
        "event": what,
        "short": short / 10,
        "spilt": spilt / 10,
        "cost": tower.cost,
        "notices": notices,
    }


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
        _, *parts = self.path.split("/")
        if parts == ["health"]:
            self.reply(200, {"ready": True})
        elif parts == ["towers"]:
            self.reply(200, {"towers": [shown(name) for name in TOWERS]})
        elif len(parts) == 2 and parts[0] == "towers" and parts[1] in TOWERS:
            self.reply(200, shown(parts[1]))
        else:
            self.reply(404, {"error": "no such thing"})

    def do_POST(self):
        try:
            text = self.rfile.read(min(10_000, max(0, int(self.headers.get("Content-Length") or 0))))
        except ValueError:
            text = b""
        _, *parts = self.path.split("/")
        if len(parts) != 3 or parts[0] != "towers" or parts[1] not in TOWERS or parts[2] != "hours":
            return self.reply(404, {"error": "no such thing"})
        try:
            orders = json.loads(text)["settings"]
        except (ValueError, KeyError, TypeError, RecursionError):
            orders = None
        if not isinstance(orders, list) or not all(one == CLEAN or type(one) is int and one in SETTINGS for one in orders):
            return self.reply(422, {"error": 'settings must be a list of 0, 1, 2, 3, 4, 5 and "clean"'})
        with BUSY:
            return self.run(parts[1], orders)

    def run(self, name, orders):
        tower = TOWERS[name]
        if len(orders) > tower.left:
            return self.reply(409, {"error": f"only {tower.left} hours are left"})
        hours = []
        for order in orders:
            tower.step(order)
            print(DATA["form"], name, tower.hour, order, tower.cost, "" if tower.left else "done", flush=True)
            hours.append(shown(name))
        return self.reply(200, {"hours": hours})

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, *_):
        """A client that went away is none of the journal's business."""


Server(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
