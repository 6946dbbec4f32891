"""Every option's range and rule."""

import math
from functools import partial
from pathlib import Path

import pytest

from pinchbench.config.run_config import OWNED_SETTINGS, RunConfig, check_settings, check_variables, drawn_form
from pinchbench.defaults import APIS, DEFAULT_RUN_ROOT, Isolation
from pinchbench.errors import ConfigError

MODEL = "local/m1"
URL = "http://127.0.0.1:8000/v1"


def test_a_form_is_drawn_from_a_text_by_the_sha256_of_its_utf8() -> None:
    drawn = RunConfig(model=MODEL, form_from="abc")

    assert drawn.form == 0xBA7816BF, "FIPS 180-4's example begins with these bytes"
    assert drawn_form(None, "Grüße") == 0xF83E0397
    assert RunConfig(model=MODEL, form=drawn.form, form_from="abc") == drawn, "as a resumed run has it"
    assert (drawn_form(7, None), drawn_form(None, None)) == (7, None)


@pytest.mark.parametrize(
    ("form", "text", "said"),
    [
        (7, "abc", "--form and --form-from don't go together: the text stands for form 3128432319"),
        (None, " ", "--form-from is empty"),
        (None, "\udc80", "--form-from is not valid UTF-8"),
    ],
)
def test_a_text_that_can_not_be_drawn_from_is_an_error(form: int | None, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        RunConfig(model=MODEL, form=form, form_from=text)


def test_the_defaults_are_those_of_the_documentation() -> None:
    config = RunConfig(model=MODEL)
    assert (config.suite, config.concurrency, config.runs, config.timeout_multiplier) == ("all", 1, None, 1.0)
    assert (config.run_root, config.output_dir, config.isolation) == (
        DEFAULT_RUN_ROOT,
        Path.cwd() / "results",
        Isolation.PRIVATE,
    )
    assert str(DEFAULT_RUN_ROOT) == "/tmp/pinchbench"
    assert not config.is_demo


def test_the_built_in_models_are_known_by_name() -> None:
    assert RunConfig(model="demo/oracle").is_demo
    assert RunConfig(model="demo/null").is_demo
    with pytest.raises(ConfigError, match="the built-in models are demo/oracle and demo/null"):
        RunConfig(model="demo/other")


@pytest.mark.parametrize(
    ("option", "values", "said"),
    [
        ("concurrency", (0, -1, 1025), "--concurrency {} is out of range; it goes from 1 to 1024"),
        ("runs", (0, -1, 1001), "--runs {} is out of range; it goes from 1 to 1000"),
        ("seed", (-1, 2**32), "--seed {} is out of range"),
        ("timeout_multiplier", (0, -1, 100.1, math.inf, math.nan), "--timeout-multiplier .* above 0 and at most 100"),
        ("max_memory", (1.9,), "--max-memory {} is out of range; it is at least 2"),
        ("max_processes", (199,), "--max-processes {} is out of range; it is at least 200"),
        ("max_disk", (0, math.inf), "--max-disk {} is out of range; it is at least 0.1"),
        ("thinking", ("", "High", "lots"), "they are off, minimal, low"),
        ("pass_threshold", (0, -1, 1.01, math.nan), "--pass-threshold .* is out of range"),
    ],
)
def test_a_value_out_of_range_is_refused_with_the_range(option: str, values: tuple[object, ...], said: str) -> None:
    for value in values:
        with pytest.raises(ConfigError, match=said.format(value)):
            RunConfig(model=MODEL, **{option: value})  # type: ignore[arg-type]


def test_an_endpoint_goes_with_neither_demo_models_nor_the_users_openclaw() -> None:
    with pytest.raises(ConfigError, match="brings its own endpoint"):
        RunConfig(model="demo/oracle", base_url=URL)
    with pytest.raises(ConfigError, match="--base-url and --isolation shared don't go together"):
        RunConfig(model=MODEL, base_url=URL, isolation=Isolation.SHARED)
    with pytest.raises(ConfigError, match="leave --isolation shared out"):
        RunConfig(model="demo/oracle", isolation=Isolation.SHARED)
    assert RunConfig(model=MODEL, isolation=Isolation.SHARED).isolation == "shared"


def test_an_api_is_one_of_openclaws_goes_with_an_endpoint_and_ollamas_is_not_below_v1() -> None:
    assert all(RunConfig(model=MODEL, base_url="http://127.0.0.1:9", api=api).api == api for api in APIS)
    with pytest.raises(ConfigError, match="--api soap is not one of its values; they are openai-completions, openai-r"):
        RunConfig(model=MODEL, base_url=URL, api="soap")
    with pytest.raises(ConfigError, match="--api goes with --base-url"):
        RunConfig(model=MODEL, api="ollama")
    with pytest.raises(ConfigError, match=r"not below /v1; write http://127\.0\.0\.1:11434\."):
        RunConfig(model=MODEL, base_url="http://127.0.0.1:11434/v1/", api="ollama")


def test_settings_of_models_are_refused_with_the_place_where_they_are_stated() -> None:
    with pytest.raises(ConfigError, match=r"describe the model under `endpoints` in pinchbench\.yaml"):
        RunConfig(model=MODEL, openclaw_config={"models": {"providers": {}}})


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


def test_a_cost_limit_on_an_own_endpoint_needs_its_prices() -> None:
    own = partial(RunConfig, model="local/m", base_url="http://127.0.0.1:9/v1", max_cost=1.0)
    with pytest.raises(ConfigError, match="state them with --price-in and --price-out"):
        own()
    assert own(price_in=0.0, price_out=2.5).price_out == 2.5


def nested(path: str, value: object) -> dict[str, object]:
    name, _, rest = path.partition(".")
    return {name: nested(rest, value) if rest else value}


@pytest.mark.parametrize("path", OWNED_SETTINGS)
def test_a_setting_that_a_run_sets_itself_is_refused_with_the_reason(path: str) -> None:
    with pytest.raises(ConfigError) as raised:
        check_settings(nested(path, {}))
    assert f"{path} can't be set: {OWNED_SETTINGS[path]}." in str(raised.value)


def test_what_would_replace_a_section_with_settings_of_a_run_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"agents\.defaults must hold settings by name"):
        check_settings({"agents": {"defaults": []}})
    with pytest.raises(ConfigError, match="must hold settings by name"):
        check_settings({"agents": None})


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        ({"A B": "1"}, "is not the name of a variable"),
        ({"": "1"}, "is not the name of a variable"),
        ({"A": "\0"}, "holds a NUL character"),
        ({"PATH": "/bin"}, "a run sets it"),
        ({"OPENCLAW_STATE_DIR": "/x"}, "a run sets it"),
        ({"NODE_OPTIONS": "--inspect"}, "a run sets it"),
        ({"https_proxy": "http://127.0.0.1:1"}, "a run sets it"),
        ({"TZ": "UTC"}, "a run sets it"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:1"}, "the model under test"),
        ({"PASSED": "1"}, "--pass-env too"),
    ],
)
def test_a_variable_that_can_not_be_added_is_named(env: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        check_variables(env, model="openai/gpt-5.5", passed=("PASSED",))
