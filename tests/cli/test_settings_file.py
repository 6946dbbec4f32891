"""`pinchbench.yaml`: defaults of runs, and endpoints, down to OpenClaw's provider entry and to run.json."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from command_line import call, clean_environment
from fakes import fake_openclaw, make_suite
from pinchbench.cli.settings_file import read_settings
from pinchbench.config.run_config import RunConfig
from pinchbench.config.served import ServedModel, run_at
from pinchbench.errors import ConfigError
from pinchbench.runner.setup.make_homes import endpoint

TEXT = """\
run:
  judge: local/judge
  concurrency: 2
  tasks-dir: suite
  no-preflight: true
  env: {LEVEL: high}
endpoints:
  local:
    base-url: http://127.0.0.1:9/v1
    api: openai-responses
    models:
      qwen3: {context-window: 32768, max-tokens: 4096, reasoning: true, input: [text, image],
              price-in: 0.1, price-out: 0.4, price-cached: 0.01}
      judge:
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _write(folder: Path, text: str) -> None:
    (folder / "pinchbench.yaml").write_text(text, encoding="utf-8")


def test_an_endpoints_model_reaches_openclaws_provider_entry_with_all_that_is_said_of_it(place: Path) -> None:
    _write(place, TEXT)
    config = RunConfig(model="local/qwen3", **run_at(read_settings().endpoints, "local/qwen3"))

    prices = (config.price_in or 0, config.price_out or 0)
    entry = endpoint(
        config.base_url or "", "qwen3", served=config.served, with_key=False, api=config.api, prices=prices
    )
    assert entry == {
        "baseUrl": "http://127.0.0.1:9/v1",
        "apiKey": "no-key",
        "api": "openai-responses",
        "models": [
            {
                "id": "qwen3",
                "name": "qwen3",
                "reasoning": True,
                "input": ["text", "image"],
                "cost": {"input": 0.1, "output": 0.4, "cacheRead": 0.01, "cacheWrite": 0.1},
                "contextWindow": 32768,
                "maxTokens": 4096,
            }
        ],
    }


def test_ollama_gets_the_stated_window_with_each_request_and_never_a_guess() -> None:
    def entry(served: ServedModel) -> Mapping[str, object]:
        provider = endpoint("http://127.0.0.1:9", "m1", served=served, with_key=False, api="ollama")
        [model] = cast("list[dict[str, object]]", provider["models"])
        return model

    stated = entry(ServedModel(context_window=32_768, params={"temperature": 0}))
    assert (stated["contextTokens"], stated["params"]) == (32_768, {"temperature": 0})
    assert not {"contextTokens", "params"} & entry(ServedModel()).keys()


def test_the_file_of_the_current_folder_wins_over_that_of_the_user(
    place: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path_factory.mktemp("config")
    monkeypatch.setenv("PINCHBENCH_CONFIG", str(own))
    _write(own, "run: {concurrency: 3, runs: 2}\nendpoints:\n  a: {base-url: http://127.0.0.1:1/v1}\n")
    _write(place, TEXT)

    found = read_settings()
    assert (found.run["concurrency"], found.run["runs"], found.run["tasks_dir"]) == (2, 2, Path("suite"))
    assert found.run["env"] == ["LEVEL=high"]
    assert list(found.endpoints) == ["a", "local"]


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("run: {base-url: 'http://127.0.0.1:9/v1', api-key-env: MY_KEY}", "`api-key-env`, `base-url`"),
        ("run: {judge-base-url: 'http://127.0.0.1:9/v1'}", "`judge-base-url`"),
        ("run: {pass-env: [MY_KEY]}", "`pass-env`"),
        ("run: {openclaw: ./openclaw}", "`openclaw`"),
        ("run: {sandbox: none, sandbox-allow: [/home]}", "`sandbox`, `sandbox-allow`"),
        (
            "endpoints:\n  openai: {base-url: 'http://127.0.0.1:9/v1', api-key-env: OPENAI_API_KEY}",
            "the `api-key-env` of openai",
        ),
    ],
)
def test_a_file_that_came_with_a_folder_can_not_send_a_key_run_a_program_or_open_the_sandbox(
    place: Path, monkeypatch: pytest.MonkeyPatch, text: str, refused: str
) -> None:
    own = place / "config"
    own.mkdir()
    monkeypatch.setenv("PINCHBENCH_CONFIG", str(own))

    _write(own, text)
    read_settings()
    _write(place, text)
    with pytest.raises(ConfigError) as raised:
        read_settings()
    assert f"{refused}: only {own / 'pinchbench.yaml'} or an option may set this" in str(raised.value)


def test_a_run_has_the_files_settings_unless_an_option_or_a_variable_says_otherwise(tmp_path: Path) -> None:
    fake_openclaw(tmp_path)
    make_suite(tmp_path, {"task_a": "Hi", "task_b": "Hi"}).rename(tmp_path / "suite")
    _write(tmp_path, TEXT.replace("openai-responses", "openai-completions"))

    def planned(*options: str, **env: str) -> Mapping[str, object]:
        arguments = ("run", "--model", "local/qwen3", "--dry-run", "--json", *options)
        done = call(*arguments, cwd=tmp_path, env=clean_environment(tmp_path, **env))
        assert done.returncode == 0, done.stderr
        assert "Defaults of pinchbench.yaml: judge, concurrency" in done.stderr
        found: Mapping[str, object] = json.loads(done.stdout)
        return found

    assert planned()["slots"] == 2
    assert planned(PINCHBENCH_CONCURRENCY="1")["slots"] == 1
    assert planned("--concurrency", "1")["slots"] == 1


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("runs: 3\n", 1, "`runs` is not a setting of this file"),
        ("run: 3\n", 1, "`run` holds options of `run`"),
        ("run:\n  concurency: 3\n", 2, "did you mean `concurrency`?"),
        ("run:\n  runs: 0\n", 2, "`runs` 0 is out of range; it goes from 1 to 1000"),
        ("run:\n  runs: many\n", 2, "`runs` takes a whole number"),
        ("endpoints:\n  a: {}\n", 2, "the endpoint a needs a `base-url`"),
        ("endpoints:\n  a: {base-url: nowhere}\n", 2, "`base-url` is not a URL"),
        ("endpoints:\n  a: {base-url: 'http://h/v1', api: soap}\n", 2, "`api` takes openai-completions"),
        ("endpoints:\n  a: {base-url: 'http://h/v1', key: x}\n", 2, "`key` is not a setting of the endpoint a"),
        ("endpoints:\n  a:\n    base-url: http://h/v1\n    models: {m: {max-tokens: 0}}\n", 4, "`max-tokens` takes a"),
        ("endpoints:\n  a:\n    base-url: http://h/v1\n    models: {m: {price-in: 1}}\n", 4, "go together: state both"),
        ("run: [\n", 2, "not valid YAML"),
    ],
)
def test_each_problem_names_the_file_and_the_line(place: Path, text: str, line: int, said: str) -> None:
    _write(place, text)
    with pytest.raises(ConfigError) as raised:
        read_settings()
    assert f"pinchbench.yaml, line {line}: " in str(raised.value)
    assert said in str(raised.value)
