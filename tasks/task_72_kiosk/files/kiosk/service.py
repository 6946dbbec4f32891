"""A kiosk's till, mail and orders, week by week; its journal is on stdout, a line of JSON for each call and each day.

`state.json` in the working directory has the stock, the prices, what people want on each day, the suppliers with what each
does in which week, and the mail of each Monday. Time passes by `open` alone.
"""

import json
import os
from datetime import date, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

BODY_BYTES = 64 * 1024
DAYS = 7
REFUSED = {"error": "no such place"}
OVER = {"error": "the eight weeks are over"}


def euros(cents):
    return f"EUR {cents / 100:.2f}"


def is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 100_000


class Kiosk:
    def __init__(self, state, write):
        self.state, self.write = state, write
        self.start = date.fromisoformat(state["start"])
        self.week, self.cash, self.stock, self.prices = 1, state["cash"], state["stock"], state["prices"]
        self.shelf = dict.fromkeys(self.stock, True)
        self.closed, self.orders, self.transfers, self.mail, self.results = set(), {}, [], {}, []
        write({"act": "start", "cash": self.cash, "stock": dict(self.stock), "prices": dict(self.prices)})
        self.post()

    def call(self, method, path, body):
        """Answer one call with (status, answer), and write it to the journal. Never raises for what a caller sends."""
        status, answer = self.handle(method, [one for one in path.split("/") if one], body if isinstance(body, dict) else {})
        self.write({"act": "call", "method": method, "path": path[:200], "body": body, "status": status})
        return status, answer

    def handle(self, method, place, body):
        match method, place:
            case "GET", ["today"]:
                return 200, self.today()
            case "GET", ["mail"]:
                some = [{"id": name, **one} for name, one in self.mail.items()]
                return 200, {"mail": [{key: value for key, value in one.items() if key != "text"} for one in some]}
            case "GET", ["mail", name] if name in self.mail:
                return 200, {"id": name, **self.mail[name]}
            case "GET", ["orders"]:
                shown = [{key: value for key, value in one.items() if key in ("id", "to", "items", "state")} for one in self.orders.values()]
                return 200, {"orders": shown}
            case "GET", ["weeks"]:
                return 200, {"weeks": self.results}
            case _ if method in ("POST", "DELETE") and self.week > self.state["weeks"]:
                return 409, OVER
            case "POST", ["orders"]:
                return self.order(body)
            case "DELETE", ["orders", name] if self.orders.get(name, {}).get("state") == "sent":
                self.orders[name]["state"] = "cancelled"
                return 200, {"id": name, "state": "cancelled"}
            case "POST", ["prices"]:
                return self.set_all(self.prices, body, is_count)
            case "POST", ["shelf"]:
                return self.set_all(self.shelf, body, lambda value: isinstance(value, bool))
            case ("POST" | "DELETE"), ["closed", day] if day in {f"{one}" for one in self.dates(self.week, self.state["weeks"])}:
                (self.closed.add if method == "POST" else self.closed.discard)(day)
                return 200, {"closed": sorted(self.closed)}
            case "POST", ["transfers"]:
                return self.transfer(body)
            case "POST", ["open"]:
                return 200, self.open()
        return 404, REFUSED

    def dates(self, first, last):
        return [self.start + timedelta(days) for days in range((first - 1) * DAYS, last * DAYS)]

    def post(self):
        for one in self.state["mail"][self.week - 1]:
            self.receive(one["from"], one["subject"], one["text"])

    def receive(self, sender, subject, text):
        day = self.start + timedelta((self.week - 1) * DAYS)
        name = f"m{len(self.mail) + 1}"
        self.mail[name] = {"date": f"{day}", "from": sender, "subject": subject, "text": text}
        return name

    def today(self):
        if self.week > self.state["weeks"]:
            return OVER | {"cash": self.cash, "stock": self.stock}
        return {
            "date": f"{self.start + timedelta((self.week - 1) * DAYS)}", "week": self.week, "cash": self.cash,
            "stock": self.stock, "prices": self.prices, "on_the_shelf": self.shelf, "closed": sorted(self.closed),
            "forecast": self.state["forecast"][self.week - 1],
        }  # fmt: skip

    def set_all(self, values, body, fits):
        if not body or not all(key in values and fits(value) for key, value in body.items()):
            return 422, {"error": f"it takes some of {', '.join(values)}, with fitting values"}
        values |= body
        return 200, values

    def transfer(self, body):
        if set(body) != {"to", "cents", "text"} or not is_count(body["cents"]) or not isinstance(body["to"], str):
            return 422, {"error": "a transfer has to (the account), cents and text"}
        if body["cents"] > self.cash:
            return 409, {"error": "there isn't so much money"}
        self.cash -= body["cents"]
        self.write({"act": "transfer", "week": self.week, "to": body["to"], "cents": body["cents"]})
        return 201, {"cash": self.cash}

    def order(self, body):
        items, to = body.get("items"), str(body.get("to")).strip().lower()
        supplier = self.state["suppliers"].get(to)
        if supplier is None or self.week < supplier["since"]:
            return 422, {"error": "this address is unknown; nothing was ordered"}
        if set(body) != {"to", "items"} or not isinstance(items, dict) or not items or not all(map(is_count, items.values())):
            return 422, {"error": 'an order has to and items, such as {"water": 100}'}
        if unknown := sorted(set(items) - set(supplier["sells"])):
            return 422, {"error": f"they don't sell {', '.join(unknown)}; nothing was ordered"}
        name = f"o{len(self.orders) + 1}"
        order = {
            "id": name, "to": to, "items": items, "state": "sent", "week": self.week, "day": 0,
            "sent": {product: [count, supplier["sells"][product]] for product, count in items.items()},
        }  # fmt: skip
        text = self.answer(supplier, order, supplier["does"].get(str(self.week), {}))
        self.orders[name] = order
        mail = self.receive(f"{supplier['name']} <{to}>", f"Your order {name}", text)
        return 201, {"order": name, "their_answer": mail}

    def answer(self, supplier, order, turn):
        """Decide what comes of an order, and when; return what the supplier writes."""
        sent, product = order["sent"], turn.get("product")
        words = {"order": order["id"], "product": self.state["names"].get(product, "")}
        total = sum(count * cents for count, cents in sent.values())
        text = turn.get("text", "")
        match turn.get("does"):
            case "never":
                sent.clear()
            case "late":
                order["day"] = turn["day"]
            case "short" if product in sent:
                asked = sent[product][0]
                before = [one["sent"][product][0] for one in self.orders.values() if self.is_like(one, order) and product in one["sent"]]
                left = max(0, turn["left"] - sum(before))
                if asked <= left:
                    text = ""
                sent[product][0] = min(asked, left)
                words |= {"asked": asked, "left": min(asked, left)}
            case "dear" if product in sent:
                sent[product][1] = turn["cents"]
                words["price"] = euros(turn["cents"])
            case "instead" if product in sent:
                asked, _ = sent.pop(product)
                sent[turn["with"]] = [asked, turn["cents"]]
                words |= {"asked": asked, "price": euros(turn["cents"])}
            case _:
                text = ""
        if not text:
            text = supplier["text"]
        words["total"] = euros(total)
        words["items"] = ", ".join(f"{count} {self.state['names'][one]}" for one, (count, _) in sent.items())
        for key, value in words.items():
            text = text.replace("{" + key + "}", str(value))
        return f"{text}\n\n{supplier['name']}\n"

    def is_like(self, one, order):
        return one["state"] == "sent" and (one["to"], one["week"]) == (order["to"], order["week"])

    def deliver(self, day):
        for order in self.orders.values():
            if order["state"] != "sent" or (order["week"], order["day"]) != (self.week, day) or not order["sent"]:
                continue
            cost = sum(count * cents for count, cents in order["sent"].values())
            order["state"] = "delivered" if cost <= self.cash else "returned for lack of money"
            if order["state"] != "delivered":
                continue
            self.cash -= cost
            for product, (count, _) in order["sent"].items():
                self.stock[product] = self.stock.get(product, 0) + count
                self.shelf.setdefault(product, True)
            self.write({"act": "delivery", "week": self.week, "day": day, "from": order["to"], "sent": order["sent"]})

    def sell(self, place, day):
        """Sell for a day; return what was sold and what was gone before the evening."""
        sold, gone = {}, []
        for product in sorted({*self.stock, *self.state["demand"]}):
            wanted = self.state["demand"].get(product, self.state["other"])[place]
            price, usual = self.prices.get(product, self.state["other_price"]), self.state["prices_at_start"].get(product)
            if usual and price > 1.3 * usual:
                wanted //= 2
            if f"{day}" in self.closed or not self.shelf.get(product, True):
                continue
            sold[product] = min(wanted, self.stock.get(product, 0))
            if sold[product] < wanted and product in self.state["demand"]:
                gone.append(product)
            if sold[product]:
                self.stock[product] -= sold[product]
                self.cash += sold[product] * price
        return sold, gone

    def open(self):
        """Open the kiosk from Monday to Sunday; return how it went."""
        days, takings = [], 0
        for number, day in enumerate(self.dates(self.week, self.week)):
            self.deliver(number)
            before = self.cash
            sold, gone = self.sell((self.week - 1) * DAYS + number, day)
            takings += self.cash - before
            is_fined = f"{day}" == self.state["closing"] and f"{day}" not in self.closed
            self.cash -= self.state["fine"] if is_fined else 0
            days.append({"date": f"{day}", "sold": sold, "sold_out": gone} | ({"fine": self.state["fine"]} if is_fined else {}))
            self.write({
                "act": "day", "date": f"{day}", "sold_out": gone, "cash": self.cash, "closed": f"{day}" in self.closed,
                "prices": dict(self.prices), "shelf": dict(self.shelf), "stock": dict(self.stock),
            })  # fmt: skip
        self.cash -= self.state["fixed"]
        thrown = self.stock[self.state["weekly"]]
        self.stock[self.state["weekly"]] = 0
        result = {"week": self.week, "takings": takings, "cash": self.cash, "sold_out": {one["date"]: one["sold_out"] for one in days if one["sold_out"]}}
        self.results.append(result)
        self.write({"act": "week", "week": self.week, "takings": takings, "cash": self.cash, "stock": dict(self.stock)})
        for order in self.orders.values():
            if order["state"] == "sent":
                order["state"] = "not delivered"
        self.week += 1
        if self.week <= self.state["weeks"]:
            self.post()
        return {"week": self.week - 1, "takings": takings, "cash": self.cash, "days": days, "thrown_away": thrown}


def serve(kiosk):
    lock = Lock()

    class Handler(BaseHTTPRequestHandler):
        timeout = 20

        def answer(self):
            if self.path == "/health":
                return self.send(200, {"kiosk": "open"})
            try:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if 0 < length <= BODY_BYTES else {}
            except (ValueError, RecursionError):
                return self.send(400, {"error": "the body is no JSON"})
            with lock:
                status, said = kiosk.call(self.command, self.path, body)
            return self.send(status, said)

        do_GET = do_POST = do_DELETE = answer

        def send(self, status, said):
            data = json.dumps(said, ensure_ascii=False).encode("utf-8", "replace")
            self.send_response(status)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            """Stay silent: the journal is what is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler)
    server.handle_error = lambda *_: None  # a caller that hangs up; nothing but the journal is printed
    server.serve_forever()


if __name__ == "__main__":
    given = json.loads(Path("state.json").read_text(encoding="utf-8"))
    serve(Kiosk(given, lambda entry: print(json.dumps(entry), flush=True)))
