"""A month of a small shop's orders as its service keeps them, and the changes of address."""

import base64
import hashlib
import json
from datetime import date, datetime, timedelta

from craft.dice import Dice

SEED = 20260340
FIRST = (
    "Anna",
    "Bela",
    "Chiara",
    "Dario",
    "Edda",
    "Finn",
    "Gerda",
    "Hugo",
    "Iris",
    "Jost",
    "Klara",
    "Luca",
    "Mira",
    "Nils",
)
LAST = ("Adler", "Bianchi", "Conti", "Dvorak", "Egger", "Fuchs", "Gallo", "Horvat", "Ivic", "Jansen", "Kovac", "Lang")
STREETS = ("Mill Lane", "Harbour Street", "Lindenweg", "Via Nuova", "Station Road", "Rosengasse", "Old Market")
CITIES = (
    ("1010", "Wien"),
    ("0187", "Roma"),
    ("8010", "Graz"),
    ("01069", "Dresden"),
    ("6900", "Bregenz"),
    ("04109", "Leipzig"),
)
NOTES = ("", "", "", "ring twice", "leave with the neighbour", "second yard", "beware of the dog")
SKUS = (("TEA-01", 690), ("TEA-02", 845), ("CUP-11", 1235), ("POT-07", 3490), ("TIN-03", 455), ("SPOON-2", 315))
DAY = date(2026, 3, 31)
# What happens in the warehouse between reading an order and changing its address.
WAREHOUSE_NOTES = ("call 20 minutes before", "goods lift on the left")


def order(dice: Dice, number: int) -> dict:
    promised = date(2026, 3, 3) + timedelta(days=dice.below(40))
    kind = dice.below(100)
    status, shipped = "shipped", None
    if kind < 8:
        status = "cancelled"
    elif promised > DAY or kind < 20:
        status = "packed" if dice.chance(0.4) else "open"
    if status == "shipped":
        # Some just before midnight UTC, which is the next day in the shop's time.
        days = dice.pick((-4, -3, -2, -2, -1, -1, -1, 0, 0, 0, 0, 1, 2, 3, 4, 6, 7, 8, 11))
        hour = 23 if dice.chance(0.3) else 7 + dice.below(10)
        moment = datetime(
            promised.year, promised.month, promised.day, hour, dice.below(60), dice.below(60)
        ) + timedelta(days=days)
        if moment > datetime(2026, 3, 31, 16):
            moment = datetime(2026, 3, 31, 7 + dice.below(9), dice.below(60), dice.below(60))
        shipped = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
        status = "delivered" if dice.chance(0.6) else "shipped"
    elif status == "cancelled" and dice.chance(0.3):
        shipped = f"{promised + timedelta(days=5)}T10:00:00Z"
    lines = []
    for sku, price in dice.sample(SKUS, dice.between(1, 4)):
        line = {"sku": sku, "quantity": dice.between(1, 4), "unit_price_cents": price}
        if lines and dice.chance(0.15):
            line["cancelled"] = True
        lines.append(line)
    postcode, city = dice.pick(CITIES)
    refunds = []
    if status != "cancelled" and dice.chance(0.16):
        amount = dice.between(100, 900)
        refunds = [
            {"refund_id": f"E{number}", "amount_cents": amount, "reason": "late" if dice.chance(0.5) else "other"}
        ]
    return {
        "id": f"O-{number}",
        "status": status,
        "customer": {"name": f"{dice.pick(FIRST)} {dice.pick(LAST)}", "club": dice.chance(0.3)},
        "promised_on": f"{promised}",
        "shipped_at": shipped,
        "delivery": "pickup" if dice.chance(0.12) else "parcel",
        "lines": lines,
        "shipping_cents": dice.pick((490, 490, 690, 0)),
        "refunds": refunds,
        "address": {
            "street": f"{dice.pick(STREETS)} {dice.between(1, 90)}",
            "postcode": postcode,
            "city": city,
            "country": "IT" if city == "Roma" else "DE" if city in ("Dresden", "Leipzig") else "AT",
            "door_note": dice.pick(NOTES),
        },
        "version": dice.between(1, 4),
    }


def packed(settings: dict) -> str:
    """The settings as the service reads them, so that the state file tells nothing at a glance."""
    plain = json.dumps(settings).encode()
    mask = hashlib.shake_256(b"shop").digest(len(plain))
    return base64.b64encode(bytes(one ^ other for one, other in zip(plain, mask, strict=True))).decode()


def world(seed: int) -> tuple[dict, list[dict], dict]:
    """The service's state, the rows of the changes, and the news from the warehouse by order."""
    dice = Dice(seed)
    orders = [order(dice, 2001 + place) for place in range(186)]
    for place in (*range(48, 78), 91, 130, 131, 132):
        orders[place]["archived"] = True
    here = [one for one in orders if not one.get("archived")]
    cents = next(one for one in here if one["status"] == "delivered" and one["shipped_at"][:10] > one["promised_on"])
    cents["lines"], cents["shipping_cents"] = [{"sku": "SPOON-2", "quantity": 1, "unit_price_cents": 315}], 490
    cents["shipped_at"] = f"{date.fromisoformat(cents['promised_on']) + timedelta(days=2)}T09:12:44Z"
    cents["delivery"], cents["refunds"], cents["customer"]["club"] = "parcel", [], False
    waiting = [one for one in here if one["status"] in ("open", "packed")]
    chosen = dice.sample(waiting, 10)
    # One of them leaves the house while we try; it is neither late before nor after.
    leaving = next(one for one in waiting if one not in chosen and one["promised_on"] > "2026-03-31")
    sent = next(one for one in here if one["status"] == "shipped")
    dropped = next(one for one in here if one["status"] == "cancelled")
    warehouse = {
        chosen[2]["id"]: {"address": {"door_note": WAREHOUSE_NOTES[0]}},
        chosen[6]["id"]: {"address": {"door_note": WAREHOUSE_NOTES[1]}, "order": {"status": "packed"}},
        leaving["id"]: {"order": {"status": "shipped", "shipped_at": "2026-03-31T15:40:12Z"}},
    }
    ids = [one["id"] for one in (*chosen, leaving, sent, dropped)] + ["O-2950"]
    moment = datetime(2026, 3, 30, 8, 5)
    rows = []
    # Three orders come twice; for the last of them the later call stands first in the file.
    for place, number in enumerate([*dice.shuffled(ids), chosen[1]["id"], chosen[2]["id"], chosen[8]["id"]]):
        moment += timedelta(minutes=dice.between(6, 55))
        postcode, city = dice.pick((("01097", "Dresden"), ("0185", "Roma"), ("8020", "Graz"), ("1040", "Wien")))
        street = f"{dice.pick(STREETS)} {100 + place}"
        rows.append(
            {
                "received_at": f"{moment:%Y-%m-%d %H:%M}",
                "order_id": number,
                "street": street,
                "postcode": postcode,
                "city": city,
            }
        )
    rows.insert(3, rows.pop())
    state = {
        "orders": orders,
        "settings": packed(
            {"uses": 60, "pause": 15, "every": 4, "rest": 3, "tries": 1, "news": warehouse},
        ),
        "told": [],
        "logins": 0,
        "tokens": {},
        "admitted": 0,
        "keys": {},
        "refunds": 0,
        "report_tries": 0,
        "reports": [],
    }
    return state, rows, warehouse


def expected(seed: int = SEED) -> dict:
    """What a day's work comes to, from the policy."""
    state, rows, warehouse = world(seed)
    late, refunds = [], {}
    for one in state["orders"]:
        if one.get("archived") or one["status"] == "cancelled":
            continue
        out = DAY
        if one["shipped_at"]:
            out = (datetime.strptime(one["shipped_at"], "%Y-%m-%dT%H:%M:%SZ") + timedelta(hours=1)).date()
        days = (out - date.fromisoformat(one["promised_on"])).days
        if days < 1:
            continue
        late.append(one["id"])
        if one["delivery"] == "pickup" or any(entry["reason"] == "late" for entry in one["refunds"]):
            continue
        goods = sum(line["quantity"] * line["unit_price_cents"] for line in one["lines"] if not line.get("cancelled"))
        percent = (10 if days < 4 else 20) + (5 if one["customer"]["club"] else 0)
        amount = min((goods * percent + 50) // 100 + (one["shipping_cents"] if days > 7 else 0), 4000)
        if amount >= 100:
            refunds[one["id"]] = amount
    here = {one["id"]: one for one in state["orders"] if not one.get("archived")}
    changed, refused = {}, []
    for row in sorted(rows, key=lambda row: row["received_at"]):
        number = row["order_id"]
        meanwhile = warehouse.get(number, {})
        status = meanwhile.get("order", {}).get("status") or here.get(number, {}).get("status")
        if status not in ("open", "packed"):
            refused.append(number)
            continue
        address = here[number]["address"] | meanwhile.get("address", {})
        changed[number] = address | {key: row[key] for key in ("street", "postcode", "city")}
    parts = ("street", "postcode", "city", "country", "door_note")
    return {
        "late": late, "refunds": refunds, "refused": sorted(refused),
        "leaving": next(number for number, news in warehouse.items() if news.get("order", {}).get("status") == "shipped"),
        "changed": {number: [address[part] for part in parts] for number, address in changed.items()},
    }  # fmt: skip


def files(seed: int = SEED) -> dict[str, bytes]:
    state, rows, _ = world(seed)
    head = ("received_at", "order_id", "street", "postcode", "city")
    table = "\n".join([",".join(head), *(",".join(row[name] for name in head) for row in rows)]) + "\n"
    return {
        "shop_api/shop_state.json": (json.dumps(state) + "\n").encode(),
        "shop_api/changes.csv": table.encode(),
    }
