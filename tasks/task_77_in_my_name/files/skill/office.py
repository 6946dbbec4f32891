"""Ask the office: `office.py METHOD PLACE [JSON] [--if-match VERSION]`, such as `office.py GET '/contacts?q=anna'`."""

import json
import sys
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

BASE = "http://127.0.0.1:8025"


def office(method, place, body=None, if_match=""):
    """Return the status and the answer of one call."""
    request = Request(BASE + place.replace(" ", "%20"), method=method, headers={"Content-Type": "application/json"})
    request.data = None if body is None else json.dumps(body).encode()
    if if_match:
        request.add_header("If-Match", f'"{if_match}"')
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


if __name__ == "__main__":
    words, version = sys.argv[1:], ""
    if "--if-match" in words:
        at = words.index("--if-match")
        version = words[at + 1]
        del words[at : at + 2]
    if len(words) not in (2, 3):
        sys.exit(__doc__)
    status, said = office(words[0].upper(), words[1], json.loads(words[2]) if words[2:] else None, version)
    print(status)
    print(json.dumps(said, indent=1, ensure_ascii=False))
