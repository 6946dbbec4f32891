"""The tapes of eight exhibits, printed by tiny programs that are lost; the shortest programs that we know print them again.

Each program has a rule that a reader of its tape can see, and below it one that makes what looks like chance: who has found only
the first has to write down the rest.
"""

import contextlib
import csv
import hashlib
import io
import json
from collections.abc import Callable
from functools import lru_cache

from craft.dice import Dice

TASK = "task_67_exhibit_chips"
SEED = 20261207
MOST_TRIES = 400


@lru_cache
def primes(low: int, high: int) -> list[int]:
    is_prime = bytearray([0, 0, *[1] * (high - 2)])
    for one in range(2, int(high**0.5) + 1):
        if is_prime[one]:
            is_prime[one * one :: one] = bytes(len(range(one * one, high, one)))
    return [one for one in range(low, high) if is_prime[one]]


def loom(dice: Dice) -> str:
    """Return a cellular automaton on a ring, with a thread in each row changed by a generator."""
    width, modulus = dice.pick(primes(83, 109)), dice.pick(primes(1100, 1990))
    rule = dice.pick((30, 45, 75, 86, 89, 101, 106, 120, 135, 149, 169, 225))
    return (
        f"r=1;x={dice.between(11, 99)}\n"
        f'for _ in range({dice.between(150, 190)}):print(f"{{r:0{width}b}}");x=x*{dice.between(300, 990)}%{modulus};'
        f"r=sum(({rule}>>(r*(1+2**{width})>>i&7)&1)<<i for i in range({width}))^1<<x%{width}"
    )


def tide(dice: Dice) -> str:
    """Return hourly heights: two tides, a weekly gate, and waves from a quadratic map."""
    long, short = dice.pick(primes(130, 190)), dice.pick(primes(23, 41))
    return (
        f"x={dice.between(3, 9)}\n"
        f"for t in range({dice.between(1500, 1800)}):x=(x*x+{dice.between(2, 9)})%{dice.pick(primes(200000, 999000))};"
        f"print(abs(t%{long}-{long // 2})//{dice.between(3, 5)}+abs(t%{short}-{short // 2})+t//24%7//5*{dice.between(4, 9)}+x%{dice.between(4, 6)})"
    )


def bells(dice: Dice) -> str:
    """Return what bells ring, from a substitution, some of them loudly."""
    names = dice.sample(("Ada", "Bea", "Cora", "Dot", "Eve", "Fay", "Gwen", "Hope", "Ida", "Joy"), 4)
    rules = dice.sample(("012", "103", "21", "320", "0312", "13", "230", "3021", "132", "02"), 4)
    modulus = dice.pick(primes(300, 990))
    return f"s=\"0\"\nwhile len(s)<{dice.between(3000, 4500)}:s=''.join({rules!r}[int(c)]for c in s)\n".replace(
        ", ", ","
    ) + f"for c in s:print({names!r}[int(c)][::1-2*(len(s)**2%{modulus}>{modulus * 2 // 3})]);s=s[1:]".replace(
        ", ", ","
    )


def ledger(dice: Dice) -> str:
    """Return weekdays, day numbers, a check digit, amounts from a generator, and their balance."""
    modulus = dice.pick(primes(30000, 99000))
    return (
        f"b=0;x={dice.between(3, 9)}\n"
        f"for d in range({dice.between(700, 800)}):\n"
        f" if d%7<5:x=x*{dice.between(10000, 29000)}%{modulus};a=x%{dice.between(700, 990)};b+=a-{dice.between(300, 499)};"
        f'print("MTWHF"[d%7],d,(d*{dice.between(11, 88)}+a)%97,a,b)'
    )


def threads(dice: Dice) -> str:
    """Return two recurrences, interleaved by a third rule."""
    step = dice.pick(primes(11, 30))
    return (
        f"a,b,c={dice.between(2, 9)},{dice.between(10, 99)},{dice.between(2, 9)}\n"
        f"for i in range({dice.between(2200, 2600)}):\n"
        f" if i*i%{step}<{step * dice.between(4, 6) // 10}:a,b=b,(a*{dice.between(11, 98)}+b*{dice.between(11, 98)})%{dice.pick(primes(800, 998))};print(b)\n"
        f" else:c=c*c%{dice.pick(primes(200000, 999000))}+{dice.between(2, 9)};print(c%{dice.between(800, 998)})"
    )


def hail(dice: Dice) -> str:
    """Return digits of a lagged sum, with a carry, some of them turned."""
    long, short = dice.between(19, 27), dice.between(5, 16)
    digits = "".join(str(dice.below(10)) for _ in range(long))
    return (
        f's="{digits}"\n'
        f"for i in range({dice.between(3200, 3900)}):s+=str((int(s[i])+int(s[i+{short}])+i*i%{dice.pick(primes(53, 97))}//{dice.between(5, 9)})%10)\n"
        "print(s)"
    )


def mosaic(dice: Dice) -> str:
    """Return a picture of a quadratic form, disturbed by a product of the places."""
    a, b, c = (dice.between(13, 99) for _ in range(3))
    return f"for y in range({dice.between(60, 75)}):print(*((x*x*{a}+y*y*{b}-x*y*{c}+x*y*y%{dice.pick(primes(60, 180))}*{dice.between(5, 9)})//{dice.between(400, 990)}%8 for x in range({dice.between(80, 96)})),sep='')"


def queue(dice: Dice) -> str:
    """Return who leaves a ring, counted by a generator."""
    bits = dice.between(17, 19)
    count = dice.between(520, 640)
    return (
        f"l=[*range({count})];x=p=0\n"
        f"while l:x=x*{8 * dice.between(1300, 9000) + 5}+{2 * dice.between(50, 499) + 1}&{(1 << bits) - 1};p=(p+(x>>{dice.between(5, 6)}))%len(l);print(l.pop(p))"
    )


MAKERS: dict[str, Callable[[Dice], str]] = {
    "loom": loom, "tide": tide, "bells": bells, "ledger": ledger, "threads": threads, "hail": hail, "mosaic": mosaic, "queue": queue,
}  # fmt: skip


def printed(program: str) -> bytes:
    """Return what a program of ours prints."""
    file = io.StringIO()
    with contextlib.redirect_stdout(file):
        exec(compile(program, "<program>", "exec"), {})  # noqa: S102 - the text above
    return file.getvalue().encode()


def looks_random(program: str, name: str) -> bool:
    """Whether the hidden generator of a program does not come back to where it was within its tape."""
    if name in ("bells", "hail", "mosaic"):
        return True
    states: list[int] = []
    scope: dict[str, object] = {"print": lambda *_, **__: states.append(int(scope.get("x", scope.get("c", 0))))}  # type: ignore[call-overload]
    exec(compile(program, "<program>", "exec"), scope)  # noqa: S102 - the text above
    return len(set(states)) >= (len(states) * 9 // 10 if name != "threads" else len(states) // 4)


@lru_cache(maxsize=4)
def programs(seed: int) -> dict[str, str]:
    dice, found = Dice(seed), {}
    for name, make in MAKERS.items():
        for _ in range(MOST_TRIES):
            program = make(dice)
            if looks_random(program, name):
                found[name] = program
                break
        else:
            raise ValueError(f"no program for {name}: take another seed")
    return found


def files(seed: int = SEED) -> dict[str, bytes]:
    made = {f"exhibit_chips/{name}.txt": printed(program) for name, program in programs(seed).items()}
    file = io.StringIO()
    rows = [(name, len(program.encode())) for name, program in programs(seed).items()]
    csv.writer(file, lineterminator="\n").writerows([("exhibit", "bytes"), *rows])
    return made | {"exhibit_chips/sizes.csv": file.getvalue().encode()}


def particulars(seed: int) -> list[str]:
    """Return the programs as the solution has them, one on a line."""
    return [f"{name}: {json.dumps(program)}" for name, program in programs(seed).items()]


def expected(seed: int = SEED) -> dict:
    return {
        name: {"bytes": len(program.encode()), "tape": hashlib.sha256(printed(program)).hexdigest()}
        for name, program in programs(seed).items()
    }
