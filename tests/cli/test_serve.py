"""`serve` as a user starts and ends it: its address on stdout, refusals that say what to do, and no token anywhere."""

import os
import signal
import subprocess
import sys
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from command_line import call, clean_environment
from past_runs import Made, PlannedRun, write_run

TOKEN = "a-secret-of-some-length"


def test_it_prints_its_address_answers_writes_nothing_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    run = PlannedRun(trials={"task_a": (Made(),)})
    write_run(tmp_path / "results", run)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "results").rglob("*")}
    with subprocess.Popen(
        [sys.executable, "-m", "pinchbench", "serve", "--port", "0"],
        cwd=tmp_path,
        env=clean_environment(tmp_path, PINCHBENCH_SERVE_TOKEN=TOKEN),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as serving:
        assert serving.stdout is not None
        url = urlsplit(serving.stdout.readline().strip())
        connection = HTTPConnection("127.0.0.1", url.port or 0, timeout=60)
        for _ in range(60):  # on a busy machine, the page may be announced before it is ready
            connection.request("GET", f"/run/{run.name}", headers={"Authorization": f"Bearer {TOKEN}"})
            answer = connection.getresponse()
            text = answer.read().decode()
            if answer.status != HTTPStatus.ACCEPTED:
                break
        connection.close()
        os.kill(serving.pid, signal.SIGINT)
        out, err = serving.communicate(timeout=60)

    assert (url.scheme, url.hostname, url.path) == ("http", "127.0.0.1", "/")
    assert answer.status == 200
    assert "mock/m1" in text
    assert serving.returncode == 130
    assert out == ""
    assert err.strip() == "Ctrl-C ends the server; runs go on by themselves."
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "results").rglob("*")} == before


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--host", "0.0.0.0"), 2, "set PINCHBENCH_SERVE_TOKEN"),
        (("--token", "short-and-known"), 2, "shorter than 16"),
        (("--host", "no.such.name.invalid", "--token", TOKEN), 2, "Can't listen on"),
        (("--output-dir", "nowhere"), 6, "There is no folder nowhere"),
    ],
)
def test_what_it_can_t_serve_is_refused_and_no_token_repeated(
    tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    (tmp_path / "results").mkdir()
    done = call("serve", "--port", "0", *arguments, cwd=tmp_path)

    assert done.returncode == code
    assert said in done.stderr
    assert "short-and-known" not in done.stderr
    assert TOKEN not in done.stderr
