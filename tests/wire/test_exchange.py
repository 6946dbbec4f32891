"""An exchange between agent and model."""

from collections.abc import Callable

import pytest

from pinchbench.wire import exchange as exchange_module
from pinchbench.wire.exchange import CHUNK_BYTES, Allowance, Draft, ExchangeEnd
from pinchbench.wire.wire_messages import CallFailed


def _draft(allowance: Allowance, exceed: Callable[[str], None] = pytest.fail) -> Draft:
    draft = Draft(allowance, provider="openai", method="POST")
    draft.assign(number=1, trial="task/1", turn=0, exceed=exceed)
    return draft


async def test_a_body_beyond_its_limit_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange_module, "BODY_BYTES", 10)
    used: list[str] = []
    draft = _draft(Allowance(), used.append)
    assert [draft.add_request(part) for part in (b"12345", b"67890", b"x")] == [True, True, False]
    draft.add_chunk(b"abc")
    assert len(used) == 1
    draft.add_chunk(b"x" * 8)
    draft.finish()
    assert used == ["a request or reply of more than 0 MiB"] * 2
    assert (draft.exchange().request, draft.exchange().reply) == (b"1234567890", b"abc")


async def test_what_is_kept_of_a_trials_exchanges_has_a_limit_and_is_given_back() -> None:
    used: list[str] = []
    allowance = Allowance(10 + CHUNK_BYTES)
    one, other = _draft(allowance), _draft(allowance, used.append)
    assert one.add_request(b"12345")
    one.add_chunk(b"12345")
    assert not other.add_request(b"1")
    assert used == ["more than 128 MiB of requests and replies at a time"]
    one.discard()
    assert _draft(allowance).add_request(b"1")


@pytest.mark.parametrize(
    ("status", "end", "fails"),
    [
        (200, ExchangeEnd.COMPLETE, False),
        (200, ExchangeEnd.CLIENT_LEFT, False),
        (429, ExchangeEnd.COMPLETE, True),
        (200, ExchangeEnd.CUT, True),
        (0, ExchangeEnd.NOT_REACHED, True),
    ],
)
async def test_an_exchange_without_a_complete_reply_fails(status: int, end: ExchangeEnd, fails: bool) -> None:
    draft = _draft(Allowance())
    draft.status = status
    draft.finish(end)
    assert draft.failure == (CallFailed(trial="task/1", number=1, status=status) if fails else None)
