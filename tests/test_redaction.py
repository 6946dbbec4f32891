"""Keys: what counts as one, and that nothing of it is left in a text or a file, however it was written and cut."""

import json
import os
import random
import re
import stat
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.model.ending import Reason
from pinchbench.model.grade import CheckGrade, Grade, JudgeGrade
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.redaction import (
    CHUNK_BYTES,
    CUT,
    MASK,
    _spans_of,
    known_secrets,
    mask,
    mask_file,
    mask_grade,
    mask_outcome,
    secrets_in,
    secrets_in_dotenv,
)

KEY = "sk-Ab3dE6gH9jK2mN5pQ8sT1vW4yZ7"
OTHER = "xoxb-00112233-fedcba"
ODD = 'p@ss/w0rd+"quoted\\ é='


def _known(**env: str) -> tuple[str, ...]:
    return known_secrets(env)


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "key", "HF_TOKEN", "Github-Token", "AWS_SECRET", "DB_PASSWORD", "AZURE_CREDENTIALS"),
        *("GEMINI_API_KEYS", "GEMINI_API_KEY_2", "WATSONX_APIKEY"),
    ],
)
def test_a_variable_whose_name_ends_in_a_word_for_a_key_holds_one(name: str) -> None:
    assert KEY in _known(**{name: KEY})


@pytest.mark.parametrize("name", ["MONKEY", "KEYBOARD", "TOKENIZER", "API_KEY_FILE", "SECRET_NAME", "PATH", "XTOKEN"])
def test_a_variable_of_another_name_holds_none(name: str) -> None:
    assert _known(**{name: KEY}) == ()


@pytest.mark.parametrize(
    "value",
    [
        *("", "true", "EMPTY", "1234567", "disabled", "not-needed", "NOT_NEEDED", "lm-studio", "No-Key-Required"),
        *("128000000", "*" * 20, "x" * 28, "${OPENAI_API_KEY}"),
    ],
)
def test_what_only_stands_for_a_key_is_none(value: str) -> None:
    assert _known(OPENAI_API_KEY=value) == ()
    assert known_secrets({"MINE": value}, ["MINE"]) == ()


@pytest.mark.parametrize("value", ["abcdefg1", "abcdefghijklmnopqrstuvwx", "12345678901234567890", "/not/a/path/2x"])
def test_what_may_be_a_key_is_one(value: str) -> None:
    assert value in _known(OPENAI_API_KEY=value)


def test_the_path_of_a_file_is_no_key_and_what_is_read_as_a_path_but_leads_nowhere_is_one(tmp_path: Path) -> None:
    file = tmp_path / "service-account-1.json"
    nowhere = str(tmp_path / "nowhere")
    assert nowhere in _known(GOOGLE_CREDENTIALS=str(file), NOWHERE_KEY=nowhere, NOBODY_KEY="~nobody1/of/that/name")
    file.touch()
    assert _known(GOOGLE_CREDENTIALS=str(file)) == ()


def test_each_of_several_keys_in_one_variable_is_known_and_a_space_around_one_is_not_part_of_it() -> None:
    known = _known(GEMINI_API_KEYS=f"{KEY}, {OTHER}", HF_TOKEN="  hf_1234567890\n")
    assert {KEY, OTHER, "hf_1234567890"} <= set(known)


def test_the_longest_comes_first_and_the_order_is_always_the_same() -> None:
    known = _known(A_KEY=OTHER, B_KEY=ODD, C_KEY=KEY)
    assert [len(one) for one in known] == sorted(map(len, known), reverse=True)
    assert known == _known(C_KEY=KEY, B_KEY=ODD, A_KEY=OTHER)
    assert len(set(known)) == len(known)


def test_keys_are_found_in_stored_settings_however_deep_and_however_their_names_are_written() -> None:
    stored = {
        "models": {
            "providers": {"a": {"apiKey": "api-1111", "baseUrl": "http://localhost-2222", "api": "openai-3333"}}
        },
        "env": {"vars": {"ANTHROPIC_API_KEY": "env-4444", "HOME": "/home/me-5555"}},
        "headers": [{"Authorization": "Bearer head-6666", "x-api-key": "head-7777"}],
        "profiles": {"a:b": {"type": "oauth", "access": "acc-8888", "refresh": "ref-9999", "expires": 123456789012345}},
        "channels": {"botToken": "bot-0000", "maxTokens": 4096, "apiKeyRef": {"source": "env", "id": "SOME_KEY_1"}},
        "key": None,
        "secret": "${MY_SECRET}",
        "token": ["in-a-list-1"],
    }
    keys = {"api-1111", "env-4444", "head-6666", "head-7777", "acc-8888", "ref-9999", "bot-0000"}
    text = json.dumps(stored)
    known = secrets_in(stored)
    assert keys <= set(known)
    masked = mask(text, known)
    assert not [key for key in keys if key in masked]
    for left in ("localhost-2222", "openai-3333", "me-5555", "123456789012345", "SOME_KEY_1", "MY_SECRET", "in-a-list"):
        assert left in masked


def test_keys_are_found_in_the_text_of_a_dotenv_file() -> None:
    text = (
        "# notes\nexport A_KEY='one 1 key'\nB_TOKEN = \"two-2-key\" # mine\nC_SECRET=three-3-key # "
        "no\nNAME=four-4-key\n"
    )
    known = secrets_in_dotenv(text)
    assert {"one 1 key", "two-2-key", "three-3-key"} <= set(known)
    assert "four-4-key" not in known


@pytest.mark.parametrize(
    "write",
    [
        str,
        lambda key: quote(key, safe=""),
        lambda key: re.sub("%..", lambda found: found[0].lower(), quote(key, safe="")),
        quote_plus,
        json.dumps,
        lambda key: json.dumps(key, ensure_ascii=False),
        lambda key: json.dumps({"error": json.dumps({"message": key})}),
        lambda key: f"Basic {b64encode(f'user:{key}'.encode()).decode()}",
        lambda key: f"Basic {b64encode(f'me:{key}'.encode()).decode()}",
        lambda key: f"Basic {b64encode(f'a:{key}:b'.encode()).decode()}",
        lambda key: b64encode(key.encode()).decode(),
    ],
)
@pytest.mark.parametrize("key", [KEY, ODD, "{1}<2>&3?4"])
def test_a_key_is_masked_in_whatever_form_it_is_written(write: object, key: str) -> None:
    assert callable(write)
    text = write(key)
    masked = mask(f"said: {text}.", _known(A_KEY=key))
    assert MASK in masked
    # of Base64, the characters that a key shares with its neighbours may stay
    assert len(masked) - len(f"said: {MASK}.") <= len(text) - len(key) + 4


def test_a_key_that_is_no_text_is_masked(tmp_path: Path) -> None:
    raw = b"sk-\xff\xfe\x80-1234567"
    known = known_secrets({"A_KEY": os.fsdecode(raw)})
    assert mask(f"<{os.fsdecode(raw)}>", known) == f"<{MASK}>"
    (tmp_path / "log").write_bytes(b"<" + raw + b">")
    assert mask_file(tmp_path / "log", known) == 1
    assert (tmp_path / "log").read_bytes() == b"<" + b"*" * len(raw) + b">"
    assert secrets_in({"key": "half \ud83d of a pair"})


@given(start=st.integers(0, len(KEY) - CUT), end=st.integers(CUT, len(KEY)))
def test_a_key_that_was_cut_is_masked_if_much_of_it_is_left(start: int, end: int) -> None:
    known = [KEY]
    assert mask(f"refused: {KEY[:end]}… said the server", known) == f"refused: {MASK}… said the server"
    assert mask(f"failed: …{KEY[start:]} is wrong", known) == f"failed: …{MASK} is wrong"


@given(
    keys=st.lists(st.text("abAB", min_size=8, max_size=14), min_size=1, max_size=4),
    text=st.text("abAB", max_size=200),
    chunk_bytes=st.integers(1, 40),
)
def test_nothing_of_a_key_is_left_and_nothing_else_is_touched_wherever_chunks_end(
    keys: list[str], text: str, chunk_bytes: int
) -> None:
    covered = {
        place
        for key in keys
        for at in range(len(text))
        if text.startswith(key, at)
        for place in range(at, at + len(key))
    }
    spans = list(_spans_of(BytesIO(text.encode()), {key.encode() for key in keys}, chunk_bytes=chunk_bytes))
    assert {place for start, end in spans for place in range(start, end)} == covered
    assert spans == sorted(spans, key=lambda span: span[0])
    assert not [key for key in keys if key in mask(text, keys)]


def test_keys_in_a_file_become_stars_and_everything_else_stays_where_it_is(tmp_path: Path) -> None:
    file = tmp_path / "stderr.log"
    file.write_text(f"one {KEY}\ntwo {OTHER}{OTHER} é\n", encoding="utf-8")
    assert mask_file(file, _known(A_KEY=KEY, B_KEY=OTHER)) == 3
    assert file.read_text("utf-8") == f"one {'*' * len(KEY)}\ntwo {'*' * 2 * len(OTHER)} é\n"
    assert mask_file(file, _known(A_KEY=KEY, B_KEY=OTHER)) == 0


@pytest.mark.parametrize("before", [0, 1, CHUNK_BYTES - 5, CHUNK_BYTES, 2 * CHUNK_BYTES + len(KEY) - 3])
def test_a_key_among_bytes_is_found_across_the_border_of_two_chunks_and_at_the_very_end(
    tmp_path: Path, before: int
) -> None:
    chance = random.Random(before)
    first, between = chance.randbytes(before), chance.randbytes(3 * CHUNK_BYTES)
    file = tmp_path / "log"
    file.write_bytes(KEY.encode().join((first, between, b"")))
    assert mask_file(file, _known(A_KEY=KEY, B_KEY=OTHER)) == 2
    assert file.read_bytes() == (b"*" * len(KEY)).join((first, between, b""))


def test_a_file_that_is_missing_empty_or_meant_for_nobody_holds_no_key(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "log").write_text(KEY)
    assert mask_file(tmp_path / "missing", [KEY]) == 0
    assert mask_file(tmp_path / "no folder" / "missing", [KEY]) == 0
    assert mask_file(tmp_path / "empty", [KEY]) == 0
    assert mask_file(tmp_path / "log", []) == 0
    assert (tmp_path / "log").read_text() == KEY


def test_links_and_what_is_no_file_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text(KEY)
    (tmp_path / "link").symlink_to("mine")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "."):
        assert mask_file(tmp_path / name, [KEY]) == 0
    assert (tmp_path / "mine").read_text() == KEY
    assert (tmp_path / "link").is_symlink()


def test_a_file_that_its_agent_made_unreadable_is_masked(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text(KEY)
    file.chmod(0)
    assert mask_file(file, [KEY]) == 1
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text() == "*" * len(KEY)


def test_an_outcome_keeps_everything_but_its_keys() -> None:
    outcome = Outcome(
        key=TrialKey(task_id="task_a", repetition=1),
        reason=Reason.PROVIDER_ERROR,
        digest="d",
        note=f"401 Incorrect API key provided: {KEY}",
        leftovers=(f"curl -H 'Bearer {KEY}'", "sleep 9"),
        models=(f"mock/{KEY}",),
        not_kept=(f"{KEY}.txt is too large.",),
        workspace="/tmp/w",
    )
    masked = mask_outcome(outcome, [KEY])
    assert masked.note == f"401 Incorrect API key provided: {MASK}"
    assert masked.leftovers == (f"curl -H 'Bearer {MASK}'", "sleep 9")
    assert masked.models == (f"mock/{MASK}",)
    assert KEY not in repr(masked)
    assert (masked.key, masked.reason, masked.workspace) == (outcome.key, outcome.reason, outcome.workspace)
    assert mask_outcome(masked, [KEY]) == masked


def test_a_grade_keeps_everything_but_its_keys() -> None:
    said = (f"found {KEY}", "fine")
    grade = Grade(
        key=TrialKey(task_id="task_a", repetition=1),
        grading_type=GradingType.HYBRID,
        score=0.5,
        notes=said,
        check=CheckGrade(score=0.5, notes=said),
        judge=JudgeGrade(score=0.5, notes=said, reply=f"I saw {KEY}", model=KEY),
    )
    masked = mask_grade(grade, [KEY])
    assert KEY not in repr(masked)
    assert masked.notes == (f"found {MASK}", "fine")
    assert masked.score == 0.5
    assert mask_grade(Grade(key=grade.key, grading_type=GradingType.HYBRID, notes=said), [KEY]).notes == masked.notes
