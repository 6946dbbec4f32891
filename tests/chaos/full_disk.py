"""Runs on file systems that fill up at a random moment, and go on once there is room again."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import msgspec

from chaos.blows import LATER_S
from chaos.campaign import STORES, Campaign, Peace, Undisturbed, result_of
from chaos.ledger import Findings, differences, scores
from chaos.session import Session

SIZE = "64m"  # well above what a run wants to have free
PIECE_BYTES = 1024 * 1024
# exit codes; with the first, some trials just found room, and others did not, one after another
INCOMPLETE, CANT_WRITE, INCONCLUSIVE = 5, 6, 7
FOLDERS = ("results", "runs")  # with the journal and the evidence; with the workspaces and the homes


def why_not() -> str:
    """Why no small file system can be made here; empty where one can."""
    if not sys.platform.startswith("linux"):
        return "a tmpfs is needed"
    return "" if os.geteuid() == 0 else "only root may mount a tmpfs"


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A small file system at `folder`, as long as the block. Raises CalledProcessError where it may not be mounted."""
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Fill the file system to its last byte; returns the file that does it."""
    path = folder / ".filler"
    piece = bytes(PIECE_BYTES)
    with path.open("wb", buffering=0) as file:
        while piece:
            try:
                file.write(piece)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                piece = piece[: len(piece) // 2]
    return path


def fill_disk(folder: Path, name: str, rng: Random, peace: Peace) -> Findings:
    """The disk with a folder of the run fills up.

    With the journal and the evidence on it, the run says so and loses nothing; with the workspaces and the agents'
    homes, no trial is held to have failed for that.
    """
    folder = folder / f"full-{name}"
    findings = Findings()
    store = rng.choice(STORES)
    expected = peace.with_store(store)
    place = peace.place(folder, store)
    with small_disk(folder / name) as disk:
        campaign = Campaign(place, findings)
        filled = _run_until_full(campaign, disk, rng, peace.trials)
        if not campaign.is_over:
            _check_end(campaign, findings, expected)
        filled.unlink()
        if not campaign.is_over:
            campaign.go_on()
        campaign.close(None)
        # what failed because the disk was full is named in the result, so that only the scores are the same
        if campaign.is_over:
            findings.differs += differences(scores(result_of(place)), scores(msgspec.to_builtins(expected.data)))
    return findings


def _run_until_full(campaign: Campaign, disk: Path, rng: Random, trials: int) -> Path:
    """Run, and fill the disk at some moment; returns the file to be removed."""
    ends = rng.randint(1, trials // 2)

    def is_time(session: Session) -> bool:
        return sum("completed  task_" in line for line in session.shown()) >= ends

    filled: list[Path] = []

    def at_its_time(session: Session) -> None:
        session.wait(lambda: is_time(session))
        session.wait(limit_s=rng.uniform(0, LATER_S))
        filled.append(fill(disk))

    campaign.go_on(meanwhile=at_its_time, may_fail=True)
    [path] = filled
    return path


def _check_end(campaign: Campaign, findings: Findings, expected: Undisturbed) -> None:
    """The run has ended itself, with a sentence, and no trial has a score that is not its own."""
    findings.kills += 1
    if campaign.code not in (INCOMPLETE, CANT_WRITE, INCONCLUSIVE):
        findings.other.append(f"a full disk ended the run with {campaign.code}: {campaign.shown[-1:]}")
    words = " ".join(campaign.shown).lower()
    if "disk is full" not in words and "no space left" not in words:
        findings.other.append(f"nothing was said of a full disk: {campaign.shown[-2:]}")
    right = scores(msgspec.to_builtins(expected.data))
    for path in campaign.place.output_dir.glob("*.json"):
        for key, (reason, grade) in scores(json.loads(path.read_text("utf-8"))).items():
            if grade[0].isdigit() and (reason, grade) != right[key]:
                findings.other.append(f"{key} was given {grade} ({reason}) for a full disk; right is {right[key]}")
