"""The houses' trading desk: an HTTP service. What it prints is the journal of all that was said."""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

from seller import answer, begun

DATA = json.loads(Path(__file__).with_name("lots.json").read_text())
BUSY = Lock()
STATES = {name: ("open", begun(lot)) for name, lot in DATA["lots"].items()}


def shown(name):
    said, (number, ask, offer, _, _) = STATES[name]
    return {"lot": name, "state": said, "round": number, "ask": ask, "your_last_offer": offer}


def offered(name, offer):
    """Carry out an offer, or with None take the seller's ask. Returns a status and an answer."""
    said, state = STATES[name]
    if said in ("accepted", "ended"):
        return 409, {"error": f"this lot is over: {said}"}
    if offer is None or (said == "last ask" and offer >= state[1]):
        said, state = "accepted", (*state[:2], state[1], *state[3:])
    elif said == "last ask":
        said, state = "ended", state
    else:
        said, state = answer(DATA["lots"][name], state, offer)
    STATES[name] = said, state
    print(DATA["form"], name, said, state[1], flush=True)
    return 200, shown(name)


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
        elif parts == ["lots"]:
            self.reply(200, {"lots": [shown(name) for name in STATES]})
        elif len(parts) == 2 and parts[0] == "lots" and parts[1] in STATES:
            self.reply(200, shown(parts[1]))
        else:
            self.reply(404, {"error": "no such thing"})

    def do_POST(self):
        try:
            text = self.rfile.read(min(10_000, max(0, int(self.headers.get("Content-Length") or 0))))
        except ValueError:
            text = b""
        _, *parts = self.path.split("/")
        if len(parts) != 3 or parts[0] != "lots" or parts[1] not in STATES or parts[2] not in ("offer", "take"):
            return self.reply(404, {"error": "no such thing"})
        offer = None
        if parts[2] == "offer":
            try:
                offer = json.loads(text)["price"]
            except (ValueError, KeyError, TypeError, RecursionError):
                offer = None
            if type(offer) is not int or not 1 <= offer <= 1_000_000:
                return self.reply(422, {"error": "price must be a whole number from 1 to 1000000"})
        with BUSY:
            return self.reply(*offered(parts[1], offer))

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, *_):
        """A client that went away is none of the journal's business."""


if __name__ == "__main__":
    Server(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
