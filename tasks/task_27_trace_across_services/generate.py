"""The logs of four services on the morning when orders failed."""

import json
from datetime import datetime, timedelta

from craft.dice import Dice

BEGIN, END = datetime(2026, 5, 12, 7, 45), datetime(2026, 5, 12, 9, 15)
DEPLOYED = datetime(2026, 5, 12, 8, 2, 15)
LOCKED, FREED = datetime(2026, 5, 12, 8, 31, 12), datetime(2026, 5, 12, 8, 44, 40)
SLOW = timedelta(seconds=7)  # the payments clock is that much behind
POOL = 4

RUNBOOK = """\
# Runbook: an order's way, and how to read the logs

Gateway -> orders -> payments (authorize, capture) -> stock (reserve) -> orders -> gateway. If the reservation takes
more than 5 seconds, orders gives up, asks payments to void the capture, and the gateway answers 504. If payments has
no connection free, orders gives up at once and the gateway answers 503. Payments keeps a connection from the capture
until the order is settled. Clients may try the same order again with a new request.

| log | form | time |
|---|---|---|
| gateway.jsonl | JSON lines | `ts`: milliseconds since 1970, UTC. This clock is synchronised; it is our reference. |
| orders.log | text | Vienna time, in May UTC+2 |
| payments.log | logfmt | UTC. `ref` is the order's number without `O-`. |
| stock.syslog | syslog | UTC, whole seconds, no year (2026) |

Clocks drift. Every minute the gateway sends a heartbeat to each service (`"ev":"heartbeat"` with `to` and `seq`), and
the service writes that `seq` into its log within a tenth of a second. If a service's clock is wrong, it is wrong by
whole seconds, all morning by the same. Correct its times before you compare them with others. Heartbeats may get
lost.

## Words

- An order has **failed** if it was sent to the gateway at least once and none of its requests was answered with 201.
  Orders that only got 402 (card declined) or 400 (bad address) don't count: that is the customer's affair.
- A failed order is **charged** if at least one of its captures has not been voided by the end of the logs. Each void
  takes back one capture.
"""


SEED = 27512


def make(seed: int):
    """Lines of each log with their true times, and the orders."""
    dice = Dice(seed)
    first_order = 50117 if seed == SEED else 61000 + Dice(seed + 1).below(9000)
    logs = {"gateway": [], "orders": [], "payments": [], "stock": []}
    orders = {}
    requests = dice.sample(range(0x10000, 0xFFFFF), 2400)
    busy = []  # until when each connection of payments is held
    first, paid = {}, {}

    def ms(number):
        return timedelta(milliseconds=number)

    def write(log, time, **more):
        logs[log].append((time, len(logs[log]), more))
        if "ref" in more:
            paid[more["ref"]] = max(paid.get(more["ref"], time), time)

    def mark(name, time):
        first[name] = min(first.get(name, time), time)

    def ask(order, start, count=1):
        request = f"r{requests.pop():05x}"
        write("gateway", start, ev="in", req=request, call="POST /orders", order=order)
        times = [start + ms(dice.between(4, 20))]
        for low, high in ((15, 40), (60, 220), (120, 380), (10, 40)):
            times.append(times[-1] + ms(dice.between(low, high)))
        begun, called, authorized, captured, reserving = times
        known = orders.setdefault(order, {"requests": [], "captures": 0, "statuses": []})
        known["requests"].append(start)
        write("orders", begun, level="INFO", text=f"{request} order {order} accepted, {dice.between(1, 6)} items")

        def answer(time, status):
            known["statuses"].append(status)
            write(
                "gateway",
                time,
                ev="out",
                req=request,
                call="POST /orders",
                status=status,
                ms=int((time - start) / ms(1)),
            )

        # The first ones in the lock are plain orders, so that the connections run out soon.
        draw = 1.0 if timedelta(seconds=-3) < start - LOCKED < timedelta(seconds=14) else dice.share()
        if draw < 0.02:
            write("orders", called, level="WARN", text=f"{request} order {order} rejected: address incomplete")
            return answer(called + ms(6), 400)
        held = [until for until in busy if until > called]
        if len(held) >= POOL and LOCKED < called < FREED + timedelta(seconds=6):
            mark("pool_exhausted", called + ms(7))
            mark("first_failed_response", called + ms(21))
            write("payments", called + ms(7), lvl="error", ev="pool_exhausted", ref=order[2:], used=POOL, size=POOL)
            write(
                "orders", called + ms(14), level="ERROR", text=f"{request} order {order} failed: payments unavailable"
            )
            return answer(called + ms(21), 503)
        cents = dice.between(900, 24000)
        write("payments", authorized, lvl="info", ev="authorized", ref=order[2:], amount=f"{cents / 100:.2f}")
        if draw < 0.05:
            write("payments", captured, lvl="warn", ev="declined", ref=order[2:], code=dice.pick(["51", "05", "54"]))
            return answer(captured + ms(9), 402)
        write("payments", captured, lvl="info", ev="captured", ref=order[2:], amount=f"{cents / 100:.2f}")
        known["captures"] += 1
        waits = LOCKED <= reserving < FREED
        if waits:
            write("stock", reserving + ms(3), text=f"reserve {order} waits for lock reservations")
            mark("first_wait", reserving + ms(3))
        if not waits or reserving + ms(5000) > FREED:
            done = (FREED if waits else reserving) + ms(dice.between(30, 160))
            write("stock", done, text=f"reserve {order} ok, {dice.between(1, 6)} items")
            write("orders", done + ms(5), level="INFO", text=f"{request} order {order} confirmed")
            busy.append(done + ms(30))
            return answer(done + ms(12), 201)
        late = reserving + ms(5000)
        busy.append(late + ms(400))
        mark("first_order_timeout", late)
        write("orders", late, level="ERROR", text=f"{request} order {order} failed: no answer from stock after 5000 ms")
        if dice.chance(0.62):
            write("payments", late + ms(90), lvl="info", ev="voided", ref=order[2:], amount=f"{cents / 100:.2f}")
            known["captures"] -= 1
        else:
            write("payments", late + ms(90), lvl="error", ev="void_failed", ref=order[2:], reason="connection_reset")
        mark("first_failed_response", late + ms(11))
        return answer(late + ms(11), 504)

    starts = []
    for _ in range(300):
        starts.append(BEGIN + ms(dice.below(int((END - BEGIN) / ms(1)) - 30000)))
    starts = [time for time in starts if not LOCKED - timedelta(seconds=2) < time < LOCKED + timedelta(seconds=14)]
    starts += [LOCKED + ms(step) for step in (-1900, 700, 1500, 2300, 4150, 5400, 6900, 9200, 11800)]
    starts += [LOCKED + timedelta(seconds=15) + ms(dice.below(780000)) for _ in range(45)]
    queue = sorted(
        (time, f"O-{number}", 1) for time, number in zip(sorted(starts), range(first_order, first_order + 9883, 3))
    )
    last = None
    while queue:
        start, order, count = queue.pop(0)
        ask(order, start, count)
        status = orders[order]["statuses"][-1]
        if status >= 500:
            last = max(logs["gateway"][-1][0], last or BEGIN)
            if count < 9 and dice.chance(0.6):
                queue.append(
                    (start + timedelta(seconds=dice.between(20, 190)) + ms(dice.below(1000)), order, count + 1)
                )
                queue.sort()
    for _ in range(420):
        time = BEGIN + ms(dice.below(int((END - BEGIN) / ms(1))))
        call = dice.pick(["GET /catalog", "GET /catalog", "GET /basket", "GET /orders"])
        status = 500 if dice.chance(0.02) else 200
        write(
            "gateway", time, ev="out", req=f"r{requests.pop():05x}", call=call, status=status, ms=dice.between(5, 240)
        )
    for _ in range(170):
        time = BEGIN + ms(dice.below(int((END - BEGIN) / ms(1))))
        write(
            "stock",
            time,
            text=dice.pick(
                [
                    f"level SKU-{dice.between(100, 999)} now {dice.between(0, 400)}",
                    f"pick list {dice.between(3000, 9000)} printed",
                ]
            ),
        )
        time = BEGIN + ms(dice.below(int((END - BEGIN) / ms(1))))
        write("payments", time, lvl="info", ev="settlement", batch=dice.between(100, 999), items=dice.between(1, 60))
    for minute in range(90):
        for shift, service in enumerate(("orders", "payments", "stock")):
            sent = BEGIN + timedelta(minutes=minute, seconds=5 + 10 * shift) + ms(dice.between(0, 800))
            seq = 4100 + 37 * shift + minute
            write("gateway", sent, ev="heartbeat", to=service, seq=seq)
            if dice.chance(0.96):
                got = sent + ms(dice.between(5, 60))
                if service == "orders":
                    write(service, got, level="DEBUG", text=f"heartbeat seq {seq}")
                elif service == "payments":
                    write(service, got, lvl="debug", ev="heartbeat", seq=seq)
                else:
                    write(service, got, text=f"heartbeat seq {seq}")
    write("stock", DEPLOYED, text="release 2.9.0 started, replaces 2.8.4")
    write(
        "stock",
        DEPLOYED + timedelta(seconds=1),
        text="schedule loaded: backup=02:15 reindex=08:31 (before: backup=02:15 reindex=23:31)",
    )
    write("stock", LOCKED, text="reindex started by schedule, lock reservations taken")
    write("stock", FREED, text="reindex killed by operator (signal 15) after 61 %, lock reservations released")
    write(
        "payments",
        datetime(2026, 5, 12, 8, 29, 40, 318000),
        lvl="info",
        ev="started",
        version="5.1.2",
        replaces="5.1.1",
    )
    write(
        "orders", datetime(2026, 5, 12, 8, 36, 2, 71000), level="WARN", text="operator: restarted worker 2, no change"
    )
    first["lock_taken"], first["lock_released"], first["last_failed_response"] = LOCKED, FREED, last
    for order, known in orders.items():
        known["paid"] = paid.get(order[2:])
    return logs, orders, first


def expected(seed: int = SEED) -> dict:
    """Of each failed order: its number, the milliseconds from 08:00 to its first request, its requests, whether it is charged,
    and the milliseconds to the last line of payments about it; and the milliseconds to the events.
    """
    _, orders, first = make(seed)

    def after(time: datetime) -> int:
        return (time - datetime(2026, 5, 12, 8)) // timedelta(milliseconds=1)

    failed = [
        [
            int(order[2:]),
            after(min(known["requests"])),
            len(known["requests"]),
            int(known["captures"] > 0),
            after(known["paid"]),
        ]
        for order, known in sorted(orders.items())
        if 201 not in known["statuses"] and any(status >= 500 for status in known["statuses"])
    ]
    events = {name: after(time) for name, time in first.items()}
    events["first_wait"] -= events["first_wait"] % 1000  # stock writes whole seconds
    return {"failed": failed, "events": events}


def files(seed: int = SEED) -> dict[str, bytes]:
    logs, _, _ = make(seed)
    zero = datetime(1970, 1, 1)
    made = {}
    for name, entries in logs.items():
        lines = []
        for time, _, more in sorted(entries, key=lambda entry: entry[:2]):
            if name == "gateway":
                lines.append(
                    json.dumps({"ts": (time - zero) // timedelta(milliseconds=1)} | more, separators=(",", ":"))
                )
            elif name == "orders":
                time += timedelta(hours=2)
                lines.append(
                    f"{time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03} {more['level']:<5} {more['text']}"
                )
            elif name == "payments":
                time -= SLOW
                stamp = f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03}Z"
                lines.append(f"ts={stamp} " + " ".join(f"{key}={value}" for key, value in more.items()))
            else:
                lines.append(f"May {time:%d %H:%M:%S} wh-1 stock[{212 if time < DEPLOYED else 871}]: {more['text']}")
        ending = {"gateway": "jsonl", "stock": "syslog"}.get(name, "log")
        made[f"{name}.{ending}"] = "\n".join(lines) + "\n"
    made["runbook.md"] = RUNBOOK
    return {f"trace_across_services/{name}": text.encode() for name, text in made.items()}


def particulars(seed: int) -> list[str]:
    """The figures that the judge is told, and those that the check looks for in the report."""
    right = expected(seed)
    failed, charged = len(right["failed"]), sum(one[3] for one in right["failed"])
    full = datetime(2026, 5, 12, 8) + timedelta(milliseconds=right["events"]["pool_exhausted"])
    times = [f"{time:%H:%M:%S}.{time.microsecond // 1000:03}" for time in (full, full - SLOW)]
    texts = [f"{failed} orders failed", f"]){failed}(?![", f"]){charged}(?![", *times]
    return [*texts, *(f"{charged} {rest}" for rest in ("are charged", "of these", "of them", "charged orders"))]
