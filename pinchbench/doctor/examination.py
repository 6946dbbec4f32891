"""`doctor`: check everything that a run needs, without changing anything."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio

from pinchbench.config.asked_models import JudgeConfig
from pinchbench.config.run_config import RunConfig
from pinchbench.config.served import ServedModel
from pinchbench.config.settings import absolute_path
from pinchbench.defaults import COMPLETIONS, DEFAULT_OUTPUT_DIR, DEFAULT_RUN_ROOT, Isolation, SuiteFormat
from pinchbench.doctor import machine_findings, openclaw_findings
from pinchbench.doctor.bounded_check import Check, blocking_check, find_within, in_thread
from pinchbench.doctor.live_calls import CALL_LIMIT_S, ask_model
from pinchbench.errors import ConfigError, EndpointError, OpenClawError
from pinchbench.llm.preflight.ask import ask_all
from pinchbench.model.finding import Finding, Level
from pinchbench.openclaw.homes.credentials import UserState, places_of_key, read_user_state
from pinchbench.openclaw.homes.user_state import secrets_of
from pinchbench.openclaw.model_catalogue import Catalogue, read_catalogue
from pinchbench.redaction import known_secrets, mask
from pinchbench.runner.setup.preflight import ask_served, check_model, check_model_names, names_to_check, target_of
from pinchbench.runner.setup.this_machine import Machine
from pinchbench.sandbox.levels import find_support

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from pinchbench.doctor.openclaw_findings import Release

BoundedCheck: TypeAlias = "tuple[str, Check, float]"  # with its subject, and its limit in seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class DoctorConfig:
    """What to look at: the options of a run that its machine has to be fit for.

    With a `model` or `judges` (the fields of each `JudgeConfig`), each is asked one small question, unless `offline`.
    That a key is missing is a finding, not an error. Paths become absolute. Raises ConfigError for paths that can't be
    used.
    """

    model: str | None = None
    base_url: str | None = None
    api: str | None = None
    api_key_env: str | None = None
    served: ServedModel = ServedModel()
    judges: tuple[Mapping[str, Any], ...] = ()
    concurrency: int = 1
    isolation: Isolation = Isolation.PRIVATE
    openclaw: str | None = None
    output_dir: Path = DEFAULT_OUTPUT_DIR
    run_root: Path = DEFAULT_RUN_ROOT
    tasks_dir: Path | None = None
    suite_format: SuiteFormat | None = None
    suite: str = "all"
    offline: bool = False

    def __post_init__(self) -> None:
        """Make the paths absolute."""
        object.__setattr__(self, "output_dir", absolute_path(self.output_dir, option="--output-dir"))
        object.__setattr__(self, "run_root", absolute_path(self.run_root, option="--run-root"))
        if self.tasks_dir is not None:
            object.__setattr__(self, "tasks_dir", absolute_path(self.tasks_dir, option="--tasks-dir"))

    def run(self) -> RunConfig | None:
        """The options of the run; None without a model. Raises ConfigError, as a run does."""
        if self.model is None:
            return None
        return RunConfig(
            model=self.model,
            base_url=self.base_url,
            api=self.api or COMPLETIONS,
            api_key_env=self.api_key_env,
            served=self.served,
            concurrency=self.concurrency,
            isolation=self.isolation,
            openclaw=self.openclaw,
            output_dir=self.output_dir,
            run_root=self.run_root,
        )


SANDBOX_LIMIT_S = 45.0  # two short-lived processes, each of which has 20 s
LOOK_LIMIT_S = 10.0  # for one check of the machine: a dead network mount answers never
OPENCLAW_LIMIT_S = 60.0  # `openclaw --version` takes up to 9 CPU-seconds
CALL_MARGIN_S = 60.0  # for the home of a call and its removal, in addition to the call itself


async def examine(
    config: DoctorConfig, *, show: Callable[[Finding], None], say: Callable[[str], None]
) -> tuple[Finding, ...]:
    """Run all checks, one after another; `show` gets each finding at once.

    `say` gets the name of what is being waited for. Checks are bounded in time: one that fails is a finding. No finding
    holds a key. A cancellation ends what was started. Needs anyio's asyncio backend for the built-in models.
    """
    doctor = _Doctor(config, show=show, say=say, user=await _user())
    await doctor.run_checks()
    return tuple(doctor.findings)


async def _user() -> UserState | None:
    """The user's own OpenClaw; None if it can't be read, which the check of the key reports."""
    with suppress(OpenClawError, TimeoutError), anyio.fail_after(LOOK_LIMIT_S):
        return await in_thread(partial(read_user_state, os.environ))
    return None


def _secrets(config: DoctorConfig, user: UserState | None) -> tuple[str, ...]:
    """All that must not be shown: as of a run, or of the environment alone where the user's OpenClaw can't be read."""
    names = (config.api_key_env, *(one.get("api_key_env") for one in config.judges))
    return secrets_of(user, *names) if user is not None else known_secrets(os.environ, filter(None, names))


def _judge_config(fields: Mapping[str, Any]) -> JudgeConfig:
    """Return the options of a judge. Raises ConfigError, as a run does."""
    return JudgeConfig(**fields, cache=False)


class _Doctor:
    """One examination."""

    def __init__(
        self,
        config: DoctorConfig,
        *,
        show: Callable[[Finding], None],
        say: Callable[[str], None],
        user: UserState | None,
    ) -> None:
        self.findings: list[Finding] = []
        self._config = config
        self._show = show
        self._hear = say
        self._user = user
        self._secrets = _secrets(config, user)
        self._release: Release | None = None
        self._catalogue = Catalogue()  # of that OpenClaw
        self._misnamed: set[tuple[str, str]] = set()  # options and their models that this OpenClaw does not know

    async def run_checks(self) -> None:
        """Check this machine; then ask the model and the judges that are named."""
        config = self._config
        await self._run(self._machine_checks())
        if config.model is None and not config.judges:
            self._tell(Finding.note("model", "Not asked: no --model was named."))
        elif config.offline:
            self._tell(Finding.note("model", "Not asked: --offline was given."))
        else:
            await self._run(self._endpoint_checks())

    def _machine_checks(self) -> Iterator[BoundedCheck]:
        config = self._config
        slots = config.concurrency
        yield "platform", blocking_check(machine_findings.find_platform), LOOK_LIMIT_S
        yield "sandbox", blocking_check(lambda: machine_findings.of_sandbox(find_support())), SANDBOX_LIMIT_S
        yield "OpenClaw", self._openclaw, OPENCLAW_LIMIT_S
        yield "model name", self._model_names, LOOK_LIMIT_S
        yield "key", self._model_key, LOOK_LIMIT_S
        for one in config.judges:
            yield "judge's key", partial(self._judge_key, one), LOOK_LIMIT_S
        yield "memory", blocking_check(partial(machine_findings.find_memory, slots)), LOOK_LIMIT_S
        yield "limits", blocking_check(partial(machine_findings.find_limits, slots)), LOOK_LIMIT_S
        run_root = partial(machine_findings.find_run_root, config.run_root, slots)
        yield "run root", blocking_check(run_root), LOOK_LIMIT_S
        yield "output", blocking_check(partial(machine_findings.find_output, config.output_dir)), LOOK_LIMIT_S
        yield "cache", blocking_check(machine_findings.find_cache), LOOK_LIMIT_S
        tasks = partial(
            machine_findings.find_prerequisites,
            config.tasks_dir,
            config.suite,
            suite_format=config.suite_format,
            openclaw=config.openclaw,
        )
        yield "tasks", blocking_check(tasks), OPENCLAW_LIMIT_S
        yield "servers", self._servers, LOOK_LIMIT_S

    def _endpoint_checks(self) -> Iterator[BoundedCheck]:
        if self._config.model is not None:
            yield "model", self._ask_model, CALL_LIMIT_S + CALL_MARGIN_S
        for one in self._config.judges:
            yield "judge", partial(self._ask_judge, one), CALL_LIMIT_S + CALL_MARGIN_S

    async def _run(self, checks: Iterable[BoundedCheck]) -> None:
        for subject, check, limit_s in checks:
            for finding in await find_within(subject, check, limit_s):
                self._tell(finding)

    def _say(self, text: str) -> None:
        self._hear(mask(text, self._secrets))

    def _tell(self, finding: Finding) -> None:
        clean = replace(finding, said=mask(finding.said, self._secrets), do=mask(finding.do, self._secrets))
        self.findings.append(clean)
        self._show(clean)

    async def _openclaw(self) -> list[Finding]:
        try:
            release = await openclaw_findings.find_release(self._config.openclaw)
            self._catalogue = await in_thread(partial(read_catalogue, release.openclaw.program))
            self._release = release
        except OpenClawError as error:
            return [openclaw_findings.of_openclaw(error)]
        return [openclaw_findings.of_openclaw(release), openclaw_findings.of_node(release)]

    async def _model_names(self) -> list[Finding]:
        """What a run says before its set-up about names that its OpenClaw does not know."""
        if self._release is None or self._user is None:
            return []
        named: list[tuple[str, str]] = []
        with suppress(ConfigError):  # the key's own check reports it
            named += names_to_check(self._config.run(), None).items()
        for judge in self._config.judges:
            with suppress(ConfigError):
                named += names_to_check(None, _judge_config(judge)).items()
        machine = Machine(openclaw=self._release.openclaw, catalogue=self._catalogue, user=self._user)
        found = []
        for option, name in named:
            try:
                check_model_names({option: name}, machine)
            except ConfigError as error:
                self._misnamed.add((option, name))
                found.append(Finding.problem("model name", str(error)))
        return found

    async def _model_key(self) -> list[Finding]:
        config = self._config
        run = config.run()
        if run is not None and run.is_demo:
            return [Finding.ok("key", f"{run.model} is built in, and needs none.")]
        if run is not None and run.base_url is not None:
            return [openclaw_findings.of_endpoint_key(run.base_url, run.api_key_env)]
        if (user := self._user) is None:
            user = await in_thread(partial(read_user_state, os.environ))  # raises what is wrong with it
        if run is None:
            return [openclaw_findings.of_any_keys(user, os.environ)]
        provider, slash, _ = run.model.partition("/")
        if not slash:
            return []  # the name's own check reports it
        names = self._catalogue.key_names(provider)
        is_refused = False
        try:
            check_model(run, self._catalogue, user)
        except EndpointError:
            is_refused = True
        places = places_of_key(provider, names, env=os.environ, user=user)
        found = self._release.openclaw if self._release is not None else None
        return [openclaw_findings.of_key(run.model, names, places, openclaw=found, is_refused=is_refused)]

    async def _judge_key(self, named: Mapping[str, Any]) -> list[Finding]:
        judge = _judge_config(named)
        if judge.is_openclaw and judge.base_url is None:
            said = "The judge is an OpenClaw agent, and uses OpenClaw's own keys."
        elif judge.api_key_env is not None:
            said = f"{judge.api_key_env} is set, and goes to {judge.base_url}."
        else:
            said = f"No key is sent to {judge.base_url}."
        return [Finding.ok("judge's key", said)]

    async def _servers(self) -> list[Finding]:
        return [openclaw_findings.of_servers(await openclaw_findings.find_servers())]

    async def _ask_model(self) -> list[Finding]:
        try:
            run = self._config.run()
        except ConfigError:
            return [Finding.note("model", "Not asked: see its key.")]
        assert run is not None  # noqa: S101 - it is asked only where there is one
        if ("--model", run.model) in self._misnamed:
            return [Finding.note("model", "Not asked: see its name.")]
        if run.base_url is not None or self._release is not None:
            self._say(f"Asking {run.model} one question; this takes up to {CALL_LIMIT_S:.0f} s.")
        run, found = await self._ask_directly(run)
        if any(one.level is Level.PROBLEM for one in found):
            return found
        if self._release is None:
            return [*found, Finding.note("model", "Not asked: there is no OpenClaw to ask it.")]
        return [*found, await ask_model(run, self._release.openclaw)]

    async def _ask_directly(self, run: RunConfig) -> tuple[RunConfig, list[Finding]]:
        """Ask the model's endpoint as a run does before its set-up; nothing where only OpenClaw can ask.

        Return the options, with what the endpoint reports about the model.
        """
        if self._user is None:
            return run, []
        with suppress(EndpointError):  # there is no key, which is a finding of its own
            target = check_model(run, self._catalogue, self._user)
            if target is not None:
                found = await ask_all([target])
                if found[0].level is not Level.PROBLEM:
                    run, said = await ask_served(run, target)
                    found += said
                return run, found
        return run, []

    async def _ask_judge(self, named: Mapping[str, Any]) -> list[Finding]:
        try:
            judge = _judge_config(named)
        except ConfigError:
            return [Finding.note("judge", "Not asked: see its key.")]
        if ("--judge", judge.model_id) in self._misnamed:
            return [Finding.note("judge", "Not asked: see its name.")]
        if (target := target_of(judge)) is None:
            said = f"Not asked: {judge.model} is an OpenClaw agent, which a run of one judged task tries."
            return [Finding.note("judge", said)]
        self._say(f"Asking the judge {judge.model} one question.")
        return await ask_all([target])
