"""The command `courier`."""

import sys
from pathlib import Path

from courier import Dispatcher
from courier.plugins import read_plugins, resolve


def make(path: Path | None) -> Dispatcher:
    """Return the engine that a plugins file names, or the usual one."""
    return Dispatcher() if path is None else resolve(read_plugins(path)["dispatcher"])()


def main(arguments: list[str] | None = None) -> int:
    """Print which engine would be used."""
    arguments = sys.argv[1:] if arguments is None else arguments
    engine = make(Path(arguments[0]) if arguments else None)
    print(type(engine).__module__, type(engine).__qualname__, engine.dispatcher_id)
    return 0


if __name__ == "__main__":
    sys.exit(main())
