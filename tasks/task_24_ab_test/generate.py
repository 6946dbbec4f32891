"""The export of a shop's experiment, and the plan that was written before it."""

from datetime import datetime, timedelta
from functools import cache

from craft.dice import Dice

SEED = 160326
BEGIN, TURN, END = datetime(2026, 3, 2), datetime(2026, 3, 9), datetime(2026, 3, 23)
WINDOW = timedelta(hours=168)
PLANNED = {1: 0.8, 2: 0.5}  # the share of A
BOTH, BOTS = 47, 150
# Platform, phase, variant: users, converted, with a ticket.
CELLS = {
    ("web", 1, "A"): (768, 203, 22),
    ("web", 1, "B"): (186, 52, 6),
    ("android", 1, "A"): (597, 152, 19),
    ("android", 1, "B"): (155, 45, 6),
    ("ios", 1, "A"): (404, 104, 12),
    ("ios", 1, "B"): (97, 34, 3),
    ("web", 2, "A"): (803, 70, 23),
    ("web", 2, "B"): (817, 82, 29),
    ("android", 2, "A"): (641, 53, 18),
    ("android", 2, "B"): (625, 61, 20),
    ("ios", 2, "A"): (522, 44, 15),
    ("ios", 2, "B"): (401, 65, 11),
}
PLAN = """\
# Analysis plan: short checkout (B) against the old one (A)

Written on 24 February 2026, before the start. We follow it whatever comes out.

## Data

- `assignments.csv`: who was shown which variant, and when; times in UTC. `pageviews_1h` is the number of pages in the
  user's first hour.
- `events.csv`: purchases and support tickets, exported by the shop. **Its times are UTC+1**, on all days.

## Who counts

1. Rows assigned from 2026-03-02 00:00 to 2026-03-22 23:59 UTC. Users whose id begins with `s` are staff and don't
   count.
2. Users with rows for both variants don't count at all. If a user has several rows for one variant, the earliest row
   counts.
3. Users with more than 150 pages in their first hour are bots and don't count.

## Phases

Phase 1 (2 to 8 March) is the ramp-up and planned at 80 : 20 (A : B). Phase 2 (9 to 22 March) is planned at 50 : 50. A
user belongs to the phase of the assignment. The spring sale runs in phase 1, so conversion will differ between the
phases.

## Sample ratio check

Among those who count, for each platform and phase: chi-square of the users of A and B against the planned split (1
degree of freedom, no correction). A platform with a value above 10.83 in either phase has lost users somewhere; it is
left out of everything that follows, in both phases.

## Measures

- A user has converted with at least one purchase at or after the assignment and at most 168 hours after it.
- Guardrail: the same with `ticket` instead of `purchase`.

## Estimate

In each phase s: d(s) = pB - pA, with variance v(s) = pA (1 - pA) / nA + pB (1 - pB) / nB. The weight w(s) is the
phase's share of all remaining users (A and B together). Difference = sum of w d; standard error = square root of the
sum of w^2 v; 95 % interval = difference +/- 1.96 standard errors. The guardrail's difference is estimated the same
way.

## Decision

- `stop` if the interval lies wholly below 0, or the guardrail's difference is above 0.01
- `ship` if the interval lies wholly above 0 and the guardrail's difference is at most 0.01
- `extend` otherwise: two more weeks at 50 : 50
"""


def drawn(dice: Dice) -> dict:
    """Cells like the public ones, of half as many users again."""
    scale = 1.4 + 0.3 * dice.share()
    made = {}

    def near(value, spread):
        return round(value * (1 + spread * (2 * dice.share() - 1)))

    for (platform, phase, variant), (count, converted, tickets) in CELLS.items():
        if variant == "A":
            users = near(count * scale, 0.07)
        else:
            lost = 0.77 if (platform, phase) == ("ios", 2) else 1.0
            users = near(lost * made[platform, phase, "A"][0] * (1 / PLANNED[phase] - 1), 0.05)
        made[platform, phase, variant] = (
            users,
            near(converted / count * users, 0.07),
            near(tickets / count * users, 0.15),
        )
    return made


def is_new(cells: dict) -> bool:
    """Whether no number that the public memo tells, in percent, nor another public number, is right."""
    left, public = by_phase(cells, {"ios"}), by_phase(CELLS, {"ios"})
    told = {"0.5", "0.6", "1.0", "1.8", "3.6", "4.2", "8.5", "9.9"}
    others = [
        (value, known)
        for known in (estimate(public, 2)[0], pooled(public))
        for value in (estimate(left, 2)[0], estimate(by_phase(cells, set()), 2)[0], pooled(left))
    ]
    if any(abs(value - ratios(CELLS)[place]) < 0.02 for place, value in ratios(cells).items()):
        return False
    return not told & {f"{100 * abs(value):.1f}" for value in interval(left)} and all(
        abs(value - known) > 0.0005 for value, known in others
    )


@cache
def cells_of(seed: int) -> tuple[dict, int, int]:
    """The cells, how many users saw both variants, and how many are bots.

    Of every form, iOS alone fails the check of the ratio and the rest leads to `extend`, iOS left in to `ship`, and both phases
    thrown together to `stop`.
    """
    if seed == SEED:
        return CELLS, BOTH, BOTS
    dice = Dice(seed + 1)
    while True:
        cells = drawn(dice)
        chi = ratios(cells)
        if chi.pop(("ios", 2)) < 13 or max(chi.values()) > 5:
            continue
        difference, low, high = interval(without_ios := by_phase(cells, {"ios"}))
        rates = [
            without_ios[phase, variant][1] / without_ios[phase, variant][0] for phase in (1, 2) for variant in "AB"
        ]
        everything = by_phase(cells, set())
        if (
            difference > 0.008
            and -0.012 < low < -0.002
            and high < 0.05
            and interval(everything)[1] > 0.003
            and 0.001 < estimate(without_ios, 2)[0] < 0.009
            and 0.001 < estimate(everything, 2)[0] < 0.009
            and -0.06 < pooled(without_ios) < -0.02
            and pooled(everything) < -0.018
            and rates[0] < rates[1] < 0.31
            and rates[2] < rates[3]
            and abs(estimate(without_ios, 2)[0] - estimate(everything, 2)[0]) > 0.0005
            and abs(pooled(without_ios) - pooled(everything)) > 0.0005
            and is_new(cells)
        ):
            users = sum(cell[0] for cell in cells.values())
            public = sum(cell[0] for cell in CELLS.values())
            both = BOTH + dice.pick([-1, 1]) * dice.between(3, 15)
            return cells, both, BOTS * users // public + dice.between(0, 20)


def make(seed: int):
    """Rows of both tables, with true UTC times."""
    cells, both, bots = cells_of(seed)
    dice = Dice(seed)
    names = dice.sample(range(10000, 22000), 6600) if seed == SEED else dice.sample(range(20000, 50000), 14000)
    rows, events = [], []

    def moment(first, last):
        return first + timedelta(minutes=dice.below(int((last - first) / timedelta(minutes=1))))

    def phase_moment(phase):
        return moment(BEGIN, TURN) if phase == 1 else moment(TURN, END)

    def inside(start):
        """A moment in the window; some are in its last hour, where a wrong time zone counts."""
        if dice.chance(0.07):
            return start + WINDOW - timedelta(minutes=dice.between(2, 58))
        share = dice.share()
        return start + timedelta(minutes=1 + int(share * share * 166 * 60))

    def outside(start):
        """A moment out of the window; some are in the hour before it."""
        if dice.chance(0.45):
            return start - timedelta(minutes=dice.between(2, 58))
        if dice.chance(0.3):
            return start - timedelta(hours=dice.between(2, 90))
        return start + WINDOW + timedelta(minutes=dice.between(2, 5000))

    for (platform, phase, variant), (count, converted, tickets) in cells.items():
        users = [f"u{names.pop()}" for _ in range(count)]
        buyers = set(dice.sample(users, converted))
        askers = set(dice.sample(users, tickets))
        for user in users:
            start = phase_moment(phase)
            pages = 150 if dice.chance(0.004) else 1 + int(60 * dice.share() ** 3)
            rows.append((user, variant, start, platform, pages))
            if dice.chance(0.012):
                rows.append((user, variant, start + timedelta(minutes=dice.between(30, 9000)), platform, pages))
            for kind, chosen, stray in (
                ("purchase", buyers, 0.06 if variant == "A" else 0.02),
                ("ticket", askers, 0.012),
            ):
                if user in chosen:
                    for _ in range(1 + dice.chance(0.12)):
                        events.append((user, kind, inside(start)))
                if dice.chance(stray):
                    events.append((user, kind, outside(start)))
    for _ in range(bots):  # a crawler that keeps its cookie
        user, start = f"u{names.pop()}", phase_moment(1 + dice.chance(0.6))
        rows.append((user, "B" if dice.chance(0.95) else "A", start, "web", dice.between(151, 900)))
    for _ in range(both):
        user, start, platform = (
            f"u{names.pop()}",
            phase_moment(1 + dice.chance(0.6)),
            dice.pick(["web", "ios", "android"]),
        )
        first, second = dice.shuffled("AB")
        rows.append((user, first, start, platform, dice.between(1, 40)))
        rows.append(
            (
                user,
                second,
                min(start + timedelta(minutes=dice.between(30, 3000)), END - timedelta(minutes=1)),
                platform,
                dice.between(1, 40),
            )
        )
        if dice.chance(0.5):
            events.append((user, "purchase", inside(start)))
    for number in range(26):
        user, start = f"s{100 + number * 7}", phase_moment(1 + dice.chance(0.6))
        rows.append(
            (user, "B" if dice.chance(0.8) else "A", start, dice.pick(["web", "ios", "android"]), dice.between(3, 60))
        )
        if dice.chance(0.6):
            events.append((user, "purchase", inside(start)))
    for _ in range(84):
        user = f"u{names.pop()}"
        start = (
            moment(BEGIN - timedelta(hours=30), BEGIN) if dice.chance(0.5) else moment(END, END + timedelta(hours=20))
        )
        rows.append((user, dice.pick("AB"), start, dice.pick(["web", "ios", "android"]), dice.between(1, 40)))
        if dice.chance(0.4):
            events.append((user, "purchase", inside(start)))
    # A second row of the last evening may lie after the end; it does no harm, for the first row counts.
    rows.sort(key=lambda row: (row[2], row[0], row[1]))
    events.sort(key=lambda event: (event[2], event[0], event[1]))
    return rows, events


def ratios(cells: dict) -> dict:
    """Chi-square of each platform and phase against the planned split."""
    chi = {}
    for platform in ("web", "ios", "android"):
        for phase, planned in PLANNED.items():
            a, b = cells[platform, phase, "A"][0], cells[platform, phase, "B"][0]
            chi[platform, phase] = (a - planned * (a + b)) ** 2 / (planned * (a + b)) * (1 + planned / (1 - planned))
    return chi


def by_phase(cells: dict, failed: set) -> dict:
    """Users, converted and with a ticket of each phase and variant, without the platforms that failed."""
    found = {}
    for (platform, phase, variant), numbers in cells.items():
        if platform not in failed:
            found[phase, variant] = tuple(a + b for a, b in zip(found.get((phase, variant), (0, 0, 0)), numbers))
    return found


def estimate(cells: dict, place: int) -> tuple[float, float]:
    """B minus A, weighted by phase, and its standard error: of purchases (1) or tickets (2)."""
    total = sum(cell[0] for cell in cells.values())
    difference = variance = 0.0
    for phase in PLANNED:
        (n_a, *_), (n_b, *_) = a, b = cells[phase, "A"], cells[phase, "B"]
        p_a, p_b = a[place] / n_a, b[place] / n_b
        weight = (n_a + n_b) / total
        difference += weight * (p_b - p_a)
        variance += weight**2 * (p_a * (1 - p_a) / n_a + p_b * (1 - p_b) / n_b)
    return difference, variance**0.5


def interval(cells: dict) -> tuple[float, float, float]:
    difference, error = estimate(cells, 1)
    return difference, difference - 1.96 * error, difference + 1.96 * error


def pooled(cells: dict) -> float:
    a, b = (
        sum(cells[phase, variant][1] for phase in PLANNED) / sum(cells[phase, variant][0] for phase in PLANNED)
        for variant in "AB"
    )
    return b - a


def expected(seed: int = SEED) -> dict:
    """What the plan yields, from the cells themselves; and what it yields if iOS is left in."""
    cells, both, bots = cells_of(seed)
    chi = ratios(cells)
    failed = {platform for (platform, _), value in chi.items() if value > 10.83}
    left, everything = by_phase(cells, failed), by_phase(cells, set())

    def table(found):
        return {str(phase): {variant.lower(): list(found[phase, variant][:2]) for variant in "AB"} for phase in PLANNED}

    return {
        "both": both, "bots": bots, "failed": sorted(failed),
        "srm": {f"{platform}/{phase}": round(value, 2) for (platform, phase), value in chi.items()},
        "phases": table(left), "with_ios": table(everything),
        "estimate": [round(value, 6) for value in interval(left)],
        "guardrail": round(estimate(left, 2)[0], 6), "guardrail_with_ios": round(estimate(everything, 2)[0], 6),
        "pooled": round(pooled(left), 6),
    }  # fmt: skip


def particulars(seed: int) -> list[str]:
    cells, *_ = cells_of(seed)
    right = expected(seed)
    difference, low, high = right["estimate"]
    a, b = cells["ios", 2, "A"][0], cells["ios", 2, "B"][0]
    rates = {
        (variant, phase): f"{100 * converted / users:.1f}"
        for phase in PLANNED
        for variant in "ab"
        for users, converted in [right["phases"][str(phase)][variant]]
    }
    everything = by_phase(cells, set())
    return [
        f"variants ({right['both']})", f"bots ({right['bots']})", f"{right['both']} users", f"{right['bots']} bots",
        f"fails with {right['srm']['ios/2']:.2f}", f"is {difference:.4f}", f"{low:.4f} to {high:.4f}",
        f"the guardrail's {right['guardrail']:.4f}", f"B is {-right['pooled']:.4f} behind",
        f"{100 * difference:.1f} percentage points", f"+{100 * difference:.1f} points for B",
        f"{100 * low:.1f} to +{100 * high:.1f}", f"+{100 * right['guardrail']:.1f} points",
        f"{-100 * right['pooled']:.1f} points",
        *(f"{rates['b', phase]} against {rates['a', phase]} %" for phase in PLANNED),
        *(f"{rates['a', phase]} % | {rates['b', phase]} %" for phase in PLANNED),
        f"{b} against {a} of A", f"({a} against {b})",
        f"about {100 * pooled(everything):.0f} percentage points",
        f"about {100 * interval(everything)[0]:.0f} percentage points more",
    ]  # fmt: skip


def files(seed: int = SEED) -> dict[str, bytes]:
    rows, events = make(seed)
    shown = "%Y-%m-%d %H:%M"
    assigned = ["user,variant,assigned_at,platform,pageviews_1h"]
    assigned += [f"{user},{variant},{time:{shown}},{platform},{pages}" for user, variant, time, platform, pages in rows]
    happened = ["user,event,time"]
    happened += [f"{user},{kind},{time + timedelta(hours=1):{shown}}" for user, kind, time in events]
    # The dashboard counts every row and every purchase.
    buyers = {user for user, kind, _ in events if kind == "purchase"}
    share = {}
    for variant in "AB":
        mine = {row[0] for row in rows if row[1] == variant}
        share[variant] = len(mine), 100 * len(mine & buyers) / len(mine)
    dashboard = f"""\
# Dashboard, 31 March 2026

| variant | users | conversion |
|---|---|---|
| A (old checkout) | {share["A"][0]} | {share["A"][1]:.1f} % |
| B (short checkout) | {share["B"][0]} | {share["B"][1]:.1f} % |

Comment by Jorun (checkout team): B is clearly behind, and we already have {share["A"][0] + share["B"][0]} users. I would stop it today.
"""
    made = {
        "plan.md": PLAN,
        "dashboard.md": dashboard,
        "assignments.csv": "\n".join(assigned) + "\n",
        "events.csv": "\n".join(happened) + "\n",
    }
    return {f"ab_test/{name}": text.encode() for name, text in made.items()}
