"""Where the leaderboard is, and who we are there: the environment, and the file in the user's config folder."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from pinchbench.config.settings import check_url
from pinchbench.decoding import decode_json
from pinchbench.errors import ConfigError, ResultsError
from pinchbench.files.user_data import config_dir
from pinchbench.http_client import is_loopback

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_SERVER = "https://api.pinchbench.com"
SERVER_VARIABLE = "PINCHBENCH_SERVER_URL"
TOKEN_VARIABLE = "PINCHBENCH_TOKEN"  # noqa: S105 - its name
OFFICIAL_VARIABLE = "PINCHBENCH_OFFICIAL_KEY"
FOLDER_VARIABLE = "PINCHBENCH_CONFIG"
MAX_TOKEN = 4096  # characters

_HEADER_VALUE = re.compile(r"[!-~]+")


class SavedAccount(msgspec.Struct, frozen=True, kw_only=True):
    """What a registration gave. `server` is the one that gave it: nobody else is shown the token."""

    server: str
    token: str
    api_key: str = ""
    claim_url: str = ""

    def __repr__(self) -> str:
        """Without its keys."""
        return f"SavedAccount(server={self.server!r})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """Where to send a result, and with which keys; an empty `token` is none."""

    server: str
    token: str = field(default="", repr=False)
    official_key: str = field(default="", repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be shown."""
        return tuple(one for one in (self.token, self.official_key) if one)


def read_account(env: Mapping[str, str]) -> Account:
    """Return the account to use. Blocks.

    `PINCHBENCH_TOKEN` takes precedence over the saved token, which is only sent to the server that issued it.

    Raises ConfigError when the server's URL or a key can't be used, ResultsError when the saved account can't be read.
    """
    server = server_url(env)
    token = _key(env, TOKEN_VARIABLE)
    if not token:
        saved = read_saved(account_file(env))
        token = saved.token if saved is not None and saved.server == server else ""
    return Account(server=server, token=token, official_key=_key(env, OFFICIAL_VARIABLE))


def server_url(env: Mapping[str, str]) -> str:
    """Return the leaderboard's URL without a trailing slash. Raises ConfigError if it would send keys unencrypted."""
    url = env.get(SERVER_VARIABLE, "").strip() or DEFAULT_SERVER
    check_url(SERVER_VARIABLE, url, key_option=TOKEN_VARIABLE)
    if _HEADER_VALUE.fullmatch(url) is None:
        raise ConfigError(f"{SERVER_VARIABLE} is not a URL; it looks like {DEFAULT_SERVER}.")
    parts = urlsplit(url)
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise ConfigError(f"{SERVER_VARIABLE} must begin with https://, or keys could be read on the way.")
    return url.rstrip("/")


def _key(env: Mapping[str, str], name: str) -> str:
    value = env.get(name, "").strip()
    if value and not is_key(value):
        raise ConfigError(f"The value of {name} is no key: it has spaces or other signs.")
    return value


def is_key(value: str) -> bool:
    """Whether a text can be sent in a header."""
    return len(value) <= MAX_TOKEN and _HEADER_VALUE.fullmatch(value) is not None


def account_file(env: Mapping[str, str]) -> Path:
    """Where a registration is saved: in the user's config folder, or in `PINCHBENCH_CONFIG`."""
    chosen = env.get(FOLDER_VARIABLE)
    return (Path(chosen) if chosen else config_dir()) / "leaderboard.json"


def read_saved(path: Path) -> SavedAccount | None:
    """The saved account, None where there is none. Blocks. Raises ResultsError when it can't be read."""
    try:
        saved = decode_json(path.read_bytes(), SavedAccount)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ResultsError(f"The leaderboard's token in {path} can't be read: {error.strerror}.") from error
    except (ValueError, RecursionError):
        # not the error's own words: it may quote the token
        raise ResultsError(
            f"{path} holds no leaderboard account; `pinchbench-async upload --register --force` makes a new one."
        ) from None
    if not is_key(saved.token):
        raise ResultsError(f"The token in {path} is none; `pinchbench-async upload --register --force` gets a new one.")
    return saved
