"""Addresses of slots lead to providers, with the key where the client sent the token."""

import pytest

from pinchbench.wire.request_route import (
    Origin,
    end_to_end,
    parse_route,
    request_headers,
)


@pytest.mark.parametrize(
    ("target", "route"),
    [
        ("/s/T/v1/chat?a=1", ("T", "/v1/chat?a=1")),
        ("/s/T", ("T", "")),
        ("/s/T?a=/b/c", ("T", "?a=/b/c")),
        ("/s/T//v1/", ("T", "//v1/")),
        ("/s/", ("", "/s/")),
        ("/v1/chat", ("", "/v1/chat")),
        ("http://host/s/T", ("", "http://host/s/T")),
        ("*", ("", "*")),
    ],
)
def test_a_target_is_split_into_token_and_rest(target: str, route: tuple[str, str]) -> None:
    assert parse_route(target) == route


@pytest.mark.parametrize(
    ("url", "authority", "path"),
    [
        ("https://api.example.com/v1/", "api.example.com", "/v1"),
        ("http://127.0.0.1:8080", "127.0.0.1:8080", ""),
        ("http://[::1]:80", "[::1]", ""),
    ],
)
def test_a_base_url_names_host_and_path(url: str, authority: str, path: str) -> None:
    origin = Origin.parse(url)
    assert (origin.authority, origin.path) == (authority, path)


def test_only_the_token_is_replaced_by_the_key() -> None:
    headers = [(b"Authorization", b"Bearer T"), (b"x-api-key", b"own"), (b"X-Other", b"T"), (b"HOST", b"a")]
    sent = request_headers(headers, origin=Origin.parse("http://b"), token="T", key="K")
    assert sent == [(b"Authorization", b"Bearer K"), (b"x-api-key", b"own"), (b"X-Other", b"T"), (b"HOST", b"b")]


def test_hop_by_hop_headers_and_those_they_name_are_not_passed_on() -> None:
    headers = [(b"Connection", b"close, X-Hop, Content-Length"), (b"x-hop", b"1"), (b"TE", b"trailers")]
    kept = [(b"Content-Length", b"3"), (b"X-Kept", b"1")]
    assert end_to_end([*headers, *kept]) == kept


def test_a_length_beside_chunks_is_not_passed_on() -> None:
    chunked = (b"Transfer-Encoding", b"chunked")
    assert end_to_end([(b"Content-Length", b"5"), chunked]) == [chunked]
