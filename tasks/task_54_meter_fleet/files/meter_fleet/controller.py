"""The fleet's controller: `python3 controller.py` serves it on this machine until it is ended; API.md says how to use it.

It listens on a free port of 127.0.0.1, whose number it writes to `port.txt`, and keeps everything in `fleet.state`, both in
its own folder. Started again, it goes on where it was.
"""

import base64
import hashlib
import json
import os
import re
import socket
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

HERE = Path(__file__).resolve().parent
STATE, PORT = HERE / "fleet.state", HERE / "port.txt"
PAGE = 16


def veil(data):
    mask = hashlib.shake_256(b"fleet").digest(len(data))
    return (int.from_bytes(data, "big") ^ int.from_bytes(mask, "big")).to_bytes(len(data), "big")


class Refused(Exception):
    """An answer other than success: its status and its error code."""

    def __init__(self, status, code):
        super().__init__(code)
        self.status, self.code = status, code


class Fleet:
    def __init__(self):
        self.state = json.loads(veil(base64.b64decode(STATE.read_text())))
        self.devices = self.state["devices"]

    def save(self):
        draft = STATE.with_suffix(".tmp")
        draft.write_text(base64.b64encode(veil(json.dumps(self.state).encode())).decode() + "\n")
        os.replace(draft, STATE)

    @property
    def tick(self):
        return self.state["tick"]

    def note(self, what, device, *more):
        self.state["events"].append([self.tick, what, device, *more])

    def settle(self, one):
        """What has happened to a device since it was looked at last."""
        if one["dead"]:
            return
        if one["installing"] and self.tick >= one["ready_at"]:
            one["staged"], one["installing"] = one["installing"], ""
        if one["down_until"] and self.tick >= one["down_until"]:
            one["up_at"], one["down_until"] = one["down_until"], 0
            if one["staged"]:
                target, one["staged"] = one["staged"], ""
                if target == "back":
                    one["version"], one["previous"], one["sick_at"] = one["previous"], "", 0
                    one["interval"] = 60
                elif one["hardware"] == "A" or one["charge"] < 40:
                    one["dead"] = True
                elif one["stubborn"] > 0:
                    one["stubborn"] -= 1
                else:
                    one["previous"], one["version"] = one["version"], target
                    if one["hardware"] == "C":
                        one["interval"] = 60
                    if one["hardware"] == "D" or one["weak"]:
                        one["sick_at"] = one["up_at"] + 4

    def is_online(self, one):
        return not one["dead"] and not one["down_until"] and self.tick >= one["online_from"]

    def etag(self, name, one):
        told = f"{name} {one['boots']} {one['interval']}"
        return f'"{hashlib.sha256(told.encode()).hexdigest()[:8]}"'

    def page(self, query):
        after = query.get("after", [""])[0]
        names = [name for name in sorted(self.devices) if name > after]
        rows = []
        for name in names[:PAGE]:
            one = self.devices[name]
            self.settle(one)
            rows.append({"id": name, "site": one["site"], "role": one["role"], "online": self.is_online(one)})
        return 200, {"tick": self.tick, "devices": rows}, {}

    def show(self, name, one):
        online = self.is_online(one)
        health = "unknown" if not online else "bad" if one["sick_at"] and self.tick >= one["sick_at"] else "good"
        told = {key: one[key] for key in ("site", "role", "hardware", "version", "interval")}
        self.note("show", name, one["version"], health)
        told |= {"id": name, "online": online, "health": health, "battery": one["told"]}
        told["update"] = "installing" if one["installing"] else "staged" if one["staged"] else "none"
        return 200, {"tick": self.tick, **told}, {"ETag": self.etag(name, one)}

    def act(self, name, one, action, data, match):
        if action == "config":
            if match.strip() != self.etag(name, one):
                raise Refused(412, "changed_meanwhile")
            value = (data or {}).get("interval") if isinstance(data, dict) else None
            if type(value) is not int or not 5 <= value <= 3600:
                raise Refused(400, "bad_interval")
            one["interval"] = value
            self.note("config", name, value)
            return 200, {"tick": self.tick, "interval": value}, {"ETag": self.etag(name, one)}
        if action == "battery":
            if not isinstance(data, dict) or data.get("serial") != one["serial"] or not one["serial"]:
                raise Refused(422, "unknown_serial")
            one["charge"], one["told"] = 96, None
            self.note("battery", name)
            return 200, {"tick": self.tick}, {}
        if not self.is_online(one):
            raise Refused(409, "offline")
        if action == "ping":
            one["told"] = one["charge"]
            self.note("ping", name)
            return 200, {"tick": self.tick, "battery": one["charge"]}, {}
        if action == "reboot":
            one["down_until"], one["boots"] = self.tick + 4, one["boots"] + 1
            self.note("reboot", name)
            return 202, {"tick": self.tick}, {}
        if one["installing"] or one["staged"]:
            raise Refused(409, "busy")
        if action == "rollback":
            if not one["previous"]:
                raise Refused(409, "nothing_to_go_back_to")
            one["staged"] = "back"
        else:
            version = data.get("version") if isinstance(data, dict) else None
            if version not in ("2.5.0", "2.4.9"):
                raise Refused(400, "bad_version")
            one["installing"], one["ready_at"] = version, self.tick + 6
        self.note(action, name)
        return 202, {"tick": self.tick}, {}

    def route(self, method, path, query, data, match):
        if (method, path) == ("POST", "/wait"):
            ticks = data.get("ticks") if isinstance(data, dict) else None
            if type(ticks) is not int or not 1 <= ticks <= 100:
                raise Refused(400, "bad_ticks")
            self.state["tick"] += ticks
            return 200, {"tick": self.tick}, {}
        self.state["tick"] += 1
        if (method, path) == ("GET", "/devices"):
            return self.page(query)
        found = re.fullmatch(r"/devices/(D-\d+)(?:/(\w+))?", path)
        if not found or found[1] not in self.devices:
            raise Refused(404, "no_such_device")
        one = self.devices[found[1]]
        self.settle(one)
        if method == "GET" and not found[2]:
            return self.show(found[1], one)
        wanted = "PUT" if found[2] == "config" else "POST"
        if method != wanted or found[2] not in ("config", "battery", "ping", "reboot", "rollback", "upgrade"):
            raise Refused(404, "no_such_place")
        answer = self.act(found[1], one, found[2], data, match)
        self.state["orders"] += 1
        if self.state["orders"] % 9 == 4:
            raise Refused(503, "try_again")
        if self.state["orders"] % 9 == 8 and found[2] == "upgrade":  # taken back again
            one["installing"] = ""
            self.state["events"].pop()
            raise Refused(503, "try_again")
        return answer


class Handler(BaseHTTPRequestHandler):
    fleet = None
    wbufsize = -1  # one write for head and body

    def answer(self):
        place = urlsplit(self.path)
        headers = {}
        try:
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length) if length else b""
            try:
                data = json.loads(raw) if raw else None
            except ValueError:
                raise Refused(400, "bad_json") from None
            match = self.headers.get("If-Match") or ""
            status, content, headers = self.fleet.route(self.command, place.path, parse_qs(place.query), data, match)
        except Refused as refused:
            status, content = refused.status, {"error": refused.code, "tick": self.fleet.tick}
        self.fleet.save()
        out = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(out)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(out)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, *parts):
        pass


def running():
    """Whether another one is at work here already; two would overwrite each other's state."""
    try:
        with socket.create_connection(("127.0.0.1", int(PORT.read_text())), timeout=1):
            return True
    except (OSError, ValueError):
        return False


def main():
    if running():
        sys.exit(f"It is running already, on port {PORT.read_text().strip()}.")
    Handler.fleet = Fleet()
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        PORT.write_text(f"{server.server_port}\n")
        print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
