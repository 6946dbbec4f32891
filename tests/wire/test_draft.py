"""What is kept of exchanges stays within a limit for all of them."""

from __future__ import annotations

import pytest

from pinchbench.wire import draft as draft_module
from pinchbench.wire.draft import CHUNK_BYTES, Allowance, Draft
from pinchbench.wire.exchange import ExchangeEnd

pytestmark = pytest.mark.anyio


def _draft(allowance: Allowance) -> Draft:
    draft = Draft(allowance, provider="openai", method="POST")
    draft.assign(number=1, trial="task/1", turn=0)
    return draft


async def test_a_body_beyond_its_limit_is_kept_up_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_module, "BODY_BYTES", 10)
    draft = _draft(Allowance())
    assert [draft.add_request(part) for part in (b"12345", b"67890", b"x", b"y")] == [True, True, False, False]
    for part in (b"abc", b"x" * 8, b"d"):
        draft.add_chunk(part)
    draft.finish()
    assert (draft.exchange().request, draft.exchange().reply) == (b"1234567890", b"abc")
    assert draft.event().omitted_bytes == 2 + 9


async def test_what_is_kept_of_all_exchanges_has_a_limit_and_is_given_back() -> None:
    allowance = Allowance(10 + CHUNK_BYTES)
    one, other = _draft(allowance), _draft(allowance)
    assert one.add_request(b"12345")
    one.add_chunk(b"12345")
    assert not other.add_request(b"1")
    one.discard()
    assert _draft(allowance).add_request(b"1")


async def test_an_exchange_ends_once() -> None:
    draft = _draft(Allowance())
    draft.finish(ExchangeEnd.CUT, "cut")
    draft.finish()
    assert (draft.exchange().end, draft.exchange().error) == (ExchangeEnd.CUT, "cut")
    assert draft.event().first_chunk_s is None
