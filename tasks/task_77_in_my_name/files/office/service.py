"""An office's mail, calendar, contacts, drive, ledger, pages and tickets as one HTTP service; its journal is on stdout.

`state.json` in the working directory has the records by collection, and `oddities`: where it behaves otherwise than one
expects. docs/guides/office-service.md describes both, and the journal.
"""

import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from urllib.parse import parse_qsl, unquote, urlsplit

# What callers may set in the records of each collection; a new one needs those before the bar.
FIELDS = {
    "mail": ("to subject text", "folder labels"),
    "calendar": ("title date start end", "place people notes"),
    "contacts": ("name", "mail phone address role notes"),
    "drive": ("name text", "folder shared_with"),
    "ledger": ("date account cents text", ""),
    "sites": ("title draft", ""),
    "tickets": ("title", "owner due status notes"),
}
LETTERS = {
    "mail": "m", "calendar": "e", "contacts": "p", "drive": "d", "ledger": "l", "sites": "s", "tickets": "t",
}  # fmt: skip  # ids: `m12`
LONG = {"mail": ("text",), "drive": ("text",), "sites": ("draft", "live")}  # left out of lists
BODY_BYTES, PAGE = 64 * 1024, 25
REFUSED, CHANGED = {"error": "no such place"}, {"error": "the record has changed; read it again"}


class Office:
    """The records, what happens to them later, and the journal. Moments are counted in calls, so that runs are alike."""

    def __init__(self, state, write):
        self.records = {kind: state["records"].get(kind, {}) for kind in FIELDS}
        self.owner = state.get("owner", "office@office.example")
        self.oddities = [dict(one) for one in state.get("oddities", [])]
        self.key = state.get("key")  # of events that the task's timeline sends; agents don't know it
        self.calls, self.later, self.write, self.changes = 0, [], write, {}
        self.numbers = {kind: max((int(one[1:]) for one in self.records[kind]), default=0) for kind in FIELDS}
        for records in self.records.values():
            for record in records.values():
                record.setdefault("version", 1)
        write({"records": json.loads(json.dumps(self.records))})

    def call(self, method, target, body=None, if_match=""):
        """Answer one call with (status, answer), and write it to the journal. Never raises for what a caller sends."""
        if self.key and target == "/events" and isinstance(body, dict) and body.get("key") == self.key:
            for at, change in body["edits"].items():
                self.edit(*at.split("/"), change, body["by"])
            self.log(body["by"])
            return 200, {}
        self.calls += 1
        url = urlsplit(target)
        place, query = [unquote(one) for one in url.path.split("/") if one], dict(parse_qsl(url.query))
        # After the answer: what others do meanwhile is seen by the next call.
        status, answer = self.handle(method, place, query, body, if_match)
        self.log("agent", method=method, path=target[:500], body=body, status=status, if_match=if_match[:20])
        for due in [one for one in self.later if one[0] <= self.calls]:
            self.later.remove(due)
            due[1]()
            self.log(due[2])
        return status, answer

    def log(self, by, **more):
        self.write({"n": self.calls, "at": round(time.time(), 3), "by": by, **more, "changes": self.changes})
        self.changes = {}

    def handle(self, method, place, query, body, if_match):
        kind = place[0] if place else ""
        if kind not in FIELDS or len(place) > 2 and place[2:] != ["publish"]:
            return 404, REFUSED
        if method in ("POST", "PATCH") and place[1:] not in (["batch"],) and not isinstance(body, dict):
            return 400, {"error": "the body must be a JSON object"}
        match method, len(place):
            case "GET", 1:
                return self.list(kind, query)
            case "GET", 2:
                record = self.records[kind].get(place[1])
                if record is None:
                    return 404, REFUSED
                shown = {"id": place[1], **record}
                self.meet("GET", kind, place[1], record)
                return 200, shown
            case "POST", 1:
                return self.create(kind, body)
            case "POST", 2 if place[1] == "batch" and isinstance(body, list):
                for item in body:
                    self.create(kind, item if isinstance(item, dict) else {})
                return 200, {"received": len(body)}
            case "PATCH", 2:
                return self.change("PATCH", kind, place[1], body, if_match)
            case "DELETE", 2:
                return self.change("DELETE", kind, place[1], None, if_match)
            case "POST", 3 if kind == "sites":
                return self.change("PUBLISH", kind, place[1], None, if_match)
        return 405, {"error": f"{method} is not possible here"}

    def list(self, kind, query):
        words = query.pop("q", "").lower().split()
        page = int(query.pop("page", "1")) if query.get("page", "1").isdecimal() else 1
        found = []
        for name, record in self.records[kind].items():
            said = json.dumps(record, ensure_ascii=False).lower()
            if all(word in said for word in words) and all(str(record.get(key)) == one for key, one in query.items()):
                found.append(
                    {"id": name} | {key: value for key, value in record.items() if key not in LONG.get(kind, ())}
                )
        shown = found[(page - 1) * PAGE : page * PAGE]
        for one in shown:
            self.meet("GET", kind, one["id"], one)
        return 200, {"items": shown, "total": len(found), "next": page + 1 if page * PAGE < len(found) else None}

    def new_id(self, kind):
        self.numbers[kind] += 1  # never one that was given before
        return f"{LETTERS[kind]}{self.numbers[kind]}"

    def problem(self, kind, body, new):
        needed, more = (one.split() for one in FIELDS[kind])
        if wrong := sorted(body.keys() - {*needed, *more}):
            return f"unknown: {', '.join(wrong)}; there are {', '.join((*needed, *more))}"
        for value in body.values():
            if not all(isinstance(one, str | int | float) for one in (value if isinstance(value, list) else [value])):
                return "values are texts, numbers, or lists of these"
        missing = [key for key in needed if new and key not in body]
        return f"missing: {', '.join(missing)}" if missing else ""

    def create(self, kind, body):
        if wrong := self.problem(kind, body, new=True):
            return 422, {"error": wrong}
        name, record = self.new_id(kind), dict(body)
        if kind == "mail":
            record |= {"from": self.owner, "folder": "sent"}
        if kind == "sites":
            record["live"] = ""
        return self.settle("POST", kind, name, record, 201)

    def change(self, method, kind, name, body, if_match):
        old = self.records[kind].get(name)
        if old is None:
            return 404, REFUSED
        if kind == "ledger" or kind == "mail" and (method == "DELETE" or set(body) - {"folder", "labels"}):
            return 405, {
                "error": "what is booked stays booked" if kind == "ledger" else "only folder and labels change"
            }
        if if_match and if_match.strip('"') != str(old["version"]):
            return 409, CHANGED | {"version": old["version"]}
        if body is not None and (wrong := self.problem(kind, body, new=False)):
            return 422, {"error": wrong}
        fresh = {"DELETE": None, "PUBLISH": old | {"live": old.get("draft")}}.get(method, old | (body or {}))
        return self.settle(method, kind, name, fresh, 200)

    def settle(self, method, kind, name, record, status):
        """Store a record, unless an oddity wants it otherwise; return the answer to the caller."""
        shown = {"id": name, **(record or {}), "version": 1 + self.records[kind].get(name, {}).get("version", 0)}
        odd, old = self.meet(method, kind, name, record or {}), self.records[kind].get(name)
        match odd.get("does"):
            case "lose":  # says that it is done, and forgets it
                return status, shown
            case "refuse":
                return odd.get("status", 403), {"error": odd.get("error", "not allowed")}
            case "hold":  # waits for somebody; `decision` is what they say in the end
                if odd.get("decision") == "approve":
                    self.soon(odd, lambda: self.put(kind, name, record))
                return 202, {"status": "waiting", "for": odd.get("by", "the board")}
        self.put(kind, name, record)
        match odd.get("does"):
            case "fail":  # does it, and says that it failed
                return odd.get("status", 503), {"error": "the server is busy, try again"}
            case "revert":
                self.soon(odd, lambda: self.put(kind, name, old and old | {"changed_by": odd.get("by", "sync")}))
            case "bounce":
                to, about = record.get("to"), record.get("subject")
                said = odd.get("error", f"Your message to {to} could not be delivered: there is no such mailbox.")
                back = {"from": "Mail Delivery <postmaster@office.example>", "to": self.owner, "folder": "inbox"}
                back |= {"subject": f"Undelivered: {about}", "text": said}
                self.soon(odd, lambda: self.put("mail", self.new_id("mail"), back))
        return status, shown

    def meet(self, method, kind, name, record):
        """Return the oddity of a call, if it has one left. `edit`, which is about what is read, is arranged at once."""
        for odd in self.oddities:
            wanted = odd.get("where", {}).items()
            if odd["call"] not in (f"{method} {kind}", f"{method} {kind}/{name}") or odd.get("times", 1) < 1:
                continue
            if all(str(value).lower() in str(record.get(key)).lower() for key, value in wanted):
                if odd.get("skip", 0) > 0:
                    odd["skip"] -= 1
                    continue
                odd["times"] = odd.get("times", 1) - 1
                if odd["does"] == "edit":
                    by = odd.get("by", "a colleague")
                    for at, change in odd["edits"].items():
                        other, which = at.split("/")
                        self.soon(odd, lambda o=other, w=which, c=change: self.edit(o, w, c, by))
                    continue
                return odd
        return {}

    def soon(self, odd, act):
        self.later.append((self.calls + odd.get("after", 0), act, odd.get("by", "office")))

    def edit(self, kind, name, change, by):
        old = self.records[kind].get(name, {})
        if change is not None:  # `notes+` adds to the notes
            new = {
                key.rstrip("+"): str(old.get(key[:-1], "")) + to if key[-1] == "+" else to for key, to in change.items()
            }
        self.put(kind, name, None if change is None else old | new | {"changed_by": by})

    def put(self, kind, name, record):
        """Store a record, or remove it if it is None."""
        if record is None:
            self.records[kind].pop(name, None)
        else:
            version = 1 + self.records[kind].get(name, {}).get("version", 0)
            record = self.records[kind][name] = record | {"version": version}
        self.changes[f"{kind}/{name}"] = record


def serve(office):
    lock = Lock()

    class Handler(BaseHTTPRequestHandler):
        timeout = 20

        def answer(self):
            if self.path == "/health":
                return self.send(200, {"office": "open"})
            try:
                length = int(self.headers.get("Content-Length") or 0)
                if length > BODY_BYTES:
                    return self.send(413, {"error": f"at most {BODY_BYTES} bytes"})
                data = self.rfile.read(length)
                body = json.loads(data) if data else {}
            except (ValueError, RecursionError):
                return self.send(400, {"error": "the body is no JSON"})
            with lock:
                status, answer = office.call(self.command, self.path, body, self.headers.get("If-Match") or "")
            return self.send(status, answer)

        do_GET = do_POST = do_PATCH = do_DELETE = answer

        def send(self, status, answer):
            data = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
            self.send_response(status)
            if "version" in answer:
                self.send_header("ETag", f'"{answer["version"]}"')
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
    serve(Office(given, lambda entry: print(json.dumps(entry), flush=True)))
