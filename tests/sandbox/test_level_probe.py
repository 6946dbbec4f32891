"""The probe says whether a level works by its exit code."""

import subprocess
import sys
from pathlib import Path

import pinchbench
from pinchbench.sandbox import landlock_rules
from refused_namespaces import without_namespaces
from sandbox_programs import PYTHON

PROBE = Path(pinchbench.__file__).parent / "sandbox" / "level_probe.py"


def _probe(level: str) -> int:
    return subprocess.run([sys.executable, "-I", "-S", PROBE, level], check=False, timeout=60).returncode


def test_landlock_works_where_the_kernel_has_it() -> None:
    assert (_probe("landlock") == 0) is (landlock_rules.abi() > 0)


def test_namespaces_that_the_kernel_refuses_have_a_reason() -> None:
    argv = without_namespaces(PYTHON, [str(PYTHON), "-I", "-S", str(PROBE), "namespaces"])
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
