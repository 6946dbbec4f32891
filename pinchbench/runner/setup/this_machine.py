"""What this machine has for a run, read once: OpenClaw, its catalogue, the user's settings, the checks' sandbox."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pinchbench.defaults import Isolation
from pinchbench.model.timeline import NEED_GATEWAY, Ability
from pinchbench.openclaw.command import OpenClaw, release_key
from pinchbench.openclaw.find import identify_openclaw, locate_openclaw
from pinchbench.openclaw.homes.credentials import UserState, read_user_state
from pinchbench.openclaw.homes.home_config import allowed_by, tool_settings, tools_of_all, with_settings
from pinchbench.openclaw.install import managed
from pinchbench.openclaw.model_catalogue import Catalogue, read_catalogue
from pinchbench.runner.plan.prerequisites import BROWSER, find_browser
from pinchbench.runner.setup.sandboxing import check_sandbox

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pinchbench.config.run_config import RunConfig
    from pinchbench.grading.check_sandbox import CheckSandbox
    from pinchbench.results.manifest import RunFacts


NO_IMAGES = (
    "it shows images, which the model does not take; state `input: [text, image]` of a model of your endpoint that does"
)
GATEWAYS_SINCE = (2026, 9)  # the first release that our chat channel has been tried with
OLD_GATEWAY = "its abilities need OpenClaw 2026.9 or newer"


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """What a run uses of this machine."""

    openclaw: OpenClaw  # the program; its version may be empty until `identified`
    catalogue: Catalogue  # the providers and models that it knows
    # what homes may take over from the user's OpenClaw; empty if nobody needs it
    user: UserState = field(default_factory=UserState)
    checks: CheckSandbox | None = None  # the sandbox of checks; None if this machine has no namespaces
    browser: Path | None = None  # the program of a Chromium; None if there is none

    def carried(self, config: RunConfig) -> UserState:
        """Return what the homes of a run's agents take over: nothing for the built-in models, which need no account."""
        return UserState() if config.is_demo else self.user

    def takes_images(self, config: RunConfig) -> bool | None:
        """Return whether a run's model takes images besides text; None if neither options nor catalogue say it."""
        if config.is_demo:
            return True
        if config.base_url is not None:
            return "image" in (config.served.input or ())
        return self.catalogue.takes_images(config.model)

    def unusable(self, config: RunConfig) -> dict[Ability, str]:
        """Return the abilities that no agent of a run can have, and why, each as a sentence without a full stop."""
        found = {}
        if self.takes_images(config) is False:
            found[Ability.IMAGES] = NO_IMAGES
        if self.browser is None:
            found[Ability.BROWSER] = f"{BROWSER} is missing"
        if release_key(self.openclaw.version) < GATEWAYS_SINCE:
            found |= dict.fromkeys(NEED_GATEWAY, OLD_GATEWAY)
        return found

    def tools(self, config: RunConfig) -> tuple[str, ...]:
        """Return OpenClaw's tools that the agents of a run have in every task, if their homes are private."""
        return tools_of_all(self.openclaw.version, takes_images=self.takes_images(config) is not False)

    def allowed(self, config: RunConfig) -> tuple[str, ...]:
        """Return the same less what the run's own settings deny; empty if the agents are in the user's own OpenClaw."""
        if config.isolation is Isolation.SHARED:
            return ()
        settings = tool_settings(self.tools(config), self.openclaw.version)
        return allowed_by(with_settings({"tools": settings}, dict(config.openclaw_config)))


def read_machine(
    choice: str | None, *, release: str = "", reads_user: bool = True, allow: Iterable[str] = ()
) -> Machine:
    """Read what this machine has. Blocks.

    `choice` is the value of `--openclaw`; without one, `release` is preferred if it is installed. `allow` is that of
    `--sandbox-allow`. Raises OpenClawError if OpenClaw is missing, or the user's settings can't be read.
    """
    openclaw = (managed(release) if choice is None and release else None) or locate_openclaw(choice)
    return Machine(
        openclaw=openclaw,
        catalogue=read_catalogue(openclaw.program),
        user=read_user_state(os.environ) if reads_user else UserState(),
        checks=check_sandbox(allow),
        browser=find_browser(os.environ),
    )


def read_machine_for(config: RunConfig, facts: RunFacts | None = None) -> Machine:
    """Read what this machine has for a run, which goes on with the release of `facts` if it names no OpenClaw.

    The built-in models need no account: nothing of the user's is read for them. Blocks. Raises OpenClawError.
    """
    return read_machine(
        config.openclaw,
        release=facts.versions.get("openclaw", "") if facts is not None else "",
        reads_user=not config.is_demo or (config.judge is not None and config.judge.asks_openclaw),
        allow=config.sandbox_allow,
    )


async def identified(machine: Machine) -> Machine:
    """Return the machine with the version of its OpenClaw. Raises OpenClawError if the program does not run."""
    return replace(machine, openclaw=await identify_openclaw(machine.openclaw))
