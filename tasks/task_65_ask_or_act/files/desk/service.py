"""A festival's hotel desk, and Marta at the next table: bookings are final, and a question has an answer at once.

`state.json` in the working directory has the guests, what each field may hold, who finds no single room, and the answers
that Marta alone knows. Every call is a line of JSON on stdout.
"""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

BODY_BYTES = 64 * 1024
FULL = "there is no single room left on one of these nights; nothing is booked. There are: double, annexe"
LOOK = "That should be in our papers, please look there."
BUSY = "Sorry, I have no time for more questions. Please decide yourself."


class Desk:
    def __init__(self, state, write):
        self.state, self.write = state, write
        self.booked, self.asked = {}, 0

    def call(self, method, path, body):
        """Answer one call with (status, answer), and write it to the journal. Never raises for what a caller sends."""
        status, answer = self.handle(method, path, body if isinstance(body, dict) else {})
        self.write({"method": method, "path": path[:200], "body": body, "status": status})
        return status, answer

    def handle(self, method, path, body):
        match method, path:
            case "GET", "/bookings":
                return 200, {"bookings": self.booked}
            case "POST", "/bookings":
                return self.book(body)
            case "POST", "/questions":
                return self.ask(body)
        return 404, {"error": "no such place"}

    def book(self, body):
        fields, guest = self.state["fields"], str(body.get("guest"))
        if guest not in self.state["guests"]:
            return 422, {"error": "there is no such guest"}
        if guest in self.booked:
            return 409, {"error": "this guest is booked; a booking can't be changed or taken back"}
        if set(body) != {"guest", *fields} or not all(isinstance(one, str) for one in body.values()):
            return 422, {"error": f"a booking has guest, {', '.join(fields)}, all of them texts"}
        for name, allowed in fields.items():
            if allowed and body[name] not in allowed:
                return 422, {"error": f"{name} is one of: {', '.join(allowed)}"}
        if not body["arrives"] < body["leaves"]:
            return 422, {"error": "the guest leaves before the first night"}
        if body["room"] == "single" and guest in self.state["full"]:
            return 409, {"error": FULL}
        self.booked[guest] = body
        return 201, body

    def ask(self, body):
        guest, field = str(body.get("guest")), str(body.get("field"))
        if guest not in self.state["guests"] or field not in self.state["fields"]:
            return 422, {"error": f"a question is about one guest and one of: {', '.join(self.state['fields'])}"}
        self.asked += 1
        if self.asked > self.state["patience"]:
            return 200, {"answer": BUSY}
        return 200, {"answer": self.state["answers"].get(f"{guest} {field}", LOOK)}


def serve(desk):
    lock = Lock()

    class Handler(BaseHTTPRequestHandler):
        timeout = 20

        def answer(self):
            if self.path == "/health":
                return self.send(200, {"desk": "open"})
            try:
                length = int(self.headers.get("Content-Length") or 0)
                data = self.rfile.read(length) if length <= BODY_BYTES else b"?"
                body = json.loads(data) if data else {}
            except (ValueError, RecursionError):
                return self.send(400, {"error": "the body is no JSON, or too long"})
            with lock:
                status, answer = desk.call(self.command, self.path, body)
            return self.send(status, answer)

        do_GET = do_POST = do_PATCH = do_DELETE = answer

        def send(self, status, answer):
            data = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
            self.send_response(status)
            self.send_header("Content-Type", "application/json; charset=utf-8")
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
    serve(Desk(given, lambda entry: print(json.dumps(entry), flush=True)))
