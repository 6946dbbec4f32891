"""The user's providers and logins reach the private homes, and the user's own state stays as it is."""

from pathlib import Path

import pytest

from fake_judge import Answer, FakeJudge, fake_judge
from pinchbench import Reason, RunConfig, run_benchmark
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.short_command import run_short
from real_openclaw import TaskFile, UserHome, newest_release, run_config

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]

STORED = "sk-stored-login-123456789"
NAMED = "sk-from-environment-987654321"


def _config(tmp_path: Path, openclaw: OpenClaw, **options: str) -> RunConfig:
    task = TaskFile(task_id="task_hello", turns=[("Say hello.", [], "")])
    return run_config(tmp_path, openclaw, [task], model="mine/m1", preflight=False, **options)


def _keys(server: FakeJudge) -> set[str]:
    return {request.headers["authorization"] for request in server.requests}


async def test_a_stored_login_and_a_configured_provider_reach_a_private_home(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path
) -> None:
    async with fake_judge(Answer(text="Hello.")) as server:
        model = {"id": "m1", "name": "m1", "input": ["text"], "contextWindow": 100_000, "maxTokens": 4096}
        provider = {"baseUrl": server.base_url, "api": "openai-completions", "models": [model]}
        home.configure({"models": {"mode": "merge", "providers": {"mine": provider}}})
        env = {"HOME": str(home.path), "PATH": openclaw.path("/usr/bin:/bin")}
        login = ["models", "auth", "paste-api-key", "--provider", "mine"]
        await run_short(openclaw, login, env=env, stdin=STORED.encode() + b"\n")
        before = home.snapshot()

        result = await run_benchmark(_config(tmp_path, openclaw))

    assert [one.reason for one in result.outcomes] == [Reason.COMPLETED], result.outcomes[0].note
    assert _keys(server) == {f"Bearer {STORED}"}
    assert home.snapshot() == before
    _assert_nowhere(STORED, tmp_path / "results", tmp_path / "runs")


@newest_release
async def test_a_base_url_gets_the_key_of_the_named_variable_and_no_file_does(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("my_test_key", NAMED)
    before = home.snapshot()
    async with fake_judge(Answer(text="Hello.")) as server:
        config = _config(tmp_path, openclaw, base_url=server.base_url, api_key_env="my_test_key")

        result = await run_benchmark(config)

    assert [one.reason for one in result.outcomes] == [Reason.COMPLETED], result.outcomes[0].note
    assert _keys(server) == {f"Bearer {NAMED}"}
    assert home.snapshot() == before
    _assert_nowhere(NAMED, tmp_path / "results", tmp_path / "runs")


def _assert_nowhere(secret: str, *roots: Path) -> None:
    files = [path for root in roots for path in root.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if secret.encode() in path.read_bytes()] == []
