"""Plays the `openclaw` command for what the real one can't be made to do on demand.

Started by the wrapper scripts that `fakes.fake_openclaw` writes, which call `main` with SETTINGS_JSON ARGV...; standard
library only, and each module imported where it is needed, for a run starts it many times. `json`, `pathlib`, `signal`
and `contextlib` take twice as long as all else, so what they would do in a usual turn is done without them.
Lines `scenario: NAME [ARGS]` in the message are played in order; without any it does a little work and answers. State
is kept in the two forms the real releases have: `agents.list` with JSONL, `agents.entries` with SQLite.
"""

from __future__ import annotations

import os
import sys
import time
from _json import encode_basestring_ascii, make_encoder, make_scanner

TYPE_CHECKING = False  # instead of importing `typing`, which takes as long as a turn
if TYPE_CHECKING:
    import sqlite3

Json = dict[str, object]

COST = {"input": 0.001, "output": 0.002, "cacheRead": 0, "cacheWrite": 0, "total": 0.003}
USAGE = {"input": 80, "output": 10, "cacheRead": 20, "cacheWrite": 0, "totalTokens": 110, "cost": COST}
FOREVER_S = 600  # longer than any test
EVENTS_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT,"
    " event_zstd BLOB, created_at INTEGER, PRIMARY KEY (session_id, seq))"
)
PROFILES_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS auth_profile_store (store_key TEXT NOT NULL PRIMARY KEY, store_json TEXT NOT NULL,"
    " updated_at INTEGER NOT NULL)"
)


class Scan:
    """How `json` reads what JSON has; its scanner and encoder in C do without the modules that it imports."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


scan = make_scanner(Scan())  # type: ignore[arg-type]
encode = make_encoder(None, repr, encode_basestring_ascii, None, ":", ",", False, False, True)


def from_json(text: str) -> Json:
    read: Json = scan(text.strip(), 0)[0]
    return read


def to_json(value: object) -> str:
    return "".join(encode(value, 0))


def state_dir() -> str:
    return os.environ.get("OPENCLAW_STATE_DIR") or f"{os.environ['HOME']}/.openclaw"


def config_path() -> str:
    return os.environ.get("OPENCLAW_CONFIG_PATH") or f"{state_dir()}/openclaw.json"


def read_text(path: str) -> str:
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def write_text(path: str, text: str) -> None:
    """Write a file; folders above it are made."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def read_config() -> Json:
    return from_json(read_text(config_path())) if os.path.isfile(config_path()) else {}


def write_config(config: Json) -> None:
    fresh = f"{config_path()}.{os.getpid()}"
    write_text(fresh, to_json(config))
    os.replace(fresh, config_path())  # at once: other commands read it meanwhile


def agents_of(config: Json) -> list[Json]:
    section = config.get("agents")
    if not isinstance(section, dict):
        return []
    if "entries" in section:
        return [{"id": name, **entry} for name, entry in section["entries"].items()]
    return list(section.get("list", []))


def words(line: str) -> list[str]:
    """Split a line as a shell does."""
    if not set("\"'\\") & set(line):
        return line.split()
    import shlex

    return shlex.split(line)


def now() -> str:
    """Return the time as OpenClaw writes it, to the millisecond."""
    seconds, rest = divmod(time.time_ns() // 1_000_000, 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest:03}"


def fail(sentence: str, code: int = 1) -> int:
    sys.stderr.write(sentence + "\n")
    return code


def leave_behind(*words: str) -> None:
    """Start a process that outlives this one, with `words` in its command line: it has one once it is ready."""
    import subprocess

    argv = ["sh", "-c", f"echo ready >&2; sleep {FOREVER_S}; :", *words]
    left = subprocess.Popen(argv, stderr=subprocess.PIPE, start_new_session=True)
    assert left.stderr is not None
    left.stderr.readline()


class Fake:
    """One call of the command. `settings`: release, store, and what should go wrong."""

    def __init__(self, settings: Json, argv: list[str]) -> None:
        self.settings = settings
        self.argv = argv

    def run(self) -> int:  # noqa: PLR0911 - one for each command
        self._log()
        match self.argv:
            case ["--version"]:
                if said := self.settings.get("version_fails"):
                    return fail(str(said), 9)
                sys.stdout.write(f"OpenClaw {self.settings['release']} (fake)\n")
                return 0
            case ["agents", "list", *rest]:
                return self._list("--json" in rest)
            case ["agents", "add", name, *rest]:
                return self._add(name, rest)
            case ["agent", *rest]:
                return Turn(self, rest).play()
            case ["models", "auth", *_, "paste-api-key", "--provider", provider]:
                return self._paste(provider)
            case ["config", "get", path]:
                return self._get(path)
            case ["config", "set", path, value]:
                return self._set(path, value)
        return fail(f"error: unknown command {self.argv}")

    def _log(self) -> None:
        """One line a call into `calls.log` beside the wrapper, when the fake was made so."""
        if log := self.settings.get("log"):
            with open(str(log), "a", encoding="utf-8") as file:
                file.write(to_json(self.argv) + "\n")

    def _list(self, as_json: bool) -> int:
        if said := self.settings.get("list_fails"):
            return fail(str(said))
        agents = agents_of(read_config())
        if as_json:
            sys.stdout.write(to_json([{key: one.get(key) for key in ("id", "workspace", "model")} for one in agents]))
        else:
            for one in agents:
                sys.stdout.write(f"- {one['id']}\n  Workspace: {one.get('workspace')}\n")
        return 0

    def _add(self, name: str, rest: list[str]) -> int:
        if said := self.settings.get("add_fails"):
            return fail(str(said))
        if self.settings.get("overlay_fails") and '"timeoutSeconds"' in to_json(read_config().get("models")):
            return fail("models.providers.mock.baseUrl: provider overlays without baseUrl are only supported for some")
        if self.settings.get("add_hangs"):
            time.sleep(FOREVER_S)
        name = name.lower().replace(":", "-")
        options = dict(zip(rest[::2], rest[1::2], strict=False))
        config = read_config()
        if any(one.get("id") == name for one in agents_of(config)):
            return fail(f'Agent "{name}" already exists.')
        workspace, agent_dir = options["--workspace"], f"{state_dir()}/agents/{name}/agent"
        if not self.settings.get("add_makes_no_workspace"):
            os.makedirs(workspace, exist_ok=True)
        entry: Json = {"workspace": workspace, "agentDir": agent_dir, "model": options["--model"]}
        section = config.setdefault("agents", {})
        assert isinstance(section, dict)
        if self.settings.get("add_forgets"):
            pass
        elif self.settings["store"] == "sqlite":
            section.setdefault("entries", {})[name] = entry
        else:
            section.setdefault("list", []).append({"id": name, **entry})
        config["meta"] = {"lastTouchedVersion": self.settings["release"]}
        if self.settings.get("add_changes_tools"):
            config["tools"] = {"profile": "coding"}
        write_config(config)
        os.makedirs(agent_dir, exist_ok=True)
        sys.stdout.write(f"Agent: {name}\n")
        return 0

    def _paste(self, provider: str) -> int:
        if said := self.settings.get("paste_fails"):
            return fail(str(said))
        key = sys.stdin.readline().strip()
        profile = {"type": "api_key", "provider": provider, "key": key}
        text = to_json({"version": 1, "profiles": {f"{provider}:manual": profile}})
        folder = f"{state_dir()}/agents/main/agent"
        if self.settings["store"] == "jsonl":
            write_text(f"{folder}/auth-profiles.json", text)
            return 0
        import sqlite3
        from contextlib import closing

        os.makedirs(folder, exist_ok=True)
        with closing(sqlite3.connect(f"{folder}/openclaw-agent.sqlite")) as database, database:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute(PROFILES_SCHEMA)
            database.execute("INSERT OR REPLACE INTO auth_profile_store VALUES ('primary', ?, 0)", (text,))
        return 0

    def _place(self, config: Json, path: str) -> tuple[dict[str, object] | list[object], str | int] | None:
        """The container a config path ends in, and the key there; None when this shape has no such path."""
        here: object = config
        parts = path.replace("[", ".[").split(".")
        keys = [int(part[1:-1]) if part.startswith("[") else part for part in parts]
        for key in keys[:-1]:
            try:
                here = here[key]  # type: ignore[index]
            except (TypeError, LookupError):
                return None
        return (here, keys[-1]) if isinstance(here, dict | list) else None

    def _get(self, path: str) -> int:
        place = self._place(read_config(), path)
        if place is None:
            return fail(f"Config path not found: {path}")
        container, key = place
        sys.stdout.write(to_json(container[key]) + "\n")  # type: ignore[index]
        return 0

    def _set(self, path: str, value: str) -> int:
        config = read_config()
        place = None if self.settings.get("set_fails") else self._place(config, path)
        if place is None:
            return fail(f"Config path not found: {path}")
        container, key = place
        container[key] = value  # type: ignore[index]
        write_config(config)
        return 0


class Turn:
    """One `openclaw agent`: its session, and the scenario's actions."""

    def __init__(self, fake: Fake, args: list[str]) -> None:
        self.fake = fake
        self.args = args
        given = dict(one[2:].split("=", 1) for one in args if one.startswith("--") and "=" in one)
        self.agent = given["agent"]
        self.session = given["session-id"]
        if "message-file" in given:
            self.message = read_text(given["message-file"])
        elif preloaded := os.environ.get("PINCHBENCH_MESSAGE_FILE"):
            self.message = read_text(preloaded)  # as long_message.mjs has the real one do
        else:
            self.message = given["message"]
        entries = {str(one["id"]): one for one in agents_of(read_config())}
        self.entry = entries.get(self.agent)
        self.provider, _, self.model = str((self.entry or {}).get("model", "mock/m1")).partition("/")
        self.code = 0
        self.answers = True
        self.begun = False
        self.plain_content = False
        self.database: sqlite3.Connection | None = None

    def play(self) -> int:
        if self.entry is None:
            return fail(f'Unknown agent id "{self.agent}".')
        actions: list[list[str]] = []
        for line in self.message.split("\n"):
            before, separator, rest = line.strip().partition("scenario:")
            if separator and not before:
                actions.append(words(rest))
        early = [one for one in actions if one[0] in EARLY]
        late = [one for one in actions if one[0] not in EARLY]
        for name, *arguments in early:
            self.act(name, *arguments)
        if self.code:
            return self.code
        if self.answers or late:
            self.begin()
        for name, *arguments in late:
            self.act(name, *arguments)
        if self.answers:
            self.work()
            self.say("All done.")
        sys.stdout.write("All done.\n")
        return self.code

    def act(self, name: str, *arguments: str) -> None:
        """Play an action of a scenario."""
        getattr(self, EARLY.get(name, name))(*arguments)

    def workspace(self) -> str:
        assert self.entry is not None
        return str(self.entry["workspace"])

    def begin(self) -> None:
        """Open the session and write the user's message."""
        if self.begun:
            return
        self.begun = True
        if not self.known():
            self.event("session", version=3, cwd=str(self.workspace()))
            self.event("model_change", provider=self.provider, modelId=self.model)
        content: object = self.message if self.plain_content else [{"type": "text", "text": self.message}]
        self.event("message", message={"role": "user", "content": content})

    def work(self) -> None:
        call: Json = {
            "type": "toolCall",
            "id": "call_0",
            "name": "write",
            "arguments": {"path": "out.txt", "content": "hello"},
        }
        self.assistant([call], "toolUse")
        done = [{"type": "text", "text": "Successfully wrote 5 bytes to out.txt"}]
        self.write_file("out.txt", "hello")
        self.event("message", message={"role": "toolResult", "toolCallId": "call_0", "content": done, "isError": False})

    def say(self, text: str) -> None:
        self.assistant([{"type": "text", "text": text}], "stop")

    def assistant(self, content: list[Json], stop: str, **more: object) -> None:
        message = {"role": "assistant", "content": content, "provider": self.provider, "model": self.model}
        self.event("message", message={**message, "usage": USAGE, "stopReason": stop, **more})

    def event(self, kind: str, **fields: object) -> None:
        one = {"type": kind, "id": os.urandom(4).hex(), "timestamp": f"{now()}Z", **fields}
        self.write(to_json(one).encode() + b"\n")

    def _jsonl(self) -> str:
        return f"{state_dir()}/agents/{self.agent}/sessions/{self.session}.jsonl"

    def _rows(self) -> sqlite3.Connection:
        if self.database is None:
            import sqlite3

            folder = f"{state_dir()}/agents/{self.agent}/agent"
            os.makedirs(folder, exist_ok=True)
            self.database = sqlite3.connect(f"{folder}/openclaw-agent.sqlite", isolation_level=None)
            self.database.execute("PRAGMA journal_mode=WAL")
            self.database.execute(EVENTS_SCHEMA)
        return self.database

    def known(self) -> bool:
        if self.fake.settings["store"] == "jsonl":
            return os.path.exists(self._jsonl())
        query = "SELECT count(*) FROM transcript_events WHERE session_id = ?"
        return bool(self._rows().execute(query, (self.session,)).fetchone()[0])

    def write(self, data: bytes) -> None:
        """Write bytes of the transcript; in SQLite they are one row."""
        if self.fake.settings["store"] == "jsonl":
            os.makedirs(os.path.dirname(self._jsonl()), exist_ok=True)
            with open(self._jsonl(), "ab") as file:
                file.write(data)
            return
        text = data.decode("utf-8", "replace").rstrip("\n")
        self._rows().execute(
            "INSERT INTO transcript_events (session_id, seq, event_json) SELECT ?, coalesce(max(seq) + 1, 0), ?"
            " FROM transcript_events WHERE session_id = ?",
            (self.session, text, self.session),
        )

    # --- what can be played ---

    def flood(self, mib: str, end: str = "line") -> None:
        line = b"x" * 65535 + (b"\n" if end == "line" else b"x")
        for _ in range(int(float(mib) * 16)):
            sys.stdout.buffer.write(line)
        sys.stdout.flush()

    def print(self, *lines: str) -> None:
        for line in lines:
            sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def ignore_term(self) -> None:
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def hold_stdout(self) -> None:
        leave_behind()

    def daemonise(self) -> None:
        """A child in a session of its own, orphaned, with an empty environment and SIGTERM ignored."""
        import subprocess

        script = f"trap '' TERM HUP; (sleep {FOREVER_S} & sleep {FOREVER_S}) & exit 0"
        subprocess.run(["setsid", "env", "-i", "PATH=/usr/bin:/bin", "sh", "-c", script], check=True)

    def die(self, number: str) -> None:
        import signal

        self.work()
        os.kill(os.getpid(), getattr(signal, number))

    def kill_guardian(self) -> None:
        """What an agent can do: end the process that watches it."""
        import signal

        self.work()
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(FOREVER_S)  # the guardian's end is this one's

    def exit(self, code: str) -> None:
        self.code = int(code)

    def linger(self) -> None:
        """Answer, and never exit."""
        self.work()
        self.say("All done.")
        time.sleep(FOREVER_S)

    def damaged(self) -> None:
        """A torn record, two records on one line, and a line that is no JSON."""
        self.write(b'{"type":"message","id":"torn","timest\n')
        stamp = b'"timestamp":"2026-01-01T00:00:00.000Z"'
        self.write(b'{"type":"custom","id":"s1",' + stamp + b'}{"type":"custom","id":"s2",' + stamp + b"}\n")
        self.write("not JSON at all \u2028 \xe9\n".encode())

    def silent(self) -> None:
        """End without an answer."""
        self.answers = False

    def refused(self, *words: str) -> None:
        """A call that the provider refused for good; the transcript says so."""
        self.assistant([], "error", errorMessage=" ".join(words) or "401 invalid api key")

    def failed_call(self, *words: str) -> None:
        """A call that the provider refused and OpenClaw will retry: only stderr says so."""
        prefix = "[agent/embedded] embedded run agent end: runId=r isError=true model=m1 provider=mock"
        self.mutter(f"{prefix} error=It failed. rawError={' '.join(words)}")

    def retry(self, number: str, delay_ms: str) -> None:
        """Say that OpenClaw will make a failed call again."""
        said = f"transient same-model retry {number}/9 for mock/m1 reason=rate_limit: delayMs={delay_ms}"
        self.mutter(f"[agent/embedded] {said}")

    def mutter(self, *words: str) -> None:
        sys.stderr.write(" ".join(words) + "\n")
        sys.stderr.flush()

    def ask_again(self) -> None:
        """Put the same message into the session once more, as 2026.6.5 does when it has lost its gateway."""
        self.event("message", message={"role": "user", "content": [{"type": "text", "text": self.message}]})

    def fallback(self) -> None:
        self.work()
        self.model = "another"

    def fallback_note(self) -> None:
        note = [{"type": "text", "text": "Continue where you left off. The previous model failed."}]
        self.event("message", message={"role": "user", "content": note})

    def plain(self) -> None:
        self.plain_content = True

    def big(self, events: str) -> None:
        for _ in range(int(events)):
            call: Json = {"type": "toolCall", "id": "c", "name": "exec", "arguments": {"command": "x" * 1000}}
            self.assistant([call], "toolUse")

    def write_file(self, name: str, text: str) -> None:
        write_text(os.path.join(self.workspace(), name), text)

    def think(self, seconds: str = str(FOREVER_S)) -> None:
        """One model call, and then nothing for long."""
        self.work()
        time.sleep(float(seconds))

    def sleep(self, seconds: str = str(FOREVER_S)) -> None:
        time.sleep(float(seconds))

    def wait_for(self, path: str) -> None:
        """Go on once there is a file at this place."""
        while not os.path.exists(path):
            time.sleep(0.02)

    def think_unwritten(self) -> None:
        """Wait for the model with nothing written but a lock, as 2026.6.5 does before the first reply."""
        write_text(f"{self._jsonl()}.lock", "{}")
        time.sleep(FOREVER_S)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def record(self, path: str) -> None:
        from pathlib import Path

        home = {str(one): one.read_text("latin-1") for one in Path(state_dir()).rglob("*") if one.is_file()}
        write_text(path, to_json({"argv": self.args, "env": dict(os.environ), "home": home}))

    def leave_state(self, name: str) -> None:
        """Leave something in the state folder, and say whether it was there before."""
        path = f"{state_dir()}/{name}"
        self.write_file("found.txt", "yes" if os.path.exists(path) else "no")
        write_text(path, "here")

    def only_once(self, path: str) -> None:
        """Leave no session, except for the first who comes by this place."""
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            self.silent()

    def gate(self, port: str) -> None:
        """Say that this turn runs, and go on when the other side says so. The connection ends with this process."""
        import socket

        with socket.create_connection(("127.0.0.1", int(port))) as connection:
            who = {"pid": os.getpid(), "agent": self.agent, "session": self.session, "cwd": os.getcwd()}
            connection.sendall(to_json(who).encode() + b"\n")
            while connection.recv(1) not in (b"", b"\n"):
                pass

    def outage(self, path: str, calls: str, *words: str) -> None:
        """Refuse the first so many turns that come by this place."""
        with open(path, "ab", buffering=0) as file:
            file.write(b".")
            number = file.tell()  # of this turn: where its own byte ends, though others may have come since
        if number <= int(calls):
            self.refused(*words)
            self.silent()

    def use(self, tool: str) -> None:
        """Call a tool, by name only."""
        self.assistant([{"type": "toolCall", "id": "used", "name": tool, "arguments": {}}], "toolUse")

    def leak(self, *names: str) -> None:
        """Say the values of variables wherever OpenClaw says things, in some of the forms in which it would."""
        import base64

        for value in (os.environ[name] for name in names):
            basic = base64.b64encode(f"user:{value}".encode()).decode()
            said = f"401 Incorrect API key provided: {value} (Authorization: Basic {basic}, {to_json(value)})"
            leave_behind("curl", value)
            sys.stdout.write(f"{said}\n")
            fail(said)
            call: Json = {"type": "toolCall", "id": "leak", "name": "exec", "arguments": {"command": f"curl {value}"}}
            self.assistant([call], "toolUse")
            self.assistant([], "error", errorMessage="x" * 440 + said)
        sys.stdout.flush()


# What is played before the session is opened, with the methods that play it; all else has its method's name.
EARLY = {
    "exit_early": "exit",
    "gate_early": "gate",
    "ignore_term": "ignore_term",
    "mutter_early": "mutter",
    "no_session": "silent",
    "only_once": "only_once",
    "plain": "plain",
    "slow_start": "sleep",
    "think_unwritten": "think_unwritten",
}


def main() -> None:
    """The command's arguments follow the settings."""
    sys.exit(Fake(from_json(sys.argv[1]), sys.argv[2:]).run())
