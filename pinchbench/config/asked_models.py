"""The models that the runner itself asks: the judge, and the one that plays the users of tasks."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from pinchbench.config.served import ServedModel
from pinchbench.config.settings import DEFAULTS, Scope, check_fields, check_key, check_model, check_text, check_url
from pinchbench.defaults import JUDGE_PROVIDERS, OPENCLAW_JUDGE
from pinchbench.errors import ConfigError
from pinchbench.json_values import Object, objects_at

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedModel:
    """A model that the runner itself asks, at an OpenAI-compatible endpoint.

    Attributes:
        option: the option that names the model.
        whose: the name of the model's role in sentences, and `owner` its possessive.
        model: a model of the endpoint; with a provider's prefix (`openai/`, `openrouter/`, `anthropic/`) and no
            `base_url`, that provider's.
        base_url: the endpoint; None for the provider's own.
        api_key_env: the name (never the value) of the environment variable that holds the key; None for the
            provider's usual one, or for an endpoint without a key.
        prices: USD for a million tokens of questions and of answers, where the endpoint names no cost.
    """

    option: ClassVar[str]
    whose: ClassVar[str]
    owner: ClassVar[str]

    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    prices: tuple[float, float] | None = None

    @property
    def is_steady(self) -> bool:
        """Whether a temperature of 0 is requested, because the same question should get the same answer."""
        return True

    def _check_asked(self) -> None:
        """Raise ConfigError, naming the option, when a value can't be used."""
        owner = self.owner.capitalize()
        address, key = f"{owner} base-url", f"{owner} api-key-env"
        for name, value in ((self.option, self.model), (address, self.base_url), (key, self.api_key_env)):
            check_text(name, value)
        if self.base_url is not None:
            check_url(address, self.base_url, key_option="its api-key-env")
        if self.api_key_env is not None:
            check_key(key, self.api_key_env)

    def _take_provider(self, *others: str) -> None:
        """Fill in the endpoint, the model and the key of a known provider."""
        found = of_provider(self.option, self.model, self.api_key_env, others=others)
        for name, value in zip(("base_url", "model", "api_key_env"), found, strict=True):
            object.__setattr__(self, name, value)


def of_provider(option: str, model: str, api_key_env: str | None, *, others: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the address, the model and the variable of the key for a model with a known provider's prefix.

    `others` are further prefixes that the option knows, for the sentence. Raises ConfigError if the provider is not
    known, or its key is not set.
    """
    provider, _, name = model.partition("/")
    known = [*(f"{one}/" for one in JUDGE_PROVIDERS), *others]
    if provider not in JUDGE_PROVIDERS or not name:
        url = " Or name its URL with --judge-base-url." if option == "--judge" else ""
        raise ConfigError(
            f"{option} {model} begins neither with {', '.join(known[:-1])} or {known[-1]}, nor with the name of an"
            f" endpoint: declare one in pinchbench.yaml, and write ENDPOINT/MODEL.{url}"
        )
    base_url, usual_key = JUDGE_PROVIDERS[provider]
    if api_key_env is None and not os.environ.get(usual_key):
        raise ConfigError(f"{option} {provider}/{name} needs a key in {usual_key}; it is not set.")
    return base_url, name, api_key_env or usual_key


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeConfig(AskedModel):
    """Who judges, and how.

    Attributes:
        model: as for `AskedModel`; `openclaw:MODEL` asks an OpenClaw agent without tools.
        votes: how often the judge is asked about each trial, 1 to 25; the median counts.
        concurrency: calls to the judge at once, 1 to 64.
        cache: whether answers to the very same question are taken from the cache.
        served: what OpenClaw has to know of the model of an endpoint.
        further: the other judges of the same trials, if there are several; none of them has further ones.

    Raises ConfigError, naming the option, when a value can't be used.
    """

    option = "--judge"
    whose = "the judge"
    owner = "the judge's"

    votes: int = DEFAULTS["judge-votes"]
    concurrency: int = DEFAULTS["judge-concurrency"]
    cache: bool = True
    served: ServedModel = ServedModel()
    further: tuple[JudgeConfig, ...] = ()

    def __post_init__(self) -> None:
        """Check every value; fill in the endpoint and key of a known provider."""
        self._check_asked()
        check_model("--judge", self.model_id)
        if self.model_id.startswith("demo/"):
            raise ConfigError(f"--judge {self.model}: the built-in models play tasks; they can't judge.")
        check_fields(self, Scope.JUDGE)
        if self.base_url is None and not self.is_openclaw:
            self._take_provider(OPENCLAW_JUDGE)
        elif self.base_url is None and self.api_key_env is not None:
            raise ConfigError("The judge's api-key-env goes with a base-url; OpenClaw knows its own keys.")
        elif self.base_url is not None and self.is_openclaw and "/" not in self.model_id.strip("/"):
            raise ConfigError(f"The judge's base-url needs a judge written openclaw:provider/name, not {self.model}.")
        named = [(one.model, one.base_url) for one in self.each]
        if repeated := [model for place, (model, url) in enumerate(named) if (model, url) in named[:place]]:
            raise ConfigError(f"--judge {repeated[0]} is given twice; --judge-votes asks a judge several times.")

    @property
    def each(self) -> tuple[JudgeConfig, ...]:
        """Each judge of a trial."""
        return (self, *self.further)

    @property
    def key_names(self) -> tuple[str | None, ...]:
        """The names of the variables that hold the judges' keys."""
        return tuple(one.api_key_env for one in self.each)

    @property
    def asks_openclaw(self) -> bool:
        """Whether some of the judges are OpenClaw agents."""
        return any(one.is_openclaw for one in self.each)

    @property
    def is_openclaw(self) -> bool:
        """Whether an OpenClaw agent judges."""
        return self.model.startswith(OPENCLAW_JUDGE)

    @property
    def model_id(self) -> str:
        """The model's name without `openclaw:`."""
        return self.model.removeprefix(OPENCLAW_JUDGE)

    @property
    def is_steady(self) -> bool:
        """Whether a temperature of 0 is requested; several votes on one question should differ."""
        return self.votes == 1


def several_judges(judges: Sequence[JudgeConfig]) -> JudgeConfig | None:
    """Return the options of all judges of a trial as one value; None without a judge. Raises ConfigError."""
    return replace(judges[0], further=tuple(judges[1:])) if judges else None


def plain_judge(judge: JudgeConfig) -> dict[str, object]:
    """Return the options of a judge as they stand in a run's files; `further` is missing where there is one judge."""
    own: dict[str, object] = asdict(judge)
    del own["further"]
    return {**own, "further": [plain_judge(one) for one in judge.further]} if judge.further else own


def stored_models(options: object) -> list[Object]:
    """Return the options of each judge, or of the user's model, from a run's files, which may hold anything."""
    return [options, *objects_at(options, "further")] if isinstance(options, dict) else []


@dataclass(frozen=True, kw_only=True, slots=True)
class UserModelConfig(AskedModel):
    """Which model plays the user. Raises ConfigError, naming the option, when a value can't be used."""

    option = "--user-model"
    whose = "the user's model"
    owner = "the user's"

    def __post_init__(self) -> None:
        """Check every value; fill in the endpoint and key of a known provider."""
        self._check_asked()
        check_model("--user-model", self.model)
        if self.model.startswith("demo/"):
            raise ConfigError(f"--user-model {self.model}: the built-in models play tasks; they can't play a user.")
        if self.base_url is None:
            self._take_provider()
