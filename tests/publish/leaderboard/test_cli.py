"""`register` and `upload` as a user meets them, on the real bundled suite, and what the end of a run does."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from bundled_suite import SUITE
from command_line import Completed, call
from fake_leaderboard import FakeLeaderboard, Reply, error, fake_leaderboard
from leaderboard_runs import planned
from past_runs import Made, write_run
from pinchbench.results.paths import RunFiles

TOKEN = "tok-known-0123456789"


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    return write_run(tmp_path / "results", planned(SUITE, Made(score=0.75)))


def pinchbench(cwd: Path, *args: str, server: FakeLeaderboard, token: str = TOKEN) -> Completed:
    env = {**os.environ, "PINCHBENCH_SERVER_URL": server.url, "PINCHBENCH_TOKEN": token}
    return call(*args, cwd=cwd, env=env)


@contextmanager
def serving(*faults: Reply) -> Iterator[FakeLeaderboard]:
    """A leaderboard on a thread of its own: the program has this one's event loop."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(fake_leaderboard(*faults)) as server:
        yield server


def test_a_dry_run_shows_the_very_bytes_that_are_sent_afterwards(tmp_path: Path, files: RunFiles) -> None:
    with serving() as server:
        shown = pinchbench(tmp_path, "upload", files.name, "--dry-run", server=server)
        assert server.requests == []
        sent = pinchbench(tmp_path, "upload", files.name, server=server)

    assert (shown.returncode, sent.returncode) == (0, 0), shown.stderr + sent.stderr
    [asked] = server.requests
    assert shown.stdout.encode() == asked.body + b"\n"
    assert len(asked.json["tasks"]) == asked.json["max_score"] == asked.json["metadata"]["suite_tasks"]
    assert "X-PinchBench-Token" in shown.stderr
    assert "Nothing was sent." in shown.stderr
    assert "Sending" not in shown.stderr
    assert f"Sending the result to the leaderboard at {server.url}." in sent.stderr
    assert not any(TOKEN in text for text in (shown.stdout, shown.stderr, sent.stdout, sent.stderr))
    assert sent.stdout == f"{server.url}/r/{asked.json['submission_id']}\n"


def test_who_registers_gets_the_claim_url_and_can_upload_with_a_token_that_is_never_shown(
    tmp_path: Path, files: RunFiles
) -> None:
    with serving() as server:
        made = pinchbench(tmp_path, "upload", "--register", server=server, token="")
        again = pinchbench(tmp_path, "upload", "--register", server=server, token="")
        sent = pinchbench(tmp_path, "upload", files.name, "--json", server=server, token="")

    assert (made.returncode, made.stdout) == (0, f"{server.url}/claim/1\n")
    assert again.returncode == 2
    assert "--force" in again.stderr
    answer = json.loads(sent.stdout)
    assert (answer["rank"], answer["is_new"]) == (3, True)
    whole = "".join(text for done in (made, again, sent) for text in (done.stdout, done.stderr))
    assert "tok-1" not in whole
    assert "key-1" not in whole


def test_what_is_refused_leaves_with_its_own_exit_code(tmp_path: Path) -> None:
    ungraded = write_run(tmp_path / "results", planned(SUITE, Made(), Made(score=None)))
    whole = write_run(tmp_path / "results", planned(SUITE, run_id="20260103-030405-0002"))
    with serving() as server:
        refused = pinchbench(tmp_path, "upload", ungraded.name, server=server)
        server.faults.append(error(413, "larger than 1 MB"))
        too_large = pinchbench(tmp_path, "upload", whole.name, server=server)

    assert (refused.returncode, too_large.returncode) == (9, 9)
    assert "trials have no score" in refused.stderr
    assert "larger than 1 MB" in too_large.stderr
    assert not server.entries
