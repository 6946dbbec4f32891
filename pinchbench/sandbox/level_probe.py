"""Tries one level of isolation and exits with 0 if it works; run as `python -I -S level_probe.py LEVEL`."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":  # an isolated Python has only the standard library on its path
    sys.path.append(os.path.abspath(f"{__file__}/../../.."))  # noqa: PTH100 - pathlib is slow to import

from pinchbench.sandbox import enter, landlock_rules

SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/nix", "/gnu")


def try_namespaces() -> None:
    """Run a program in all namespaces. Raises EnterError and OSError."""
    mounts = [{"source": name, "target": name, "writable": False} for name in SYSTEM if os.path.exists(name)]  # noqa: PTH110
    plan = {
        "mounts": mounts,
        "tmpfs": {"/tmp": 65536},  # noqa: S108
        "files": {},
        "links": {},
        "hidden": [],
        "network": "none",
        "forward": None,
        "link": None,
        "services": [],
        "inlet": None,
        "cwd": "/tmp",  # noqa: S108
        "rlimits": {},
        "root_bytes": 1024 * 1024,
        "shm_bytes": 65536,
    }
    entered = enter.start(plan, ["/bin/sh", "-c", "exit 0"], {})
    os.waitpid(entered.pid, 0)
    entered.read_report()


def main() -> None:
    """Try the level that is named on the command line."""
    try:
        if sys.argv[1] == "namespaces":
            try_namespaces()
        else:
            landlock_rules.restrict(readable=["/usr"], writable=[], port=None, is_open=False)
    except (OSError, enter.EnterError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
