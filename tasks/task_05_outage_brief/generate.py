"""Two hours of an API gateway and the releases of that day."""

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from craft.dice import Dice

SEED = 20260311
BEGIN = datetime(2026, 3, 11, 8)
HOUR = timedelta(hours=1)  # that the office is ahead of UTC
DECOY = timedelta(seconds=7)  # from a release, taken for UTC, to the first failure
PUBLIC_NUMBERS = (32, 26, 37)  # requests, customers, and seconds from the release to the first failure
SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()


@dataclass
class Day:
    """What was decided, times in UTC: the bad release and its rollback, the versions, and how far other releases lie from
    the decoy, from the bad release, and from the rollback."""

    released: datetime
    rolled_back: datetime
    bad: str
    good: str
    search: tuple[str, str]
    account: str
    cart: str
    gaps: tuple[int, int, int]


PUBLIC = Day(
    datetime(2026, 3, 11, 8, 40, 30), datetime(2026, 3, 11, 9, 17, 10), "4.12.0", "4.11.6", ("2.3.1", "2.3.2"), "1.19.4",
    "3.0.7", (1460, 1050, 1655),
)  # fmt: skip


def in_words(number: int) -> str:
    if number < 20:
        return SMALL[number]
    return TENS[number // 10 - 2] + (f"-{SMALL[number % 10]}" if number % 10 else "")


def drawn(dice: Dice) -> Day:
    major, minor, patch = dice.between(5, 9), dice.between(2, 19), dice.between(1, 9)
    search = f"{dice.between(3, 6)}.{dice.between(4, 9)}"
    released = BEGIN + timedelta(seconds=10 * dice.between(132, 300))
    first = dice.between(1, 8)
    return Day(
        released,
        released + timedelta(seconds=10 * dice.between(150, 270)),
        f"{major}.{minor}.0",
        f"{major}.{minor - 1}.{patch}",
        (f"{search}.{first}", f"{search}.{first + 1}"),
        f"2.{dice.between(10, 30)}.{dice.between(1, 9)}",
        f"4.{dice.between(1, 9)}.{dice.between(1, 9)}",
        (dice.between(700, 2400), dice.between(300, 1200), dice.between(700, 2400)),
    )


def gateway_log(dice: Dice, day: Day) -> tuple[str, list[tuple[datetime, str, str]]]:
    """The gateway's log in UTC, with a bad release of the pricing service in the middle; and time, path and customer of each
    request that failed.
    """
    lines: list[str] = []
    failed = []
    moment = BEGIN
    while moment < BEGIN + timedelta(hours=2):
        path = dice.pick(("/v2/checkout", "/v2/checkout", "/v2/search", "/v2/cart", "/v2/account"))
        status, millis = 200, 40 + dice.below(260)
        if path == "/v2/checkout" and day.released <= moment < day.rolled_back and dice.chance(0.65):
            status, millis = 502, 3000 + dice.below(90)
        elif path == "/v2/search" and dice.chance(0.04):
            status, millis = 502, 900 + dice.below(400)
        elif dice.chance(0.03):
            status = 404
        upstream = "pricing" if path == "/v2/checkout" else path.removeprefix("/v2/")
        customer = f"c{310 + dice.below(90)}"
        lines.append(
            f"{moment:%Y-%m-%dT%H:%M:%SZ} gw-{1 + dice.below(3)} {path} status={status} ms={millis} "
            f"upstream={upstream} customer={customer}"
        )
        if status == 502:
            failed.append((moment, path, customer))
        moment += timedelta(seconds=5 + dice.below(21))
    return "\n".join(lines) + "\n", failed


def facts_of(failed: list) -> tuple[datetime, datetime, int, int]:
    """The first and the last failure, how many there are, and of how many customers."""
    return failed[0][0], failed[-1][0], len(failed), len({customer for _, _, customer in failed})


def is_sound(day: Day, failed: list) -> bool:
    """Whether other paths failed before and after, and no number of this form is one of the public form or of a near miss."""
    right, every = facts_of([each for each in failed if each[1] == "/v2/checkout"]), facts_of(failed)
    told = {f"{time:%H:%M}" for time in (*right[:2], day.released, day.rolled_back)}
    mistaken = {
        f"{time:%H:%M}" for time in (*every[:2], day.released + HOUR, day.rolled_back + HOUR, right[0] - DECOY + HOUR)
    }
    return (
        every[0] < right[0]
        and every[1] > right[1]
        and 10 <= (right[0] - day.released).seconds < 60
        and 20 < right[3] < right[2] < 99
        and len({*right[2:], *every[2:], *PUBLIC_NUMBERS}) == 7
        and every[2] - right[2] < 9
        and not told & (mistaken | {"08:40", "08:41", "09:16", "09:17"})
    )


def made(seed: int) -> tuple[Day, str, list]:
    """What was decided, the log, and the requests that failed."""
    if seed == SEED:
        return PUBLIC, *gateway_log(Dice(seed), PUBLIC)
    dice = Dice(seed)
    while True:
        day = drawn(dice)
        log, failed = gateway_log(dice, day)
        if any(path == "/v2/checkout" for _, path, _ in failed) and is_sound(day, failed):
            return day, log, failed


def releases(day: Day, first: datetime) -> list[tuple[datetime, str, str, str]]:
    """The releases of that day in the office's local time; one of them seems to be just before the first failure in UTC."""
    early, late, after = (timedelta(seconds=gap) for gap in day.gaps)
    decoy, bad, back = first - DECOY, day.released + HOUR, day.rolled_back + HOUR
    return [
        (decoy, "search", day.search[0], "release"),
        (decoy + early, "account", day.account, "release"),
        (bad, "pricing", day.bad, "release"),
        (bad + late, "cart", day.cart, "release"),
        (back, "pricing", day.good, "rollback"),
        (back + after, "search", day.search[1], "release"),
    ]


def expected(seed: int = SEED) -> dict:
    day, _, failed = made(seed)
    first, last, requests, customers = facts_of([each for each in failed if each[1] == "/v2/checkout"])
    return {
        "first": f"{first:%H:%M:%S}", "last": f"{last:%H:%M:%S}", "end": f"{day.rolled_back:%H:%M:%S}",
        "requests": [str(requests), in_words(requests)], "customers": [str(customers), in_words(customers)],
        "bad": day.bad, "good": day.good, "others": [day.search[0], day.account, day.cart],
    }  # fmt: skip


def files(seed: int = SEED) -> dict[str, bytes]:
    day, log, failed = made(seed)
    office = timezone(HOUR)
    first = facts_of([each for each in failed if each[1] == "/v2/checkout"])[0]
    rows = [
        f"{moment.replace(tzinfo=office).isoformat()},{service},{version},{kind}"
        for moment, service, version, kind in releases(day, first)
    ]
    deploys = "deployed_at,service,version,kind\n" + "\n".join(rows) + "\n"
    return {"outage/gateway.log": log.encode(), "outage/deploys.csv": deploys.encode()}


def particulars(seed: int) -> list[str]:
    day, _, failed = made(seed)
    checkout = [each for each in failed if each[1] == "/v2/checkout"]
    first, last, requests, customers = facts_of(checkout)
    every = facts_of(failed)
    times = (
        first,
        last,
        day.released,
        day.rolled_back,
        day.released + HOUR,
        day.rolled_back + HOUR,
        first - DECOY,
        *every[:2],
    )
    return [
        *(f"{time:%H:%M:%S}" for time in times),
        day.bad, day.good, day.search[0], f"{requests} checkout", f"{customers} different", f"{every[2]} requests",
        f"{every[3]} customers", f"{(first - day.released).seconds} seconds",
        f"{in_words(every[2] - requests).capitalize()} searches failed",
    ]  # fmt: skip
