"""Digests of what an attempt leaves: of regular files alone, and each change of one has its sentence."""

import hashlib
import os
from pathlib import Path

import pytest

from pinchbench.results.evidence_files import Evidence, changed_files, digests_of, file_digest


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    """Two of the files that an agent leaves."""
    evidence = Evidence(folder=tmp_path)
    evidence.stdout.write_bytes(b"out")
    evidence.transcript.write_bytes(b"{}\n")
    return evidence


def test_the_digest_of_a_file_is_its_sha_256(evidence: Evidence) -> None:
    assert file_digest(evidence.stdout) == hashlib.sha256(b"out").hexdigest()
    assert digests_of(evidence.of_agent) == {
        "stdout.log": hashlib.sha256(b"out").hexdigest(),
        "transcript.jsonl": hashlib.sha256(b"{}\n").hexdigest(),
    }


def test_what_is_no_regular_file_has_no_digest_and_nothing_waits_for_it(evidence: Evidence) -> None:
    evidence.stderr.symlink_to("stdout.log")
    os.mkfifo(evidence.gateway_log)
    evidence.workspace.mkdir()

    with pytest.raises(OSError, match="symbolic links"):
        file_digest(evidence.stderr)
    for path in (evidence.gateway_log, evidence.workspace):
        with pytest.raises(OSError, match="not a regular file"):
            file_digest(path)
    assert digests_of(evidence.of_agent).keys() == {"stdout.log", "transcript.jsonl"}


def test_each_change_has_its_sentence(evidence: Evidence) -> None:
    stated = digests_of(evidence.of_agent)
    assert list(changed_files(evidence.of_agent, stated)) == []

    evidence.stdout.write_bytes(b"Out")
    evidence.transcript.unlink()
    evidence.stderr.write_bytes(b"")
    evidence.workspace.symlink_to("stdout.log")

    folder = evidence.folder
    assert list(changed_files(evidence.of_agent, stated)) == [
        f"{folder}/stdout.log is not as it was written",
        f"{folder}/stderr.log was added",
        f"{folder}/transcript.jsonl is missing",
        f"{folder}/workspace.tar.zst can't be read: Too many levels of symbolic links",
    ]
    assert not any("missing" in one for one in changed_files(evidence.of_agent, stated, strictly=False))
