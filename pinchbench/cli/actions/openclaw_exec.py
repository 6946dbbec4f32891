"""What `openclaw exec` does."""

from __future__ import annotations

from pinchbench.openclaw.run_by_hand import replace_process


def execute(*, version: str | None, arguments: tuple[str, ...]) -> None:
    """Run OpenClaw itself, with the Node that suits it."""
    replace_process(version, arguments)
