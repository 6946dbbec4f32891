"""Settings files that name an endpoint, for commands that ask a fake one."""

from pathlib import Path


def model_at(base_url: str, folder: Path, model: str = "judge-1", *, key_env: str = "") -> str:
    """Write `pinchbench.yaml` into a folder, and return what `--judge` or `--user-model` then calls the model."""
    key = f", api-key-env: {key_env}" if key_env else ""
    text = f"endpoints:\n  fake: {{base-url: '{base_url}'{key}}}\n"
    (folder / "pinchbench.yaml").write_text(text, encoding="utf-8")
    return f"fake/{model}"
