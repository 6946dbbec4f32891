"""A cache of the changes that `openclaw agents add` makes to a config, for managed installs."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from pinchbench.decoding import decode_json
from pinchbench.files.folders import replaced_file
from pinchbench.files.user_data import cache_dir
from pinchbench.redaction import known_secrets, mask, secrets_in

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.openclaw.homes.credentials import Json

FORMAT = 2  # version of the entries and of the data that their names are computed from
FOLDER = "agents-added"
ROOT = "<root>"  # stands for the home's own folder
MAX_ENTRY_BYTES = 1024 * 1024
# Files that a release writes into a new state folder and recreates if they are missing: databases, backups of its
# config, the key of its config journal, and logs. A home with any other file, such as a plugin's, is not cached.
MADE_AGAIN = re.compile(
    r"state/openclaw\.log|tmp/node-compile-cache|state/openclaw\.json(\.bak(\.\d+)?)?|state/config-journal-fingerprint\.key"
    r"|state/logs/[^/]+\.jsonl?|state/(.*/)?[^/]+\.sqlite(-\w+)?"
)
# the parts of an address on this machine that change with each run: the port and, through the wire, the slot's token
RUN_PART = re.compile(r"(?<=://127\.0\.0\.1:)\d+(/s/[^/\"]+)?")


class Added(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The sections that OpenClaw added to a config, and the folders that it created."""

    sections: dict[str, object]
    folders: list[str]


def added_sections(given: Json, written: Json) -> Json:
    """Return the sections written by OpenClaw that a home keeps: the agents, and those missing from `given` (pure)."""
    return {name: one for name, one in written.items() if name == "agents" or name not in given}


class AddedCache:
    """A folder with one file for each release, model and config. All methods block.

    Entries contain no keys. An entry that is damaged or can't be read is treated as missing.
    """

    def __init__(self, openclaw: OpenClaw, env: Mapping[str, str], root: Path, *, model: str) -> None:
        """Use the cache for a home with this environment and root, to which the agent is added."""
        self._release = openclaw.version if openclaw.is_managed else None  # other programs may be replaced in place
        self._env = env
        self._root = root
        self._model = model

    def read(self, config: Json) -> Added | None:
        """Return the changes that OpenClaw made to this config before; None if they are not cached."""
        if (path := self._path(config)) is None:
            return None
        try:
            with path.open("rb") as file:
                added = decode_json(file.read(MAX_ENTRY_BYTES), Added)
        except (OSError, ValueError, RecursionError):
            return None
        if "agents" not in added.sections:
            return None
        root = json.dumps(str(self._root))[1:-1]
        text = json.dumps(added.sections).replace(ROOT, root)
        return Added(sections=json.loads(text), folders=added.folders)

    def write(self, config: Json, written: Json) -> None:
        """Store the changes that OpenClaw made to `config`, unless it wrote keys or files that it does not recreate."""
        path = self._path(config)
        below = {str(one.relative_to(self._root)): one for one in sorted(self._root.rglob("*"))}
        folders = [name for name, one in below.items() if one.is_dir() and not one.is_symlink()]
        if path is None or not all(MADE_AGAIN.fullmatch(name) for name in below.keys() - set(folders)):
            return
        root = json.dumps(str(self._root))[1:-1]
        text = json.dumps(added_sections(config, written)).replace(root, ROOT)
        if mask(text, self._secrets(config)) != text:
            return
        added = Added(sections=json.loads(text), folders=folders)
        with suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replaced_file(path, mode=0o600) as file:
                file.write(msgspec.json.encode(added))

    def _path(self, config: Json) -> Path | None:
        if self._release is None:
            return None
        text = json.dumps(config, sort_keys=True).replace(json.dumps(str(self._root))[1:-1], ROOT)
        parts = {
            "format": FORMAT,
            "release": self._release,
            "model": self._model,
            "config": RUN_PART.sub("", mask(text, self._secrets(config))),
            "variables": sorted(self._env),
        }
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        return cache_dir() / FOLDER / f"{digest}.json"

    def _secrets(self, config: Json) -> tuple[str, ...]:
        return (*known_secrets(self._env), *secrets_in(config))
