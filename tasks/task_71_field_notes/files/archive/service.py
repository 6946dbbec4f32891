"""An archive of field notes behind an HTTP search; its journal on stdout has the text of each note when it is first shown."""

import gzip
import json
import os
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from urllib.parse import parse_qsl, urlsplit

PAGE = 10
EXCERPT_CHARS = 90
NOTES = json.loads(gzip.decompress(Path("notes.json.gz").read_bytes()))
WORDS = {name: set(re.findall(r"\w+", f"{name} {note['text']}".lower())) for name, note in NOTES.items()}
LOCK, SHOWN = Lock(), set()


def show(names):
    """Write to the journal what the agent sees for the first time."""
    with LOCK:
        fresh = {name: NOTES[name]["text"] for name in names if name not in SHOWN}
        SHOWN.update(fresh)
        if fresh:
            print(json.dumps({"shown": fresh}), flush=True)


def search(query):
    """Return the notes that have all words, newest first."""
    words = re.findall(r"\w+", query.get("q", "").lower())
    page = int(query["page"]) if query.get("page", "").isdecimal() else 1
    found = [name for name in reversed(NOTES) if words and all(word in WORDS[name] for word in words)]
    items = found[max(0, page - 1) * PAGE : page * PAGE]
    show(items)
    return {
        "total": len(found),
        "items": [
            {"id": name, "date": NOTES[name]["date"], "begins": NOTES[name]["text"][:EXCERPT_CHARS]} for name in items
        ],
    }


class Handler(BaseHTTPRequestHandler):
    timeout = 20

    def do_GET(self):
        url = urlsplit(self.path)
        name = url.path.removeprefix("/notes/")
        if url.path == "/search":
            return self.send(200, search(dict(parse_qsl(url.query))))
        if url.path == "/health":
            return self.send(200, {"notes": len(NOTES)})
        if name in NOTES:
            show([name])
            return self.send(200, {"id": name, **NOTES[name]})
        return self.send(404, {"error": "use /search?q=words&page=1, or /notes/ID"})

    def send(self, status, answer):
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Stay silent: the journal is what is printed."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler)
    server.handle_error = lambda *_: None  # a caller that hangs up
    server.serve_forever()
