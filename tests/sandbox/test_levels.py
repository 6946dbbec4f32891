"""The strongest level that works is chosen; one that was asked for and does not work is an error."""

from __future__ import annotations

import pytest

from pinchbench.errors import ConfigError
from pinchbench.sandbox.levels import Level, Support, choose, find_support

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
