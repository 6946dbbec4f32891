"""When and where a choir meets."""

from datetime import datetime, timedelta

from craft.dice import Dice

SEED = 0
PLACES = (
    "Old Granary",
    "Salt Barn",
    "Weavers Hall",
    "Upper Chapel",
    "Glass House",
    "Tithe Barn",
    "Customs Shed",
    "Cooper Yard",
)
NOUNS = ("rehearsal", "workshop", "picnic", "recording", "audition", "concert")
STREETS = ("Mill Lane", "Abbey Road", "Ferry Street", "Orchard Walk", "Quarry Hill", "Tanner Row", "Harbour Square")


def particulars(seed: int) -> list[str]:
    """All spellings of a moment, of the end, and of the place; Vienna is two hours ahead of UTC from April to October."""
    dice = Dice(seed)
    noun = "rehearsal"
    place, street, start, minutes = "Old Granary", "Mill Lane 4", datetime(2026, 5, 14, 19, 30), 90
    if seed != SEED:
        noun = dice.pick(NOUNS[1:])
        place, street = dice.pick(PLACES[1:]), f"{dice.pick(STREETS[1:])} {dice.between(5, 60)}"
        start = datetime(2026, 6, 1, 18, 15) + timedelta(days=dice.below(100), minutes=5 * dice.below(16))
        minutes = 5 * dice.between(19, 25)
    end = start + timedelta(minutes=minutes)
    texts = [
        f"{start:%A}, {start.day} {start:%B} %Y".replace("%Y", "2026"),
        f"{start.day} {start:%B} 2026",
        f"{start.day} {start:%B}",
    ]
    texts += [f"{start:%Y-%m-%d}", place, place.lower(), street, street.lower()]
    for moment in (start, end):
        clock = f"{moment:%Y%m%dT%H%M00}"
        texts += [clock, f"{clock}Z", f"{moment:%H:%M}", f"{moment - timedelta(hours=2):%H:%M}"]
        texts.append(f"datetime(2026, {moment.month}, {moment.day}, {moment.hour}, {moment.minute})")
    return [*texts, f"Extra choir {noun}", f"extra choir {noun}", f"Choir {noun}", f'"{noun}" in', f"extra {noun}"]


def files(seed: int = SEED) -> dict[str, bytes]:
    return {}
