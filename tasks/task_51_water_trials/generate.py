"""Reports of field trials on watering by timers, with notices and letters, and what they say together."""

import math
from collections import Counter
from datetime import date, timedelta
from hashlib import sha256

from craft.dice import Dice

SEED = 20260303
CROPS = ("tomato", "beans", "berries", "salad")
KINDS = ("full paper", "preprint", "abstract")  # the better ones first
UNITS = {  # name: what one litre per square metre and week is in it, for plots of a size
    "litres per square metre per week": lambda size: 1.0,
    "mm per day": lambda size: 1 / 7,
    "ml per square metre per day": lambda size: 1000 / 7,
    "litres per plot per week": lambda size: float(size),
}
DESIGNS = {
    "random": ("Plots were assigned at random by lot.", "A computer drew which plots got timers.", "The plots were randomised in blocks of four."),
    "other": ("Every second plot got a timer.", "Gardeners chose whether they wanted a timer.", "Plots near the tap got timers."),
}  # fmt: skip
NAMES = "Keller Lindqvist Moreau Novak Okafor Pereira Quist Rossi Sato Tanaka Ullmann Varga Weiss Ximenes Yilmaz Zeman".split()


class Group:
    def __init__(self, plots: int, mean: float, spread: float) -> None:
        self.plots, self.mean, self.spread = plots, mean, spread  # litres per square metre and week; SD


class Report:
    """One report: what it prints, in its unit, at each week, for each group."""

    def __init__(self, dice: Dice, trial: "Trial", kind: str, published: date) -> None:
        self.trial, self.kind, self.published = trial, kind, published
        self.id = ""
        self.mail = f"{dice.pick(NAMES).lower()}{dice.between(1, 99)}@fields.example"
        self.layout = 2 if trial.arms > 1 or len(trial.weeks) > 1 else dice.below(3)
        self.unit = dice.pick(list(UNITS))
        self.spread_as = dice.pick(("SD", "SE", "CI")) if self.layout < 2 else dice.pick(("SD", "SE"))
        self.has_outcome = not dice.chance(0.06)
        self.is_misnamed = False  # a letter of the author says that the SDs are SEs, or the other way round
        factor = UNITS[self.unit](trial.size)
        digits = 0 if factor > 50 else 1 if factor > 2 else 2 if factor > 0.5 else 3
        shift = 1 if kind == "full paper" else 1 + (dice.share() - 0.5) / 12
        self.values: dict[int, list[list[float]]] = {}  # by week: plots, mean, and one or two numbers of spread
        for week in trial.weeks:
            rows = []
            for group in trial.groups:
                mean = (group.mean + (week - 10) * 0.15) * shift
                error = group.spread / math.sqrt(group.plots)
                spreads = {
                    "SD": [group.spread], "SE": [error], "CI": [mean - 1.96 * error, mean + 1.96 * error],
                }[self.spread_as]  # fmt: skip
                extra = digits + (1 if self.spread_as == "SE" else 0)
                rows.append(
                    [group.plots, round(mean * factor, digits), *(round(one * factor, extra) for one in spreads)]
                )
            self.values[week] = rows
        self.digits = digits

    def say(self, value: float, *, more: int = 0) -> str:
        return f"{value:.{self.digits + more}f}"

    def text(self) -> str:
        trial = self.trial
        dice = Dice(int(self.id[1:]) * 31 + trial.number)
        number = dice.pick((f"AWT-{trial.number:04d}", f"AWT {trial.number}", f"awt{trial.number:04d}"))
        head = [
            f"Report {self.id}", f"Published: {self.published}", f"Kind: {self.kind}", f"Trial registration: {number}",
            f"Correspondence: {self.mail}", "",
        ]  # fmt: skip
        place = "Open beds" if trial.is_open else dice.pick(("A greenhouse", "Greenhouses"))
        about = f"{place}, {trial.crop}, plots of {trial.size} square metres."
        weeks = f"The plots were followed for {max(trial.weeks)} weeks."
        if not self.has_outcome:
            harvest = f"The harvest was {dice.between(20, 60) / 10} kg per square metre with timers and {dice.between(20, 60) / 10} by hand."
            return (
                "\n".join([*head, trial.design, about, weeks, harvest, "Water use will be reported elsewhere."]) + "\n"
            )
        more = 1 if self.spread_as == "SE" else 0
        if self.layout == 2:
            lines = [
                trial.design,
                about,
                weeks,
                "",
                f"Water use, {self.unit}",
                "",
                f"group | week | plots | mean | {self.spread_as}",
            ]
            labels = ["timer, short", "timer, long", "hand"] if trial.arms > 1 else ["timer", "hand"]
            for week, rows in self.values.items():
                lines += [
                    f"{label} | {week} | {row[0]} | {self.say(row[1])} | {self.say(row[2], more=more)}"
                    for label, row in zip(labels, rows, strict=True)
                ]
            return "\n".join([*head, *lines]) + "\n"
        (timer, hand), *_ = self.values.values()

        def spread(row: list[float]) -> str:
            if self.spread_as == "CI":
                return f"95 % CI {self.say(row[2])} to {self.say(row[3])}"
            return f"{self.spread_as} {self.say(row[2], more=more)}"

        lost = [one[0] + dice.between(0, 4) for one in (timer, hand)]
        if self.layout == 0:
            result = (
                f"Water use in {self.unit} was {self.say(timer[1])} ({spread(timer)}) with timers and "
                f"{self.say(hand[1])} ({spread(hand)}) by hand."
            )
            plots = (
                f"{lost[0]} plots with timers and {lost[1]} by hand were begun; {timer[0]} and {hand[0]} were analysed."
            )
        else:
            result = (
                f"By hand, gardeners used {self.say(hand[1])} {self.unit} ({spread(hand)}). "
                f"With timers it was {self.say(timer[1])} ({spread(timer)})."
            )
            plots = f"We analysed {hand[0]} of {lost[1]} plots watered by hand and {timer[0]} of {lost[0]} with timers."
        return "\n".join([*head, trial.design, about, weeks, plots, result]) + "\n"

    def numbers(self, *, has_letter: bool, right: tuple[int, float] | None) -> list[float]:
        """Plots, mean and SD of both groups in litres per square metre and week, as the protocol has them."""
        week = min(self.values, key=lambda one: (abs(one - 10), -one))
        factor = UNITS[self.unit](self.trial.size)
        groups = []
        for place, (plots, printed, *spreads) in enumerate(self.values[week]):
            mean = right[1] if right and right[0] == place else printed
            kind = self.spread_as
            if self.is_misnamed and has_letter:
                kind = "SE" if kind == "SD" else "SD"
            root = math.sqrt(plots)
            sd = (
                spreads[0] * root
                if kind == "SE"
                else spreads[0]
                if kind == "SD"
                else root * (spreads[1] - spreads[0]) / 3.92
            )
            groups.append((plots, mean / factor, sd / factor))
        if len(groups) > 2:
            (n, a, s), (m, b, t), hand = groups
            both = math.sqrt(((n - 1) * s * s + (m - 1) * t * t + n * m / (n + m) * (a - b) ** 2) / (n + m - 1))
            groups = [(n + m, (n * a + m * b) / (n + m), both), hand]
        return [number for group in groups for number in group]


class Trial:
    def __init__(self, dice: Dice, number: int) -> None:
        self.number = number
        self.crop, self.size = dice.pick(CROPS), dice.pick((4, 6, 8, 12, 15))
        self.is_random, self.is_open = not dice.chance(0.16), not dice.chance(0.12)
        self.design = dice.pick(DESIGNS["random" if self.is_random else "other"])
        self.arms = 2 if dice.chance(0.15) else 1
        length = dice.pick((4, 6, 7, 8, 9, 10, 10, 12, 12, 14))
        self.weeks = [length]
        if dice.chance(0.25):
            self.weeks = sorted({length, max(2, length - dice.between(2, 5)), length + dice.pick((2, 4))})
        hand = dice.bell(24, 3)
        self.groups = [
            Group(dice.between(8, 40), hand - dice.bell(2.8, 1.6), dice.bell(4, 0.6)) for _ in range(self.arms)
        ]
        self.groups.append(Group(dice.between(8, 40), hand, dice.bell(4, 0.6)))


ERRATA, LETTERS = 9, 8
FEWEST = 5  # reports whose numbers are found in the same way: the check gives points for each way


def drawn(seed: int) -> "Evidence":
    """The first evidence by a seed in which enough reports are fit for an erratum or a letter, and of each kind."""
    while not (found := Evidence(seed)).is_enough:
        seed += 1_000_003
    return found


class Evidence:
    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        number = 12
        self.trials: list[Trial] = []
        self.reports: list[Report] = []
        for _ in range(84):
            number += dice.between(1, 60)
            trial = Trial(dice, number)
            self.trials.append(trial)
            day = date(2015, 1, 1) + timedelta(days=dice.below(3600))
            kinds = dice.pick((["full paper"], ["preprint", "full paper"], ["abstract", "full paper"], ["preprint"], ["abstract", "preprint", "full paper"], ["preprint", "preprint"], ["full paper", "full paper"]))  # fmt: skip
            for kind in kinds:
                self.reports.append(Report(dice, trial, kind, day))
                day += timedelta(days=dice.between(60, 400) * (1 if dice.chance(0.85) else -1))
        for place, report in enumerate(dice.shuffled(self.reports), 1):
            report.id = f"R{place:03d}"
        self.reports.sort(key=lambda report: report.id)
        self.retracted: set[int] = set()
        self.notices: list[str] = []
        self.letters: list[str] = []
        self._add_notices()
        self._add_letters()
        studies, _ = self.answer(6, has_letters=True)
        counts = Counter(self.kinds(studies).values())
        has_all = all(counts[kind] >= FEWEST for kind in ("text", "table", "erratum", "late"))
        self.is_enough = len(self.errata) == ERRATA and len(self.letters) == LETTERS and has_all

    def _add_notices(self) -> None:
        dice = self.dice
        several = [one for one in self.trials if sum(report.trial is one for report in self.reports) > 1]
        for trial in dice.sample(several, 5):
            self.retracted.add(trial.number)
            report = dice.pick([one for one in self.reports if one.trial is trial])
            self.notices.append(
                f"Retraction\n\nReport {report.id} is retracted: the records of the plots cannot be found."
            )
        for report in dice.sample([one for one in self.reports if one.trial.number not in self.retracted], 4):
            self.notices.append(
                f"Expression of concern\n\nReaders have asked about the tables of report {report.id}. The journal is looking into it."
            )
        fit = [one for one in self._included(8) if one.layout < 2]
        self.errata: dict[str, tuple[int, float]] = {}  # by report: which group, and its right mean
        for report in dice.sample(fit, min(ERRATA, len(fit))):
            group = dice.below(2)
            wrong = next(iter(report.values.values()))[group][1]
            right = round(wrong * (1 + dice.pick((-0.2, -0.1, 0.1, 0.2))), report.digits)
            self.errata[report.id] = (group, right)
            name = ("with timers", "by hand")[group]
            self.notices.append(
                f"Erratum\n\nIn report {report.id} the mean {name} is {report.say(right)}, not {report.say(wrong)}. "
                "The unit and all else stay."
            )
        self.notices = dice.shuffled(self.notices)
        # Two of the errata are themselves withdrawn.
        places = [place for place, text in enumerate(self.notices) if text.startswith("Erratum")]
        self.withdrawn: set[str] = set()
        for place in dice.sample(places, 2):
            self.withdrawn.add(self.notices[place].split("report ")[1][:4])
            self.notices.append(f"Withdrawal\n\nNotice N{place + 1:02d} was printed by mistake and is withdrawn.")

    def _add_letters(self) -> None:
        dice = self.dice
        fit = [one for one in self._included(8) if one.spread_as != "CI" and one.id not in self.errata]
        for turn, report in enumerate(dice.sample(fit, min(LETTERS, len(fit)))):
            is_true = turn < 4
            sender = (
                report.mail
                if is_true
                else dice.pick((report.mail.replace("fields", "field"), f"{dice.pick(NAMES).lower()}@timers.example"))
            )
            report.is_misnamed = is_true
            other = "SE" if report.spread_as == "SD" else "SD"
            words = {"SD": "standard deviations", "SE": "standard errors"}
            self.letters.append(
                f"From: {sender}\nSubject: Report {report.id}\n\nWhat stands as {words[report.spread_as]} in report {report.id} are {words[other]}.\nThe numbers themselves are right.\n"
            )
        self.letters = dice.shuffled(self.letters)

    def _included(self, weeks: int) -> list[Report]:
        return [report for report in self.reports if not self.reasons(weeks).get(report.id)]

    def reasons(self, weeks: int) -> dict[str, str]:
        """Why each report is left out; empty for those that count."""
        found, rest = {}, {}
        for report in self.reports:
            trial = report.trial
            plots = [sum(group.plots for group in trial.groups[:-1]), trial.groups[-1].plots]
            reason = (
                "retracted" if trial.number in self.retracted
                else "not-randomised" if not trial.is_random
                else "setting" if not trial.is_open
                else "outcome" if not report.has_outcome
                else "short" if max(trial.weeks) < weeks
                else "small" if min(plots) < 10
                else ""
            )  # fmt: skip
            found[report.id] = reason
            if not reason:
                rest.setdefault(trial.number, []).append(report)
        for reports in rest.values():
            best = min(reports, key=lambda one: (KINDS.index(one.kind), -one.published.toordinal(), one.id))
            for report in reports:
                if report is not best:
                    found[report.id] = "duplicate"
        return found

    def numbers(self, report: Report, *, has_letters: bool) -> list[float]:
        right = None if report.id in self.withdrawn else self.errata.get(report.id)
        return report.numbers(has_letter=has_letters, right=right)

    def answer(self, weeks: int, *, has_letters: bool) -> tuple[dict, dict]:
        """The numbers of each report that counts, and the pooled result."""
        studies, effects = {}, {}
        for report in self._included(weeks):
            numbers = studies[report.id] = self.numbers(report, has_letters=has_letters)
            n, a, s, m, b, t = numbers
            effects[report.id] = (a - b, s * s / n + t * t / m, report.trial.crop)
        return studies, {"all": pooled(list(effects.values())), "crops": {crop: pooled([one for one in effects.values() if one[2] == crop]) for crop in CROPS}, "without": {name: pooled([one for key, one in effects.items() if key != name])["difference"] for name in effects}}  # fmt: skip

    def kinds(self, studies: dict[str, list[float]]) -> dict[str, str]:
        """How the numbers of each report that counts are found."""
        before, _ = self.answer(8, has_letters=False)
        return {
            report.id: "late" if before.get(report.id) != studies[report.id]
            else "erratum" if report.id in self.errata
            else "table" if report.layout == 2
            else "text"
            for report in self.reports
            if report.id in studies
        }  # fmt: skip


def pooled(effects: list[tuple[float, float, str]]) -> dict:
    if not effects:
        return {"trials": 0, "difference": 0.0, "low": 0.0, "high": 0.0, "q": 0.0}
    total = sum(1 / variance for _, variance, _ in effects)
    mean = sum(value / variance for value, variance, _ in effects) / total
    error = 1 / math.sqrt(total)
    return {
        "trials": len(effects), "difference": mean, "low": mean - 1.96 * error, "high": mean + 1.96 * error,
        "q": sum((value - mean) ** 2 / variance for value, variance, _ in effects),
    }  # fmt: skip


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return round(value, 4) if isinstance(value, float) else value


def files(seed: int = SEED) -> dict[str, bytes]:
    evidence = drawn(seed)
    made = {f"reports/{report.id}.txt": report.text() for report in evidence.reports}
    made |= {f"notices/N{number:02d}.txt": f"{text}\n" for number, text in enumerate(evidence.notices, 1)}
    made |= {f"letters/L{number}.txt": text for number, text in enumerate(evidence.letters, 1)}
    return {f"water_trials/{name}": text.encode() for name, text in made.items()}


def expected(seed: int = SEED) -> dict:
    evidence = drawn(seed)
    studies, result = evidence.answer(6, has_letters=True)
    first, reasons = evidence.reasons(8), evidence.reasons(6)
    trials = {report.id: f"AWT-{report.trial.number:04d}" for report in evidence.reports}
    kinds = evidence.kinds(studies)
    made = {name.removeprefix("water_trials/"): data for name, data in files(seed).items()}
    given = "".join(f"{name}\n{data.decode()}" for name, data in sorted(made.items()))
    return rounded(
        {
            "studies": {one: [trials[one], kinds[one], numbers] for one, numbers in studies.items()},
            "excluded": {one: reason for one, reason in reasons.items() if reason},
            "late_excluded": sorted(one for one in reasons if reasons[one] != first[one]),
            "result": result,
            "given": sha256(given.encode()).hexdigest()[:16],
        }
    )
