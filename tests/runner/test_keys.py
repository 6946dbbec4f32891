"""Keys that agents, checks, judges and OpenClaw itself give away: nothing that a run writes or shows holds them."""

import json
import os
import signal
import subprocess
import sys
import uuid
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path

import anyio
import pytest
import zstandard

from command_line import Completed, call
from endpoint_files import model_at
from fake_judge import failing, fake_judge, good, served
from fakes import MODEL, calls, fake_openclaw, make_suite, open_gate
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType
from pinchbench.results.journal.journal import Journal, read_journal
from pinchbench.results.paths import find_run

PIECE = 12  # characters of a key that nobody has by chance
LEAKS = "scenario: leak {names}\nscenario: {then}"
CHECK = """
print(transcript)
return {"asked": float("curl" in str(transcript))}
"""


def _key() -> str:
    return f"sk-{uuid.uuid4().hex}-{uuid.uuid4().hex}"


def _command(folder: Path, program: Path) -> list[str]:
    where = {"--tasks-dir": "tasks", "--output-dir": "out", "--run-root": "pb"}
    options = [f"{option}={folder / name}" for option, name in where.items()]
    return [sys.executable, "-m", "pinchbench", "--model", MODEL, "--openclaw", str(program), *options]


def _pinchbench(folder: Path, program: Path, *args: str, env: Mapping[str, str]) -> Completed:
    """Run the program as a user does, with everything below `folder` and no terminal."""
    return call(*_command(folder, program)[3:], *args, cwd=folder, env={**os.environ, **env})


def _shown(done: Completed) -> str:
    return done.stdout + done.stderr


def _contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Everything that lies below a folder: names, what links point to, and what files hold, unpacked."""
    for path in folder.rglob("*"):
        yield f"the name of {path}", str(path.relative_to(folder)).encode()
        if path.is_symlink():
            yield f"the link {path}", os.fsencode(path.readlink())
        elif path.is_file():
            data = path.read_bytes()
            yield str(path), data
            if path.suffix == ".zst":
                yield f"{path}, unpacked", zstandard.ZstdDecompressor().stream_reader(data).read()


def _leaks(folder: Path, done: Completed, *keys: str) -> list[str]:
    """Say where a piece of a key stands in what a run has left below `folder` and printed."""
    texts = [
        text
        for key in keys
        for text in (key, *(b64encode(f"{'.' * at}{key}".encode()).decode()[4:-4] for at in range(3)))
    ]
    pieces = {text[at : at + PIECE].encode() for text in texts for at in range(len(text) - PIECE + 1)}
    # `out`, `pb` and `cache` are all that a run writes to; the user's own OpenClaw and the fake itself are next to them
    written = [one for place in ("out", "pb", "cache") for one in _contents(folder / place)]
    assert len(written) > 10
    return [
        f"{place}: {piece!r}"
        for place, data in (*written, ("stdout", done.stdout.encode()), ("stderr", done.stderr.encode()))
        for piece in pieces
        if piece in data
    ]


def _journal(folder: Path) -> Journal:
    [run] = (folder / "out").glob("*/run.json")
    return read_journal(find_run(str(run.parent), folder / "out").journal)


def _outcome(folder: Path) -> Outcome:
    [outcome] = _journal(folder).state.outcomes
    return outcome


@pytest.mark.parametrize("store", ["jsonl", "sqlite"])
def test_a_key_that_a_provider_puts_into_its_error_is_nowhere_in_what_a_run_leaves_and_shows(
    tmp_path: Path, store: str
) -> None:
    key = _key()
    make_suite(tmp_path, {"task_a": LEAKS.format(names="MOCK_API_KEY", then="silent")})
    program = fake_openclaw(tmp_path, store=store)

    done = _pinchbench(tmp_path, program, "-v", env={"MOCK_API_KEY": key})

    outcome = _outcome(tmp_path)
    assert outcome.reason == "provider_error", _shown(done)
    assert "401 Incorrect API key provided: [key]" in outcome.note
    assert any("[key]" in command for command in outcome.leftovers)
    assert "401 Incorrect API key provided: [key]" in done.stderr
    evidence = next((tmp_path / "out").glob("*/trials/task_a/1"))
    for name in ("stdout.log", "stderr.log", "transcript.jsonl"):
        said = (evidence / name).read_text("utf-8")
        assert f"Incorrect API key provided: {'*' * len(key)} (" in said
    assert _leaks(tmp_path, done, key) == []


def test_keys_that_an_agent_says_are_nowhere_in_its_grades(tmp_path: Path) -> None:
    tested, provider = _key(), _key()
    # what comes after the provider's error lets the trial count, so that it is graded
    prompt = LEAKS.format(names="PINCHBENCH_ENDPOINT_KEY MOCK_API_KEY", then="plain")
    make_suite(tmp_path, {"task_a": prompt}, check=CHECK, kind=GradingType.HYBRID)
    program = fake_openclaw(tmp_path)
    asked: list[str] = []

    with served(fake_judge(good(notes="I have seen a key."))) as judge:
        done = _pinchbench(
            tmp_path,
            program,
            *("--base-url", "http://127.0.0.1:9/v1", "--api-key-env", "MY_ENDPOINT", "--pass-env", "MOCK_API_KEY"),
            *("--judge", model_at(judge.base_url, tmp_path), "--json"),
            env={"MY_ENDPOINT": tested, "MOCK_API_KEY": provider},
        )
        asked += [json.dumps(request.json) for request in judge.requests]

    [grade] = _journal(tmp_path).state.grades.values()
    assert grade.score == pytest.approx(0.9), _shown(done)
    evidence = next((tmp_path / "out").glob("*/trials/task_a/1"))
    assert "curl" in (evidence / "check.log").read_text("utf-8")
    assert _leaks(tmp_path, done, tested, provider) == []
    # nor is the judge told what it has no business with
    assert len(asked) == 1
    assert "curl" in asked[0]
    assert not [key for key in (tested, provider) if key in asked[0]]


def test_a_judges_key_that_its_endpoint_echoes_is_nowhere(tmp_path: Path) -> None:
    key = _key()
    make_suite(tmp_path, {"task_a": "Write out.txt."})
    program = fake_openclaw(tmp_path)

    with served(fake_judge(failing(401, f"Incorrect API key provided: {key}."))) as judge:
        done = _pinchbench(
            tmp_path,
            program,
            *("--judge", model_at(judge.base_url, tmp_path, key_env="JUDGES_OWN")),
            env={"JUDGES_OWN": key, "PINCHBENCH_CONFIG": str(tmp_path)},
        )

    [grade] = _journal(tmp_path).state.grades.values()
    assert grade.ungraded == "judge_refused", _shown(done)
    assert "Incorrect API key provided" in str(grade.notes)
    assert _leaks(tmp_path, done, key) == []


def test_a_key_of_the_users_own_openclaw_is_nowhere(tmp_path: Path, user: Path) -> None:
    key, dotenv_key = _key(), _key()
    state = user / ".openclaw"
    state.mkdir()
    config = {"models": {"providers": {"mock": {"baseUrl": "http://127.0.0.1:9/v1", "apiKey": key}}}}
    (state / "openclaw.json").write_text(json.dumps(config), encoding="utf-8")
    (state / ".env").write_text(f'MOCK_API_KEY="{dotenv_key}"\n', encoding="utf-8")
    # variables of other names stand for what the agent reads in its own config
    make_suite(
        tmp_path,
        {"task_a": LEAKS.format(names="LEAKED_1 LEAKED_2", then="plain")},
        check=CHECK,
        kind=GradingType.HYBRID,
    )
    program = fake_openclaw(tmp_path)

    passed = ("--pass-env", "LEAKED_1", "--pass-env", "LEAKED_2")
    done = _pinchbench(tmp_path, program, "-v", *passed, env={"LEAKED_1": key, "LEAKED_2": dotenv_key})

    assert _outcome(tmp_path).reason == "completed", _shown(done)
    assert "[key]" in done.stderr
    assert _leaks(tmp_path, done, key, dotenv_key) == []


async def test_a_key_is_nowhere_in_what_an_interrupted_run_leaves(tmp_path: Path) -> None:
    key = _key()
    program = fake_openclaw(tmp_path)

    async with open_gate() as gate:
        make_suite(tmp_path, {"task_a": LEAKS.format(names="MOCK_API_KEY", then=f"gate {gate.port}")})
        command = _command(tmp_path, program)
        async with await anyio.open_process(
            command, cwd=tmp_path, env={**os.environ, "MOCK_API_KEY": key}, stdin=subprocess.DEVNULL
        ) as process:
            await gate.next()
            process.send_signal(signal.SIGINT)
            assert process.stdout is not None
            assert process.stderr is not None
            said = [b"".join([piece async for piece in stream]) for stream in (process.stdout, process.stderr)]
            code = await process.wait()

    stdout, stderr = (one.decode() for one in said)
    done = Completed(returncode=code, stdout=stdout, stderr=stderr)
    assert _outcome(tmp_path).reason == "interrupted", _shown(done)
    [log] = (tmp_path / "out").glob("*/trials/task_a/1/stderr.log")
    assert f"Incorrect API key provided: {'*' * len(key)} (" in log.read_text("utf-8")
    assert _leaks(tmp_path, done, key) == []


def test_a_key_in_what_openclaw_says_when_it_refuses_its_setup_is_not_shown(tmp_path: Path) -> None:
    key = _key()
    make_suite(tmp_path, {"task_a": "Write out.txt."})
    program = fake_openclaw(tmp_path, add_fails=f"{key} is wrong: {'x' * (470 - len(key) // 2)}")

    done = _pinchbench(tmp_path, program, env={"MOCK_API_KEY": key})

    assert any("add" in one for one in calls(program))
    said = done.stderr
    assert "agents add" in said
    assert "is wrong" in said
    assert not [at for at in range(len(key) - PIECE + 1) if key[at : at + PIECE] in _shown(done)]


OTHERS = """
    JUDGES_OWN OPENAI_API_KEY ANTHROPIC_API_KEY ANTHROPIC_OAUTH_TOKEN OPENROUTER_API_KEY XAI_API_KEY GEMINI_API_KEYS
    AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AZURE_OPENAI_API_KEY GITHUB_TOKEN GH_TOKEN HF_TOKEN SSH_AUTH_SOCK
    GOOGLE_APPLICATION_CREDENTIALS DATABASE_URL npm_config__auth PGPASSWORD PINCHBENCH_TOKEN OPENCLAW_GATEWAY_TOKEN
    MOCK_ADMIN_KEY OTHER_MOCK_API_KEY NETRC WHATEVER
"""


def test_an_agent_finds_no_key_but_its_models_own(tmp_path: Path, user: Path) -> None:
    own = {name: _key() for name in ("MOCK_API_KEY", "MOCK_API_KEY_2", "NAMED_BY_CONFIG", "PASSED")}
    own_stored = {name: _key() for name in ("profile", "dotenv")}
    others = {name: _key() for name in OTHERS.split()}
    stored = {name: _key() for name in ("provider", "profile", "dotenv", "comment", "env", "vars", "plugin", "secret")}
    config = {
        "models": {
            "mode": "merge",
            "providers": {
                "mock": {"baseUrl": "http://127.0.0.1:9/v1", "apiKey": "${NAMED_BY_CONFIG}"},
                "mock2": {"baseUrl": "http://127.0.0.1:9/v1", "apiKey": stored["provider"]},
            },
        },
        "env": {"XAI_API_KEY": stored["env"], "vars": {"GROQ_API_KEY": stored["vars"]}, "shellEnv": {"enabled": True}},
        "plugins": {"entries": {"tavily": {"enabled": False, "config": {"apiKey": stored["plugin"]}}}},
        "secrets": {"providers": {"vault": {"source": "file", "path": stored["secret"]}}},
        "auth": {"profiles": {"openai:default": {"provider": "openai", "mode": "api_key"}}},
    }
    logins = {
        "mock:default": {"type": "api_key", "provider": "mock", "key": own_stored["profile"]},
        "openai:default": {"type": "api_key", "provider": "openai", "key": stored["profile"]},
    }
    main = user / ".openclaw" / "agents" / "main" / "agent"
    main.mkdir(parents=True)
    (main / "auth-profiles.json").write_text(json.dumps({"version": 1, "profiles": logins}), encoding="utf-8")
    (main.parents[2] / "openclaw.json").write_text(json.dumps(config), encoding="utf-8")
    lines = (
        f"MOCK_API_KEY_3={own_stored['dotenv']}",
        f"MISTRAL_API_KEY={stored['dotenv']}",
        f"# OLD_KEY={stored['comment']}",
    )
    (main.parents[2] / ".env").write_text("\n".join(lines), encoding="utf-8")
    harmless = {"LC_TIME": "C", "HTTPS_PROXY": "http://127.0.0.1:9"}
    seen = tmp_path / "seen.json"
    make_suite(tmp_path, {"task_a": f"scenario: record {seen}"})
    program = fake_openclaw(tmp_path, store="sqlite")

    with served(fake_judge()) as judge:  # nobody there would be asked again and again, for half a minute
        done = _pinchbench(
            tmp_path,
            program,
            *("--pass-env", "PASSED"),
            *("--judge", model_at(judge.base_url, tmp_path, key_env="JUDGES_OWN")),
            env=own | others | harmless | {"PINCHBENCH_CONFIG": str(tmp_path)},
        )

    assert seen.is_file(), _shown(done)
    everything = seen.read_text("utf-8")
    assert [name for name, key in {**others, **stored}.items() if key in everything] == []
    assert [name for name, key in {**own, **own_stored}.items() if key not in everything] == []
    env = json.loads(seen.read_text("utf-8"))["env"]
    assert env.items() >= harmless.items()
