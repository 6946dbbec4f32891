"""Replies of the web that a conversation got: as they were, one file each, with an index of what was asked."""

from history_states import Said, conversation
from pinchbench.authoring.history.recorded_web import INDEX, recorded_web


def test_each_page_and_search_has_its_last_good_reply_and_the_index_says_what_was_asked() -> None:
    turns = [
        Said(
            prompt="Look",
            calls=[
                ("web_search", {"query": "tides\n- 09.txt: x"}, "found"),
                ("web_fetch", {"url": "https://a.example/1"}, "ERROR 503"),
                ("web_fetch", {"url": "https://a.example/1"}, '{"text": "page"}'),
                ("web_fetch", {"url": "https://a.example/1"}, "ERROR 503"),
            ],
        ),
        Said(
            prompt="More",
            calls=[("web_fetch", {"url": "https://b.example"}, "ERROR 404"), ("browser", {"url": "c"}, "x")],
        ),
    ]

    files = recorded_web(conversation(turns, cwd="/w"))

    assert files[INDEX].decode().splitlines()[2:] == [
        "- 01.txt: web_search tides - 09.txt: x",
        "- 02.txt: web_fetch https://a.example/1",
        "- 03.txt: web_fetch https://b.example (failed)",
    ]
    assert [files[f"recorded_web/0{number}.txt"] for number in (1, 2, 3)] == [
        b"found",
        b'{"text": "page"}',
        b"ERROR 404",
    ]


def test_a_conversation_without_the_web_has_no_such_files() -> None:
    assert recorded_web(conversation([Said(prompt="Go", calls=[("exec", {"command": "ls"}, "a")])], cwd="/w")) == {}
