"""Call the hotel desk.

desk.py list
desk.py book GUEST ARRIVES LEAVES ROOM MEALS INVOICE
desk.py ask GUEST FIELD QUESTION
"""

import json
import sys
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

BASE = "http://127.0.0.1:8025"
FIELDS = ("arrives", "leaves", "room", "meals", "invoice")


def desk(method, place, body=None):
    """Return the status and the answer of one call."""
    request = Request(BASE + place, method=method, headers={"Content-Type": "application/json"})
    request.data = None if body is None else json.dumps(body).encode()
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


def book(guest, *values):
    return desk("POST", "/bookings", {"guest": guest} | dict(zip(FIELDS, values, strict=True)))


def ask(guest, field, question):
    return desk("POST", "/questions", {"guest": guest, "field": field, "question": question})


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["list"]:
            status, said = desk("GET", "/bookings")
        case ["book", guest, arrives, leaves, room, meals, invoice]:
            status, said = book(guest, arrives, leaves, room, meals, invoice)
        case ["ask", guest, field, question]:
            status, said = ask(guest, field, question)
        case _:
            sys.exit(__doc__)
    print(status)
    print(json.dumps(said, indent=1, ensure_ascii=False))
