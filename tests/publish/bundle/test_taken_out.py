"""Keys and private names are overwritten where they count, and counted."""

import pytest

from pinchbench.publish.bundle.taken_out import TextRemover

KEY = "sk-Abc123+/x"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("/home/zelda/results", "/home/*****/results"),
        ("Zelda's ZELDA-box", "*****'s *****-box"),
        (r"{\"a\": \"x\nzelda\"}", r"{\"a\": \"x\n*****\"}"),
        ("\\u001bzelda", "\\u001b*****"),
        ("grizelda, zeldas, zélda", "grizelda, zeldas, zélda"),
        (f"Bearer{KEY}x", f"Bearer{'*' * len(KEY)}x"),
        (KEY.upper(), KEY.upper()),
        ("ruf-ex.local:8080", "************:8080"),
    ],
)
def test_a_name_is_taken_out_as_a_word_and_a_key_everywhere(text: str, left: str) -> None:
    remove = TextRemover(names=["zelda", "ruf-ex.local"], keys=[KEY])
    assert remove(text.encode()) == left.encode()


def test_a_short_name_is_taken_out_only_where_it_names_a_home() -> None:
    remove = TextRemover(names=["pi"], keys=[])
    assert remove(b"pi is 3.14; /home/pi/x, /Users/pi, pi@box") == b"pi is 3.14; /home/**/x, /Users/**, pi@box"


def test_a_name_beyond_ascii_is_found_as_json_writes_it_too() -> None:
    remove = TextRemover(names=["zoë"], keys=[])
    assert remove(rb"/home/zo\u00eb/") == b"/home/" + b"*" * 8 + b"/"
    assert remove("/home/zoë/".encode()) == b"/home/" + b"*" * 4 + b"/"


def test_what_was_taken_out_is_counted_without_saying_it() -> None:
    remove = TextRemover(names=["zelda", "hyrule.example"], keys=[KEY])
    remove(f"zelda@hyrule.example zelda {KEY}".encode())
    assert remove.text("zelda") == "*****"  # and is not counted
    assert remove.take_found() == {"key": 1, "name 1": 1, "name 2": 2}
    assert remove.take_found() == {}
    assert remove.labels == {"name 1": "hyrule.example", "name 2": "zelda"}
