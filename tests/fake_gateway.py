"""Plays `openclaw gateway run`, started by `fake_openclaw.py` in its own place: takes turns, and goes wrong on demand.

Standard library only. It knows the agents of its config and follows each change of them with the line that the real one
prints. What it has done stands in `gateway.jsonl` beside the wrapper script, one object a line.

Settings: `gateway_fails` (words that it ends with at once), `gateway_fails_once` (the same, the first time),
`gateway_never_ready`, `gateway_ignores_changes`, and `gateway_elsewhere` (a folder in which all agents work).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

Json = dict[str, object]

LOOK_S = 0.02
QUIET_S = 0.1  # after a change, so that those that come with it are followed in one
LAST_WORDS = "gateway: fatal: out of memory"


class Gateway:
    """The agents as this gateway knows them, and the file they come from."""

    def __init__(self, settings: Json) -> None:
        self.settings = settings
        self.path = Path(os.environ["OPENCLAW_CONFIG_PATH"])
        self.log = Path(str(settings["log"])).with_name("gateway.jsonl")
        config = json.loads(self.path.read_text(encoding="utf-8"))
        self.port = int(config["gateway"]["port"])
        self.token = str(config["gateway"]["auth"]["token"])
        self.text = ""
        self.agents = self._read()
        self.providers = {
            name: one.get("baseUrl") for name, one in config.get("models", {}).get("providers", {}).items()
        }
        self.skills = config.get("skills")

    def run(self) -> int:
        starts = self.log.read_text("utf-8").count('"started"') if self.log.exists() else 0
        state = sorted(path.name for path in self.path.parent.iterdir())
        known = {"state": state, "agents": sorted(self.agents), "providers": self.providers, "skills": self.skills}
        self.note("started", pid=os.getpid(), port=self.port, token=self.token, **known)
        fails = self.settings.get("gateway_fails") or (not starts and self.settings.get("gateway_fails_once"))
        if fails:
            sys.stderr.write(f"{fails}\n")
            return 78
        server = Server(("127.0.0.1", self.port), Handler)
        server.gateway = self
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.print("[gateway] listening")
        while True:
            time.sleep(LOOK_S)
            if not self.settings.get("gateway_ignores_changes"):
                self._follow()

    def note(self, event: str, **fields: object) -> None:
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"event": event, **fields}) + "\n")

    def print(self, line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    def _look(self) -> str:
        """What the config holds now. Whatever an agent has put in its place, nobody is waited for."""
        with open(self.path, encoding="utf-8", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as file:
            return file.read()

    def _read(self) -> dict[str, Json]:
        self.text = self._look()
        section = json.loads(self.text)["agents"]
        if "entries" in section:
            return dict(section["entries"])
        return {one["id"]: one for one in section["list"]}

    def _follow(self) -> None:
        before = self.agents
        try:
            if self._look() == self.text:
                return
            time.sleep(QUIET_S)
            agents = self._read()
        except (OSError, ValueError):
            return  # as the real one: what is gone, or no config yet, changes nothing
        if changed := sorted(name for name in before.keys() | agents.keys() if before.get(name) != agents.get(name)):
            self.agents = agents
            self.note("changed", agents=changed)
            named = ", ".join(f"agents.entries.{name}.workspace" for name in changed)
            self.print(f"[reload] config hot reload applied ({named})")

    def agent(self, name: str) -> Json | None:
        entry = self.agents.get(name)
        elsewhere = self.settings.get("gateway_elsewhere")
        return {**entry, "workspace": elsewhere} if entry is not None and elsewhere else entry

    def start(self, name: str, script: str) -> int:
        """Run a command of an agent's, as a child of this process."""
        workspace = str(self.agents[name]["workspace"])
        child = subprocess.Popen(
            ["sh", "-c", script],
            cwd=workspace,
            env={**os.environ, "PWD": workspace},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        threading.Thread(target=child.wait, daemon=True).start()
        return child.pid

    def die(self) -> None:
        self.print(LAST_WORDS)
        os.kill(os.getpid(), signal.SIGKILL)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    gateway: Gateway


class Handler(BaseHTTPRequestHandler):
    """A turn keeps its connection, so that it hears of the gateway's end."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        ready = self.path == "/readyz" and not self.server.gateway.settings.get("gateway_never_ready")
        self._answer(200 if ready else 503, {"ready": ready})

    def do_POST(self) -> None:
        gateway = self.server.gateway
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != f"Bearer {gateway.token}":
            self._answer(401, {})
        elif self.path == "/die":
            gateway.die()
        elif (entry := gateway.agent(asked["agent"])) is None:
            self._answer(404, {})
        elif self.path == "/exec":
            self._answer(200, {"pid": gateway.start(asked["agent"], asked["script"])})
        else:
            gateway.note("turn", agent=asked["agent"], workspace=entry["workspace"])
            self._answer(200, entry)

    def _answer(self, status: int, body: Json) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing of requests."""


if __name__ == "__main__":
    sys.exit(Gateway(json.loads(sys.argv[1])).run())
