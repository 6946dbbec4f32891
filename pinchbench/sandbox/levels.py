"""Which levels of isolation this machine supports, found out by using each in a short-lived child."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from pinchbench.errors import ConfigError
from pinchbench.sandbox import landlock_rules

PROBE_LIMIT_S = 20.0  # takes tens of milliseconds; a machine under heavy load needs longer
PROGRAM = Path(__file__).with_name("level_probe.py")


class Level(StrEnum):
    """How a trial is isolated, the strongest first."""

    NAMESPACES = "namespaces"
    LANDLOCK = "landlock"
    NONE = "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class Support:
    """Which levels are available. A reason is a sentence, empty if the level is available.

    `landlock_abi` is the version of Landlock, on which depends what it can restrict.
    """

    namespaces_refused: str = ""
    landlock_refused: str = ""
    landlock_abi: int = 0

    def reason(self, level: Level) -> str:
        """Return why this level is not available; empty if it is."""
        match level:
            case Level.NAMESPACES:
                return self.namespaces_refused
            case Level.LANDLOCK:
                return self.landlock_refused
            case Level.NONE:
                return ""

    @property
    def best(self) -> Level:
        """The strongest available level."""
        return next(level for level in Level if not self.reason(level))


def choose(wanted: Level | None, support: Support) -> Level:
    """Return the level to use; None takes the best. Raises ConfigError if the wanted one is not available."""
    if wanted is None:
        return support.best
    if reason := support.reason(wanted):
        raise ConfigError(f"--sandbox {wanted} is not available: {reason} Use --sandbox auto, or {support.best}.")
    return wanted


@cache
def find_support() -> Support:
    """Try the levels, once. Starts two short-lived processes, and leaves nothing behind."""
    if not sys.platform.startswith("linux"):
        missing = "It exists only on Linux."
        return Support(namespaces_refused=missing, landlock_refused=missing)
    with _probe(Level.NAMESPACES) as namespaces, _probe(Level.LANDLOCK) as landlock:
        return Support(
            namespaces_refused=_refusal(Level.NAMESPACES, namespaces),
            landlock_refused=_refusal(Level.LANDLOCK, landlock),
            landlock_abi=landlock_rules.abi(),
        )


def _probe(level: Level) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(PROGRAM), level],
        env={},  # other processes of the user can read it
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _refusal(level: Level, probe: subprocess.Popen[str]) -> str:
    try:
        _, stderr = probe.communicate(timeout=PROBE_LIMIT_S)
    except subprocess.TimeoutExpired:
        probe.kill()
        return f"A trial of it did not end within {PROBE_LIMIT_S:.0f} s."
    if probe.returncode == 0:
        return ""
    words = stderr.strip().rpartition("\n")[2] or f"exit code {probe.returncode}"
    return f"The kernel or the container refused it ({words}){_likely_cause(level)}."


def _likely_cause(level: Level) -> str:
    if level is not Level.NAMESPACES:
        return ""
    for name, value in (
        *((f"user/max_{kind}_namespaces", "0") for kind in ("user", "net", "mnt", "pid")),
        ("kernel/unprivileged_userns_clone", "0"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1"),
    ):
        try:
            found = Path("/proc/sys", name).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if found == value:
            return f"; sysctl {name.replace('/', '.')} is {value}"
    return ""
