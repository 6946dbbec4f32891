"""Ten days of a greenhouse's readings, with everything that goes wrong in a greenhouse."""

from datetime import datetime, timedelta

from craft.dice import Dice

SEED = 4711
START = datetime(2026, 2, 2)
STEP = timedelta(minutes=30)
SLOTS = 480
SENSORS = {  # logger, kind, usual unit, mean, swing over a day
    "T1": ("A", "temperature", "C", 19.0, 4.0),
    "T2": ("A", "temperature", "F", 18.2, 3.6),
    "T3": ("A", "temperature", "C", 21.5, 4.6),
    "H1": ("A", "humidity", "%", 84.0, 13.0),
    "T4": ("B", "temperature", "C", 17.4, 3.9),
    "T5": ("B", "temperature", "F", 20.1, 4.2),
    "T6": ("B", "temperature", "C", 22.0, 5.0),
    "H2": ("B", "humidity", "%", 78.0, 12.0),
}
CURVE = [0, 0.13, 0.26, 0.38, 0.5, 0.61, 0.71, 0.79, 0.87, 0.92, 0.97, 0.99]  # a quarter of a wave, the same everywhere
AHEAD = (642, 1399)  # records of logger B whose clock is an hour ahead
SWAPPED = ("T3", datetime(2026, 2, 5, 12), datetime(2026, 2, 7, 9, 30))  # writes °F and says C
MISSING = ["", "NaN", "-999", "ERR", "-999.0"]

RULES = """\
# How we clean greenhouse readings

`readings.csv` is what the two loggers wrote: `logger`, `record` (counts up within a logger), `time`, `sensor`,
`value`, `unit`. Which sensor hangs on which logger stands in `sensors.csv`. One reading is due for each sensor every
30 minutes, on the hour and on the half hour. Times are UTC. Apply the rules one after the other, each to what the
rules before it have left.

1. **Clocks.** If the logbook says that a logger's clock was wrong for some records, correct the time of these
   records.
2. **No value.** Drop records without a value: empty, `NaN`, `ERR` or -999.
3. **Units.** Change degrees Fahrenheit into Celsius, (F - 32) * 5 / 9, and round the result to two decimals. If the
   unit is empty, the sensor's usual unit in `sensors.csv` holds. The logbook wins over both. Sensor notes in the
   logbook speak of true (corrected) times.
4. **Twins.** If a sensor has several records for the same time, keep the one with the highest record number.
5. **Range.** Drop temperatures below -10 or above 50 °C and humidities below 0 or above 100 %.
6. **Spikes.** Drop a reading that is more than 8 units above both the reading before and the reading after it of the
   same sensor, or more than 8 units below both. All readings are judged at once, by their neighbours before any spike
   has gone. The first and the last reading of a sensor stay.
7. **Stuck.** If a temperature sensor gives exactly the same value in 6 or more readings in a row, it is stuck: keep
   the first of them and drop the others. Readings follow one another in a row whether or not some are missing between
   them. Humidity sensors are exempt; they stand at 100 % for hours.
8. **Gaps.** Fill a gap of at most 3 missing readings between two readings of a sensor, on the straight line between
   them, rounded to two decimals. Leave longer gaps, and fill nothing before a sensor's first or after its last
   reading.
"""

LOGBOOK = """\
# Logbook of house 3

- 2026-02-02: Both loggers started at midnight UTC. Records count from 1.
- 2026-02-04: Cleaned the lamps. Shading open until 16:00.
- 2026-02-05: T3 broken, swapped for the spare at 12:00. The spare gives °F, but the logger still writes C for it. To
  be set right.
- 2026-02-05: New batteries in logger B in the morning. (The clock was set by hand afterwards, looks fine.)
- 2026-02-07: Unit of T3 set right at 09:30; from the reading of 09:30 on it gives what it says.
- 2026-02-08: Heating off for the chimney sweep. It gets cold, that is real.
- 2026-02-09: Found out that the clock of logger B was one hour ahead since the batteries were changed, and set it
  right. By its own list that is records 642 to 1399, both included. The other records have the right time.
- 2026-02-10: T6 hangs in the irrigation spray again. Moved it.
"""


def wave(slot):
    """A day's course from -1 (04:00) to 1 (16:00)."""
    place = (slot - 20) % 48
    part, rest = divmod(place, 12)
    value = CURVE[rest] if part in (0, 2) else (CURVE[12 - rest] if rest else 1.0)
    return value if part in (0, 1) else -value


def make(seed: int):
    """The records as written: logger, record, written time, sensor, value, unit; and with each what it truly is."""
    dice = Dice(seed)
    level = dict.fromkeys(SENSORS, 0.0)
    frozen = {"T1": (130, 141), "T4": (301, 306), "T5": (60, 66), "T6": (402, 420), "T2": (350, 354)}
    silent = {("A", 205, 211), ("B", 95, 97), ("B", 330, 333)}
    lost = {"T2": (400, 402), "T3": (40, 43), "H1": (260, 262), "T6": (150, 161), "T1": (0, 1), "H2": (474, 479)}
    spikes = {
        "T1": {77, 250},
        "T2": {31, 222, 223},
        "T3": {180, 300},
        "T4": {20, 160, 444},
        "T5": {410},
        "T6": {90, 273, 274},
        "H1": {111, 385},
        "H2": {140, 290},
    }
    held = {}
    made = {"A": [], "B": []}
    for slot in range(SLOTS):
        time = START + slot * STEP
        for sensor, (logger, kind, usual, mean, swing) in SENSORS.items():
            level[sensor] = level[sensor] * 0.9 + dice.bell(0, 0.25 if kind == "temperature" else 1.0)
            cold = 5.0 if kind == "temperature" and 300 <= slot < 318 else 0.0
            sign = 1 if kind == "temperature" else -1
            true = mean + sign * swing * wave(slot) + level[sensor] - cold
            if kind == "humidity":
                true = min(true, 100.0)
            if slot in spikes[sensor]:
                true += dice.pick([14.0, -13.0]) if kind == "temperature" else -19.0
            if any(logger == who and first <= slot <= last for who, first, last in silent):
                continue
            if sensor in lost and lost[sensor][0] <= slot <= lost[sensor][1]:
                continue
            if dice.chance(0.006):
                continue
            fahrenheit = usual == "F"
            unit = usual
            if sensor == SWAPPED[0] and SWAPPED[1] <= time < SWAPPED[2]:
                fahrenheit = True
            shown = f"{true * 9 / 5 + 32:.1f}" if fahrenheit else f"{true:.1f}"
            if sensor in frozen and frozen[sensor][0] <= slot <= frozen[sensor][1]:
                shown = held.setdefault(sensor, shown)
            if kind == "temperature" and dice.chance(0.01):
                shown = (
                    dice.pick(["85.0", "-40.0", "127.9"]) if not fahrenheit else dice.pick(["185.0", "-40.0", "327.0"])
                )
            elif kind == "humidity" and dice.chance(0.006):
                shown = dice.pick(["-1.0", "104.5", "255.0"])
            if dice.chance(0.015):
                shown = dice.pick(MISSING)
            if dice.chance(0.05):
                unit = ""
            if usual == "C" and sensor != SWAPPED[0] and dice.chance(0.04) and shown not in MISSING:
                shown, unit = f"{float(shown) * 9 / 5 + 32:.1f}", "F"
            made[logger].append({"slot": slot, "sensor": sensor, "shown": shown, "unit": unit})
            if dice.chance(0.02):  # sent again a moment later, often with another digit
                again = (
                    shown
                    if shown in MISSING or dice.chance(0.3)
                    else f"{float(shown) + dice.pick([-0.3, 0.2, 0.5]):.1f}"
                )
                if dice.chance(0.15):
                    again = dice.pick(MISSING)
                made[logger].append({"slot": slot, "sensor": sensor, "shown": again, "unit": unit})
    for logger, records in made.items():
        for number, record in enumerate(records, start=1):
            record["record"] = number
            record["logger"] = logger
            wrong = logger == "B" and AHEAD[0] <= number <= AHEAD[1]
            record["written"] = START + record["slot"] * STEP + (timedelta(hours=1) if wrong else timedelta())
    return [record for records in made.values() for record in records]


def truth(seed: int):
    """Clean slots by sensor, and the counts; from the slots that the records truly have."""
    counts = {}
    records = make(seed)
    counts["records"] = len(records)
    valued = [record for record in records if record["shown"] not in MISSING]
    counts["no_value"] = len(records) - len(valued)
    series = {sensor: {} for sensor in SENSORS}
    for record in valued:
        sensor, time = record["sensor"], START + record["slot"] * STEP
        unit = record["unit"] or SENSORS[sensor][2]
        if sensor == SWAPPED[0] and SWAPPED[1] <= time < SWAPPED[2]:
            unit = "F"
        value = float(record["shown"])
        series[sensor][record["slot"]] = round((value - 32) * 5 / 9, 2) if unit == "F" else value
    counts["twins"] = len(valued) - sum(map(len, series.values()))
    counts.update(range=0, spikes=0, stuck=0, filled=0, missing=0)
    filled = {}
    for sensor, values in series.items():
        low, high = (-10, 50) if SENSORS[sensor][1] == "temperature" else (0, 100)
        kept = {slot: value for slot, value in values.items() if low <= value <= high}
        counts["range"] += len(values) - len(kept)
        slots = sorted(kept)
        spikes = [
            here
            for before, here, after in zip(slots, slots[1:], slots[2:])
            if min(kept[here] - kept[before], kept[here] - kept[after]) > 8
            or min(kept[before] - kept[here], kept[after] - kept[here]) > 8
        ]
        counts["spikes"] += len(spikes)
        for slot in spikes:
            del kept[slot]
        if SENSORS[sensor][1] == "temperature":
            run = []
            for slot in [*sorted(kept), None]:
                if run and (slot is None or kept[slot] != kept[run[0]]):
                    if len(run) >= 6:
                        counts["stuck"] += len(run) - 1
                        for stuck in run[1:]:
                            del kept[stuck]
                    run = []
                run.append(slot)
        slots = sorted(kept)
        filled[sensor] = set()
        for before, after in zip(slots, slots[1:]):
            if 2 <= after - before <= 4:
                for slot in range(before + 1, after):
                    part = (slot - before) / (after - before)
                    kept[slot] = round(kept[before] + (kept[after] - kept[before]) * part, 2)
                    filled[sensor].add(slot)
        counts["filled"] += len(filled[sensor])
        counts["missing"] += SLOTS - len(kept)
        series[sensor] = kept
    return series, filled, counts


def expected(seed: int = SEED) -> dict:
    """Of each sensor and day: readings, filled ones among them, the sum of the values, and that of the values times their place in
    the day (00:00 is 1); and the report's figures.
    """
    series, filled, counts = truth(seed)
    days = {
        sensor: [
            [
                len(slots := [slot for slot in kept if slot // 48 == day]),
                sum(slot in filled[sensor] for slot in slots),
                round(sum(kept[slot] for slot in slots), 2),
                round(sum(kept[slot] * (slot % 48 + 1) for slot in slots), 1),
            ]
            for day in range(SLOTS // 48)
        ]
        for sensor, kept in series.items()
    }
    dropped = {name: counts[name] for name in ("no_value", "twins", "spikes", "stuck")} | {
        "out_of_range": counts["range"]
    }
    means = {}
    for sensor, kept in series.items():
        by_day = [value for slot, value in kept.items() if 12 <= slot % 48 < 36]
        means[sensor] = round(sum(by_day) / len(by_day), 2)
    return {
        "days": days, "means": means, "dropped": dropped,
        "left": {"filled": counts["filled"], "still_missing": counts["missing"]},
    }  # fmt: skip


def files(seed: int = SEED) -> dict[str, bytes]:
    # As the loggers are read out: a day of A, a day of B, and so on, by the time that they wrote.
    records = sorted(make(seed), key=lambda record: (record["written"].date(), record["logger"], record["record"]))
    lines = ["logger,record,time,sensor,value,unit"]
    for record in records:
        lines.append(
            f"{record['logger']},{record['record']},{record['written']:%Y-%m-%d %H:%M},{record['sensor']},{record['shown']},{record['unit']}"
        )
    sensors = ["sensor,logger,kind,unit"]
    sensors += [f"{sensor},{logger},{kind},{unit}" for sensor, (logger, kind, unit, _, _) in SENSORS.items()]
    made = {
        "readings.csv": "\n".join(lines) + "\n",
        "sensors.csv": "\n".join(sensors) + "\n",
        "cleaning_rules.md": RULES,
        "logbook.md": LOGBOOK,
    }
    return {f"sensor_cleaning/{name}": text.encode() for name, text in made.items()}
