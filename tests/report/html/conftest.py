"""A browser for the tests of pages."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from browser import chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one
