"""Every option's range and rule."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from pathlib import Path

import pytest

from pinchbench.config import JudgeConfig, RegradeConfig, RunConfig
from pinchbench.defaults import DEFAULT_RUN_ROOT, THINKING_LEVELS, Isolation
from pinchbench.errors import ConfigError

MODEL = "local/m1"
URL = "http://127.0.0.1:8000/v1"


def test_the_defaults_are_those_of_the_documentation() -> None:
    config = RunConfig(model=MODEL)
    assert (config.suite, config.concurrency, config.runs, config.timeout_multiplier) == ("all", 1, 1, 1.0)
    assert (config.run_root, config.output_dir, config.isolation) == (
        DEFAULT_RUN_ROOT,
        Path.cwd() / "results",
        Isolation.AUTO,
    )
    assert str(DEFAULT_RUN_ROOT) == "/tmp/pinchbench"
    assert not config.is_demo


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        RunConfig(model=MODEL).runs = 2  # type: ignore[misc]


@pytest.mark.parametrize("model", ["", " ", " a/b", "a/b\n", "a\x00b", "a\tb"])
def test_a_model_is_a_name(model: str) -> None:
    with pytest.raises(ConfigError, match="is not a model name"):
        RunConfig(model=model)


def test_a_model_fits_into_a_file_name() -> None:
    assert RunConfig(model="a/" + "b" * 198).model.endswith("b")
    with pytest.raises(ConfigError, match="--model is longer than 200 characters"):
        RunConfig(model="a/" + "b" * 199)


@pytest.mark.parametrize("name", ["model", "suite", "thinking", "base_url", "api_key_env", "openclaw"])
def test_what_is_no_text_is_refused(name: str) -> None:
    option = "--" + name.replace("_", "-")
    with pytest.raises(ConfigError, match=f"{option} is not valid UTF-8"):
        RunConfig(**{"model": MODEL, name: "caf\udce9"})  # type: ignore[arg-type]


def test_the_built_in_models_are_known_by_name() -> None:
    assert RunConfig(model="demo/oracle").is_demo
    assert RunConfig(model="demo/null").is_demo
    with pytest.raises(ConfigError, match="the built-in models are demo/oracle and demo/null"):
        RunConfig(model="demo/other")


@pytest.mark.parametrize("value", [1, 64])
def test_a_concurrency_in_range_is_taken(value: int) -> None:
    assert RunConfig(model=MODEL, concurrency=value).concurrency == value


@pytest.mark.parametrize("value", [0, -1, 65])
def test_a_concurrency_out_of_range_is_refused(value: int) -> None:
    with pytest.raises(ConfigError, match=f"--concurrency {value} is out of range; it goes from 1 to 64"):
        RunConfig(model=MODEL, concurrency=value)


@pytest.mark.parametrize("value", [1, 1000])
def test_a_number_of_runs_in_range_is_taken(value: int) -> None:
    assert RunConfig(model=MODEL, runs=value).runs == value


@pytest.mark.parametrize("value", [0, -1, 1001])
def test_a_number_of_runs_out_of_range_is_refused(value: int) -> None:
    with pytest.raises(ConfigError, match=f"--runs {value} is out of range; it goes from 1 to 1000"):
        RunConfig(model=MODEL, runs=value)


@pytest.mark.parametrize("value", [None, 0, 2**32 - 1])
def test_a_seed_is_a_number_or_none(value: int | None) -> None:
    assert RunConfig(model=MODEL, seed=value).seed == value


@pytest.mark.parametrize("value", [-1, 2**32])
def test_a_seed_out_of_range_is_refused(value: int) -> None:
    with pytest.raises(ConfigError, match=f"--seed {value} is out of range"):
        RunConfig(model=MODEL, seed=value)


@pytest.mark.parametrize("value", [0.001, 1, 100])
def test_a_timeout_multiplier_in_range_is_taken(value: float) -> None:
    assert RunConfig(model=MODEL, timeout_multiplier=value).timeout_multiplier == value


@pytest.mark.parametrize("value", [0, -1, 100.1, float("inf"), float("nan")])
def test_a_timeout_multiplier_out_of_range_is_refused(value: float) -> None:
    with pytest.raises(ConfigError, match=r"--timeout-multiplier .* above 0 and at most 100"):
        RunConfig(model=MODEL, timeout_multiplier=value)


@pytest.mark.parametrize(
    ("option", "value", "least"),
    [("memory", 1.9, 2), ("processes", 199, 200), ("disk", 0, 0.1), ("disk", math.inf, 0.1)],
)
def test_a_limit_below_what_openclaw_needs_is_refused(option: str, value: float, least: float) -> None:
    with pytest.raises(ConfigError, match=f"--max-{option} {value} is out of range; it is at least {least}"):
        RunConfig(model=MODEL, **{f"max_{option}": value})  # type: ignore[arg-type]


@pytest.mark.parametrize("level", [None, *THINKING_LEVELS])
def test_every_thinking_level_is_taken(level: str | None) -> None:
    assert RunConfig(model=MODEL, thinking=level).thinking == level


@pytest.mark.parametrize("level", ["", "High", "lots"])
def test_an_unknown_thinking_level_is_refused_with_the_known_ones(level: str) -> None:
    with pytest.raises(ConfigError, match="they are off, minimal, low"):
        RunConfig(model=MODEL, thinking=level)


@pytest.mark.parametrize("url", [URL, "https://example.org", "http://[::1]:1/v1", "http://host"])
def test_an_endpoint_is_a_url(url: str) -> None:
    assert RunConfig(model=MODEL, base_url=url).base_url == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8000",
        "ftp://host/v1",
        "http://",
        "http:///v1",
        "http://host:99999",
        "http://host:x",
        "http://[::1",
        "http://host:0",
    ],
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="--base-url is not a URL"):
        RunConfig(model=MODEL, base_url=url)


@pytest.mark.parametrize("url", [f"{URL}?key=secret", f"{URL}#secret", f"{URL}?", "https://host?secret"])
def test_a_url_with_a_query_or_fragment_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError, match="must not have a query or fragment") as caught:
        RunConfig(model=MODEL, base_url=url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://me@host/v1", "http://me:secret@host/v1", "http://:secret@host/v1"])
def test_a_key_in_the_url_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError, match="must not hold a user name or key") as caught:
        RunConfig(model=MODEL, base_url=url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("model", ["m1", "m1/", "/m1"])
def test_an_endpoints_model_has_a_provider(model: str) -> None:
    with pytest.raises(ConfigError, match="written provider/name"):
        RunConfig(model=model, base_url=URL)


def test_an_endpoint_goes_with_neither_demo_models_nor_the_users_openclaw() -> None:
    with pytest.raises(ConfigError, match="brings its own endpoint"):
        RunConfig(model="demo/oracle", base_url=URL)
    with pytest.raises(ConfigError, match="--base-url and --isolation shared don't go together"):
        RunConfig(model=MODEL, base_url=URL, isolation=Isolation.SHARED)
    with pytest.raises(ConfigError, match="leave --isolation shared out"):
        RunConfig(model="demo/oracle", isolation=Isolation.SHARED)
    assert RunConfig(model=MODEL, isolation=Isolation.SHARED).isolation == "shared"
    for isolation in {*Isolation} - {Isolation.SHARED}:
        assert RunConfig(model=MODEL, base_url=URL, isolation=isolation).isolation is isolation
        assert RunConfig(model="demo/oracle", isolation=isolation).isolation is isolation


def test_the_variable_with_the_key_is_set_and_goes_with_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    monkeypatch.setenv("EMPTY_KEY", "")
    assert RunConfig(model=MODEL, base_url=URL, api_key_env="MY_KEY").api_key_env == "MY_KEY"
    assert "secret" not in repr(RunConfig(model=MODEL, base_url=URL, api_key_env="MY_KEY"))
    with pytest.raises(ConfigError, match="--api-key-env goes with --base-url"):
        RunConfig(model=MODEL, api_key_env="MY_KEY")
    for name in ("EMPTY_KEY", "NO_SUCH_KEY_HERE"):
        with pytest.raises(ConfigError, match=f"{name}: that environment variable is not set"):
            RunConfig(model=MODEL, base_url=URL, api_key_env=name)


@pytest.mark.parametrize("name", ["sk-12345", "1KEY", "MY KEY", ""])
def test_the_key_itself_is_refused_and_not_repeated(name: str) -> None:
    with pytest.raises(ConfigError, match="takes the name of an environment variable, not the key itself") as caught:
        RunConfig(model=MODEL, base_url=URL, api_key_env=name)
    assert not name or name not in str(caught.value)


@pytest.mark.parametrize("name", ["tasks_dir", "output_dir", "run_root"])
def test_a_path_that_no_result_could_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="is not valid UTF-8"):
        RunConfig(model=MODEL, **{name: Path("caf\udce9")})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["tasks_dir", "output_dir", "run_root"])
def test_paths_are_absolute_and_know_home(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert getattr(RunConfig(model=MODEL, **{name: Path("a")}), name) == tmp_path / "a"  # type: ignore[arg-type]
    assert getattr(RunConfig(model=MODEL, **{name: Path("~/a")}), name) == tmp_path / "home" / "a"  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"'~nosuch/a' names a home folder that does not exist"):
        RunConfig(model=MODEL, **{name: Path("~nosuch/a")})  # type: ignore[arg-type]


def test_a_relative_path_needs_a_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigError, match="--output-dir 'results': the current folder can't be told"):
        RunConfig(model=MODEL)
    assert RunConfig(model=MODEL, output_dir=tmp_path).output_dir == tmp_path


def test_a_judge_has_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    known = JudgeConfig(model="openai/gpt-5")
    assert (known.model, known.base_url, known.api_key_env) == ("gpt-5", "https://api.openai.com/v1", "OPENAI_API_KEY")
    assert dataclasses.replace(known, votes=3) == JudgeConfig(
        model="gpt-5", base_url="https://api.openai.com/v1", api_key_env="OPENAI_API_KEY", votes=3
    )
    own = JudgeConfig(model="openai/gpt-5", base_url=URL)
    assert (own.model, own.base_url, own.api_key_env) == ("openai/gpt-5", URL, None)
    agent = JudgeConfig(model="openclaw:openai/gpt-5")
    assert (agent.is_openclaw, agent.model_id, agent.base_url) == (True, "openai/gpt-5", None)
    assert "secret" not in repr(known)


def test_what_a_judge_lacks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="--judge m1 needs --judge-base-url, unless it begins with openai/"):
        JudgeConfig(model="m1")
    with pytest.raises(ConfigError, match="--judge openrouter/a/b needs a key in OPENROUTER_API_KEY"):
        JudgeConfig(model="openrouter/a/b")
    with pytest.raises(ConfigError, match="--judge-api-key-env goes with --judge-base-url"):
        JudgeConfig(model="openclaw:a/b", api_key_env="HOME")
    with pytest.raises(ConfigError, match="openclaw:provider/name"):
        JudgeConfig(model="openclaw:b", base_url=URL)
    with pytest.raises(ConfigError, match="--judge-base-url is not a URL"):
        JudgeConfig(model="m1", base_url="localhost")
    with pytest.raises(ConfigError, match="--judge-base-url must not hold a user name or key"):
        JudgeConfig(model="m1", base_url="http://me:key@127.0.0.1/v1")
    with pytest.raises(ConfigError, match="--judge-api-key-env takes the name"):
        JudgeConfig(model="m1", base_url=URL, api_key_env="sk-123")
    for built_in in ("demo/oracle", "openclaw:demo/null"):
        with pytest.raises(ConfigError, match=f"--judge {built_in}: the built-in models play tasks"):
            JudgeConfig(model=built_in, base_url=URL)
    with pytest.raises(ConfigError, match="--judge '' is not a model name"):
        JudgeConfig(model="openclaw:")


@pytest.mark.parametrize(("name", "value"), [("votes", 0), ("votes", 26), ("concurrency", 0), ("concurrency", 65)])
def test_a_judges_numbers_have_their_ranges(name: str, value: int) -> None:
    with pytest.raises(ConfigError, match=f"--judge-{name} {value} is out of range"):
        JudgeConfig(model="m1", base_url=URL, **{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, -1, 1.01, float("nan")])
def test_the_pass_threshold_is_a_score_above_0(value: float) -> None:
    with pytest.raises(ConfigError, match=r"--pass-threshold .* is out of range"):
        RunConfig(model=MODEL, pass_threshold=value)


def test_what_is_graded_again_has_absolute_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = RegradeConfig(run="r", tasks_dir=Path("mine"))
    assert (config.tasks_dir, config.output_dir) == (tmp_path / "mine", tmp_path / "results")
    with pytest.raises(ConfigError, match="RUN is not valid UTF-8"):
        RegradeConfig(run="caf\udce9")


def test_a_cost_limit_on_an_own_endpoint_needs_its_prices() -> None:
    own = partial(RunConfig, model="local/m", base_url="http://127.0.0.1:9/v1", max_cost=1.0)
    with pytest.raises(ConfigError, match="state them with --price-in and --price-out"):
        own()
    assert own(price_in=0.0, price_out=2.5).price_out == 2.5


@pytest.mark.parametrize(("price_in", "price_out"), [(1.0, None), (0.0, 0.0), (-1.0, 1.0)])
def test_prices_are_stated_both_and_not_as_nothing(price_in: float, price_out: float | None) -> None:
    with pytest.raises(ConfigError, match="--price-"):
        RunConfig(model="local/m", base_url="http://127.0.0.1:9/v1", price_in=price_in, price_out=price_out)
