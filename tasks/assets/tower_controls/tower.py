"""A water tower with its pump, hour by hour. Amounts of water are tenths of a cubic metre, costs are cents."""

CLEAN = "clean"
SETTINGS = range(6)
# What things cost; the manual names the same.
START, CLEANING, TRIP = 150, 900, 3000
SHORT, SPILT, OWED = 20, 4, 4
CLEANING_HOURS, TRIP_HOURS = 2, 4
MOST_CLOGGED = 600
NOTHING = (0, 0, 0, "")  # of the last hour: kilowatt hours, water that was short, water that was spilt, what happened


def begun(one):
    """Return the state of a tower at first. `one` describes the tower and never changes."""
    return (0, one["level"], one["clogged"], 0, 0, 0, tuple(one["arriving"]), 0, NOTHING)


def advance(one, state, order):
    """Return the state after another hour; `order` is a setting of the pump, or `CLEAN`."""
    hour, level, clogged, setting, heat, rest, arriving, cost, _ = state
    what = ""
    if rest:
        rest -= 1
        order, what = 0, "stopped"
    elif order == CLEAN:
        cost += CLEANING
        clogged, rest = 0, CLEANING_HOURS - 1
        order, what = 0, "cleaning"
    kwh = one["kwh"][order]
    heat = heat * 3 // 4 + kwh * 10
    flow = 0
    if order:
        flow = one["flow"][order] * (1000 - clogged) // 1000
        if not setting:
            cost += START
            flow = flow * one["first"] // 100
        flow -= flow * one["back"] * level // (100 * one["holds"])
        cost += kwh * one["price"][hour]
        clogged = min(MOST_CLOGGED, clogged + one["clogs"][order])
        if heat > one["breaker"]:
            cost += TRIP
            heat, rest, what = 0, TRIP_HOURS, "tripped"

    level += arriving[0] + one["spring"][hour] - one["demand"][hour] - max(0, level - one["hole"]) * one["leaks"] // 100
    short = spilt = 0
    if level < 0:
        short, level = -level, 0
        cost += short * SHORT
    elif level > one["holds"]:
        spilt, level = level - one["holds"], one["holds"]
        cost += spilt * SPILT
    arriving = (*arriving[1:], flow)
    hour += 1
    if hour == len(one["demand"]):
        cost += max(0, one["owed"] - level - sum(arriving)) * OWED
    return (hour, level, clogged, order, heat, rest, arriving, cost, (kwh, short, spilt, what))


class Tower:
    """A tower in operation."""

    def __init__(self, one):
        self.one = one
        self.state = begun(one)

    def step(self, order):
        self.state = advance(self.one, self.state, order)

    @property
    def hour(self):
        return self.state[0]

    @property
    def setting(self):
        return self.state[3]

    @property
    def cost(self):
        return self.state[7]

    @property
    def seen(self):
        return self.state[8]

    @property
    def left(self):
        return len(self.one["demand"]) - self.hour

    @property
    def reading(self):
        """What the gauge shows, in whole cubic metres."""
        return max(0, self.state[1] + self.one["gauge"][max(0, self.hour - 1)] + 5) // 10
