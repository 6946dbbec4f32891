"""Two access logs of a web shop, the older of them packed."""

import struct
import zlib
from datetime import datetime, timedelta
from functools import cache

from craft.dice import Dice

SEED = 80443
BEGIN = datetime(2026, 3, 10, 17)
ROTATED = datetime(2026, 3, 11, 6, 10)
RESTARTED = datetime(2026, 3, 11, 9)  # from here on the log is in UTC, before in UTC+1
END = datetime(2026, 3, 11, 12)
MONTH = "Mar"
ENDPOINTS = {  # share, base in ms, spread
    ("GET", "/"): (14, 60, 90),
    ("GET", "/products/{id}"): (26, 90, 160),
    ("GET", "/search"): (16, 180, 420),
    ("GET", "/api/cart"): (10, 35, 60),
    ("POST", "/api/cart"): (7, 70, 120),
    ("POST", "/api/orders"): (5, 260, 700),
    ("GET", "/api/orders/{id}"): (5, 80, 140),
    ("GET", "/api/orders/{id}/items/{id}"): (2, 95, 100),
    ("GET", "/static/app.js"): (9, 4, 9),
    ("GET", "/account"): (5, 120, 200),
}
AGENTS = [
    "Mozilla/5.0 (X11; Linux x86_64) Firefox/136.0",
    "Mozilla/5.0 (iPhone) Safari/604.1",
    "Mozilla/5.0 (Windows NT 10.0) Chrome/134.0",
    'ShopApp/3.2 (tablet 10\\")',
    "ShopApp/3.1",
]
BOTS = ["Mozilla/5.0 (compatible; FindBot/2.1)", "pricebot/0.9", "SiteCheckBOT (+https://check.example)"]
REFERRERS = [
    "-",
    "https://shop.example/",
    "https://shop.example/search?q=tea",
    'https://news.example/?t=\\"best 404 \\"',
]
PROBES = (
    "wp-login.php admin .env .git/config phpmyadmin backup.zip config.php server-status xmlrpc.php old test "
    "db.sql setup.php "
    "shell.php cgi-bin/status actuator .svn/entries vendor dump.tar console login.jsp"
).split()

README = """\
# Access logs of shop.example

`access.log.1.gz` is the older file, `access.log` the newer one. The rotation copies before it empties, so some lines
at the end of the old file stand again, unchanged, at the beginning of the new one. They count once.

## A line

    address - user [time zone] "request" status bytes "referrer" "agent" seconds

As in the combined format, with the seconds that the answer took at the end. Within quotes, `\\"` is a quote and
`\\\\` a backslash. `-` in place of bytes means 0 bytes, in place of the seconds it means that they are not known. A
line that does not have all these parts (cut off, or something else altogether) is broken; broken lines count for
nothing but `broken_lines`.

## Words

- **Endpoint**: method, a blank, and the path without query, without a `/` at its end (but `/` itself stays), and with
  `{id}` for each part of digits only: `GET /api/orders/{id}`. A request that is not method, path and protocol has no
  endpoint, but counts elsewhere.
- **Address**: IPv6 addresses come in several spellings; the same address is one address.
- **Scanner**: an address that got status 404 for at least 15 different paths (without query) within some span of 10
  minutes, both ends included.
- **Bot**: an address that named itself with `bot` (in any case) in the agent of at least one request.
- **p95**: of n times in rising order, the one in place ceil(0.95 n), counted from 1. Requests with status 500 and
  above and those without known seconds are left out.
"""


def pack(data):
    """Data as .gz: greedy matches and fixed codes, so that the bytes are the same with every zlib."""
    out = bytearray(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff")
    bits = count = 0

    def code(value, width):  # Huffman codes go in with their highest bit first
        return int(format(value, f"0{width}b")[::-1], 2), width

    literals = [
        code(48 + n, 8)
        if n < 144
        else code(400 + n - 144, 9)
        if n < 256
        else code(n - 256, 7)
        if n < 280
        else code(192 + n - 280, 8)
        for n in range(288)
    ]
    lengths, distances = {}, []
    start = 3
    for number in range(28):
        extra = max(0, number // 4 - 1)
        for offset in range(1 << extra):
            if start + offset < 258:
                lengths[start + offset] = (257 + number, offset, extra)
        start += 1 << extra
    start = 1
    for number in range(30):
        extra = max(0, number // 2 - 1)
        distances.append((start, number, extra))
        start += 1 << extra

    def put(value, width):
        nonlocal bits, count
        bits |= value << count
        count += width
        while count >= 8:
            out.append(bits & 255)
            bits >>= 8
            count -= 8

    put(1, 1)
    put(1, 2)
    seen, place = {}, 0
    while place < len(data):
        key = data[place : place + 6]
        before = seen.get(key)
        seen[key] = place
        if before is None or place - before > 32000 or len(key) < 6:
            put(*literals[data[place]])
            place += 1
            continue
        length = 6
        while length < 257 and place + length < len(data) and data[before + length] == data[place + length]:
            length += 1
        symbol, offset, extra = lengths[length]
        put(*literals[symbol])
        put(offset, extra)
        far = place - before
        first, number, extra = next(entry for entry in reversed(distances) if entry[0] <= far)
        put(*code(number, 5))
        put(far - first, extra)
        for step in range(place + 1, place + length, 3):
            seen[data[step : step + 6]] = step
        place += length
    put(*literals[256])
    put(0, 7)
    return bytes(out) + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)


def spell(address, dice):
    """One of several ways to write an IPv6 address of the form 2001:db8:a:b::c."""
    if ":" not in address:
        return address
    head, tail = address.split("::")
    one, two, three, four = head.split(":")
    return dice.pick(
        [
            address,
            address.upper(),
            f"{head}:0:0:0:{tail}",
            f"{one}:0{two}:{three:>04}:{four:>04}:0000:0000:0000:{tail:>04}",
        ]
    )


def scanners_of(seed: int) -> tuple[str, str, str, str]:
    """The addresses that scan, none of which is anybody else's."""
    if seed == SEED:
        return "203.0.113.9", "198.51.100.200", "2001:db8:bad:1::66", "198.51.100.7"
    dice = Dice(seed + 1)
    low, high = f"198.51.100.{dice.between(8, 20)}", f"198.51.100.{dice.between(30, 190)}"
    return (
        f"203.0.113.{dice.between(10, 250)}",
        high,
        f"2001:db8:bad:{dice.between(2, 99)}::{dice.between(67, 250):x}",
        low,
    )


def broken(seed: int) -> int:
    return 31 if seed == SEED else Dice(seed + 2).pick([number for number in range(20, 48) if number != 31])


def make(seed: int):
    """Requests in order of time, with what is true about each."""
    dice = Dice(seed)
    people = [
        f"{dice.pick([84, 91, 178, 203])}.{dice.between(1, 250)}.{dice.between(0, 255)}.{dice.between(1, 254)}"
        for _ in range(420)
    ]
    people += [
        f"2001:db8:{dice.between(1, 4000):x}:{dice.between(1, 4000):x}::{dice.between(1, 250):x}" for _ in range(140)
    ]
    people = list(dict.fromkeys(people))
    crawlers = ["198.51.100.23", "198.51.100.24", "2001:db8:77:1::b", "192.0.2.77"]
    weighted = [key for key, (share, _, _) in ENDPOINTS.items() for _ in range(share)]
    made = []

    def add(time, address, method, path, status, agent, **more):
        base, spread = next((e[1:] for (m, p), e in ENDPOINTS.items() if (m, p) == more.get("endpoint")), (20, 30))
        tail = dice.share()
        taken = int(base + spread * (tail + 4 * tail**12) + dice.between(0, 9))
        size = None if status in (204, 304) or dice.chance(0.01) else dice.between(180, 48000)
        made.append(
            {
                "time": time,
                "address": address,
                "method": method,
                "path": path,
                "status": status,
                "agent": agent,
                "ms": taken,
                "size": size,
                "known": not dice.chance(0.012),
                "endpoint": None,
            }
            | more
        )

    def moment(first, last):
        return first + timedelta(seconds=dice.below(int((last - first).total_seconds())))

    def ask(time, address, status=None, key=None, agent=None):
        method, shape = key or dice.pick(weighted)
        path = shape
        while "{id}" in path:
            path = path.replace("{id}", str(dice.between(1000, 99999)), 1)
        if shape == "/search":
            path += f"?q={dice.pick(['tea', 'mug', 'oolong+tea', 'gift%20box', 'pot'])}&page={dice.between(1, 5)}"
        elif dice.chance(0.08) and shape != "/":
            path += "/"
        elif dice.chance(0.05):
            path += f"?ref={dice.between(1, 90)}"
        if status is None:
            status = (
                dice.pick([200] * 40 + [304] * 4 + [302] * 2 + [404])
                if method == "GET"
                else dice.pick([200, 201, 201, 204])
            )
        add(time, address, method, path, status, agent or dice.pick(AGENTS), endpoint=(method, shape))

    for _ in range(5050 if seed == SEED else 4700 + Dice(seed + 3).below(300)):
        ask(moment(BEGIN, END), people[int(len(people) * dice.share() ** 1.5)])
    for _ in range(230):
        crawler = dice.pick(crawlers)
        named = dice.chance(0.6)
        ask(
            moment(BEGIN, END),
            crawler,
            None,
            ("GET", "/products/{id}"),
            dice.pick(BOTS) if named else dice.pick(AGENTS),
        )
    # Server errors: most in one hour of the evening; in the morning as many again, but in two hours and around the
    # change of zone.
    for first, last, count, keys in (
        (
            datetime(2026, 3, 10, 20, 4),
            datetime(2026, 3, 10, 20, 57),
            46,
            [("GET", "/api/orders/{id}"), ("GET", "/search")],
        ),
        (datetime(2026, 3, 11, 8, 21), datetime(2026, 3, 11, 8, 59), 33, [("POST", "/api/orders"), ("GET", "/search")]),
        (
            datetime(2026, 3, 11, 9, 1),
            datetime(2026, 3, 11, 9, 38),
            35,
            [("POST", "/api/orders"), ("GET", "/api/orders/{id}")],
        ),
        (BEGIN, END, 60, list(ENDPOINTS)),
    ):
        for _ in range(count):
            ask(moment(first, last), dice.pick(people), dice.pick([500, 502, 503, 504]), dice.pick(keys))

    def probe(address, first, minutes, paths, **more):
        for path in paths:
            query = f"?x={dice.between(1, 99)}" if dice.chance(0.2) else ""
            add(
                first + timedelta(seconds=dice.below(int(minutes * 60))),
                address,
                "GET",
                f"/{path}{query}",
                404,
                more.get("agent", "curl/8.5"),
                endpoint=("GET", f"/{path}"),
            )

    one, two, three, four = scanners_of(seed)
    scan = datetime(2026, 3, 10, 22, 10)
    probe(one, scan, 8, PROBES)
    probe(two, datetime(2026, 3, 11, 8, 55), 9, PROBES[:18])  # over the change of zone
    probe(three, datetime(2026, 3, 11, 5, 2), 9, PROBES[:16], agent="Mozilla/5.0")
    probe(four, datetime(2026, 3, 11, 6, 5), 9, PROBES[2:19])  # over the rotation
    # No scanners: too slow, the same path again and again, too few, redirected.
    for number, path in enumerate(PROBES):
        probe("192.0.2.140", datetime(2026, 3, 10, 19) + timedelta(minutes=4 * number), 1, [path])
    probe("192.0.2.150", datetime(2026, 3, 11, 6, 30), 6, ["old.css"] * 30)
    probe("2001:db8:aa:2::9", datetime(2026, 3, 11, 7), 6, PROBES[:14])
    for path in PROBES:
        add(
            moment(scan, scan + timedelta(minutes=5)),
            "192.0.2.160",
            "GET",
            f"/{path}",
            403,
            "curl/8.5",
            endpoint=("GET", f"/{path}"),
        )
    for _ in range(22):  # not HTTP at all
        add(
            moment(BEGIN, END),
            f"192.0.2.{dice.between(200, 215)}",
            "",
            dice.pick(["\\x16\\x03\\x01\\x02", "-", "GET /", "quit"]),
            400,
            "-",
        )
    made.sort(key=lambda entry: (entry["time"], entry["address"], entry["path"]))
    return made, dice


def line(entry, dice):
    late = entry["time"] >= RESTARTED
    shown = entry["time"] if late else entry["time"] + timedelta(hours=1)
    stamp = f"{shown.day:02}/{MONTH}/{shown.year}:{shown:%H:%M:%S} {'+0000' if late else '+0100'}"
    request = (
        f"{entry['method']} {entry['path']} HTTP/{dice.pick(['1.1', '1.1', '2.0'])}"
        if entry["method"]
        else entry["path"]
    )
    user = "-" if dice.chance(0.93) else dice.pick(["mira", "j.olsen", "kasper"])
    size = "-" if entry["size"] is None else entry["size"]
    seconds = f"{entry['ms'] / 1000:.3f}" if entry["known"] else "-"
    referrer = dice.pick(REFERRERS) if dice.chance(0.3) else "-"
    where = spell(entry["address"], dice)
    return f'{where} - {user} [{stamp}] "{request}" {entry["status"]} {size} "{referrer}" "{entry["agent"]}" {seconds}'


@cache
def answers(seed: int) -> dict:
    made, _ = make(seed)
    times, errors, hours, found = {}, {}, {}, {}
    for entry in made:
        key = " ".join(entry["endpoint"]) if entry["endpoint"] else None
        if entry["status"] >= 500:
            errors[key] = errors.get(key, 0) + 1
            hour = f"{entry['time']:%Y-%m-%dT%H}"
            hours[hour] = hours.get(hour, 0) + 1
        elif key and entry["known"]:
            times.setdefault(key, []).append(entry["ms"])
        if entry["status"] == 404:
            found.setdefault(entry["address"], []).append((entry["time"], entry["path"].split("?")[0]))
    scanners = sorted(
        address
        for address, hits in found.items()
        if any(
            len({path for time, path in hits if first <= time <= first + timedelta(minutes=10)}) >= 15
            for first, _ in hits
        )
    )
    bots = {entry["address"] for entry in made if "bot" in entry["agent"].lower()}
    p95 = {key: sorted(values)[-(-95 * len(values) // 100) - 1] for key, values in times.items() if len(values) >= 50}
    visitors = {entry["address"] for entry in made} - set(scanners) - bots
    top, worst = max(errors, key=errors.get), max(hours, key=hours.get)
    return {
        "requests": len(made), "broken": broken(seed), "bytes": sum(entry["size"] or 0 for entry in made), "p95": p95,
        "visitors": len(visitors), "scanners": scanners, "top": [top, errors[top]], "worst": [worst, hours[worst]],
    }  # fmt: skip


@cache
def settled(seed: int) -> int:
    """Return the seed, or one near it, whose answers are not the public form's: single numbers and hours are often equal."""
    public = answers(SEED)
    while seed != SEED and any(answers(seed)[name] == public[name] for name in ("visitors", "top", "worst")):
        seed += 10
    return seed


def expected(seed: int = SEED) -> dict:
    return answers(settled(seed))


def files(seed: int = SEED) -> dict[str, bytes]:
    seed = settled(seed)
    made, dice = make(seed)
    old, new = [], []
    for entry in made:
        (old if entry["time"] < ROTATED else new).append(line(entry, dice))
    assert len(set(old + new)) == len(made)
    for number in range(broken(seed)):
        lines = old if number % 3 else new
        place = dice.between(60, len(lines) - 60)
        victim = dice.pick(lines)
        kind = number % 4
        if kind < 2:  # cut off somewhere between the address and the end of the agent
            while '"' not in victim:  # one that is broken already
                victim = dice.pick(lines)
            lines.insert(place, victim[: dice.between(20, victim.rindex('"') - 1)])
        else:
            lines.insert(
                place,
                dice.pick(["log rotated", "\\0\\0\\0\\0", "[warn] upstream timed out", "==> worker 4 restarted <=="])
                + f" ({number})",
            )
    new = old[-37:] + new
    made = {
        "README.md": README.encode(),
        "access.log.1.gz": pack(("\n".join(old) + "\n").encode()),
        "access.log": ("\n".join(new) + "\n").encode(),
    }
    return {f"access_log/{name}": data for name, data in made.items()}
