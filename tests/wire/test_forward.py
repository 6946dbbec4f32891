"""The wait that a provider requests is read from its headers; redirects are followed within the provider."""

from datetime import UTC, datetime

import h11
import pytest

from pinchbench.wire.forward import MAX_REDIRECTS, RedirectError, redirected, requested_wait_s
from pinchbench.wire.request_route import Origin


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([(b"Retry-After", b"3"), (b"retry-after-ms", b"250")], 0.25),
        ([(b"Retry-After", b"Thu, 01 Jan 1970 00:01:40 GMT")], 60.0),
        ([(b"Other", b"3")], None),
    ],
)
def test_a_wait_in_milliseconds_counts_before_one_in_seconds(
    headers: list[tuple[bytes, bytes]], expected: float | None
) -> None:
    assert requested_wait_s(headers, datetime.fromtimestamp(40.0, UTC)) == expected


ORIGIN = Origin.parse("https://api.example/base")


def _redirect(location: str, status: int = 307) -> h11.Response:
    return h11.Response(status_code=status, headers=[(b"Location", location.encode())] if location else [])


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/v2/responses?a=b", b"/v2/responses?a=b"),
        ("https://api.example:443/v2/", b"/v2/"),
        ("other", b"/v1/other"),
        ("https://api.example", b"/"),
    ],
)
def test_a_redirect_within_the_provider_is_followed(location: str, target: bytes) -> None:
    assert redirected(ORIGIN, [b"/v1/responses"], _redirect(location)) == target


@pytest.mark.parametrize(
    ("location", "status", "tried", "problem"),
    [
        ("https://elsewhere.example/v1?key=secret", 308, 1, r"another server, https://elsewhere\.example/v1\."),
        ("http://api.example/v1", 307, 1, "another server"),
        ("/v2", 302, 1, r"https://api\.example/v2 by a 302"),
        ("", 307, 1, "by a 307"),
        ("/v2", 307, MAX_REDIRECTS + 1, "again and again"),
    ],
)
def test_another_redirect_is_an_error_that_names_the_place_without_its_query(
    location: str, status: int, tried: int, problem: str
) -> None:
    with pytest.raises(RedirectError, match=problem) as caught:
        redirected(ORIGIN, [b"/v1/responses"] * tried, _redirect(location, status))
    assert "secret" not in str(caught.value)
