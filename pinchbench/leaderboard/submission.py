"""submission.json: under which id a run was sent to the leaderboard, and what was answered."""

from __future__ import annotations

import hashlib
import uuid
from typing import TYPE_CHECKING

import msgspec

from pinchbench.errors import ResultsError
from pinchbench.leaderboard.account import write_private

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.results.paths import RunFiles


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """What the leaderboard said of a result. `body_sha256` is that of the body it took first."""

    server: str
    at: float
    body_sha256: str
    status: str = ""
    official: bool | None = None
    rank: int | None = None
    percentile: float | None = None
    leaderboard_url: str = ""


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """The one id of a run at every leaderboard: who sends it twice makes no second entry."""

    submission_id: str
    accepted: Accepted | None = None


def submission_file(files: RunFiles) -> Path:
    """Where it lies."""
    return files.folder / "submission.json"


def read_submission(files: RunFiles) -> Submission | None:
    """Read it; None where nothing was sent yet. Blocks. Raises ResultsError when it is damaged."""
    path = submission_file(files)
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Submission)
        if str(uuid.UUID(found.submission_id)) != found.submission_id:
            raise ValueError("its id is none")  # noqa: TRY301 - one sentence for all that can be wrong
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ResultsError(f"{path} can't be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ResultsError(
            f"{path} is damaged ({error}). Put its submission_id right; without the file the run gets a new id, and a"
            " second entry if it was sent before."
        ) from error
    return found


def keep_submission(files: RunFiles) -> Submission:
    """Read it, or create it; concurrent callers get the same. Blocks. Raises ResultsError."""
    found = read_submission(files)
    if found is not None:
        return found
    write_private(submission_file(files), Submission(submission_id=str(uuid.uuid4())), replace=False)
    found = read_submission(files)
    if found is None:
        raise ResultsError(f"{submission_file(files)} is gone as soon as it is written.")
    return found


def note_accepted(files: RunFiles, submission: Submission, accepted: Accepted) -> Submission:
    """Keep what was answered. Blocks. Raises ResultsError."""
    noted = msgspec.structs.replace(submission, accepted=accepted)
    write_private(submission_file(files), noted)
    return noted


def digest_of(body: bytes) -> str:
    """What tells one body from another."""
    return hashlib.sha256(body).hexdigest()
