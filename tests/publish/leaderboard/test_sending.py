"""A run's way to the leaderboard, against a real server: faults, retries, one entry, and no key anywhere."""

import json
import logging
import stat
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import anyio
import pytest
from anyio import fail_after

from fake_leaderboard import FakeLeaderboard, Reply, error, fake_leaderboard
from leaderboard_runs import past_run, planned
from past_runs import Made
from pinchbench.errors import ConfigError, LeaderboardError, NotForTheLeaderboardError
from pinchbench.http_client import RetryPolicy
from pinchbench.model.task import Suite
from pinchbench.publish.leaderboard.account import Account, account_file, read_account
from pinchbench.publish.leaderboard.sending import (
    MAX_ANSWER_BYTES,
    PreparedUpload,
    StoredResult,
    pack,
    register,
    send,
)
from pinchbench.results.finished_run import PastRun, read_run

TOKEN = "tok-known-0123456789"
OFFICIAL = "key-official-0123456789"
AT_ONCE = RetryPolicy(attempts=4, first_wait_s=0, jitter_s=0, total_s=10)
IMPATIENT = RetryPolicy(attempts=1, first_wait_s=0, jitter_s=0, read_s=0.2, total_s=0.3)


@pytest.fixture
def run(tmp_path: Path, suite: Suite) -> PastRun:
    return past_run(tmp_path / "results", planned(suite))


@pytest.fixture
def parcel(run: PastRun, suite: Suite) -> PreparedUpload:
    return pack(run, suite, {})


async def deliver(server: FakeLeaderboard, parcel: PreparedUpload, retry_policy: RetryPolicy = AT_ONCE) -> StoredResult:
    with fail_after(20):
        account = Account(server=server.url, token=TOKEN, official_key=OFFICIAL)
        return await send(parcel, account, retry_policy=retry_policy)


async def test_a_result_is_sent_once_with_its_keys_in_headers(parcel: PreparedUpload) -> None:
    async with fake_leaderboard() as server:
        sent = await deliver(server, parcel)

    [asked] = server.requests
    assert (asked.method, asked.path, asked.body) == ("POST", "/api/results", parcel.body)
    assert asked.headers["x-pinchbench-token"] == TOKEN
    assert asked.headers["x-pinchbench-official-key"] == OFFICIAL
    assert asked.headers["x-pinchbench-version"]
    assert (sent.is_new, sent.rank, sent.official) == (True, 3, True)
    assert sent.leaderboard_url == f"{server.url}/r/{parcel.submission_id}"
    assert str(sent) == "The result is on the leaderboard as an official result, on rank 3 (percentile 87.5)."


FAULTS = [
    [error(500, "oh")],
    [error(503, "oh"), error(502, "oh"), Reply(status=500, body=b"<html>")],
    [error(429, "slowly", retry_after="0")],
    [error(429, "slowly", retry_after=format_datetime(datetime.now(UTC) - timedelta(days=1)))],
    [Reply(cut="inside", body=b'{"status": "accepted"}')],
    [Reply(cut="inside", body=b'{"status": "accepted"}', after=True)],
    [Reply(body=b"no JSON")],
    [Reply(status=201, body=b"[1]", after=True)],
    [Reply(body=b'{"submission_id": "of another run"}')],
    [Reply(body=b" " * (MAX_ANSWER_BYTES + 1))],
]


@pytest.mark.parametrize("faults", FAULTS)
async def test_a_fault_that_may_pass_costs_another_attempt_and_makes_no_second_entry(
    parcel: PreparedUpload, faults: list[Reply], caplog: pytest.LogCaptureFixture
) -> None:
    async with fake_leaderboard(*faults) as server:
        with caplog.at_level(logging.DEBUG):
            await deliver(server, parcel)

    assert len(server.requests) == len(faults) + 1
    assert len({asked.body for asked in server.requests}) == 1
    assert [*server.entries] == [parcel.submission_id]
    assert TOKEN not in caplog.text
    assert "TransientError" not in caplog.text


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 413, 422])
async def test_a_refusal_is_never_retried_and_echoes_no_key(parcel: PreparedUpload, status: int) -> None:
    async with fake_leaderboard(error(status, f"your token {TOKEN} with {OFFICIAL}")) as server:
        with pytest.raises(LeaderboardError, match=f"status {status}") as caught:
            await deliver(server, parcel)

    assert len(server.requests) == 1
    assert TOKEN not in str(caught.value)
    assert OFFICIAL not in str(caught.value)


async def test_a_key_that_json_has_escaped_or_that_stands_in_an_answer_is_not_passed_on(parcel: PreparedUpload) -> None:
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in TOKEN)
    async with fake_leaderboard(Reply(status=400, body=f'{{"error": "no {escaped}"}}'.encode())) as server:
        with pytest.raises(LeaderboardError, match=r"\(no \[the key\]\)"):
            await deliver(server, parcel)

    echo = {"status": TOKEN, "rank": 10**30, "leaderboard_url": f"https://board.example/?as={TOKEN}"}
    async with fake_leaderboard(Reply(status=201, body=json.dumps(echo).encode())) as server:
        sent = await deliver(server, parcel)

    assert (sent.rank, sent.leaderboard_url) == (None, "")
    assert sent.status != TOKEN


async def test_a_redirect_is_not_followed_with_the_token(parcel: PreparedUpload) -> None:
    async with fake_leaderboard() as other:
        away = Reply(status=307, headers={"Location": f"{other.url}/api/results?x={TOKEN}"})
        async with fake_leaderboard(away) as server:
            with pytest.raises(LeaderboardError, match="It points to http://127") as caught:
                await deliver(server, parcel)

    assert other.requests == []
    assert TOKEN not in str(caught.value)


async def test_a_server_that_wants_to_be_left_alone_for_hours_is_and_the_user_is_told(
    parcel: PreparedUpload,
) -> None:
    async with fake_leaderboard(error(429, "enough for today", retry_after="40000")) as server:
        with pytest.raises(LeaderboardError, match=r"enough for today.*again in 11 hours"):
            await deliver(server, parcel)

    assert len(server.requests) == 1


@pytest.mark.parametrize("reply", [Reply(silent=True), Reply(drip=True)])
async def test_a_server_that_never_comes_to_an_end_is_left_within_the_limit(
    parcel: PreparedUpload, reply: Reply
) -> None:
    async with fake_leaderboard(reply) as server:
        with pytest.raises(LeaderboardError, match="did not answer in time"):
            await deliver(server, parcel, IMPATIENT)


async def test_a_cancelled_upload_leaves_at_once_and_the_next_one_makes_no_second_entry(parcel: PreparedUpload) -> None:
    async with fake_leaderboard(Reply(silent=True, after=True)) as server:
        async with anyio.create_task_group() as group:
            group.start_soon(deliver, server, parcel, RetryPolicy())
            await server.wait_for_requests(1)
            group.cancel_scope.cancel()

        sent = await deliver(server, parcel)

    assert not sent.is_new
    assert len(server.entries) == 1


async def test_a_run_that_was_sent_before_keeps_its_entry_whatever_has_been_graded_since(
    suite: Suite, run: PastRun
) -> None:
    async with fake_leaderboard() as server:
        first = await deliver(server, pack(run, suite, {}))
        journal = run.files.journal.read_text(encoding="utf-8")
        run.files.journal.write_text(journal.replace('"score":0.8', '"score":0.4'), encoding="utf-8")
        again = await deliver(server, pack(read_run(run.files), suite, {}))

    assert [one.is_new for one in (first, again)] == [True, False]
    assert "was on the leaderboard already" in str(again)
    assert len(server.entries) == 1


def test_a_run_that_is_not_comparable_is_refused_with_every_reason(tmp_path: Path, suite: Suite) -> None:
    past = past_run(tmp_path, planned(suite, Made(), Made(score=None), model="demo/oracle"))

    with pytest.raises(NotForTheLeaderboardError) as caught:
        pack(past, suite, {})

    assert "built-in script" in str(caught.value)
    assert "3 of 6 trials have no score" in str(caught.value)


async def test_a_registration_is_kept_for_the_user_alone_and_used_from_then_on(tmp_path: Path) -> None:
    async with fake_leaderboard() as server:
        env = {"PINCHBENCH_SERVER_URL": server.url, "PINCHBENCH_CONFIG": str(tmp_path / "c")}
        saved = await register(env)

        assert saved.claim_url == f"{server.url}/claim/1"
        path = account_file(env)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert read_account(env).token == saved.token == "tok-1-0123456789"
        with pytest.raises(ConfigError, match="--force"):
            await register(env)
        assert len(server.requests) == 1
        await register(env, force=True)
        assert read_account(env).token == "tok-2-0123456789"
