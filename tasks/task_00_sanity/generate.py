"""The word that an agent is asked to say."""

from craft.dice import Dice

SEED = 0
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"
SYLLABLES = 4  # 24 million words: with a list of words, two of twenty forms nearly always had the same


def particulars(seed: int) -> list[str]:
    dice = Dice(seed)
    made = "".join(dice.pick(CONSONANTS) + dice.pick(VOWELS) for _ in range(SYLLABLES))
    return ["kingfisher" if seed == SEED else made]


def files(seed: int = SEED) -> dict[str, bytes]:
    return {}
