"""Signals: the first asks for a proper end, the second for a quick one, the third leaves at once."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import anyio
from anyio import CancelScope, Event

from pinchbench.process.supervise import GRACE_S, REPORT_MARGIN_S, SWEEP_S

if TYPE_CHECKING:
    from collections.abc import Callable

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PROPER_END_S = GRACE_S + SWEEP_S + REPORT_MARGIN_S


class Interrupt:
    """What the user, or the system, has asked a run to do.

    `stop`: no new trials, running agents are ended properly. `hurry`: they are killed. `setup` is
    cancelled by the first signal, when the run has not begun.
    """

    def __init__(self) -> None:
        """Nothing has been asked yet. Create inside an event loop."""
        self.stop = Event()
        self.hurry = Event()
        self.setup = CancelScope()
        self.signal: signal.Signals | None = None

    async def listen(self, tell: Callable[[str], None]) -> None:
        """Take signals until cancelled; `tell` gets a sentence for the user at each.

        A signal that was ignored when the program started stays so: `nohup` means that a run outlives its terminal.
        """
        heeded = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        if not heeded:
            await anyio.sleep_forever()
        with anyio.open_signal_receiver(*heeded) as signals:
            async for number in signals:
                self.take(number, tell)

    def take(self, number: signal.Signals, tell: Callable[[str], None]) -> None:
        """Act on one signal."""
        if self.signal is None:
            self.signal = number
            self.stop.set()
            self.setup.cancel()
            tell(
                f"{number.name}: no new trials; the running agents are being ended properly, which takes at most"
                f" {PROPER_END_S:.0f} s. Once more kills them."
            )
        elif not self.hurry.is_set():
            self.hurry.set()
            tell("Killing the running agents; what has finished is being saved. Once more leaves at once.")
        else:
            # The sockets to the guardians close with the process: they end their trees within a second.
            os._exit(128 + number)
