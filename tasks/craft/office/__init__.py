"""An office for tasks: the service that a trial runs alongside its agent, and the skill by which the agent uses it."""

import json
from pathlib import Path

HERE = Path(__file__).parent


def office_files(state: dict[str, object]) -> dict[str, bytes]:
    """Return the fixtures of a task whose office begins with `state`: `office` for the service, `skill` for the agent."""
    return {
        "office/service.py": (HERE / "service.py").read_bytes(),
        "office/state.json": json.dumps(state, ensure_ascii=False, indent=1).encode() + b"\n",
        "skill/SKILL.md": (HERE / "SKILL.md").read_bytes(),
        "skill/office.py": (HERE / "office.py").read_bytes(),
    }
