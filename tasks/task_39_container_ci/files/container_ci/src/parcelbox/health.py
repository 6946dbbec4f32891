"""Exit code 0 if the service on this machine answers."""

import sys
from urllib.request import urlopen

from parcelbox.settings import PORT

if __name__ == "__main__":
    try:
        with urlopen(f"http://127.0.0.1:{PORT}/healthz", timeout=3) as answer:
            sys.exit(answer.status != 200)
    except OSError:
        sys.exit(1)
