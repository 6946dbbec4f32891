"""Where the leaderboard is and who we are there: what is refused, what is kept, and who may read it."""

from pathlib import Path

import pytest

from pinchbench.errors import ConfigError, ResultsError
from pinchbench.publish.leaderboard.account import (
    DEFAULT_SERVER,
    SavedAccount,
    account_file,
    read_account,
    server_url,
)
from pinchbench.results.paths import write_json

SERVER = "https://board.example"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"PINCHBENCH_SERVER_URL": SERVER, "PINCHBENCH_CONFIG": str(tmp_path)}


def test_the_server_is_the_public_one_unless_the_environment_names_another() -> None:
    assert server_url({}) == DEFAULT_SERVER
    assert server_url({"PINCHBENCH_SERVER_URL": "https://board.example/base/"}) == "https://board.example/base"
    assert server_url({"PINCHBENCH_SERVER_URL": "http://[::1]:8000"}) == "http://[::1]:8000"


@pytest.mark.parametrize(
    "url",
    [
        "http://board.example",
        "http://localhost.board.example",
        "ftp://board.example",
        "board.example",
        "https://me:secret@board.example",
        "https://board.example?key=secret",
        "https://board.example#x",
        "https://board.example/a b",
        "https://[board",
        "https://board.example/ü",
        "https://board.example:0",
    ],
)
def test_a_server_that_keys_must_not_go_to_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        server_url({"PINCHBENCH_SERVER_URL": url})

    assert "PINCHBENCH_SERVER_URL" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_saved_token_is_for_the_server_that_gave_it_and_no_other(env: dict[str, str]) -> None:
    write_json(account_file(env), SavedAccount(server=SERVER, token="tok-saved"))

    assert read_account({**env, "PINCHBENCH_SERVER_URL": "https://evil.example"}).token == ""


def test_no_account_is_shown_with_its_keys(env: dict[str, str]) -> None:
    account = read_account({**env, "PINCHBENCH_TOKEN": "tok-env", "PINCHBENCH_OFFICIAL_KEY": "key-official"})

    assert account.secrets == ("tok-env", "key-official")
    shown = f"{account!r} {SavedAccount(server=SERVER, token='tok-saved', api_key='key-own')!r}"
    assert not any(one in shown for one in ("tok-", "key-"))


@pytest.mark.parametrize("value", ["tok env", "tök", "tok\x07", "x" * 5000])
def test_a_token_that_no_header_can_hold_is_refused_without_quoting_it(env: dict[str, str], value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_account({**env, "PINCHBENCH_TOKEN": value})

    assert value not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"server": "https://board.example"}', '{"server":"s","token":"tok secret"}']
)
def test_a_damaged_account_is_reported_with_a_way_out_and_without_its_text(env: dict[str, str], text: str) -> None:
    account_file(env).write_text(text, encoding="utf-8")

    with pytest.raises(ResultsError, match="register --force") as caught:
        read_account(env)

    assert "secret" not in str(caught.value)
