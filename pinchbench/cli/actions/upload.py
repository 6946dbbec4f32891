"""What `upload` does."""

from __future__ import annotations

import json
import os
import signal
from functools import partial
from typing import TYPE_CHECKING

import anyio

from pinchbench.cli.output import print_result, say
from pinchbench.errors import PinchBenchError
from pinchbench.leaderboard.account import read_account
from pinchbench.leaderboard.client import common_headers, key_headers
from pinchbench.leaderboard.upload import no_token, offer, outcome_words, pack, send
from pinchbench.report.text import plain
from pinchbench.results.altered import refuse_altered
from pinchbench.results.finished_run import read_run
from pinchbench.results.paths import find_run
from pinchbench.suite.load import bundled_tasks_dir, load_suite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pinchbench.leaderboard.account import Account
    from pinchbench.leaderboard.upload import PreparedUpload
    from pinchbench.results.paths import RunFiles


def upload_run(
    *, run: str, dry_run: bool, upload_partial: bool, with_notes: bool, output_dir: Path, as_json: bool
) -> None:
    """Send a run to the public leaderboard."""
    files = find_run(run, output_dir)
    past = read_run(files)
    refuse_altered(files)
    account = read_account(os.environ)
    if not account.token and not dry_run:
        say(no_token(past))
        return
    parcel = pack(
        past, load_suite(bundled_tasks_dir()).suite, os.environ, partial=upload_partial, with_notes=with_notes
    )
    if parcel.hindered:
        say(f"A partial result: {'; '.join(one.sentence for one in parcel.hindered)}.")
    if dry_run:
        _show(parcel, account)
        return
    _send(parcel, account, as_json=as_json)


def _show(parcel: PreparedUpload, account: Account) -> None:
    names = ", ".join({**common_headers(), **key_headers(account)})
    say(f"POST {account.server}/api/results, {len(parcel.body)} bytes; headers: {names}.")
    if not account.token:
        say("There is no token yet: `pinchbench-async register` gets one.")
    say("Nothing was sent.")
    print_result(parcel.body.decode())


def _send(parcel: PreparedUpload, account: Account, *, as_json: bool) -> None:
    say(f"Sending the result to the leaderboard at {account.server}.")  # takes up to two minutes
    sent = anyio.run(partial(send, parcel, account))
    say(outcome_words(sent))
    taken = sent.taken
    if as_json:
        told = {
            "submission_id": parcel.submission.submission_id,
            "is_new": taken.is_new,
            "is_current": sent.is_current,
            "status": taken.status,
            "official": taken.official,
            "rank": taken.rank,
            "percentile": taken.percentile,
            "leaderboard_url": taken.leaderboard_url,
        }
        print_result(json.dumps(told))
    elif taken.leaderboard_url:
        print_result(taken.leaderboard_url)


def offer_run(files: RunFiles, tell: Callable[[str], None], *, with_notes: bool = False) -> None:
    """Offer a run that has just ended for upload to the leaderboard; reports progress line by line.

    Takes about two minutes at most. The run is unaffected by failures: nothing is raised, and a Ctrl-C ends only the
    upload, at once. Call it on the main thread, outside every event loop.
    """
    again = f"pinchbench-async upload {files.argument}{' --with-notes' if with_notes else ''}"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored since the run ended
    try:
        past = read_run(files)
        suite = load_suite(bundled_tasks_dir()).suite
        told = partial(offer, past, suite, dict(os.environ), tell=lambda text: tell(plain(text)), with_notes=with_notes)
        anyio.run(told)
    except PinchBenchError as error:
        tell(plain(f"Not uploaded: {error} Upload it with: {again}"))
    except Exception as error:  # noqa: BLE001 - a bug here must not cost the run's own exit code; `upload` shows it whole
        tell(f"Not uploaded, for an error in this program ({type(error).__name__}); see it with: {again}")
    except KeyboardInterrupt:
        tell(f"The upload was stopped. Retry with: {again}")
    finally:
        signal.signal(signal.SIGINT, before)
