"""What a run adds to its private homes beside the user's settings: skills, and settings of its own."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinchbench.openclaw.homes.credentials import Json, merge

if TYPE_CHECKING:
    from pathlib import Path

# Below the state folder, OpenClaw looks for skills that all agents have. They go before those that it brings, and, as
# part of the state, are the same for each slot, in a gateway and in a sandbox.
SKILLS = "skills"


@dataclass(frozen=True, kw_only=True, slots=True)
class HomeAdditions:
    """A folder of skills, None for none, and settings to be merged into openclaw.json."""

    skills: Path | None = None
    settings: Json = field(default_factory=dict)

    def merged_into(self, config: Json) -> Json:
        """Return a home's config with the settings (pure); tools that a run denies stay denied."""
        merged = merge(config, self.settings)
        denied, more = _denied(config), _denied(self.settings)
        return merge(merged, {"tools": {"deny": list(dict.fromkeys([*denied, *more]))}}) if more else merged

    def copy_skills(self, state: Path) -> None:
        """Copy the skills into a state folder; links are replaced by what they lead to. Blocks. Raises OSError."""
        if self.skills is not None:
            shutil.copytree(self.skills, state / SKILLS, dirs_exist_ok=True)


NO_ADDITIONS = HomeAdditions()


def _denied(config: Json) -> list[object]:
    tools = config.get("tools")
    denied = tools.get("deny") if isinstance(tools, dict) else None
    return denied if isinstance(denied, list) else []
