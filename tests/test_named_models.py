"""Every model that the README, the help and the hints name is one that the newest tried OpenClaw knows."""

import re
from pathlib import Path

import pytest

import pinchbench
from pinchbench.openclaw.install import TRIED_RELEASES
from pinchbench.openclaw.model_catalogue import read_catalogue

PACKAGE = Path(pinchbench.__file__).parent
NAMED = re.compile(r"\b((?:anthropic|openai|google|xai)/[a-z][\w.-]*\d[\w.-]*\w)")
# where a user's releases are: the tests' own cache folder is empty
INSTALLED = Path("~/.cache/pinchbench").expanduser() / f"openclaw-{TRIED_RELEASES[-1]}/node_modules/openclaw"


@pytest.mark.real_openclaw
def test_every_model_that_is_named_to_users_is_one_that_openclaw_knows() -> None:
    catalogue = read_catalogue(INSTALLED / "openclaw.mjs")
    assert "anthropic" in catalogue.providers, f"OpenClaw {TRIED_RELEASES[-1]} is not installed"
    texts = [PACKAGE.with_name("README.md"), *PACKAGE.rglob("*.py")]
    named = {name for path in texts for name in NAMED.findall(path.read_text("utf-8"))}

    assert "anthropic/claude-sonnet-4-6" in named
    assert [complaint for name in sorted(named) if (complaint := catalogue.complaint(name))] == []
