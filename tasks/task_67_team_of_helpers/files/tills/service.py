"""The tills of five cafés, which list their receipts; one of them was offline and hands in some of its receipts late.

`state.json` in the working directory has the receipts by café, and which come late. A café's late receipts are listed once
each café's list has been read to its end. Every call is a line of JSON on stdout.
"""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from urllib.parse import parse_qsl, urlsplit

PAGE = 50


class Tills:
    def __init__(self, state, write):
        self.receipts, self.late, self.write = state["receipts"], state["late"], write
        self.read = set()

    def call(self, target):
        """Answer one call with (status, answer), and write it to the journal. Never raises for what a caller sends."""
        status, answer = self.handle(target)
        self.write({"path": target[:200], "status": status})
        return status, answer

    def handle(self, target):
        url = urlsplit(target)
        place, query = url.path.strip("/").split("/"), dict(parse_qsl(url.query))
        if len(place) != 2 or place[0] not in self.receipts or place[1] != "receipts":
            return 404, {"error": "no such place"}
        page = int(query["page"]) if query.get("page", "").isdecimal() else 1
        late = self.late if len(self.read) < len(self.receipts) else []
        listed = [one for one in self.receipts[place[0]] if one["id"] not in late]
        if page * PAGE >= len(listed):
            self.read.add(place[0])
        return 200, {
            "items": listed[(page - 1) * PAGE : page * PAGE],
            "next": page + 1 if page * PAGE < len(listed) else None,
        }


def serve(tills):
    lock = Lock()

    class Handler(BaseHTTPRequestHandler):
        timeout = 20

        def do_GET(self):
            if self.path == "/health":
                return self.send(200, {"tills": "open"})
            with lock:
                status, answer = tills.call(self.path)
            return self.send(status, answer)

        def send(self, status, answer):
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            """Stay silent: the journal is what is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler)
    server.handle_error = lambda *_: None  # a caller that hangs up; nothing but the journal is printed
    server.serve_forever()


if __name__ == "__main__":
    given = json.loads(Path("state.json").read_text(encoding="utf-8"))
    serve(Tills(given, lambda entry: print(json.dumps(entry), flush=True)))
