"""The probe says whether a level works by its exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pinchbench
from pinchbench.sandbox import landlock

PROBE = Path(pinchbench.__file__).parent / "sandbox" / "probe.py"


def _probe(level: str) -> int:
    return subprocess.run([sys.executable, "-I", "-S", PROBE, level], check=False, timeout=30).returncode


def test_landlock_works_where_the_kernel_has_it() -> None:
    assert (_probe("landlock") == 0) is (landlock.abi() > 0)


def test_namespaces_that_are_used_up_are_refused_with_a_reason() -> None:
    script = f"echo 0 > /proc/sys/user/max_user_namespaces; exec {sys.executable} -I -S {PROBE} namespaces"
    argv = ["unshare", "--user", "--map-root-user", "sh", "-c", script]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=30)
    if "unshare failed" in done.stderr:
        pytest.skip("this machine has no user namespaces")
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
