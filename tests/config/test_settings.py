"""The table of settings fills the configs, and says what is out of range."""

from dataclasses import fields
from pathlib import Path

import pytest

from pinchbench.cli.run import run
from pinchbench.config.asked_models import JudgeConfig, UserModelConfig
from pinchbench.config.run_config import RunConfig
from pinchbench.config.settings import DEFAULTS, OF_A_RUN, SETTINGS, Kind, Scope
from pinchbench.errors import ConfigError

# Not said by a setting of a file: these, for judge and user or the model, come from a named endpoint.
BY_ENDPOINT = {"api", "served", "prices", "base_url", "api_key_env"}
# What an experiment does not take: it prints its own lines, asks models, and has one suite.
NOT_TAKEN = {"exitfirst", "verbose", "replay", "retry_delay_s", "linger_s", "judge", "user"}


def test_every_field_of_a_config_has_a_setting() -> None:
    of_run = {one.field for one in SETTINGS.values() if one.scope in OF_A_RUN}
    assert of_run == {one.name for one in fields(RunConfig)} - NOT_TAKEN - {"served"}
    for scope, kind in ((Scope.JUDGE, JudgeConfig), (Scope.USER, UserModelConfig)):
        asked = {one.field for one in SETTINGS.values() if one.scope is scope}
        assert asked == {one.name for one in fields(kind)} - BY_ENDPOINT - {"further"}


def test_run_has_the_options_of_the_table_and_no_others() -> None:
    shown = [one for one in run.params if not getattr(one, "hidden", False)]  # --version is every command's
    options = {name for parameter in shown for name in parameter.opts if name.startswith("--")}
    assert options == {f"--{name}" for name, one in SETTINGS.items() if "run" in one.commands}
    assert len([one for one in SETTINGS.values() if "run" in one.commands and one.is_basic]) <= 24


def test_the_defaults_of_a_config_are_those_of_the_table() -> None:
    config = RunConfig(model="demo/oracle")
    for name, one in SETTINGS.items():
        if one.scope in OF_A_RUN and one.kind not in (Kind.FLAG, Kind.PATH) and DEFAULTS[name] is not None:
            assert getattr(config, one.field) == DEFAULTS[name]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("runs", 0, "--runs 0 is out of range; it goes from 1 to 1000."),
        ("max-cost", 0.0, "--max-cost 0.0 is out of range; it is above 0."),
        ("max-cost", float("inf"), "--max-cost inf is out of range; it is above 0."),
        ("margin", float("nan"), "--margin nan is out of range; it goes from 0 to 1."),
        ("timeout-multiplier", 101.0, "it is above 0 and at most 100."),
        ("max-disk", 0.0, "it is at least 0.1."),
        ("thinking", "deep", "--thinking deep is not one of its values; they are off, minimal"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_those_that_do(name: str, value: object, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        SETTINGS[name].check(value)
    assert said in str(raised.value)
    SETTINGS[name].check(None)


MODEL = "local/m1"
URL = "http://127.0.0.1:8000/v1"


def test_a_model_fits_into_a_file_name() -> None:
    assert RunConfig(model="a/" + "b" * 198).model.endswith("b")
    with pytest.raises(ConfigError, match="--model is longer than 200 characters"):
        RunConfig(model="a/" + "b" * 199)


@pytest.mark.parametrize("name", ["model", "suite", "thinking", "base_url", "api_key_env", "openclaw"])
def test_what_is_no_text_is_refused(name: str) -> None:
    option = "--" + name.replace("_", "-")
    with pytest.raises(ConfigError, match=f"{option} is not valid UTF-8"):
        RunConfig(**{"model": MODEL, name: "caf\udce9"})  # type: ignore[arg-type]


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


@pytest.mark.parametrize("name", ["sk-12345", "1KEY", "MY KEY", ""])
def test_the_key_itself_is_refused_and_not_repeated(name: str) -> None:
    with pytest.raises(ConfigError, match="takes the name of an environment variable, not the key itself") as caught:
        RunConfig(model=MODEL, base_url=URL, api_key_env=name)
    assert not name or name not in str(caught.value)


@pytest.mark.parametrize("name", ["tasks_dir", "output_dir", "run_root"])
def test_paths_are_absolute_and_know_home(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert getattr(RunConfig(model=MODEL, **{name: Path("a")}), name) == tmp_path / "a"  # type: ignore[arg-type]
    assert getattr(RunConfig(model=MODEL, **{name: Path("~/a")}), name) == tmp_path / "home" / "a"  # type: ignore[arg-type]
    (tmp_path / "there" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to("there/inner")
    assert getattr(RunConfig(model=MODEL, **{name: Path("link/../a")}), name) == tmp_path / "there" / "a"  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"'~nosuch/a' names a home folder that does not exist"):
        RunConfig(model=MODEL, **{name: Path("~nosuch/a")})  # type: ignore[arg-type]
