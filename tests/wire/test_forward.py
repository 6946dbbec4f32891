"""Passing requests on: whose turn it is, redirects and requested waits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import anyio
import h11
import pytest
from anyio import create_task_group

from pinchbench.wire.forward import MAX_REDIRECTS, Pacer, RedirectError, Window, redirected, requested_wait_s
from pinchbench.wire.request_route import Origin

pytestmark = pytest.mark.virtual_clock


def test_the_window_stays_between_one_and_its_maximum() -> None:
    window = Window(2)
    for now in range(1, 20):
        window.refuse(began_at=now - 0.5, in_flight=1, now=now, retry_after_s=None)
    assert window.size == 1.0
    assert window.has_room(0, now=20.0)
    for _ in range(100):
        window.succeed()
    assert window.size == 2


def test_nothing_is_sent_before_what_retry_after_asks_for() -> None:
    window = Window()
    window.refuse(began_at=0.0, in_flight=5, now=1.0, retry_after_s=3.0)
    assert not window.has_room(0, now=3.9)
    assert window.has_room(0, now=4.0)


@contextmanager
def released(pacer: Pacer) -> Iterator[None]:
    """Release a permit at the end of the block."""
    try:
        yield
    finally:
        pacer.release()


async def test_trials_take_turns_and_requests_of_a_trial_keep_their_order() -> None:
    pacer = Pacer(1)
    order: list[str] = []

    async def ask(trial: str, name: str) -> None:
        await pacer.acquire(trial)
        with released(pacer):
            order.append(name)
            await anyio.sleep(1)

    async with create_task_group() as group:
        for trial, name in [("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("c", "c1"), ("b", "b2")]:
            group.start_soon(ask, trial, name)
            await anyio.sleep(0.01)
    assert order == ["a1", "a2", "b1", "c1", "a3", "b2"]


async def test_the_time_in_the_queue_is_reported() -> None:
    pacer = Pacer(1)
    waited: list[float] = []

    async def ask() -> None:
        began = anyio.current_time()
        admitted = await pacer.acquire("a")
        with released(pacer):
            waited.append(admitted - began)
            await anyio.sleep(5)

    async with create_task_group() as group:
        for _ in range(3):
            group.start_soon(ask)
    assert waited == pytest.approx([0, 5, 10])


async def test_a_pause_ends_by_itself() -> None:
    pacer = Pacer()
    began = await pacer.acquire("a")
    with released(pacer):
        pacer.refuse(began, 7.0)
    admitted = await pacer.acquire("a")
    with released(pacer):
        assert admitted - began == pytest.approx(7)


@pytest.mark.parametrize("at_s", [0.5, 1.0])
async def test_a_cancelled_waiter_leaves_nothing_behind(at_s: float) -> None:
    pacer = Pacer(1)
    got = anyio.Event()

    async def wait_in_vain() -> None:
        with anyio.move_on_after(at_s):
            await pacer.acquire("b")
            got.set()
            await anyio.sleep_forever()

    async with create_task_group() as group:
        await pacer.acquire("a")
        group.start_soon(wait_in_vain)
        await anyio.sleep(1.0)
        pacer.release()
        await anyio.sleep(0.1)
        if got.is_set():  # its turn came at the moment of its cancellation
            pacer.release()
    assert (pacer._in_flight, pacer.waiting) == (0, 0)


async def test_a_smaller_window_is_reported_once() -> None:
    told: list[int] = []
    pacer = Pacer(changed=told.append)
    permits = [await pacer.acquire(str(number)) for number in range(10)]
    await anyio.sleep(1)
    for permit in permits[:3]:
        pacer.refuse(permit, None)
        pacer.release()
    assert told == [9]


LASTS_S = 1800.0
TRIALS = 64
TOOLS_S = 4.0
RETRY_AFTER_S = 1.0
DURATIONS_S = (4.0, 7.0, 13.0, 6.0, 9.0, 5.0, 12.0)


def limit_at(now: float) -> int:
    steps = (20, 32, 12, 24, 8, 28)  # jumps every two minutes, and a slow wave of its own
    return int(steps[int(now / 120) % len(steps)] + 3 * math.sin(now / 40))


@dataclass(kw_only=True)
class Provider:
    """Refuses what exceeds a limit of requests at a time that moves between 5 and 35."""

    flying: int = 0
    began: float = field(default_factory=anyio.current_time)
    begun: int = 0
    served: int = 0

    def limit(self) -> int:
        return limit_at(anyio.current_time() - self.began)

    async def ask(self) -> bool:
        if self.flying >= self.limit():
            await anyio.sleep(0.1)
            return False
        self.flying += 1
        self.begun += 1
        try:
            await anyio.sleep(DURATIONS_S[self.begun % len(DURATIONS_S)])
        finally:
            self.flying -= 1
        self.served += 1
        return True


async def _ask_and_use_tools(name: str, provider: Provider, pacer: Pacer) -> None:
    while True:
        permit = await pacer.acquire(name)
        with released(pacer):
            if await provider.ask():
                pacer.succeed()
            else:
                pacer.refuse(permit, RETRY_AFTER_S)
                continue
        await anyio.sleep(TOOLS_S)


@pytest.mark.long
async def test_goodput_under_a_moving_limit_is_near_that_of_an_oracle() -> None:
    provider, pacer = Provider(), Pacer()
    with anyio.move_on_after(LASTS_S):
        async with create_task_group() as group:
            for number in range(TRIALS):
                group.start_soon(_ask_and_use_tools, f"t{number}", provider, pacer)
    # Who knows the limit has as many requests in flight at every moment.
    oracle = sum(map(limit_at, range(int(LASTS_S)))) / (sum(DURATIONS_S) / len(DURATIONS_S))
    assert provider.served >= 0.9 * oracle


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
