"""Read settings and endpoints from YAML, with the line of each problem."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from pinchbench.config.served import INPUTS, Endpoint, EndpointModel, ServedModel
from pinchbench.config.settings import Kind, check_url
from pinchbench.defaults import APIS, Isolation, Network, Sandbox
from pinchbench.errors import ConfigError
from pinchbench.runner.plan.check_additions import WHOLE
from pinchbench.suite.yaml_nodes import YamlTextError, misspelt, read_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pinchbench.config.settings import Setting
    from pinchbench.suite.yaml_nodes import YamlNode

ENUMS: Mapping[str, type[Isolation | Sandbox | Network]] = {
    "isolation": Isolation,
    "sandbox": Sandbox,
    "network": Network,
}
ENDPOINT_KEYS = ("base-url", "api", "api-key-env", "models")


class FileReader:
    """Reads one file and collects its problems, each with its line. Paths in it are relative to its folder."""

    def __init__(self, path: Path) -> None:
        """Take the path of the file, for its folder and its name."""
        self.path = path
        self.problems: list[tuple[int, str]] = []

    def root(self) -> YamlNode | None:
        """Return the root of the file; None if it can't be read, is empty, or is no mapping. Blocks."""
        try:
            found = read_yaml(self.path.read_text("utf-8").removeprefix("\ufeff"))
        except OSError as error:
            self.problems.append((1, f"it can't be read: {error.strerror}"))
            return None
        except UnicodeDecodeError:
            self.problems.append((1, "it is not text in UTF-8"))
            return None
        except YamlTextError as error:
            self.problems.append((error.line, error.reason))
            return None
        return None if found is None or found.fields is None else found

    def problem(self, node: YamlNode, reason: str) -> None:
        """Collect a problem."""
        self.problems.append((node.line, reason))

    def value(self, setting: Setting, node: YamlNode) -> object | None:
        """Return the value of a setting, None for a problem."""
        key = setting.name
        expected, read = READERS[setting.kind]
        value = read(node)
        if value is None:
            self.problem(node, f"`{key}` takes {expected}")
            return None
        try:
            if setting.kind in (Kind.TEXT, Kind.INTEGER, Kind.NUMBER):
                setting.check(value, named=f"`{key}`")
        except ConfigError as error:
            self.problem(node, str(error).rstrip("."))
            return None
        if setting.kind is Kind.FLAG:
            return value is not setting.negates
        if setting.kind is Kind.PATH:
            return self.place(str(value))
        if isinstance(value, dict) and setting.kind is Kind.FILES:
            return {place: str(self.place(str(source))) for place, source in value.items()}
        kind = ENUMS.get(setting.field)
        return value if kind is None else kind(str(value))

    def place(self, text: str) -> Path:
        """Return a path of the file, which is relative to its folder."""
        return self.path.parent / Path(text).expanduser()

    def endpoints(self, node: YamlNode | None) -> dict[str, Endpoint]:
        """Read the named endpoints."""
        if node is None:
            return {}
        if node.fields is None:
            self.problem(node, "`endpoints` maps a name to each endpoint")
            return {}
        found = ((name, self._endpoint(name, child)) for name, child in node.fields.items())
        return {name: endpoint for name, endpoint in found if endpoint is not None}

    def _endpoint(self, name: str, node: YamlNode) -> Endpoint | None:
        fields = self._fields(node, ENDPOINT_KEYS, of=f"the endpoint {name}")
        if (url := fields.get("base-url")) is None or url.text is None:
            self.problem(node, f"the endpoint {name} needs a `base-url`, such as http://127.0.0.1:8000/v1")
            return None
        try:
            check_url("`base-url`", url.text, key_option="`api-key-env`")
        except ConfigError as error:
            self.problem(url, str(error).rstrip("."))
        given: dict[str, str] = {}
        for key in ("api", "api-key-env"):
            if (child := fields.get(key)) is not None:
                if child.text is None or (key == "api" and child.text not in APIS):
                    self.problem(
                        child, f"`{key}` takes {', '.join(APIS) if key == 'api' else 'the name of a variable'}"
                    )
                else:
                    given[key.replace("-", "_")] = child.text
        models = fields.get("models")
        if models is not None and models.fields is None:
            self.problem(models, "`models` maps the name of each model to what is known of it, or to nothing")
        known = {one: self._model(one, child) for one, child in ((models and models.fields) or {}).items()}
        return Endpoint(base_url=url.text, models=known, place=str(self.path), **given)

    def _model(self, name: str, node: YamlNode) -> EndpointModel:
        if node.is_null:
            return EndpointModel()
        found: dict[str, object] = {}
        for key, child in self._fields(node, tuple(MODEL_KEYS), of=f"the model {name}").items():
            expected, read = MODEL_KEYS[key]
            if (value := read(child)) is None:
                self.problem(child, f"`{key}` takes {expected}")
            else:
                found[key.replace("-", "_")] = value
        prices = {key: found.pop(key) for key in ("price_in", "price_out") if key in found}
        if len(prices) == 1:
            self.problem(node, "`price-in` and `price-out` go together: state both")
        return EndpointModel(served=ServedModel(**cast("Any", found)), **cast("Any", prices))

    def _fields(self, node: YamlNode, known: tuple[str, ...], *, of: str) -> Mapping[str, YamlNode]:
        if node.fields is None:
            self.problem(node, f"{of} must hold `key: value` lines")
            return {}
        self.check_keys(node.fields, known, of=of)
        return {key: child for key, child in node.fields.items() if key in known}

    def check_keys(self, fields: Mapping[str, YamlNode], known: tuple[str, ...], *, of: str) -> None:
        """Collect a problem for each key that is not known."""
        near = dict(misspelt(fields, known=list(known)))
        for key, node in fields.items():
            if key not in known:
                hint = f": did you mean `{near[key]}`?" if key in near else f"; it has {', '.join(known)}"
                self.problem(node, f"`{key}` is not a setting of {of}{hint}")


def _integer(node: YamlNode) -> int | None:
    return node.value if isinstance(node.value, int) and not isinstance(node.value, bool) else None


def number(node: YamlNode) -> float | None:
    """Return a number; None for anything else."""
    return float(node.value) if isinstance(node.value, int | float) and not isinstance(node.value, bool) else None


def _flag(node: YamlNode) -> bool | None:
    return node.value if isinstance(node.value, bool) else None


def _texts(node: YamlNode) -> tuple[str, ...] | None:
    texts = [item.text for item in node.items or ()]
    return tuple(text for text in texts if text is not None) if node.items and None not in texts else None


def _object(node: YamlNode) -> dict[str, object] | None:
    return {key: child.value for key, child in node.fields.items()} if node.fields is not None else None


def _members(node: YamlNode) -> dict[str, str] | None:
    texts = {key: child.text for key, child in (node.fields or {}).items()}
    found = {key: text for key, text in texts.items() if text is not None}
    return found if node.fields is not None and len(found) == len(texts) else None


def _files(node: YamlNode) -> dict[str, str] | None:
    return {WHOLE: node.text} if node.text else _members(node)


READERS: Mapping[Kind, tuple[str, Callable[[YamlNode], object | None]]] = MappingProxyType(
    {
        Kind.TEXT: ("text", lambda node: node.text),
        Kind.PATH: ("a path", lambda node: node.text or None),
        Kind.INTEGER: ("a whole number", _integer),
        Kind.NUMBER: ("a number", number),
        Kind.FLAG: ("true or false", _flag),
        Kind.LIST: ("a list of texts", _texts),
        Kind.TEXTS: ("text, or a list of texts", lambda node: (node.text,) if node.text else _texts(node)),
        Kind.FILES: ("a folder, or files by their places in the workspace", _files),
        Kind.VARIABLES: ("values by name", _members),
        Kind.OBJECT: ("settings by name", _object),
    }
)


def _tokens(node: YamlNode) -> int | None:
    number = _integer(node)
    return number if number is not None and number > 0 else None


def _price(node: YamlNode) -> float | None:
    price = number(node)
    return price if price is not None and price >= 0 else None


def _inputs(node: YamlNode) -> tuple[str, ...] | None:
    texts = _texts(node)
    return texts if texts and set(texts) <= set(INPUTS) else None


MODEL_KEYS: Mapping[str, tuple[str, Callable[[YamlNode], object | None]]] = MappingProxyType(
    {
        "context-window": ("a number of tokens", _tokens),
        "max-tokens": ("a number of tokens", _tokens),
        "reasoning": ("true or false", _flag),
        "input": (f"a list of {' and '.join(INPUTS)}", _inputs),
        "price-in": ("USD for a million tokens", _price),
        "price-out": ("USD for a million tokens", _price),
        "price-cached": ("USD for a million tokens", _price),
        "price-written": ("USD for a million tokens", _price),
        "compat": ("settings of OpenClaw by name", _object),
        "params": ("settings of OpenClaw by name", _object),
    }
)
