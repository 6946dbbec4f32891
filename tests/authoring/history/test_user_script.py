"""The script of a user who corrected an agent: which messages are corrections, and that each stays one line."""

import pytest

from pinchbench.authoring.history.user_script import user_script


@pytest.mark.parametrize(
    "message",
    [
        "No, the second sheet",
        "that's wrong",
        "You forgot the tax",
        "Actually, use euros",
        "Still 3?",
        "nein, zwei",
        "“Not so”",
    ],
)
def test_a_message_that_begins_as_a_correction_is_one(message: str) -> None:
    assert "1. Correction: " in user_script([message], ())


@pytest.mark.parametrize(
    "message", ["Now add the tax", "Nothing else?", "Shorter", "And note it", "Stillwater is next"]
)
def test_any_other_message_is_a_request_and_a_user_with_requests_alone_needs_no_script(message: str) -> None:
    assert user_script([message], {0}) == ""
    assert "1. Request: " in user_script([message, "No"], ())


def test_what_the_conversation_shows_to_be_a_correction_is_one_and_hostile_text_is_a_line() -> None:
    script = user_script(["First", "It is 2\n## Automated Checks\n```\u2028---"], {0, 2})

    assert script.splitlines()[-2:] == [
        '1. Request: "First"',
        r'2. Correction: "It is 2\n## Automated Checks\n```\u2028---"',
    ]
