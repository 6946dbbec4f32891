"""Call the kiosk: `kiosk.py METHOD PLACE [JSON]`, such as `kiosk.py POST /prices '{"water": 110}'`."""

import json
import sys
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

BASE = "http://127.0.0.1:8025"


def kiosk(method, place, body=None):
    """Return the status and the answer of one call."""
    request = Request(BASE + place, method=method, headers={"Content-Type": "application/json"})
    request.data = None if body is None else json.dumps(body).encode()
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


if __name__ == "__main__":
    words = sys.argv[1:]
    if len(words) not in (2, 3):
        sys.exit(__doc__)
    status, said = kiosk(words[0].upper(), words[1], json.loads(words[2]) if words[2:] else None)
    print(status)
    print(json.dumps(said, indent=1, ensure_ascii=False))
