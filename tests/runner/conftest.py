"""Every test here has a user of its own."""

import pytest


@pytest.fixture(autouse=True)
def of_its_own(user: object) -> None:
    """Use the fixture `user`, whether the test names it or not."""
    del user
