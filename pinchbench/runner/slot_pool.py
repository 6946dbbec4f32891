"""What a run needs of slots that are on other machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AsyncExitStack

    from anyio.abc import TaskGroup

    from pinchbench.chat.endpoint import Endpoint
    from pinchbench.config.run import RunConfig
    from pinchbench.runner.run_context import RunContext
    from pinchbench.runner.slot import Slot


class SlotPool(Protocol):
    """Other machines, on which the slots of one run are."""

    async def open(
        self,
        run: RunContext,
        *,
        versions: Mapping[str, str],
        group: TaskGroup,
        stack: AsyncExitStack,
        user_model: Endpoint | None = None,
    ) -> tuple[RunConfig, Sequence[Slot]]:
        """Set up slots for a run; return its options, settled, with them.

        `versions` are the releases on this machine. `user_model` plays simulated users, and is asked from here. The
        connections live in `group`; they are closed with `stack`, and everything on the other machines is gone when
        `group` ends. Raises PinchBenchError.
        """

    async def watch(self, add: Callable[[Slot], None]) -> None:
        """Give `add` the slots of machines that join while the run works.

        Returns when every machine is lost, and none has joined for a while; else it is cancelled. Call it after `open`.
        """
