"""The strongest level that works is chosen; one that was asked for and does not work is an error."""

import os
import subprocess
from pathlib import Path

import pytest

import pinchbench
from pinchbench.errors import ConfigError
from pinchbench.sandbox.levels import Level, Support, choose, find_support
from refused_namespaces import NAMED, without_namespaces
from sandbox_programs import PYTHON, SYSTEM_PYTHON, as_user, users

REFUSED = Support(namespaces_refused="The container refused it.")


def test_what_the_machine_supports_is_found_by_trying() -> None:
    support = find_support()
    assert all(reason == "" or reason.endswith(".") for reason in map(support.reason, Level))


def test_auto_takes_the_strongest_available_level() -> None:
    assert choose(None, Support()) is Level.NAMESPACES
    assert choose(None, REFUSED) is Level.LANDLOCK
    assert choose(None, Support(namespaces_refused="No.", landlock_refused="No.")) is Level.NONE


def test_a_level_that_is_not_available_is_an_error_with_the_reason() -> None:
    with pytest.raises(ConfigError, match=r"The container refused it\. Use --sandbox auto, or landlock"):
        choose(Level.NAMESPACES, REFUSED)
    assert choose(Level.NONE, REFUSED) is Level.NONE


@pytest.mark.parametrize("uid", users())
@pytest.mark.parametrize("kind", ["user", "net", "mnt"])
def test_where_the_kernel_refuses_namespaces_or_some_of_them_landlock_is_the_best_level_and_the_reason_is_named(
    uid: int, kind: str
) -> None:
    program = f"""
import sys
sys.path.append({str(Path(pinchbench.__file__).parents[1])!r})
from pinchbench.sandbox.levels import find_support
print(find_support().best, find_support().namespaces_refused)
"""
    python = PYTHON if uid == os.getuid() else SYSTEM_PYTHON
    argv = without_namespaces(python, [str(python), "-I", "-c", program], kind)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=240, check=True, cwd="/", **as_user(uid))
    best, _, reason = done.stdout.strip().partition(" ")
    assert (best, NAMED.replace("user_", f"{kind}_") in reason) == ("landlock", True), done.stdout
