"""Keys: which texts are some, and how they are kept out of what a run writes."""

from __future__ import annotations

import json
import os
import re
import stat
from base64 import b64encode, urlsafe_b64encode
from dataclasses import replace
from functools import partial
from itertools import takewhile
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from typing import BinaryIO

    from pinchbench.model.grade import Grade, JudgeGrade
    from pinchbench.model.outcome import Outcome

MASK = "[key]"
SHORTEST = 8  # characters; what stands for "no key" with local servers (`EMPTY`, `none`) is a word like any other
LONGEST_WORD = 20  # characters, below which letters alone or digits alone are a word or a number
FEWEST_SIGNS = 4  # different ones in a key: `xxxxxxxxxxxx` and `********` stand for one
CUT = 12  # characters of a longer key, from its beginning or up to its end, that give too much of it away
CHUNK_BYTES = 1024 * 1024  # of a file at a time
# How the name of a variable says that it holds a key, or several (`GEMINI_API_KEYS`), or one of several (`…_KEY_2`).
KEY_NAME = re.compile(
    r"(?:^|[^a-z0-9])(?:(?:api)?key|token|secret|password|passwd|credential)(s?)(?:_\d+)?$", re.IGNORECASE
)
# What OpenClaw calls keys in its JSON, beyond that: the two halves of an OAuth login, and a header.
STORED_NAMES = frozenset({"access", "refresh", "authorization"})
WORDS = re.compile(r"[A-Z]?[a-z]+(?:[-_. /][A-Z]?[a-z]+)*|[A-Z]+(?:[-_. /][A-Z]+)*|[\d.]+")
REFERENCE = re.compile(r"\$\{\w+\}|\$\w+")  # to a variable that holds the key
ASSIGNMENT = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*[=:][ \t]*(?:'([^']*)'|"((?:\\"|[^"])*)"|`([^`]*)`|([^#\n]+))""",
    re.MULTILINE,
)


def known_secrets(env: Mapping[str, str], names: Iterable[str] = ()) -> tuple[str, ...]:
    """The keys in an environment, longest first, each in all forms in which it may be written. Blocks shortly.

    These are the values of `names`, and of the variables whose names say so (`…KEY`, `…TOKEN`, `…SECRET`,
    `…PASSWORD`, `…CREDENTIALS`), but no paths of files that exist, and none of what only stands for a key: fewer than
    8 characters, or fewer than 20 and nothing but words (`not-needed`, `lm-studio`) or digits. To mask such a word
    would garble results in which it means something else.
    """
    chosen = set(names)
    return _in_all_forms(value for name, whole in env.items() for value in _values(name, whole, chosen=name in chosen))


def secrets_in(stored: object) -> tuple[str, ...]:
    """The keys in parsed JSON, such as OpenClaw's config and its auth profiles; in order and forms as `known_secrets`.

    These are the texts under names such as `apiKey`, `token`, `refresh` or `OPENAI_API_KEY`, however deep.
    """
    return _in_all_forms(_stored(stored))


def secrets_in_dotenv(text: str) -> tuple[str, ...]:
    """The keys in the text of a `.env` file, in order and forms as `known_secrets`."""
    found = ((match[1], next(filter(None, match.groups()[1:]), "")) for match in ASSIGNMENT.finditer(text))
    return _in_all_forms(value for name, whole in found for value in _values(name, whole))


def _stored(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case dict() as members:
                for name, member in members.items():
                    if isinstance(member, str):
                        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", str(name))  # noqa: PLW2901 - apiKey as api_key
                        yield from _values(name, member, chosen=name.lower() in STORED_NAMES)
                    else:
                        waiting.append(member)
            case list() as members:
                waiting.extend(members)
            case _:
                pass


def _values(name: str, whole: str, *, chosen: bool = False) -> Iterator[str]:
    """The keys in the value of a variable; of one that is not `chosen`, if its name says that it holds some."""
    said = KEY_NAME.search(name)
    if said is None and not chosen:
        return
    # a header names its scheme before the key; a name in the plural may hold several
    parts = re.split(r"[\s,;]+", whole) if said and said[1] else [re.sub(r"^(?:Bearer|Basic)\s+", "", whole.strip())]
    yield from (part for part in (*parts, whole.strip()) if is_key(part))


def is_key(value: str) -> bool:
    """Whether a value can be a key, and is no word that stands for none, such as `ollama`: see `known_secrets`."""
    if len(value) < SHORTEST or len(set(value)) < FEWEST_SIGNS or REFERENCE.fullmatch(value):
        return False
    return len(value) >= LONGEST_WORD or WORDS.fullmatch(value) is None


def _is_file(value: str) -> bool:
    """Whether a value is the path of something that exists, rather than a key itself."""
    try:
        return os.sep in value and os.path.lexists(Path(value).expanduser())
    except RuntimeError:  # no such user's home
        return False


def _in_all_forms(values: Iterable[str]) -> tuple[str, ...]:
    forms = {form for value in values if not _is_file(value) for form in _forms(value)}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def _forms(value: str) -> Iterator[str]:
    """A key as it is, and as it is written in URLs, in JSON, and in Base64 among other bytes."""
    data = _bytes(value)
    yield value
    for quoted in (quote(data, safe=""), quote_plus(data)):
        yield quoted
        yield re.sub("%..", lambda found: found[0].lower(), quoted)
    for ascii_only in (True, False):
        escaped = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield escaped
        yield json.dumps(escaped, ensure_ascii=ascii_only)[1:-1]  # JSON within JSON, as in an error that is passed on
    for before in range(3):
        # The characters at either end mix the key's bits with its neighbours': they are left out.
        first, last = (before * 8 + 5) // 6, (before + len(data)) * 8 // 6
        for encode in (b64encode, urlsafe_b64encode):
            yield encode(b"\0" * before + data)[first:last].decode()


def _bytes(text: str) -> bytes:
    # what came from the environment may not be text, and what came from JSON may hold halves of pairs
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def mask(text: str, secrets: Iterable[str]) -> str:
    """Put `[key]` in place of every key in a text (pure).

    A part counts as well that begins or ends as the key does and is at least 12 characters long: texts are cut, and
    most of a key is not for others to see either.
    """
    if len(text) < SHORTEST:
        return text
    # most texts hold none, and lines of an agent's output come by the thousand
    found = [secret for secret in secrets if secret[:CUT] in text or secret[-CUT:] in text]
    if not found:
        return text
    spans = sorted(span for secret in found for span in _occurrences(text, secret))
    pieces, at = [], 0
    for start, end in _merged(spans):
        pieces += [text[at:start], MASK]
        at = end
    return "".join([*pieces, text[at:]])


def _occurrences(text: str, secret: str) -> Iterator[tuple[int, int]]:
    head, tail = secret[:CUT], secret[-CUT:]
    at = text.find(head)
    while at >= 0:
        yield at, at + _agreeing(text[at : at + len(secret)], secret)
        at = text.find(head, at + 1)
    end = text.find(tail) + len(tail)
    while end >= len(tail):
        before = text[max(0, end - len(secret)) : end]
        yield end - _agreeing(before[::-1], secret[::-1]), end
        end = text.find(tail, end - len(tail) + 1) + len(tail)


def _agreeing(one: str, other: str) -> int:
    """How many characters two texts have in common from their beginning."""
    return sum(1 for _ in takewhile(bool, map(eq, one, other)))


def _merged(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join spans that overlap; they come by their start."""
    held: tuple[int, int] | None = None
    for start, end in spans:
        if held is not None and start < held[1]:
            held = held[0], max(held[1], end)
            continue
        if held is not None:
            yield held
        held = start, end
    if held is not None:
        yield held


def mask_outcome(outcome: Outcome, secrets: Collection[str]) -> Outcome:
    """An outcome without keys in what others said: the note, command lines, names of models and files (pure)."""
    return replace(
        outcome,
        note=mask(outcome.note, secrets),
        leftovers=_all_masked(outcome.leftovers, secrets),
        models=_all_masked(outcome.models, secrets),
        not_kept=_all_masked(outcome.not_kept, secrets),
        services=_all_masked(outcome.services, secrets),
        user=None if outcome.user is None else replace(outcome.user, model=mask(outcome.user.model, secrets)),
    )


def mask_grade(grade: Grade, secrets: Collection[str]) -> Grade:
    """A grade without keys in what the check and the judge said (pure)."""
    check, judge = grade.check, grade.judge
    if check is not None:
        check = replace(check, notes=_all_masked(check.notes, secrets))
    if judge is not None:
        judge = judge.changed(partial(_mask_judge, secrets=secrets))
    return replace(grade, notes=_all_masked(grade.notes, secrets), check=check, judge=judge)


def _mask_judge(judge: JudgeGrade, secrets: Collection[str]) -> JudgeGrade:
    notes, reply = _all_masked(judge.notes, secrets), mask(judge.reply, secrets)
    return replace(judge, notes=notes, reply=reply, model=mask(judge.model, secrets))


def _all_masked(texts: Iterable[str], secrets: Collection[str]) -> tuple[str, ...]:
    return tuple(mask(text, secrets) for text in texts)


def mask_file(path: Path, secrets: Iterable[str]) -> int:
    """Put `*` in place of every byte of the keys in a file; return how many places that were. Blocks.

    The file keeps its size, and memory stays bounded. Nothing is done to a link and to what is no regular file; one
    that is missing holds no key. Call it when nobody writes there any more. Raises OSError when it can't be read or
    written; places that were found until then are masked.
    """
    patterns = {_bytes(secret) for secret in secrets}
    try:
        info = path.lstat()
        if not patterns or not stat.S_ISREG(info.st_mode):
            return 0
        if not info.st_mode & stat.S_IRUSR or not info.st_mode & stat.S_IWUSR:
            path.chmod(0o600)  # an agent can take that away from us
        number = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0
    with os.fdopen(number, "r+b", buffering=0) as file:
        places = 0
        for start, end in _merged(_spans_of(file, patterns)):
            os.pwrite(number, b"*" * (end - start), start)
            places += 1
    return places


def _spans_of(
    file: BinaryIO, patterns: Collection[bytes], *, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[tuple[int, int]]:
    """Where patterns lie in a file, by their start. Memory is bounded by `chunk_bytes`.

    The forms of a key or two are looked for at more than 100 MB/s, those of twenty at 10 to 60.
    """
    longest = max(map(len, patterns))
    held, offset = b"", 0
    while True:
        read = file.read(chunk_bytes)
        data = held + read
        # what begins later may go on in the next chunk, and waits for it
        ready = max(0, len(data) - longest + 1) if read else len(data)
        starts = ((start, pattern) for pattern in patterns for start in _starts(data, pattern) if start < ready)
        yield from sorted((offset + start, offset + start + len(pattern)) for start, pattern in starts)
        if not read:
            return
        held, offset = data[ready:], offset + ready


def _starts(data: bytes, pattern: bytes) -> Iterator[int]:
    at = data.find(pattern)
    while at >= 0:
        yield at
        at = data.find(pattern, at + 1)
