"""What every part of one run shares: its plan, its id and files, and how it is interrupted and observed."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pinchbench.openclaw.command import model_slug
from pinchbench.results.paths import RunFiles
from pinchbench.runner.observer import Observer, RunObserver
from pinchbench.runner.run_folders import open_run_folders
from pinchbench.runner.run_redaction import Redactor
from pinchbench.runner.scheduling.plan import new_run_id
from pinchbench.runner.signals import LEAVING, Interrupt

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from pinchbench.runner.prepare import Prepared, Resumption
    from pinchbench.runner.run_folders import RunFolders
    from pinchbench.runner.sharing import RunCoordinator, Share


@dataclass(frozen=True, kw_only=True, slots=True)
class RunContext:
    """One run, or the rest of one.

    Attributes:
        prepared: the plan and the options.
        resumption: what is known of a run that is resumed; None for a new one.
        run_id: the run's id, which a resumed run keeps.
        files: the paths of its results.
        interrupt: what the user or the system asks it to do.
        observer: receives its events.
        redactor: knows its keys and masks them in all that it writes.
        share: its part of slots that it shares with other runs; None if it has slots of its own.
    """

    prepared: Prepared
    resumption: Resumption | None
    run_id: str
    files: RunFiles
    interrupt: Interrupt
    observer: RunObserver
    redactor: Redactor
    share: Share | None = None

    @property
    def coordinator(self) -> RunCoordinator | None:
        """What decides which of its trials are made; None if all are."""
        return self.share.coordinator if self.share is not None else None

    def open_folders(self) -> AbstractAsyncContextManager[RunFolders]:
        """Return a context that owns the run's folders; see `open_run_folders`."""
        return open_run_folders(
            self.files,
            self.prepared.config.run_root,
            run_id=self.run_id,
            journal=self.resumption.journal if self.resumption is not None else None,
            takes_over=self.resumption is not None and self.resumption.takes_over,
        )

    def set_last_words(self) -> None:
        """Let an interruption say from now on how the run is resumed."""
        self.interrupt.last_words = f"{LEAVING} `pinchbench-async resume {self.run_id}` goes on with the rest."


def make_context(
    prepared: Prepared, resumption: Resumption | None, observer: Observer | None, share: Share | None = None
) -> RunContext:
    """Return the context of a new run, or of the rest of the run that `resumption` describes.

    Must be called inside an event loop.
    """
    if resumption is not None:
        run_id, files = resumption.facts.run_id, resumption.files
    else:
        config = prepared.config
        run_id = new_run_id(datetime.now(UTC), secrets.token_hex(2)) if share is None else share.run_id
        files = RunFiles(output_dir=config.output_dir, name=f"{model_slug(config.model)}_{run_id}")
    if share is not None:
        prepared = replace(prepared, attempts=share.arrange(prepared.attempts))
    redactor = Redactor()
    return RunContext(
        prepared=prepared,
        resumption=resumption,
        run_id=run_id,
        files=files,
        interrupt=Interrupt() if share is None else share.interrupt,
        observer=RunObserver(observer, redactor),
        redactor=redactor,
        share=share,
    )
