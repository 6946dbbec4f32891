"""Which names of models others may read: none that names a user or a machine."""

from __future__ import annotations

import getpass
import os
import platform
import pwd
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pinchbench.config.asked_models import stored_models
from pinchbench.redaction import known_secrets, mask

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pinchbench.results.finished_run import PastRun


UNNAMED = "unnamed"
MOST_PARTS = 3  # of a model's name, as in openrouter/meta-llama/llama-4
NOBODY = frozenset({"", "root", "user", "admin", "home", "localhost", "ubuntu", "runner", "nobody", "127.0.0.1", "::1"})
# Whose models have the same names for everybody.
PUBLIC_PROVIDER = re.compile("anthropic|openai|openrouter|google|xai|mistral|deepseek|groq|together|cerebras|demo")

WHO = ("USER", "LOGNAME", "SUDO_USER", "USERNAME")
SHORTEST_PART = 4  # letters of a part of a user's name: `dev` is in many names of models

_HOME = re.compile(r"(?:^|[/\\])(?:home|Users)[/\\]([^/\\]+)")
# `::` is in addresses; `arn:` and `ft:` name whose account it is
_PART = re.compile(r"(?!arn:|ft:)(?!.*::)[A-Za-z0-9][A-Za-z0-9._:@+-]{0,79}")
_LOCAL = re.compile("local|lan|internal|intranet|corp|home|localdomain|example|test", re.IGNORECASE)
_ADDRESS = re.compile(
    rf"\d{{1,3}}(?:\.\d{{1,3}}){{3}}|.*:\d{{4,5}}|.*\.(?:{_LOCAL.pattern}|com|net|org|io|dev)(?::\d+)?|localhost.*",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivateNames:
    """Names of the machine and of its user, in small letters, and keys: what no text that is sent may hold."""

    names: frozenset[str] = frozenset()
    secrets: tuple[str, ...] = ()

    def are_in(self, text: str) -> bool:
        """Whether a text holds one of them: a name as a word or a part of a compound, a key anywhere."""
        if self.secrets and mask(text, self.secrets) != text:
            return True
        if not self.names:
            return False
        choice = "|".join(map(re.escape, sorted(self.names)))
        return re.search(rf"(?<![^\W_])(?:{choice})(?![^\W_])", text.casefold()) is not None


def private_names(run: PastRun, env: Mapping[str, str]) -> PrivateNames:
    """The names of this machine and its user, and those that the paths and addresses of a run give away."""
    names = {*_own_names(), *_names_in(env), *_names_of(run)}
    config = run.facts.config
    holders = [config.get("api_key_env"), *(one.get("api_key_env") for one in stored_models(config.get("judge")))]
    return PrivateNames(
        names=frozenset(name.casefold() for name in names) - NOBODY,
        secrets=known_secrets(env, (name for name in holders if isinstance(name, str))),
    )


def _names_in(env: Mapping[str, str]) -> Iterator[str]:
    """Who the user is below `sudo` or in a container, and the parts of such a name: `zelda` of `zelda.hyrule`."""
    for variable in WHO:
        name = env.get(variable, "")
        yield name
        yield from (part for part in re.split(r"[\W_]+", name) if len(part) >= SHORTEST_PART)
    yield from _host_names(env.get("HOSTNAME", ""), is_own=True)


def _own_names() -> Iterator[str]:
    yield from _host_names(platform.node(), is_own=True)
    yield Path(os.path.expanduser("~")).name  # noqa: PTH111 - `Path.home` raises where there is none
    with suppress(OSError, KeyError):  # a user without a name
        yield getpass.getuser()
        yield from pwd.getpwuid(os.getuid()).pw_gecos.partition(",")[0].split()


def _names_of(run: PastRun) -> Iterator[str]:
    texts = [str(run.files.output_dir), str(run.facts.suite.get("folder")), *(one.workspace for one in run.outcomes)]
    for value in _leaves(run.facts.config):
        texts.append(value)
        if "://" in value:
            try:
                yield from _host_names(urlsplit(value).hostname or "", is_own=False)
            except ValueError:
                continue
    for text in texts:
        yield from _HOME.findall(text)


def _host_names(host: str, *, is_own: bool) -> Iterator[str]:
    """Yield the private names in a host name: of a public host only the whole, of a local host its parts too."""
    yield host
    *labels, last = host.split(".")
    if is_own or not labels or _LOCAL.fullmatch(last):
        yield from (label for label in (labels or [last]) if not label.isdecimal())


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _leaves(member)


def public_model(model: str, private: PrivateNames, *, own_endpoint: bool) -> str:
    """The name of a model as others may know it: the same, unless it holds a path, an address or a private name.

    Of such a name the provider and the last part are left, or `unnamed` in place of one that is unknown, too.
    `own_endpoint`: the model's provider is no public one, whatever it is called.
    """
    parts = model.split("/")
    is_public = PUBLIC_PROVIDER.fullmatch(parts[0]) is not None and not own_endpoint
    # what is between a public provider and the model's own name is an account, which may be the user's
    accounts = range(1, len(parts) - 1) if is_public else range(len(parts))
    usable = [
        _PART.fullmatch(part) is not None
        and not _ADDRESS.fullmatch(part)
        and (not private.are_in(part) if number in accounts else mask(part, private.secrets) == part)
        for number, part in enumerate(parts)
    ]
    if all(usable) and len(parts) <= MOST_PARTS:
        return model
    last = parts[-1] if usable[-1] else UNNAMED
    return f"{parts[0]}/{last}" if usable[0] and len(parts) > 1 else last
