"""A terminal of so many columns that keeps what is printed."""

import io
from typing import Any

from rich.console import Console


class TextConsole(Console):
    """Without a terminal's sequences unless `force_terminal` is given."""

    def __init__(self, width: int = 160, **options: Any) -> None:
        super().__init__(file=io.StringIO(), width=width, **options)

    @property
    def text(self) -> str:
        """All that was printed."""
        assert isinstance(self.file, io.StringIO)
        return self.file.getvalue()
