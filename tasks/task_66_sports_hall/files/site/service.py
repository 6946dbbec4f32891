"""A sports hall's booking site, to be used by a browser; what happens is on stdout, a line of JSON for each act.

`state.json` in the working directory has the bookings, whose are whose, and the details. The first confirmation that comes
is said to have timed out and has; the second is said to have failed, and has not.
"""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from urllib.parse import parse_qsl, urlsplit

BODY_BYTES = 64 * 1024
ROOMS = {"Court A": 12, "Court B": 12, "Small hall": 30}
TIMES = [f"{hour:02d}:00" for hour in range(9, 21)]
FIRST_DAY = "2026-09-21"
EXPIRED = "Your session has timed out. Please enter the booking again."
SLOW = "The server took too long to answer. Please try again."


class Site:
    def __init__(self, state, write):
        self.bookings, self.profile, self.write = state["bookings"], state["profile"], write
        self.number = max(int(one) for one in self.bookings)
        self.drafts, self.confirmed = {}, 0
        write({"act": "start", "bookings": self.bookings, "profile": self.profile})

    def call(self, path, query, body):
        """Answer one call of the page's script with (status, answer). Never raises for what a caller sends."""
        match path, body:
            case "/data/bookings", None:
                mine = [{"id": name, **one} for name, one in self.bookings.items() if one["mine"]]
                return 200, {"bookings": sorted(mine, key=lambda one: (one["date"], one["time"]))}
            case "/data/times", None:
                taken = {one["time"] for one in self.at(query.get("room"), query.get("date"))}
                return 200, {"times": [{"time": one, "taken": one in taken} for one in TIMES]}
            case "/data/profile", None:
                return 200, self.profile
            case "/data/profile", {"phone": str(phone)}:
                self.profile["phone"] = phone
                self.write({"act": "profile", "phone": phone})
                return 200, self.profile
            case "/data/cancel", {"id": str(name)} if self.bookings.get(name, {}).get("mine"):
                del self.bookings[name]
                self.write({"act": "cancel", "id": name})
                return 200, {}
            case "/data/draft", {"room": str(room), "date": str(day), "time": str(time), "title": str(title), "people": people}:
                return self.draft(room, day, time, title.strip(), str(people))
            case "/data/confirm", {"draft": str(name), "pass": bool(with_pass)} if name in self.drafts:
                return self.confirm(name, with_pass)
        return 404, {"error": "Something is missing: please fill in everything."}

    def at(self, room, day):
        return [one for one in self.bookings.values() if (one["room"], one["date"]) == (room, day)]

    def draft(self, room, day, time, title, people):
        if room not in ROOMS or day < FIRST_DAY or time not in TIMES or not title or not people.isdecimal():
            return 422, {"error": "Something is missing: please fill in everything."}
        if time in {one["time"] for one in self.at(room, day)}:
            return 409, {"error": "This time is taken."}
        if not 0 < int(people) <= ROOMS[room]:
            return 422, {"error": f"{room} takes at most {ROOMS[room]} people."}
        name = f"d{len(self.drafts) + 1}"
        self.drafts[name] = {"room": room, "date": day, "time": time, "title": title, "people": int(people)}
        return 200, {"draft": name, **self.drafts[name]}

    def confirm(self, name, with_pass):
        self.confirmed += 1
        if with_pass:
            self.write({"act": "pass"})
        if self.confirmed == 1:
            del self.drafts[name]
            return 410, {"error": EXPIRED}
        self.number += 1
        self.bookings[f"{self.number}"] = self.drafts[name] | {"mine": True}
        self.write({"act": "book", "id": f"{self.number}", **self.drafts[name]})
        return (504, {"error": SLOW}) if self.confirmed == 2 else (200, {})


def serve(site):
    lock, page = Lock(), Path("index.html").read_bytes()

    class Handler(BaseHTTPRequestHandler):
        timeout = 20

        def answer(self):
            url = urlsplit(self.path)
            if url.path == "/":
                return self.send(200, page, "text/html; charset=utf-8")
            try:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(min(length, BODY_BYTES))) if self.command == "POST" else None
            except (ValueError, RecursionError):
                return self.send(400, b"{}")
            if self.headers.get("Sec-Fetch-Site") != "same-origin":  # no page has sent this
                return self.send(403, b'{"error": "Please use our site by a browser."}')
            with lock:
                status, said = site.call(url.path, dict(parse_qsl(url.query)), body)
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
