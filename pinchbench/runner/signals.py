"""Signals: the first asks for a proper end, the second for a quick one, the third exits immediately."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
from anyio import CancelScope, Event

from pinchbench.process.spec import GRACE_S, SWEEP_S
from pinchbench.process.supervise import REPORT_MARGIN_S

if TYPE_CHECKING:
    from collections.abc import Callable

STDERR = 2
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRADING_LIMIT_S = 120.0  # for what is left to grade when somebody wants the run to end
PROPER_END_S = GRACE_S + SWEEP_S + REPORT_MARGIN_S
STOPPING = (
    f"no new trials; running agents are ended properly, which takes at most {PROPER_END_S:.0f} s, and what has finished"
    f" is graded, within {GRADING_LIMIT_S:.0f} s. The next Ctrl-C kills them and ends the grading."
)
HURRYING = (
    f"Killing the running agents and ending the grading, which takes at most {REPORT_MARGIN_S:.0f} s; what is there is"
    " being saved. The next Ctrl-C exits immediately."
)
LEAVING = "Exiting immediately; what was running is killed within a second."


class Interrupt:
    """What the user, or the system, has asked a run to do.

    `stop`: no new trials, running agents are ended properly, what has finished is graded. `hurry`: they are killed,
    and the grading stops. `setup` is cancelled by the first signal, when the run has not begun. `signal` is the first
    one that came. `last_words` are said when a third one comes.
    """

    def __init__(self, first: str = STOPPING, second: str = HURRYING) -> None:
        """Nothing has been asked yet; `first` and `second` are reported at the signals. Create inside an event loop."""
        self._sentences = first, second
        self.stop = Event()
        self.hurry = Event()
        self.setup = CancelScope()
        self._listening = CancelScope()
        self.signal: signal.Signals | None = None
        self.last_words = LEAVING

    @property
    def signal_name(self) -> str | None:
        """Such as `SIGINT`; None when no signal came."""
        return self.signal.name if self.signal is not None else None

    async def listen(
        self, tell: Callable[[str], None], forward: Callable[[signal.Signals], None] = lambda _: None
    ) -> None:
        """Take signals until `close`; `tell` gets a sentence for the user at each, and `forward` the signal.

        A signal that was ignored when the program started stays so: `nohup` means that a run outlives its terminal.
        """
        handled = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        if not handled:
            return
        with self._listening, anyio.open_signal_receiver(*handled) as signals:
            async for number in signals:
                self.take(number, tell)
                forward(number)

    def close(self) -> None:
        """Take no more signals."""
        self._listening.cancel()

    def take(self, number: signal.Signals, tell: Callable[[str], None]) -> None:
        """Act on one signal."""
        if self.signal is None:
            self.signal = number
            self.stop.set()
            self.setup.cancel()
            tell(f"{number.name}: {self._sentences[0]}")
        elif not self.hurry.is_set():
            self.hurry.set()
            tell(self._sentences[1])
        else:
            # Nobody shows events any more, and a terminal that takes nothing must not hold this up.
            with suppress(OSError):
                os.set_blocking(STDERR, False)
                # a live view may have hidden the cursor, and stands in the line
                fresh = "\x1b[?25h\r\n" if os.isatty(STDERR) else ""
                os.write(STDERR, f"{fresh}{number.name}: {self.last_words}\n".encode())
            # The sockets to the guardians close with the process: they end their trees within a second.
            os._exit(128 + number)
