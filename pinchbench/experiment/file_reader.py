"""Read settings and endpoints from YAML, with the line of each problem."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from pinchbench.config.served import INPUTS, Endpoint, EndpointModel, ServedModel
from pinchbench.config.settings import Kind, Setting, check_url
from pinchbench.decoding import convert
from pinchbench.defaults import APIS, Isolation, Network, Sandbox
from pinchbench.errors import ConfigError
from pinchbench.runner.plan.check_additions import WHOLE
from pinchbench.suite.yaml_nodes import YamlNode, YamlTextError, misspelt, read_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import StrEnum


ENUMS: Mapping[str, type[StrEnum]] = {"isolation": Isolation, "sandbox": Sandbox, "network": Network}
Text = Annotated[str, Meta(min_length=1)]
Texts = Annotated[tuple[str, ...], Meta(min_length=1)]
Expected: TypeAlias = tuple[str, Any]
# What a value has to be, in words and as a type. Of text, it is what is written, whatever YAML takes it for.
KINDS: Mapping[Kind, Expected] = MappingProxyType(
    {
        Kind.TEXT: ("text", str),
        Kind.PATH: ("a path", Text),
        Kind.INTEGER: ("a whole number", int),
        Kind.NUMBER: ("a number", float),
        Kind.FLAG: ("true or false", bool),
        Kind.LIST: ("a list of texts", Texts),
        Kind.TEXTS: ("text, or a list of texts", Text | Texts),
        Kind.FILES: ("a folder, or files by their places in the workspace", Text | dict[str, str]),
        Kind.VARIABLES: ("values by name", dict[str, str]),
        Kind.OBJECT: ("settings by name", dict[str, object]),
    }
)
TOKENS = ("a number of tokens", Annotated[int, Meta(gt=0)])
PRICE = ("USD for a million tokens", Annotated[float, Meta(ge=0)])
OF_OPENCLAW = ("settings of OpenClaw by name", dict[str, object])
Input = Annotated[str, Meta(pattern=f"^({'|'.join(INPUTS)})$")]
MODEL_KEYS: Mapping[str, Expected] = MappingProxyType(
    {
        "context-window": TOKENS,
        "max-tokens": TOKENS,
        "reasoning": KINDS[Kind.FLAG],
        "input": (f"a list of {' and '.join(INPUTS)}", Annotated[tuple[Input, ...], Meta(min_length=1)]),
        "price-in": PRICE,
        "price-out": PRICE,
        "price-cached": PRICE,
        "price-written": PRICE,
        "compat": OF_OPENCLAW,
        "params": OF_OPENCLAW,
    }
)
AS_WRITTEN = (Kind.TEXT, Kind.PATH, Kind.LIST, Kind.TEXTS, Kind.FILES, Kind.VARIABLES)
ENDPOINT_TEXTS: Mapping[str, Expected] = {
    "api": (", ".join(APIS), Annotated[str, Meta(pattern=f"^({'|'.join(APIS)})$")]),
    "api-key-env": ("the name of a variable", str),
}
ENDPOINT_KEYS = ("base-url", *ENDPOINT_TEXTS, "models")


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
        kind = setting.kind
        value = self.converted(setting.name, node, KINDS[kind], as_written=kind in AS_WRITTEN)
        try:
            if value is not None and kind in (Kind.TEXT, Kind.INTEGER, Kind.NUMBER):
                setting.check(value, named=f"`{setting.name}`")
        except ConfigError as error:
            self.problem(node, str(error).rstrip("."))
            value = None
        match kind:
            case _ if value is None:
                return None
            case Kind.FLAG:
                return value is not setting.negates
            case Kind.PATH:
                return self.place(value)
            case Kind.FILES:
                places = {WHOLE: value} if isinstance(value, str) else value
                return {place: str(self.place(source)) for place, source in places.items()}
            case Kind.TEXTS if isinstance(value, str):
                return (value,)
            case _:
                return ENUMS[setting.field](value) if setting.field in ENUMS else value

    def converted(self, key: str, node: YamlNode, expected: Expected, *, as_written: bool = False) -> Any:  # noqa: ANN401
        """Return the value of a key, None for a problem. `as_written`: as text, whatever YAML takes it for."""
        said, kind = expected
        try:
            return convert(_written(node) if as_written else node.value, kind)
        except msgspec.ValidationError:
            self.problem(node, f"`{key}` takes {said}")
            return None

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
        texts = {key: fields[key] for key in ENDPOINT_TEXTS if key in fields}
        read = {key: self.converted(key, child, ENDPOINT_TEXTS[key], as_written=True) for key, child in texts.items()}
        given = {key.replace("-", "_"): value for key, value in read.items() if value is not None}
        models = fields.get("models")
        if models is not None and models.fields is None:
            self.problem(models, "`models` maps the name of each model to what is known of it, or to nothing")
        known = {one: self._model(one, child) for one, child in ((models and models.fields) or {}).items()}
        return Endpoint(base_url=url.text, models=known, place=str(self.path), **given)

    def _model(self, name: str, node: YamlNode) -> EndpointModel:
        if node.is_null:
            return EndpointModel()
        fields = self._fields(node, tuple(MODEL_KEYS), of=f"the model {name}")
        read = {key: self.converted(key, child, MODEL_KEYS[key]) for key, child in fields.items()}
        found = {key.replace("-", "_"): value for key, value in read.items() if value is not None}
        prices = {key: found.pop(key) for key in ("price_in", "price_out") if key in found}
        if len(prices) == 1:
            self.problem(node, "`price-in` and `price-out` go together: state both")
        return EndpointModel(served=ServedModel(**found), **prices)

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


def _written(node: YamlNode) -> object:
    """Return what is written: text, a list of texts or texts by name; None in place of what is no text."""
    if node.fields is not None:
        return {key: child.text for key, child in node.fields.items()}
    return node.text if node.items is None else [item.text for item in node.items]
