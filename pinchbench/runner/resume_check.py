"""What differs between a run as it was and as it would be resumed, and whether that is accepted."""

from __future__ import annotations

from dataclasses import MISSING
from typing import TYPE_CHECKING, Any

from pinchbench.config.judge import JudgeConfig
from pinchbench.config.run import RunConfig
from pinchbench.config.user_model import UserModelConfig
from pinchbench.errors import ChangedError
from pinchbench.openclaw.install import managed
from pinchbench.openclaw.probe import find_openclaw

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from dataclasses import Field

    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.results.manifest import RunFacts, TaskFacts
    from pinchbench.runner.prepare import Resumption

# The options that the numbers of a run depend on; the others may differ as they like.
MEASURED = (
    "model",
    "form",
    "thinking",
    "base_url",
    "price_in",
    "price_out",
    "isolation",
    "timeout_multiplier",
    "retry_timeouts",
    "retry_timeouts_alone",
    "pass_threshold",
    "openclaw_config",
    "env",
)
# What of the judge and of the user's model they depend on: the section in run.json, the option that names the model.
ASKED: tuple[tuple[str, str, type[JudgeConfig | UserModelConfig], tuple[str, ...]], ...] = (
    ("judge", "judge", JudgeConfig, ("model", "base_url", "votes")),
    ("user", "user-model", UserModelConfig, ("model", "base_url")),
)
RELEASES = ("openclaw", "pinchbench_async")


def setting_changes(before: Mapping[str, object], now: Mapping[str, object]) -> Iterator[str]:
    """Name every option with another value; both are as they stand in run.json (pure)."""
    for name in MEASURED:
        # an earlier release of this program may not have known the option
        usual = _usual(RunConfig.__dataclass_fields__[name])
        yield from _change(name.replace("_", "-"), before.get(name, usual), now.get(name))
    for section, named, kind, names in ASKED:
        was, is_now = before.get(section), now.get(section)
        if not isinstance(was, dict) or not isinstance(is_now, dict):
            yield from _change(named, _model_name(was), _model_name(is_now))
            continue
        for name in names:
            option = named if name == "model" else f"{section}-{name.replace('_', '-')}"
            yield from _change(option, was.get(name, _usual(kind.__dataclass_fields__[name])), is_now.get(name))


def addition_changes(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Name every option whose files have another content; both are digests by option (pure)."""
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            yield f"--{name.replace('_', '-')}: the files have changed"


def _usual(field: Field[Any]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _model_name(config: object) -> object:
    return config.get("model") if isinstance(config, dict) else None


def _change(option: str, before: object, now: object) -> Iterator[str]:
    if before != now:
        yield f"--{option}: {_told(before)} → {_told(now)}"


def _told(value: object) -> str:
    return "not given" if value is None else str(value)


def task_changes(before: Mapping[str, TaskFacts], now: Mapping[str, TaskFacts]) -> Iterator[str]:
    """Name every task that is another now, or no longer there (pure)."""
    for task_id, task in before.items():
        if task_id not in now:
            yield f"{task_id} is no longer in the suite"
        elif now[task_id].digest != task.digest:
            yield f"{task_id} has changed"


def require(changes: Sequence[str], *, accepted: bool, run: str) -> None:
    """Raise ChangedError, naming them, when there are changes that nobody has accepted (pure)."""
    if changes and not accepted:
        listed = "\n".join(f"  {change}" for change in changes)
        raise ChangedError(
            f"The run {run} was made otherwise:\n{listed}\nPut that back as it was, or add --accept-changes: trials of"
            " changed tasks are then run again, the others stay, and the result names the changes."
        )


async def same_openclaw(choice: str | None, facts: RunFacts | None) -> OpenClaw:
    """Find the OpenClaw for a run; for one that is resumed, where none is named, the release it has had so far.

    Raises OpenClawError.
    """
    before = facts.versions.get("openclaw", "") if facts is not None else ""
    if choice is not None or not before:
        return await find_openclaw(choice)
    found = await find_openclaw(None)
    is_other = found.version != before and managed(before) is not None
    return await find_openclaw(before) if is_other else found


def accept_releases(resumption: Resumption, releases: Mapping[str, str]) -> tuple[str, ...]:
    """All changes of a resumed run, those of the releases that run it included.

    Raises ChangedError when there are some that nobody has accepted.
    """
    before = resumption.facts.versions
    changed = [
        f"{name}: {before[name]} → {releases[name]}"
        for name in RELEASES
        if name in before and before[name] != releases[name]
    ]
    require(changed, accepted=resumption.accepts, run=resumption.files.name)
    return (*resumption.changes, *changed)
