"""Settings from the environment."""

import os
from pathlib import Path

PORT = int(os.environ.get("PORT", "8090"))
WEB_ROOT = Path(os.environ.get("WEB_ROOT", "/srv/parcelbox/web"))
DB_HOST = os.environ.get("DB_HOST", "db")
DB_NAME = os.environ.get("DB_NAME", "parcelbox")
DB_USER = os.environ.get("DB_USER", "locker")


def db_password() -> str:
    return Path(os.environ["DB_PASSWORD_FILE"]).read_text(encoding="utf-8").strip()
