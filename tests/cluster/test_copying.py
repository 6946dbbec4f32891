"""Files of a node arrive, whichever way there is."""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import pytest
from anyio import CapacityLimiter

from cluster.fake_link import FILES, FakeLink
from pinchbench.cluster import copying
from pinchbench.cluster.copying import copy_files

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio

SOURCE = PurePosixPath("/node/trials/task_a")


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("piece_bytes", [900, 9_000, 10_000])
async def test_a_file_arrives_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece_bytes: int) -> None:
    assert len(FILES["transcript.jsonl"]) == 9_000
    monkeypatch.setattr(copying, "PIECE_BYTES", piece_bytes)
    digests = await copy_files(FakeLink(), SOURCE, FILES, tmp_path, CapacityLimiter(1))
    assert digests == {name: hashlib.sha256(data).hexdigest() for name, data in FILES.items()}
    assert files_in(tmp_path) == FILES


async def test_only_what_has_not_arrived_at_once_is_read_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, digest = FakeLink(), hashlib.sha256(b"at once").hexdigest()

    async def fetch(*_: object) -> dict[str, str]:
        return {"stdout.log": digest}

    monkeypatch.setattr(link, "fetch", fetch)
    digests = await copy_files(link, SOURCE, FILES, tmp_path, CapacityLimiter(1))
    assert digests["stdout.log"] == digest
    assert files_in(tmp_path) == {"transcript.jsonl": FILES["transcript.jsonl"]}


async def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await copy_files(FakeLink(), SOURCE, ["missing"], tmp_path, CapacityLimiter(1))
