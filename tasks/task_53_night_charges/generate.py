"""The logs of four services when the clocks went back, and what each order was charged."""

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from zoneinfo import ZoneInfo

from craft.dice import Dice

SEED = 20261025
LOCAL = ZoneInfo("Europe/Vienna")
BEGIN = datetime(2026, 10, 24, 23, 20, tzinfo=UTC)
TROUBLE = (datetime(2026, 10, 25, 0, 25, tzinfo=UTC), datetime(2026, 10, 25, 1, 50, tzinfo=UTC))
STEPPED = datetime(2026, 10, 25, 1, 12, 30, tzinfo=UTC)  # the worker's clock was 47 s behind until then
RESTARTED = datetime(2026, 10, 25, 2, 25, tzinfo=UTC)  # and 12 s ahead from then on
ROTATED = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)

SAID_TO_BE_DOUBLE = 5  # what the head of sales has told the newspaper: the statement is right only if there were more


class Charge:
    def __init__(self, ref: str, at: datetime, cents: int, result: str) -> None:
        self.ref, self.at, self.cents, self.result = ref, at, cents, result
        self.settled = ""  # what our own service says of a timeout later
        self.is_booked = result == "ok"  # what the bank says
        self.reversed = 0

    def counts(self, *, by_bank: bool) -> bool:
        return self.result == "ok" or (
            self.result == "timeout" and (self.is_booked if by_bank else self.settled == "settled")
        )


class Order:
    def __init__(self, dice: Dice, number: int, at: datetime) -> None:
        self.id, self.cart, self.user = (
            f"O-{number}",
            f"c-{dice.between(1000, 9999)}{number % 10}",
            f"u-{dice.between(1, 400):03d}",
        )
        self.total = dice.between(300, 9000)
        self.first_total = self.total
        self.requested, self.created = at, at
        self.charges: list[Charge] = []
        self.cancelled: datetime | None = None
        self.shipped: datetime | None = None

    def charged(self, *, by_bank: bool) -> int:
        return sum(one.cents - one.reversed for one in self.charges if one.counts(by_bank=by_bank))

    def row(self, *, by_bank: bool) -> dict:
        charged = self.charged(by_bank=by_bank)
        is_void = self.cancelled is not None and (self.shipped is None or self.cancelled < self.shipped)
        due = 0 if is_void else self.total
        open_charges = [one for one in self.charges if one.counts(by_bank=by_bank) and one.reversed < one.cents]
        state = (
            "double" if len(open_charges) > 1
            else "cancelled" if is_void and charged > 0
            else "unpaid" if self.shipped and charged < due
            else "overcharged" if charged > due
            else "waiting" if not self.shipped and not is_void
            else "ok"
        )  # fmt: skip
        return {"state": state, "charged": charged, "owed": max(0, charged - due)}


class Night:
    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        self.gateway: list[tuple[datetime, dict]] = []
        self.orders_log: list[tuple[datetime, str]] = []
        self.payments: list[tuple[datetime, str]] = []
        self.worker: list[tuple[datetime, str]] = []
        self.orders: list[Order] = []
        self.refs = 0
        for number in range(190):
            at = BEGIN + timedelta(seconds=dice.below(4 * 3600 + 600), milliseconds=dice.below(1000))
            self._order(Order(dice, 5101 + 3 * number, at))
        for _ in range(640):
            at = BEGIN + timedelta(milliseconds=dice.below(15_000_000))
            path = dice.pick(("/items", "/items/4711", "/health", "/cart", "/checkout/help"))
            status = dice.pick((200, 200, 200, 200, 304, 404, 502))
            self._call(at, dice.between(2, 900), "GET", path, status, f"u-{dice.between(1, 400):03d}")

    def _ref(self) -> str:
        self.refs += 1
        return f"p-{sha256(f'{self.refs}|{self.dice.share()}'.encode()).hexdigest()[:8]}"

    def _call(self, start: datetime, took: int, method: str, path: str, status: int, user: str, cart: str = "") -> str:
        """Note a request at its end, as the gateway does; the request's id."""
        request = f"r-{sha256(f'{start}{path}{user}'.encode()).hexdigest()[:8]}"
        entry = {"req": request, "user": user, "method": method, "path": path, "status": status, "ms": took}
        self.gateway.append((start + timedelta(milliseconds=took), entry | ({"cart": cart} if cart else {})))
        return request

    def _order(self, one: Order) -> None:
        dice = self.dice
        self.orders.append(one)
        at = one.requested
        in_trouble = TROUBLE[0] <= at <= TROUBLE[1]
        tries = dice.pick((1, 2, 2, 3)) if in_trouble and dice.chance(0.6) else 1
        is_changed = dice.chance(0.15)
        for turn in range(tries):
            is_last = turn == tries - 1
            took = dice.between(9000, 30000) if not is_last else dice.between(120, 26000 if in_trouble else 2400)
            status = dice.pick((502, 504)) if not is_last else 201
            request = self._call(at, took, "POST", "/checkout", status, one.user, one.cart)
            seen = at + timedelta(milliseconds=60)
            word = "created" if turn == 0 else "reused"
            self.orders_log.append(
                (seen, f"INFO order {one.id} {word} cart={one.cart} req={request} total={euros(one.total)} EUR")
            )
            if turn == 0 and is_changed:
                one.total -= dice.between(20, 250)
                self.orders_log.append(
                    (
                        seen + timedelta(milliseconds=20),
                        f"INFO order {one.id} total changed to {euros(one.total)} EUR (coupon)",
                    )
                )
            self._charge(
                one, seen + timedelta(milliseconds=dice.between(30, 4000)), is_first=turn == 0, in_trouble=in_trouble
            )
            at += timedelta(milliseconds=took + dice.between(800, 20000))
        end = max([one.requested, *(charge.at for charge in one.charges)])
        if dice.chance(0.86):
            one.shipped = (end + timedelta(seconds=dice.between(150, 1500))).replace(microsecond=0)
        if dice.chance(0.22):
            near = (
                one.shipped + timedelta(seconds=dice.pick((-90, -40, -30, -20, -8, 8, 9, 20, 30, 40, 90)))
                if one.shipped
                else None
            )
            one.cancelled = (near or end + timedelta(seconds=dice.between(20, 900))).replace(microsecond=0)
            self.orders_log.append((one.cancelled, f"INFO order {one.id} cancelled by customer"))
        if one.shipped:
            self.worker.append((one.shipped, f"shipped order={one.id} parcel=K{dice.between(100000, 999999)}"))
        for charge in one.charges:
            if charge.result != "suppressed" and dice.chance(
                0.6 if one.cancelled else 0.12 if len(one.charges) > 1 else 0.02
            ):
                moment = charge.at + timedelta(seconds=dice.between(300, 2500))
                is_done = dice.chance(0.65)
                cents = charge.cents if dice.chance(0.75) else charge.cents // 2
                # Nobody can reverse what was never charged; the service notes the try all the same.
                is_done = is_done and charge.counts(by_bank=False) and charge.is_booked
                self.payments.append(
                    (
                        moment,
                        f"ref={charge.ref} order={one.id} op=reverse amount={cents} result={'ok' if is_done else 'failed'}",
                    )
                )
                charge.reversed = cents if is_done else 0

    def _charge(self, one: Order, at: datetime, *, is_first: bool, in_trouble: bool) -> None:
        dice = self.dice
        known = any(charge.counts(by_bank=False) for charge in one.charges)
        if in_trouble:
            result = (
                dice.pick(("ok", "ok", "timeout", "timeout", "declined"))
                if is_first
                else dice.pick(("ok", "timeout", "suppressed"))
            )
        else:
            result = "ok" if dice.chance(0.93) else "declined"
        if result == "suppressed" and not known:
            result = "ok"
        cents = one.total if dice.chance(0.6) else one.first_total
        charge = Charge(self._ref(), at, cents, result)
        self.payments.append((at, f"ref={charge.ref} order={one.id} op=capture amount={cents} result={result}"))
        if result == "timeout":
            charge.settled = dice.pick(("settled", "void", ""))
            charge.is_booked = (charge.settled == "settled") != dice.chance(0.3)
            if charge.settled:
                later = at + timedelta(seconds=dice.between(20, 240))
                self.payments.append(
                    (later, f"ref={charge.ref} order={one.id} op=settle amount={cents} result={charge.settled}")
                )
        one.charges.append(charge)

    def bad_minutes(self) -> int:
        minutes: dict[str, list[bool]] = {}
        for at, entry in self.gateway:
            if entry["path"] == "/checkout":
                minutes.setdefault(f"{at:%H:%M}", []).append(entry["status"] >= 500)
        return sum(len(one) > 1 and 2 * sum(one) >= len(one) for one in minutes.values())


def euros(cents: int) -> str:
    return f"{cents // 100},{cents % 100:02d}"


def is_time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def night_of(seed: int) -> Night:
    """Return the night of a seed, or of one near it, with more orders charged twice than the head of sales will say."""
    while True:
        night = Night(seed)
        if sum(one.row(by_bank=True)["state"] == "double" for one in night.orders) > SAID_TO_BE_DOUBLE:
            return night
        seed += 1


def files(seed: int = SEED) -> dict[str, bytes]:
    night = night_of(seed)
    dice = Dice(seed + 1)
    lines = [
        json.dumps({"ts": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z", **entry})
        for at, entry in sorted(night.gateway, key=lambda one: one[0])
    ]
    made = {"logs/gateway.jsonl": "\n".join(lines) + "\n"}
    lines = []
    for at, text in sorted(night.orders_log, key=lambda one: one[0]):
        lines.append(f"{at.astimezone(LOCAL):%d.%m.%Y %H:%M:%S} {text}")
        if dice.chance(0.03):
            lines += [f"{at.astimezone(LOCAL):%d.%m.%Y %H:%M:%S} ERROR mail could not be sent", "  at mail.send(mail.py:88)", f"  retry for order {text.split()[2]} cancelled"]  # fmt: skip
    made["logs/orders.log"] = "\n".join(lines) + "\n"
    paid = sorted(night.payments, key=lambda one: one[0])
    old = [f"ts={at.timestamp():.3f} {text}" for at, text in paid if at < ROTATED]
    new = [f"ts={at.timestamp():.3f} {text}" for at, text in paid if at >= ROTATED]
    made["logs/payments.log.1"] = "\n".join(old) + "\n"
    made["logs/payments.log"] = "\n".join(old[-37:] + new) + "\n"
    lines, has_stepped, has_restarted = [], False, False
    for at, text in sorted(night.worker, key=lambda one: one[0]):
        if at >= STEPPED and not has_stepped:
            lines += [f"{is_time(STEPPED - timedelta(seconds=47))} worker[311] clock: stepping by +47 s", f"{is_time(STEPPED)} worker[311] clock: in step"]  # fmt: skip
            has_stepped = True
        if at >= RESTARTED and not has_restarted:
            lines.append(f"{is_time(RESTARTED + timedelta(seconds=12))} worker[7] restarted on host w-2")
            has_restarted = True
        shown = at + timedelta(seconds=-47 if at < STEPPED else 12 if at >= RESTARTED else 0)
        lines.append(f"{is_time(shown)} worker[{7 if has_restarted else 311}] {text}")
    made["logs/worker.log"] = "\n".join(lines) + "\n"
    file = io.StringIO()
    rows = [
        [f"{charge.at.astimezone(LOCAL):%Y-%m-%d}", charge.ref, charge.cents]
        for one in night.orders
        for charge in one.charges
        if charge.is_booked
    ]
    csv.writer(file, lineterminator="\n").writerows([["booked_on", "ref", "cents"], *dice.shuffled(rows)])
    made["bank/statement.csv"] = file.getvalue()
    return {f"night_charges/{name}": text.encode() for name, text in made.items()}


def expected(seed: int = SEED) -> dict:
    night = night_of(seed)
    timeouts = [charge.at for one in night.orders for charge in one.charges if charge.result == "timeout"]
    rows, waived = {}, 0
    for one in night.orders:
        row = one.row(by_bank=True)
        changed = row != one.row(by_bank=False) or (one.shipped is not None and one.shipped >= RESTARTED)
        if row["owed"] < 100:
            waived, row["owed"] = waived + row["owed"], 0
        times = [is_time(at) if at else "" for at in (one.requested, one.cancelled, one.shipped)]
        rows[one.id] = [row["state"], row["charged"], row["owed"], *times, int(changed)]
    checkouts = [entry for _, entry in night.gateway if entry["path"] == "/checkout"]
    incident = {
        "first_timeout": is_time(min(timeouts)), "last_timeout": is_time(max(timeouts)),
        "failed_checkouts": sum(one["status"] >= 500 for one in checkouts), "bad_minutes": night.bad_minutes(),
        "owed_cents": sum(row[2] for row in rows.values()), "waived_cents": waived,
    }  # fmt: skip
    given = {name[14:]: sha256(data).hexdigest()[:16] for name, data in files(seed).items()}
    return {"orders": rows, "incident": incident, "given": given}
