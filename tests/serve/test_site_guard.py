"""Who is let in, and what every answer forbids: each attack on a local server has its case."""

from pathlib import Path

import pytest
from starlette.datastructures import Headers

from pinchbench.serve.site_guard import BAD_HOST, BAD_METHOD, BAD_ORIGIN, NO_TOKEN, Access, Refusal, refusal
from site_server import serving

TOKEN = "a-secret-of-some-length"
LOCAL = Access()
OPEN = Access(names=frozenset({"localhost", "bench"}), is_local=False, token=TOKEN)


def _refused(*headers: tuple[str, str], access: Access = LOCAL, method: str = "GET", path: str = "/") -> Refusal | None:
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    return refusal(access, method=method, path=path, headers=Headers(raw=raw))


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "192.168.0.7:8000",
        "[::2]",
        "",
        "127.0.0.1:8000:8000",
        "127.0.0.1@evil.example",
        "127.0.0.1/evil",
        "2130706433",
        "0x7f.1",
    ],
)
def test_a_name_that_was_made_to_resolve_to_this_machine_is_refused(host: str) -> None:
    assert _refused(("host", host)) is BAD_HOST


def test_a_server_for_others_has_its_name_and_any_address_but_no_foreign_name() -> None:
    token = ("authorization", f"Bearer {TOKEN}")

    assert _refused(("host", "bench:8000"), token, access=OPEN) is None
    assert _refused(("host", "192.168.0.7:8000"), token, access=OPEN) is None
    assert _refused(("host", "evil.example"), token, access=OPEN) is BAD_HOST


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get"])
def test_other_methods_are_refused(method: str) -> None:
    assert _refused(("host", "localhost"), method=method) is BAD_METHOD


@pytest.mark.parametrize(
    "headers",
    [
        [("origin", "http://evil.example")],
        [("origin", "http://localhost:1")],
        [("origin", "https://localhost.evil.example")],
        [("origin", "null")],
        [("origin", "")],
        [("origin", "http://localhost"), ("origin", "http://evil.example")],
        [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")],
        [("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors")],
        [("sec-fetch-site", "cross-site")],
    ],
)
def test_pages_of_other_origins_are_refused(headers: list[tuple[str, str]]) -> None:
    assert _refused(("host", "localhost"), *headers) is BAD_ORIGIN


def test_a_link_from_elsewhere_may_be_followed_but_not_a_form_sent() -> None:
    link = ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")

    assert _refused(("host", "localhost"), *link) is None
    assert _refused(("host", "localhost"), *link, method="POST") is BAD_ORIGIN
    assert _refused(("host", "localhost"), method="POST") is BAD_ORIGIN
    assert _refused(("host", "localhost"), ("origin", "http://localhost"), method="POST") is None


@pytest.mark.parametrize(
    "header",
    [
        ("x", ""),
        ("authorization", "Bearer"),
        ("authorization", "Bearer wrong"),
        ("authorization", f"Bearer {TOKEN} "),
        ("authorization", f"Basic {TOKEN}"),
        ("authorization", "Bearer \xff"),
        ("cookie", f"pinchbench-session={TOKEN}"),
        ("cookie", "pinchbench-session="),
        ("cookie", "pinchbench-session=\xff; \x00"),
    ],
)
def test_without_the_token_only_the_question_for_it_is_answered(header: tuple[str, str]) -> None:
    assert _refused(("host", "bench"), header, access=OPEN) is NO_TOKEN
    assert _refused(("host", "bench"), header, access=OPEN, path="/run/x/events") is NO_TOKEN
    assert _refused(("host", "bench"), header, access=OPEN, path="/login") is None


def test_the_token_opens_a_session_of_the_browser_and_is_in_no_answer(tmp_path: Path) -> None:
    access = Access(token=TOKEN)
    with serving(tmp_path, access=access) as site:
        own = {"Origin": site.url}
        asked = site.ask("/run/x")
        wrong = site.ask("/login", method="POST", body="token=wrong", headers=own)
        foreign = site.ask("/login", method="POST", body=f"token={TOKEN}", headers={"Origin": "http://evil.example"})
        long = site.ask("/login", method="POST", body="token=" + "x" * 5000, headers=own)
        right = site.ask("/login", method="POST", body=f"token={TOKEN}", headers=own)
        cookie = right.headers["set-cookie"]
        inside = site.ask("/", headers={"Cookie": cookie.partition(";")[0]})
        bearer = site.ask("/", headers={"Authorization": f"Bearer {TOKEN}"})

    statuses = [one.status for one in (asked, wrong, foreign, long, right, inside, bearer)]
    assert statuses == [401, 403, 403, 413, 303, 200, 200]
    assert "token of this server" in asked.text
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert TOKEN not in cookie
    assert TOKEN not in "".join(one.text for one in (asked, wrong, right, inside))


def test_every_answer_forbids_frames_sniffing_caching_and_code_of_others(tmp_path: Path) -> None:
    with serving(tmp_path) as site:
        answers = [
            site.ask("/"),
            site.ask("/nothing"),
            site.ask("/", headers={"Host": "evil.example"}),
            site.ask("/", method="DELETE"),
        ]

    assert [one.status for one in answers] == [200, 404, 421, 405]
    for one in answers:
        policy = one.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert one.headers["x-content-type-options"] == "nosniff"
        assert one.headers["referrer-policy"] == "same-origin"
        assert one.headers["cross-origin-resource-policy"] == "same-origin"
        assert one.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in one.headers
        assert "server" not in one.headers
