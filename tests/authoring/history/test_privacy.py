"""Keys, folders, names and addresses are masked, in the same way everywhere."""

import pytest

from pinchbench.authoring.history.privacy import Masker

KEYS = (
    "sk-proj-abcDEF0123456789abcd",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-123456789012-abcdefGHIJ",
    "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4",
    "123456789:AAabcdefghijklmnopqrstuvwxyz0123456",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
)


@pytest.mark.parametrize("key", KEYS)
def test_what_looks_like_a_key_is_masked(key: str) -> None:
    masked = Masker().text(f"use {key} now")

    assert masked == "use [key] now"


@pytest.mark.parametrize(
    "text",
    [
        "password: hunter2-Zq9!",
        '{"api_key": "aB3dE6gH9jK2"}',
        "export MAIL_TOKEN=aB3dE6gH9jK2",
        "token is aB3dE6gH9jK2",
    ],
)
def test_what_is_called_a_key_is_masked(text: str) -> None:
    masked = Masker().text(text)

    assert "[key]" in masked
    assert not any(secret in masked for secret in ("hunter2", "aB3dE6gH9jK2"))


def test_known_keys_are_masked_and_words_are_not() -> None:
    masker = Masker(secrets=("my-very-own-key-1",))

    assert masker.text("my-very-own-key-1; password: required; the token count: 12") == (
        "[key]; password: required; the token count: 12"
    )


def test_paths_in_the_workspace_become_relative_and_others_lose_the_home() -> None:
    masker = Masker(home="/home/ada")

    masked = masker.text("cd /home/ada/w && cat /home/ada/w/a.txt /home/ada/w2/b /home/ada/c", workspace="/home/ada/w")

    assert masked == "cd . && cat a.txt /home/user/w2/b /home/user/c"


def test_names_and_addresses_are_replaced_consistently_when_asked_for() -> None:
    masker = Masker(names=("Ada Lovelace", "Bob"), addresses=True)

    first = masker.text("Ada Lovelace <ada@x.org> wrote to bob (bob@x.org, +49 151 2345678); Bobby did not")
    second = masker.text("ADA@x.org")

    assert first == (
        "Person 1 <person1@example.com> wrote to Person 2 (person2@example.com, +1 555 0103); Bobby did not"
    )
    assert second == "person1@example.com"
    assert Masker().text("Bob <bob@x.org>") == "Bob <bob@x.org>"


def test_a_binary_file_with_a_key_is_left_out_and_one_without_is_kept() -> None:
    assert Masker().data(b"\xff\xfe sk-proj-abcDEF0123456789abcd") is None
    assert Masker().data(b"\xff\x00plain") == b"\xff\x00plain"
    assert Masker(home="/home/ada").data("ü /home/ada".encode()) == "ü /home/user".encode()
