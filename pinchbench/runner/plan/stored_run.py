"""What is read back of an earlier run: its options, its suite, its recordings, and what differs now."""

from __future__ import annotations

import os
from dataclasses import MISSING, Field, asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from pinchbench.config.asked_models import JudgeConfig, UserModelConfig, stored_models
from pinchbench.config.run_config import RunConfig
from pinchbench.config.served import ServedModel
from pinchbench.config.settings import OF_A_RUN, SETTINGS
from pinchbench.decoding import convert, decode_json
from pinchbench.defaults import Isolation, SuiteFormat
from pinchbench.errors import ChangedError, ConfigError
from pinchbench.files.user_data import bundled_tasks_dir, packs_dir
from pinchbench.model.ending import Reason
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.journal.journal import read_journal
from pinchbench.results.paths import RunFiles
from pinchbench.suite.form import form_folder, suite_root
from pinchbench.suite.loading import load_suite
from pinchbench.suite.named import BUNDLED, SuitePlace, load_places, read_pack

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pinchbench.model.task import LoadedSuite
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.manifest import RunFacts, TaskFacts
    from pinchbench.runner.plan.prepare import Resumption


def stored_config(stored: Mapping[str, object], settings: Mapping[str, object], files: RunFiles) -> RunConfig:
    """Return the options of a run as they stand in its files, with `settings` in place of some.

    Raises ConfigError when they can't be used any more: an environment variable for a key is not set, above all.
    """
    known = RunConfig.__dataclass_fields__.keys() - {"exitfirst"}  # of a command: what is resumed goes on
    given = {name: _plain(value) for name, value in settings.items()}
    merged = {name: value for name, value in {**stored, **given}.items() if name in known}
    match merged.get("isolation"):
        case "gateway":  # of runs by earlier releases, as "auto"
            raise ConfigError(
                f"{files.name} ran through one gateway (--isolation gateway), which this release does not have: make a"
                " new run, with --isolation private."
            )
        case "auto":
            merged["isolation"] = Isolation.PRIVATE
    program = merged.get("openclaw")
    if "openclaw" not in given and isinstance(program, str) and os.sep in program and _came_with(Path(program), files):
        raise ConfigError(
            f"The files of {files.name} name {program} as its OpenClaw, which may have come with them. Name it with"
            " --openclaw."
        )
    try:
        return convert(merged, RunConfig, dec_hook=_plain_value)
    except msgspec.ValidationError as error:
        at = str(error).replace("`$", "`$.config")
        raise ConfigError(
            f"The settings of the run can't be used: {at}. They stand in {files.provenance}, or, where it was resumed,"
            f" in the last such record of {files.journal}: put back a copy of that file."
        ) from error


def _plain(value: object) -> object:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _plain_value(kind: type, value: object) -> object:
    if kind is object:  # a setting of OpenClaw: JSON as it is
        return value
    if kind is Path:
        return value if isinstance(value, Path) else Path(str(value))
    raise NotImplementedError(kind)


def recordings_of(folder: str) -> Mapping[TrialKey, Path]:
    """Return the recording of the attempt that counts of each trial of a run, as far as it is whole. Blocks.

    Raises ResultsError if the run can't be read.
    """
    path = Path(folder)
    files = RunFiles(output_dir=path.parent, name=path.name)
    found: dict[TrialKey, Path] = {}
    for key, state in read_journal(files.journal).state.trials.items():
        if not state.outcomes:
            continue
        outcome = state.counting
        recording = Evidence(folder=files.folder / outcome.evidence).wire
        if outcome.reason.is_attempt and outcome.reason is not Reason.WIRE_LOST and recording.is_file():
            found[key] = recording
    return found


def load_suite_again(
    facts: RunFacts, files: RunFiles, *, named: Path | None, suite_format: SuiteFormat | None
) -> LoadedSuite:
    """Read the suite of a run, or its form, without what is broken now. Blocks.

    `named` is the folder that the command line names, which stands for the run's only suite. Without it, the suite is
    read from where the run's files say it was, or, if that is not here, it is the bundled or added suite of its name.
    Nothing that came with a run's folder is ever executed: the run may be somebody else's. So such a place is a full
    path outside of that folder, and only a bundled or added suite makes a form that is not there yet.

    Raises ConfigError if the folder must be named, or can't stand for several suites, and SuiteError.
    """
    stored = facts.config.get("tasks_dir")
    if several := facts.suites:
        if named is not None and str(named) != stored:
            names = ", ".join(one.name for one in several)
            raise ConfigError(f"--tasks-dir {named} can't stand for the {len(several)} suites of this run: {names}.")
        return load_places(
            [
                SuitePlace(name=one.name, folder=_recorded(Path(one.folder), files, name=one.name), format=one.format)
                for one in several
            ]
        )
    folder = named
    if folder is None:
        is_read_from = stored if isinstance(stored, str) and facts.form is None else facts.suite_folder
        folder = _recorded(Path(is_read_from), files, name=str(facts.suite.get("name", "" if stored else BUNDLED)))
        if facts.form is not None and not (_is_known(folder) or form_folder(folder, facts.form).is_dir()):
            raise ConfigError(
                f"The form {facts.form} of {files.name} has to be made by a program in {folder}, which only the run's"
                " own files name. If you trust it, name the suite with --tasks-dir."
            )
    return load_suite(suite_root(folder, facts.form), suite_format=suite_format, skip_broken=True)


def _is_known(folder: Path) -> bool:
    return any(folder.resolve().is_relative_to(one.resolve()) for one in (bundled_tasks_dir(), packs_dir()))


def _recorded(path: Path, files: RunFiles, *, name: str) -> Path:
    """Return the path of a suite in a run's files; if it is not here, that of the suite of this name.

    Raises ConfigError if it may have come with the run's files, and SuiteError.
    """
    if not path.exists() and (pack := read_pack(name)) is not None:
        return pack.folder
    if not path.exists() and name == BUNDLED:
        return bundled_tasks_dir()
    if _came_with(path, files):
        raise ConfigError(
            f"The files of {files.name} say that its suite is in {path}, which may have come with them, and nothing"
            " that came with a run's folder is executed. Name the suite with --tasks-dir."
        )
    return path


def _came_with(path: Path, files: RunFiles) -> bool:
    return not path.is_absolute() or path.resolve().is_relative_to(files.folder.resolve())


# The options that the numbers of a run depend on; the others may differ as they like.
MEASURED = (*(one.field for one in SETTINGS.values() if one.is_measured and one.scope in OF_A_RUN), "served")
# What of the judge and of the user's model they depend on: the section in run.json, the option that names the model.
ASKED: tuple[tuple[str, str, type[JudgeConfig | UserModelConfig], tuple[str, ...]], ...] = (
    ("judge", "judge", JudgeConfig, ("model", "base_url", "votes")),
    ("user", "user-model", UserModelConfig, ("model", "base_url")),
)
RELEASES = ("openclaw", "pinchbench_async")


def setting_changes(
    before: Mapping[str, object], now: Mapping[str, object], *, also: Sequence[str] = ()
) -> Iterator[str]:
    """Name every option, those of `also` included, with another value; both are as in run.json (pure)."""
    for name in (*MEASURED, *also):
        # an earlier release of this program may not have known the option
        usual = _usual(RunConfig.__dataclass_fields__[name])
        was = before.get(name, usual)
        if isinstance(usual, ServedModel):  # with what an earlier release did not keep of it
            was = convert(was, ServedModel)
        yield from _change(f"--{name.replace('_', '-')}", was, now.get(name))
    for section, named, kind, names in ASKED:
        was_asked, asked_now = stored_models(before.get(section)), stored_models(now.get(section))
        if len(was_asked) != len(asked_now):
            yield from _change(f"--{named}", _model_names(was_asked), _model_names(asked_now))
            continue
        for was, is_now in zip(was_asked, asked_now, strict=True):
            for name in names:
                words = name.replace("_", "-")
                option = named if name == "model" else f"{section}-{words}"
                what = f"--{option}" if option in SETTINGS else f"{words} of --{named}"
                yield from _change(what, was.get(name, _usual(kind.__dataclass_fields__[name])), is_now.get(name))


def addition_changes(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Name every option whose files have another content; both are digests by option (pure)."""
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            yield f"--{name.replace('_', '-')}: the files have changed"


def _usual(field: Field[Any]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _model_names(asked: Sequence[Mapping[str, object]]) -> str | None:
    return ", ".join(str(one.get("model")) for one in asked) or None


def _change(what: str, before: object, now: object) -> Iterator[str]:
    before, now = (decode_json(msgspec.json.encode(one)) for one in (before, now))
    if before != now:
        yield f"{what}: {_shown(before)} → {_shown(now)}"


def _shown(value: object) -> str:
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


def tool_changes(before: Sequence[str] | UnsetType, now: Sequence[str]) -> Iterator[str]:
    """Name the tools that only one of two lists has; none where it was not kept (pure)."""
    if before is UNSET:
        return
    gone, new = ([name for name in one if name not in other] for one, other in ((before, now), (now, before)))
    named = [f"{what} {', '.join(names)}" for what, names in (("without", gone), ("with", new)) if names]
    if named:
        yield f"OpenClaw's tools: now {' and '.join(named)}"


def release_changes(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Name every program that a run's numbers depend on, if its release is another one (pure)."""
    for name in RELEASES:
        if name in before and before[name] != now[name]:
            yield f"{name}: {before[name]} → {now[name]}"


def accept_releases(resumption: Resumption, releases: Mapping[str, str], tools: Sequence[str]) -> tuple[str, ...]:
    """All changes of a resumed run, those of the releases that run it and of the agents' tools included.

    Raises ChangedError when there are some that nobody has accepted.
    """
    changed = [*release_changes(resumption.facts.versions, releases), *tool_changes(resumption.facts.tools, tools)]
    require(changed, accepted=resumption.accepts, run=resumption.files.name)
    return (*resumption.changes, *changed)
