"""The shop's order service: `python3 shop_api.py` serves it on this machine until it is ended.

It listens on a free port of 127.0.0.1, whose number it writes to `api_port.txt`, keeps everything in `shop_state.json`,
and notes each request in `requests.log`, all in its own folder. API.md says how to use it.
"""

import base64
import hashlib
import json
import os
import re
import socket
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

HERE = Path(__file__).resolve().parent
STATE, PORT, LOG = HERE / "shop_state.json", HERE / "api_port.txt", HERE / "requests.log"
USERS = {"desk": "spring-Tulip"}
LARGEST_PAGE = 25
ADDRESS = ("street", "postcode", "city", "country", "door_note")
REPORT = {
    "day": str,
    "late_orders": int,
    "refunded_orders": int,
    "refund_total_cents": int,
    "addresses_changed": int,
    "addresses_refused": int,
}


class Refused(Exception):
    """An answer other than success: its status, its error code, and more headers."""

    def __init__(self, status, code, **headers):
        super().__init__(code)
        self.status, self.code, self.headers = status, code, headers


class Shop:
    def __init__(self):
        self.state = json.loads(STATE.read_text(encoding="utf-8"))
        self.orders = {order["id"]: order for order in self.state["orders"] if not order.get("archived")}
        packed = base64.b64decode(self.state["settings"])
        mask = hashlib.shake_256(b"shop").digest(len(packed))
        self.settings = json.loads(bytes(one ^ other for one, other in zip(packed, mask)))

    def save(self):
        draft = STATE.with_suffix(".tmp")
        draft.write_text(json.dumps(self.state) + "\n", encoding="utf-8")
        os.replace(draft, STATE)

    def order(self, number):
        if number not in self.orders:
            raise Refused(404, "no_such_order")
        return self.orders[number]

    def login(self, data):
        if not isinstance(data, dict) or (data.get("user"), data.get("password")) not in USERS.items():
            raise Refused(401, "wrong_login")
        self.state["logins"] += 1
        token = hashlib.sha256(f"token {self.state['logins']}".encode()).hexdigest()[:24]
        self.state["tokens"][token] = self.settings["uses"]
        return 200, {"token": token, "requests": self.settings["uses"]}, {}

    def admit(self, header):
        """Take the bearer token off a request; some requests have to come again after a pause."""
        token = header.removeprefix("Bearer ").strip()
        if token not in self.state["tokens"]:
            raise Refused(401, "no_token")
        if self.state["tokens"][token] <= 0:
            raise Refused(401, "token_expired")
        self.state["tokens"][token] -= 1
        self.state["admitted"] += 1
        if self.state["admitted"] % self.settings["pause"] == 0:
            raise Refused(429, "too_many_requests", **{"Retry-After": "0.1"})

    def page(self, query):
        try:
            limit, start = int(query.get("limit", ["10"])[0]), 0
            if "cursor" in query:
                start = int(re.fullmatch(r"c([0-9a-f]+)x", query["cursor"][0])[1], 16)
        except (ValueError, TypeError):
            raise Refused(400, "bad_query") from None
        if not 1 <= limit <= LARGEST_PAGE:
            raise Refused(400, "bad_limit")
        part = self.state["orders"][start : start + limit]
        shown = [
            {key: order[key] for key in ("id", "status", "promised_on", "shipped_at")}
            for order in part
            if not order.get("archived")
        ]
        end = start + limit
        return 200, {"orders": shown, "next": f"c{end:x}x" if end < len(self.state["orders"]) else None}, {}

    def show(self, number):
        order = self.order(number)
        return 200, order, {"ETag": f'"v{order["version"]}"'}

    def change_address(self, number, data, match):
        order = self.order(number)
        if not match:
            raise Refused(428, "if_match_missing")
        news = self.settings["news"].get(number)
        if news and number not in self.state["told"]:
            self.state["told"].append(number)
            order["version"] += 1
            order["address"] |= news.get("address", {})
            order |= news.get("order", {})
        if match.strip() != f'"v{order["version"]}"':
            raise Refused(409, "changed_meanwhile")
        if order["status"] not in ("open", "packed"):
            raise Refused(422, "not_changeable")
        if (
            not isinstance(data, dict)
            or set(data) != set(ADDRESS)
            or not all(isinstance(value, str) for value in data.values())
        ):
            raise Refused(400, "bad_address")
        order["address"] = {key: data[key] for key in ADDRESS}
        order["version"] += 1
        return 200, order, {"ETag": f'"v{order["version"]}"'}

    def once(self, place, key, data, work):
        """Do `work` once for a key; a second request with it gets the first one's answer."""
        if not key or len(key) > 100:
            raise Refused(400, "idempotency_key_missing")
        known = self.state["keys"].get(key)
        body = json.dumps([place, data], sort_keys=True)
        if known and known["request"] != body:
            raise Refused(409, "key_used_for_another_request")
        if known:
            return 200, known["answer"], {"Idempotent-Replay": "true"}
        answer = work(data)
        self.state["keys"][key] = {"request": body, "answer": answer}
        return 201, answer, {}

    def refund(self, number, data, key):
        order = self.order(number)

        def work(given):
            if (
                not isinstance(given, dict)
                or set(given) != {"amount_cents", "reason"}
                or given["reason"] not in ("late", "other")
            ):
                raise Refused(400, "bad_refund")
            amount = given["amount_cents"]
            if type(amount) is not int or amount < 1:
                raise Refused(400, "bad_amount")
            self.state["refunds"] += 1
            entry = {"refund_id": f"F{self.state['refunds']:04}", "amount_cents": amount, "reason": given["reason"]}
            order["refunds"].append(entry)
            order["version"] += 1
            return {"order": number, **entry}

        status, answer, headers = self.once(f"refund {number}", key, data, work)
        if status == 201 and self.state["refunds"] % self.settings["every"] == self.settings["rest"]:
            raise Refused(503, "try_again")
        return status, answer, headers

    def report(self, data, key):
        self.state["report_tries"] += 1
        if self.state["report_tries"] <= self.settings["tries"]:
            raise Refused(503, "try_again")

        def work(given):
            if not isinstance(given, dict) or set(given) != set(REPORT):
                raise Refused(400, "bad_report")
            if not all(type(given[name]) is kind for name, kind in REPORT.items()):
                raise Refused(400, "bad_report")
            number = hashlib.sha256(f"{key} {json.dumps(given, sort_keys=True)}".encode()).hexdigest()[:8]
            entry = {"report_id": f"R-{number}", **given}
            self.state["reports"].append(entry)
            return entry

        return self.once("report", key, data, work)


class Handler(BaseHTTPRequestHandler):
    shop = None
    wbufsize = -1  # one write for head and body

    def answer(self):
        place = urlsplit(self.path)
        headers = {}
        try:
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length) if length else b""
            try:
                data = json.loads(raw) if raw else None
            except ValueError:
                raise Refused(400, "bad_json") from None
            status, content, headers = self.route(self.command, place.path, parse_qs(place.query), data)
        except Refused as refused:
            status, content, headers = refused.status, {"error": refused.code}, refused.headers
        with open(LOG, "a", encoding="utf-8") as log:
            log.write(
                json.dumps({"method": self.command, "path": self.path, "status": status, "error": content.get("error")})
                + "\n"
            )
        self.shop.save()
        out = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(out)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(out)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def route(self, method, path, query, data):
        if (method, path) == ("POST", "/login"):
            return self.shop.login(data)
        self.shop.admit(self.headers.get("Authorization") or "")
        key = (self.headers.get("Idempotency-Key") or "").strip()
        if (method, path) == ("GET", "/orders"):
            return self.shop.page(query)
        if (method, path) == ("POST", "/reports"):
            return self.shop.report(data, key)
        found = re.fullmatch(r"/orders/([A-Z0-9-]+)(/refunds|/address)?", path)
        if found and method == "GET" and not found[2]:
            return self.shop.show(found[1])
        if found and method == "POST" and found[2] == "/refunds":
            return self.shop.refund(found[1], data, key)
        if found and method == "PUT" and found[2] == "/address":
            return self.shop.change_address(found[1], data, self.headers.get("If-Match") or "")
        raise Refused(404, "no_such_place")

    def log_message(self, *parts):
        pass


def running():
    """Whether another one is at work here already; two would overwrite each other's state."""
    try:
        with socket.create_connection(("127.0.0.1", int(PORT.read_text())), timeout=1):
            return True
    except (OSError, ValueError):
        return False


def main():
    if running():
        sys.exit(f"It is running already, on port {PORT.read_text().strip()}.")
    Handler.shop = Shop()
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        PORT.write_text(f"{server.server_port}\n")
        print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
