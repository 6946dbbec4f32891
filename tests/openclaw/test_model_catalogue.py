"""What manifests of OpenClaw's plugins say of providers and models, and which names of models are refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pinchbench.config.served import Endpoint, EndpointModel
from pinchbench.openclaw.model_catalogue import Catalogue, read_catalogue


def _installed(folder: Path, **plugins: object) -> Path:
    """An OpenClaw package with these manifests; returns its program."""
    for name, manifest in plugins.items():
        path = folder / "dist" / "extensions" / name / "openclaw.plugin.json"
        path.parent.mkdir(parents=True)
        path.write_text(manifest if isinstance(manifest, str) else json.dumps(manifest), encoding="utf-8")
    program = folder / "openclaw.mjs"
    program.touch()
    return program


def _lists(provider: str, *models: str) -> dict[str, object]:
    return {"providers": [provider], "modelCatalog": {"providers": {provider: {"models": [{"id": m} for m in models]}}}}


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    anthropic = _lists("anthropic", "claude-sonnet-4-6", "claude-opus-4-8")
    anthropic["modelIdNormalization"] = {"providers": {"anthropic": {"aliases": {"opus": "claude-opus-4-8"}}}}
    program = _installed(
        tmp_path,
        anthropic=anthropic,
        openrouter={"providers": ["openrouter"]},
        together=_lists("together", "moonshotai/Kimi-K2.6"),
        broken="{",
        odd='["no object"]',
    )
    return read_catalogue(program)


def test_models_are_listed_by_provider_and_providers_without_a_list_by_name(catalogue: Catalogue) -> None:
    assert catalogue.names == ("anthropic/claude-opus-4-8", "anthropic/claude-sonnet-4-6", "anthropic/opus")
    assert catalogue.open_providers == ("openrouter", "together")


def test_the_names_of_keys_come_from_openclaws_own_manifests(tmp_path: Path) -> None:
    setup = {"providers": [{"id": "google", "envVars": ["GEMINI_API_KEY", "GOOGLE_API_KEY"]}, {"id": "other"}]}
    manifest = {"setup": setup, "providers": ["older"], "providerAuthEnvVars": {"older": ["OLD_KEY"]}}
    catalogue = read_catalogue(_installed(tmp_path, google=manifest))

    assert catalogue.key_names("google") == ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    assert catalogue.key_names("older") == ("OLD_KEY",)
    assert catalogue.key_names("my-own.provider") == ("MY_OWN_PROVIDER_API_KEY",)
    assert read_catalogue(None).key_names("openrouter") == ("OPENROUTER_API_KEY",)


@pytest.mark.parametrize(
    "model",
    [
        "anthropic/claude-sonnet-4-6",
        "anthropic/opus",
        "openrouter/anything/at-all",
        "together/some/other-model",
        "mine/whatever",
    ],
)
def test_a_model_that_openclaw_may_know_is_taken(catalogue: Catalogue, model: str) -> None:
    assert catalogue.complaint(model, own=frozenset({"mine"})) == ""


@pytest.mark.parametrize(
    ("model", "meant"),
    [
        ("anthropic/claude-sonnet-4", "did you mean anthropic/claude-sonnet-4-6"),
        ("anthropic/gibberish", "did you mean anthropic/"),
        ("antropic/claude-sonnet-4-6", "did you mean anthropic?"),
        ("local/qwen3", "if local is a server of yours, say where it is with --base-url http://HOST:PORT/v1"),
        ("claude-sonnet-4-6", "names no provider; write PROVIDER/MODEL, such as anthropic/claude-sonnet-4-6, or"),
        ("claude-sonnet-4.6", "such as anthropic/claude-sonnet-4-6, or ENDPOINT/MODEL"),
        ("foo", "such as anthropic/claude-sonnet-4-6, or ENDPOINT/MODEL with an endpoint of pinchbench.yaml."),
        ("oracle", "names no provider; write PROVIDER/MODEL, such as demo/oracle, or"),
        ("anthropic/", "names no model; write PROVIDER/MODEL, such as anthropic/"),
        ("anthropic", "names no model; write PROVIDER/MODEL, such as anthropic/"),
        ("/claude", "names no provider"),
    ],
)
def test_a_name_that_openclaw_does_not_know_is_reported_with_the_names_it_may_stand_for(
    catalogue: Catalogue, model: str, meant: str
) -> None:
    assert meant in catalogue.complaint(model)


def test_a_name_without_a_provider_may_be_one_of_a_declared_endpoint(catalogue: Catalogue) -> None:
    anything = Endpoint(base_url="http://127.0.0.1:9/v1", place="pinchbench.yaml")
    endpoints = {"any": anything, "lab": replace(anything, models={"qwen3": EndpointModel()})}
    assert "such as any/qwen3 or lab/qwen3, or ENDPOINT/MODEL" in catalogue.complaint("qwen3", endpoints=endpoints)
    assert "such as any/foo, or ENDPOINT/MODEL" in catalogue.complaint("foo", endpoints=endpoints)


def test_a_misspelt_endpoint_is_reported_with_the_one_that_may_be_meant(catalogue: Catalogue) -> None:
    endpoints = {"local": Endpoint(base_url="http://127.0.0.1:9/v1", place="pinchbench.yaml")}
    assert "no provider locl; did you mean local?" in catalogue.complaint("locl/qwen3", endpoints=endpoints)


def test_whether_a_model_takes_images_is_known_of_those_whose_manifest_says_it(tmp_path: Path) -> None:
    models = [{"id": "sees", "input": ["text", "image"]}, {"id": "reads", "input": ["text"]}, {"id": "unknown"}]
    manifest = {"providers": ["p"], "modelCatalog": {"providers": {"p": {"models": models}}}}
    catalogue = read_catalogue(_installed(tmp_path, p=manifest))

    named = ("p/sees", "p/reads", "p/unknown", "p/other", "q/sees")
    assert [catalogue.takes_images(name) for name in named] == [True, False, None, None, None]
