"""What differs between two runs of the same trial by its nature is normalised, and nothing else."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.wire.normalise import Normaliser

TODAY = date(2026, 11, 23)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[Mon 2026-11-23 01:50 UTC] Hello", "[Tue 2026-11-24 23:59 UTC] Hello"),
        ("at 2026-11-23T01:50:03.123Z.", "at 2026-11-22T11:00:00+01:00."),
        ("Mon, 23 Nov 2026 01:50:00 GMT", "Tue, 24 Nov 2026 02:00:00 GMT"),
        ("-rw-r--r-- 1 a a 5 Nov 23 01:50 x", "-rw-r--r-- 1 a a 5 Nov 24 10:50 x"),
        ("today is 2026-11-23", "today is 2026-11-24"),
        ("task_04_1795428585033_3", "task_04_1795428883690_3"),
        ("00-68335dad77dc878f73b32c3a1eaf220d-f4a5761b8d4d4daa-01", "00-" + "0" * 32 + "-" + "1" * 16 + "-00"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-E89B-12d3-a456-426614174000"),
        ("http://127.0.0.1:43435/v1 localhost:80", "http://127.0.0.1:9/v1 localhost:8080".replace(":9/", ":99/")),
        ("Ran 42 tests in 0.012s", "Ran 42 tests in 1.3s"),
        ("real 0m0.123s", "real 1m2.003s"),
        ("started (pid 71)", "started (pid 45678)"),
        ('"configRevision": "sha256:bMIru8X-zt_Z="', '"configRevision": "sha256:AkieCCROe3vc"'),
        ("in /tmp/r/1/.homes/slot-2/state/x", "in /var/other/.homes/gateway/state/x"),
        ("session agent:bench-a:explicit:task_1 ended", "session agent:bench-a-3:main ended"),
        (
            "Runtime: agent=a | session=agent:a:b | sessionId=t_1 | host=vm | os=Linux 6 (x64) | node=v24",
            "Runtime: name=a | agent=a-2 | session=agent:a-2:c | sessionId=t_2 | host=b | os=Linux 7 (x64) | node=v24",
        ),
        ("see /work/one/file", "see /other/file"),
        (r'{"content":"a\n/work/one/x"}', r'{"content":"a\n/other/x"}'),
    ],
)
def test_what_varies_is_the_same(one: str, other: str) -> None:
    first = Normaliser(today=TODAY, places={"/work/one": "<workspace>", "/work": "<root>"})
    second = Normaliser(today=TODAY, places={"/other": "<workspace>"})

    assert first.text(one) == second.text(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("due 2026-06-18", "due 2026-06-19"),
        ("at 2020-01-01T10:00:00Z", "at 2020-01-01T10:00:01Z"),
        ("at 1400000000", "at 1400000001"),
        ("9999-99-99", "9999-99-98"),
        ("12 files", "13 files"),
        ("port 8080", "port 8081"),
        ("version 1.2.3", "version 1.2.4"),
        ("/work/one1", "/a/work/one"),
        ("Runtime: model=a", "Runtime: model=b"),
        ("Mon, 23 Nov 1999 01:50:00 GMT", "Mon, 23 Nov 1999 01:50:01 GMT"),
    ],
)
def test_what_a_task_says_is_not(one: str, other: str) -> None:
    normaliser = Normaliser(today=TODAY, places={"/work/one": "<workspace>"})

    assert normaliser.text(one) == one
    assert normaliser.text(other) == other


def test_the_days_of_a_simulated_clock_count_as_today() -> None:
    normaliser = Normaliser(today=TODAY, simulated_days=(date(2026, 3, 2), date(2026, 3, 9)))

    seen = [normaliser.text(f"at 2026-{day}T07:30:12Z") for day in ("02-28", "03-01", "03-05", "03-10", "03-11")]
    assert seen == ["at 2026-02-28T07:30:12Z", "at <time>", "at <time>", "at <time>", "at 2026-03-11T07:30:12Z"]
    assert normaliser.text(f"at {TODAY}T07:30:12Z") == "at <time>"


@given(st.text())
def test_any_text_is_normalised_and_once_is_enough(text: str) -> None:
    normaliser = Normaliser(today=TODAY)
    once = normaliser.text(text)

    assert normaliser.text(once) == once
