"""Confirming how past conversations are graded: what the page shows, who may send it, and what becomes of it."""

import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest

from history_states import BEGAN, Said, UserState, candidate
from pinchbench.authoring.history.candidates import Candidate
from pinchbench.authoring.history.privacy import Masker
from pinchbench.serve.history_review import HistoryReview
from pinchbench.serve.site_guard import Access
from site_server import serving

KEY = "sk-proj-abcDEF0123456789abcd"
HOSTILE = "</textarea><script>alert(1)</script>\u202e"
TOKEN = "a token of the server"


@pytest.fixture
def one(tmp_path: Path) -> Candidate:
    """A conversation with a fact that was corrected, a row that was kept, and a letter for a judge."""
    state, letter = UserState(folder=tmp_path / "state"), f"Dear {HOSTILE}\r\n{KEY}\r\n" + "a\r\n" * 90
    files = {"n.txt": "\n2\n", "rows.csv": f"{HOSTILE},1\n", "letter.md": letter}
    state.put(files, at=BEGAN + 4)
    calls = [("write", {"path": name, "content": text}, "") for name, text in files.items()]
    first = Said(prompt=f"Fill n.txt, rows.csv and letter.md {HOSTILE} {KEY}", calls=calls[1:])
    return candidate(state, [first, Said(prompt=f"No, 2 {HOSTILE}", calls=calls[:1])])


def answers(review: HistoryReview, changed: dict[str, str]) -> dict[str, list[str]]:
    """What a browser sends for the page: each text as it is shown, with a carriage return at the end of each line."""
    page = review.page().body.decode()
    texts = re.findall(r'<textarea name="([^"]*)"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    shown = {name: unescape(text).replace("\n", "\r\n") for name, text in texts}
    kept = dict.fromkeys(re.findall(r'name="(what-[^"]*)" value="keep" checked', page), "keep")
    return {name: [text] for name, text in {**shown, **kept, **changed}.items()}


def named(found: Sequence[Candidate]) -> list[str]:
    return [proposal.name for proposal in found[0].proposals]


def test_the_page_shows_each_proposal_with_its_evidence_masked_and_as_text(one: Candidate) -> None:
    page = HistoryReview(candidates=[one], masker=Masker()).page()

    text = page.body.decode()
    assert named([one]) == ["has n.txt 2", "like letter.md", "same n.txt", "same rows.csv"]
    assert text.count("<fieldset>") == text.count("<textarea ") == 4
    assert "<code>rows.csv</code> holds what you kept" in text
    assert "You corrected it: “No, 2" in text
    assert "A judge compares with" in text
    for never in (KEY, "<script>alert", HOSTILE[-1]):
        assert never not in text


def test_what_is_sent_back_unchanged_is_kept_as_it_is(one: Candidate) -> None:
    review = HistoryReview(candidates=[one], masker=Masker())

    review.take(answers(review, {"what-0-3": "drop"}))

    assert list(review.confirmed[0].proposals) == list(one.proposals[:3])


def test_each_is_kept_edited_or_dropped_and_one_without_a_text_is_dropped(one: Candidate) -> None:
    review = HistoryReview(candidates=[one], masker=Masker())
    changed = {"text-0-0": " 3\r\n", "what-0-1": "drop", "text-0-2": " ", "text-0-3": "a,1\r\n"}

    review.take(answers(review, changed))

    first, last = review.confirmed[0].proposals
    assert (first.point["text"], first.criterion, first.evidence) == ("3", "`n.txt` contains '3'", "You wrote it.")
    assert (last.name, last.point["expected"]) == ("same rows.csv", "a,1\n")


def test_what_was_not_sent_is_not_kept(one: Candidate) -> None:
    review = HistoryReview(candidates=[one], masker=Masker())

    review.take({})

    assert list(review.confirmed[0].proposals) == []


def test_only_who_has_the_token_reads_it_and_only_its_own_page_sends_it_once(one: Candidate, tmp_path: Path) -> None:
    review = HistoryReview(candidates=[one], masker=Masker())
    with serving(tmp_path, access=Access(token=TOKEN), review=review) as site:
        own, bearer = {"Origin": site.url}, {"Authorization": f"Bearer {TOKEN}"}
        body = urlencode({"what-0-0": "keep"})
        unknown = site.ask("/history")
        login = site.ask("/login", method="POST", body=urlencode({"token": TOKEN}), headers=own)
        read = site.ask("/history", headers=bearer)
        refused = [
            site.ask("/history", method="POST", body=body, headers=headers).status
            for headers in (own, bearer, {**bearer, "Origin": "http://evil.example"})
        ]
        is_untouched = not review.confirmed
        sent = site.ask("/history", method="POST", body=body, headers={**own, **bearer})
        again = site.ask("/history", method="POST", body="what-0-1=keep", headers={**own, **bearer})

    assert (unknown.status, "n.txt" in unknown.text) == (401, False)
    assert (login.status, login.headers["location"]) == (303, "/history")
    assert (read.status, "n.txt" in read.text) == (200, True)
    assert (refused, is_untouched) == ([401, 403, 403], True)
    assert (sent.status, again.status, "Confirmed" in again.text) == (200, 200, True)
    assert (named(review.confirmed), review.done.is_set()) == (["has n.txt 2"], True)


def test_a_site_of_runs_alone_has_no_such_page(tmp_path: Path) -> None:
    with serving(tmp_path) as site:
        assert site.ask("/history").status == 404
