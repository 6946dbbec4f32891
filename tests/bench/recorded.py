"""Run the program with parts of what a gateway is given left out, and record what the scripted model receives.

`python tests/bench/recorded.py RECORD PARTS ARGUMENT…`: each request's body becomes a line of the file RECORD. PARTS
are paths in the gateway's config, as `skills.load`, or variables in its environment, with a `+` between them: `-` for
none, `all` for those that are there to save CPU time. A JSON object instead is merged into the gateway's config.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from pinchbench.cli import main
from pinchbench.demo.server import ScriptedModel
from pinchbench.openclaw.homes import gateway, gateway_config
from pinchbench.openclaw.homes.credentials import merge
from pinchbench.openclaw.homes.private import PrivateHome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.types import ASGIApp


ALL = ("diagnostics", "skills", "OPENCLAW_TRAJECTORY")


def record(path: Path) -> None:
    """Write the body of every request to the scripted model into a file, one a line."""
    answer = ScriptedModel._complete

    async def answer_recorded(model: ScriptedModel, request: Request) -> ASGIApp:
        body = await request.body()
        with path.open("ab") as file:
            file.write(body.replace(b"\n", b" ") + b"\n")
        return await answer(model, request)

    setattr(ScriptedModel, answer.__name__, answer_recorded)


def leave_out(parts: Sequence[str]) -> None:
    """Make homes and gateways without these parts."""
    make, env = gateway_config.gateway_config, PrivateHome.env

    def make_without(*arguments: Any, **options: Any) -> Any:
        config = make(*arguments, **options)
        for part in parts:
            config = without(config, part.split("."))
        return config

    def env_without(home: PrivateHome) -> dict[str, str]:
        return {name: value for name, value in env.__get__(home).items() if name not in parts}

    setattr(gateway, make.__name__, make_without)
    setattr(PrivateHome, "env", property(env_without))  # noqa: B010 - mypy has it that a class's property is final


def add(settings: dict[str, Any]) -> None:
    """Make gateways with these settings beside their own."""
    make = gateway_config.gateway_config

    def make_with(*arguments: Any, **options: Any) -> Any:
        return merge(make(*arguments, **options), settings)

    setattr(gateway, make.__name__, make_with)


def without(config: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """The config without what is at this path, if anything is."""
    name, *further = path
    if not further or name not in config:
        return {key: one for key, one in config.items() if key != name}
    return {**config, name: without(config[name], further)}


if __name__ == "__main__":
    record(Path(sys.argv[1]))
    if sys.argv[2].startswith("{"):
        add(json.loads(sys.argv[2]))
    else:
        leave_out(ALL if sys.argv[2] == "all" else sys.argv[2].split("+"))
    sys.argv[1:3] = []
    main()
