"""The page on which a user keeps, edits or drops each proposal for grading their past conversations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from anyio import Event

from pinchbench.report.html.safe_text import safe_text
from pinchbench.serve.pages import Page, site_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pinchbench.authoring.history.candidates import Candidate
    from pinchbench.authoring.history.privacy import Masker
    from pinchbench.authoring.history.proposals import Proposal

KEEP = "keep"


@dataclass(kw_only=True, slots=True)
class HistoryReview:
    """What is to be confirmed. All texts are shown masked.

    `confirmed` has the candidates with the proposals that were kept, once `done` is set.
    """

    candidates: Sequence[Candidate]
    masker: Masker
    confirmed: Sequence[Candidate] = ()
    done: Event = field(default_factory=Event)

    def page(self) -> Page:
        """Return the page of all proposals, or once they have been confirmed, what happens now."""
        candidates = () if self.confirmed else self.candidates
        return site_page("history.html.j2", candidates=candidates, text=self._text, keep=KEEP)

    def take(self, fields: Mapping[str, Sequence[str]]) -> None:
        """Take the fields of the page's form."""
        self.confirmed = [
            replace(one, proposals=list(self._kept(one, place, fields))) for place, one in enumerate(self.candidates)
        ]

    def _kept(self, one: Candidate, place: int, fields: Mapping[str, Sequence[str]]) -> Iterator[Proposal]:
        for number, proposal in enumerate(one.proposals):
            shown = self._text(one, proposal.compared)
            text = fields.get(f"text-{place}-{number}", [shown])[0].replace("\r\n", "\n")
            if fields.get(f"what-{place}-{number}") == [KEEP] and bool(text.strip()) == bool(shown.strip()):
                yield proposal if text == shown else proposal.edited(text)

    def _text(self, one: Candidate, text: str) -> str:
        return safe_text(self.masker.text(text, workspace=one.conversation.workspace))
