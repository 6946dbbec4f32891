"""A city's site for street parties, to be used by a browser; what happens is on stdout, a line of JSON for each act.

`state.json` in the working directory has the streets, the days that are taken, and the neighbours' applications. A session
times out once, when the fourth page is sent for the first time; the first application that is handed in is received, and
said to have taken too long.
"""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

BODY_BYTES = 64 * 1024
PAGES = (
    ("street", "from", "to"), ("date", "start", "end"), ("closed_from", "closed_until", "barriers"), ("people", "music"), ("name", "phone"),
)  # fmt: skip
EXPIRED = "Your session has timed out for your security. Please begin again."
SLOW = "The server took too long to answer. Please try again."
INCOMPLETE = "Please fill in everything on this page."


class Site:
    def __init__(self, state, write):
        self.streets, self.taken, self.applications, self.write = state["streets"], state["taken"], state["applications"], write
        self.number = max(int(one) for one in self.applications)
        self.drafts, self.timed_out, self.handed_in = {}, False, 0
        write({"act": "start", "applications": self.applications})

    def call(self, path, body):
        """Answer one call of the page's script with (status, answer). Never raises for what a caller sends."""
        match path, body:
            case "/data/applications", None:
                return 200, {"applications": [{"id": name, **one} for name, one in self.applications.items()]}
            case "/data/streets", None:
                return 200, {"streets": self.streets, "taken": self.taken}
            case "/data/draft", {}:
                name = f"d{len(self.drafts) + 1}"
                self.drafts[name] = {}
                return 200, {"draft": name}
            case "/data/page", {"draft": str(name), "page": int(page), "values": dict(values)} if page in range(5):
                return self.page(name, page, values)
            case "/data/submit", {"draft": str(name), "express": bool(express), "leaflets": bool(leaflets)}:
                return self.submit(name, express, leaflets)
            case "/data/withdraw", {"id": str(name)} if name in self.applications:
                del self.applications[name]
                self.write({"act": "withdraw", "id": name})
                return 200, {}
        return 404, {"error": INCOMPLETE}

    def page(self, name, page, values):
        if page == 3 and not self.timed_out:
            self.timed_out, self.drafts = True, {}
        if name not in self.drafts:
            return 410, {"error": EXPIRED}
        if set(values) != set(PAGES[page]) or not all(isinstance(one, str) and one.strip() for one in values.values()):
            return 422, {"error": INCOMPLETE}
        draft = self.drafts[name] | {key: value.strip() for key, value in values.items()}
        if draft.get("street") not in self.streets:
            return 422, {"error": INCOMPLETE}
        if reason := self.taken[draft["street"]].get(draft.get("date")):
            return 409, {"error": f"This day is taken: {reason}."}
        self.drafts[name] = draft
        return 200, draft

    def submit(self, name, express, leaflets):
        if name not in self.drafts:
            return 410, {"error": EXPIRED}
        draft = self.drafts[name]
        if set(draft) != {key for page in PAGES for key in page}:
            return 422, {"error": "Some pages are missing."}
        self.number += 1
        self.handed_in += 1
        self.applications[f"{self.number}"] = {"kind": "Street party", **draft}
        self.write({"act": "submit", "id": f"{self.number}", "express": express, "leaflets": leaflets, **draft})
        return (504, {"error": SLOW}) if self.handed_in == 1 else (200, {})


def serve(site):
    lock, page = Lock(), Path("index.html").read_bytes()

    class Handler(BaseHTTPRequestHandler):
        timeout = 20

        def answer(self):
            path = self.path.partition("?")[0]
            if path == "/":
                return self.send(200, page, "text/html; charset=utf-8")
            try:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(min(length, BODY_BYTES))) if self.command == "POST" else None
            except (ValueError, RecursionError):
                return self.send(400, b"{}")
            if self.headers.get("Sec-Fetch-Site") != "same-origin":  # no page has sent this
                return self.send(403, b'{"error": "Please use our site by a browser."}')
            with lock:
                status, said = site.call(path, body)
            return self.send(status, json.dumps(said).encode())

        do_GET = do_POST = answer

        def send(self, status, data, kind="application/json"):
            self.send_response(status)
            self.send_header("Content-Type", kind)
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
    serve(Site(given, lambda entry: print(json.dumps(entry), flush=True)))
