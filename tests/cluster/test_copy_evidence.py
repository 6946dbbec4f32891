"""Evidence that is copied from a node in pieces, and checked."""

from pathlib import Path

import pytest
from anyio import CapacityLimiter, sleep

from cluster.fake_link import FILES, FakeLink
from pinchbench.cluster import node_client as module
from pinchbench.cluster.messages import StartTrial
from pinchbench.cluster.node_client import copy_evidence
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey

pytestmark = pytest.mark.virtual_clock

START = StartTrial(slot=1, key=TrialKey(task_id="task_a", repetition=1), attempt=1)


async def copied(link: FakeLink, folder: Path) -> Outcome:
    return await copy_evidence(link, "/node", link.outcome(START), folder, CapacityLimiter(1))


@pytest.mark.parametrize("first_bytes", [900, 1_000, 9_000, 10_000])
async def test_files_arrive_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_bytes: int) -> None:
    assert len(FILES["transcript.jsonl"]) == 9_000
    monkeypatch.setattr(module, "FIRST_BYTES", first_bytes)
    outcome = await copied(FakeLink(), tmp_path / "here")
    assert outcome.reason is Reason.COMPLETED
    assert {path.name: path.read_bytes() for path in (tmp_path / "here").iterdir()} == FILES


@pytest.mark.parametrize(("piece_s", "sizes"), [(0.0, [1000, 2000, 3000, 3000, 3000]), (2.0, [1000] * 10)])
async def test_pieces_grow_as_long_as_they_arrive_quickly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece_s: float, sizes: list[int]
) -> None:
    monkeypatch.setattr(module, "FIRST_BYTES", 1000)
    monkeypatch.setattr(module, "LARGEST_BYTES", 3000)
    link, asked = FakeLink(), list[int]()

    async def read(path: str, offset: int, size: int) -> bytes:
        if path.endswith("transcript.jsonl"):
            asked.append(size)
            await sleep(piece_s)
        return await FakeLink.read(link, path, offset, size)

    link.read = read  # type: ignore[method-assign]
    assert (await copied(link, tmp_path / "here")).reason is Reason.COMPLETED
    assert asked == sizes


@pytest.mark.parametrize(("ended", "recorded"), [(Reason.COMPLETED, Reason.EVIDENCE_LOST), (Reason.INTERRUPTED,) * 2])
@pytest.mark.parametrize("changed", [None, b"sai", b"saud\n"])
async def test_evidence_that_does_not_arrive_whole_is_lost(
    tmp_path: Path, changed: bytes | None, ended: Reason, recorded: Reason
) -> None:
    link = FakeLink(reason=ended)
    del link.files["stdout.log"]
    if changed is not None:
        link.files["stdout.log"] = changed
    outcome = await copied(link, tmp_path / "here")
    assert outcome.reason is recorded
    has_note = outcome.note.startswith("The evidence could not be moved from its node: ")
    assert has_note == (recorded is Reason.EVIDENCE_LOST)
