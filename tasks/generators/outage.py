"""Two hours of an API gateway and the releases of that day."""

from datetime import datetime, timedelta, timezone

from craft.dice import Dice


def gateway_log() -> str:
    """The gateway's log in UTC, with a bad release of the pricing service in the middle."""
    dice = Dice(20260311)
    begin = datetime(2026, 3, 11, 8, 0, 0)
    bad_from, bad_until = datetime(2026, 3, 11, 8, 40, 30), datetime(2026, 3, 11, 9, 17, 10)
    lines: list[str] = []
    moment = begin
    while moment < begin + timedelta(hours=2):
        path = dice.pick(("/v2/checkout", "/v2/checkout", "/v2/search", "/v2/cart", "/v2/account"))
        status, millis = 200, 40 + dice.below(260)
        if path == "/v2/checkout" and bad_from <= moment < bad_until and dice.chance(0.65):
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
        moment += timedelta(seconds=5 + dice.below(21))
    return "\n".join(lines) + "\n"


def deploys() -> str:
    """The releases of that day in the office's local time, one hour ahead of UTC."""
    office = timezone(timedelta(hours=1))
    entries = (
        (8, 41, 0, "search", "2.3.1", "release"),
        (9, 5, 20, "account", "1.19.4", "release"),
        (9, 40, 30, "pricing", "4.12.0", "release"),
        (9, 58, 0, "cart", "3.0.7", "release"),
        (10, 17, 10, "pricing", "4.11.6", "rollback"),
        (10, 44, 45, "search", "2.3.2", "release"),
    )
    rows = [
        f"{datetime(2026, 3, 11, hour, minute, second, tzinfo=office).isoformat()},{service},{version},{kind}"
        for hour, minute, second, service, version, kind in entries
    ]
    return "deployed_at,service,version,kind\n" + "\n".join(rows) + "\n"


def files() -> dict[str, bytes]:
    return {"outage/gateway.log": gateway_log().encode(), "outage/deploys.csv": deploys().encode()}
