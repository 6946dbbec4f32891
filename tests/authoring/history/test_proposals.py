"""What a conversation settles: corrections, kept files, repaired tests, thanks; and nothing else."""

import pytest

from history_states import Said, conversation
from pinchbench.authoring.history.proposals import Proposal, is_only_thanks, proposals_of
from pinchbench.authoring.history.rebuild import LeftFile, Restored


def proposed(
    *turns: Said,
    files: dict[str, bytes] | None = None,
    kept: dict[str, bytes] | None = None,
    lost: dict[str, bytes] | None = None,
    writes: tuple[dict[str, bytes], ...] = (),
) -> tuple[Proposal, ...]:
    left = {
        path: LeftFile(data=data, evidence="it is the same today", is_kept=True) for path, data in (kept or {}).items()
    }
    left |= {path: LeftFile(data=data, evidence="it was removed", is_kept=False) for path, data in (lost or {}).items()}
    padded = (*writes, *({},) * (len(turns) - len(writes)))
    restored = Restored(files=files or {}, left=left, writes=padded, lost={}, used=0)
    return proposals_of(conversation(turns, cwd="/w"), restored)


@pytest.mark.parametrize(
    ("path", "text", "form"),
    [("a.json", '{"n": 1}', "json"), ("a.csv", "a,b\n1,2\n", "rows"), ("count.txt", "42\n", "line")],
)
def test_a_kept_file_with_one_right_content_is_compared(path: str, text: str, form: str) -> None:
    (one,) = proposed(Said(prompt="Go"), kept={path: text.encode()})

    assert one.point == {"kind": "same", "path": path, "form": form, "expected": text}
    assert one.evidence == "You kept it: it is the same today."


@pytest.mark.parametrize("text", ["Dear Ada,\n\nthe boat leaves at nine.\n", "x" * 500])
def test_kept_prose_is_for_a_judge(text: str) -> None:
    (one,) = proposed(Said(prompt="Go"), kept={"letter.md": text.encode()})

    assert (one.point, one.reference) == ({}, text)


def test_what_the_model_only_did_settles_nothing() -> None:
    assert proposed(Said(prompt="Go"), lost={"a.txt": b"1"}) == ()
    assert proposed(Said(prompt="Is it 7?", answer="Yes")) == ()
    assert proposed(Said(prompt="Go"), kept={"a.bin": b"\x00\x01"}) == ()


def test_a_fact_of_a_correction_that_the_file_had_only_then_is_checked() -> None:
    turns = (Said(prompt="Sum the orders"), Said(prompt="No: it is 122.40 euros, for 'Ada Lovelace', on page 9"))
    writes = ({"sum.txt": b"130 euros"}, {"sum.txt": b"122.40 euros for Ada Lovelace"})

    found = proposed(*turns, writes=writes, lost={"sum.txt": b"122.40 euros for Ada Lovelace"})

    assert sorted(str(one.point["text"]) for one in found) == ["122.40", "Ada Lovelace"]
    assert found[0].evidence == "You corrected it: “No: it is 122.40 euros, for 'Ada Lovelace', on page 9”"


def test_a_fact_that_was_there_before_or_is_gone_at_the_end_is_not_checked() -> None:
    turns = (Said(prompt="Sum"), Said(prompt="It is 12 and 13"))
    writes = ({"sum.txt": b"12"}, {"sum.txt": b"12 13"})

    assert proposed(*turns, writes=writes, lost={"sum.txt": b"12 14"}) == ()


def command(text: str, result: str) -> tuple[str, dict[str, object], str]:
    return ("exec", {"command": text}, result)


def test_tests_that_failed_first_and_passed_at_the_end_are_run() -> None:
    calls = [command("python3 -m pytest tests", "1 failed"), command("python3 -m pytest tests", "3 passed")]
    files = {"tests/test_a.py": b"t", "a.py": b"a", "tests/test_b.py": b"b"}

    (one,) = proposed(
        Said(prompt="Repair it", calls=calls),
        files=files,
        kept={"a.py": b"long\nsource\n", "tests/test_b.py": b"b2\n\n"},
    )[:1]

    assert one.point == {
        "kind": "tests",
        "command": ["python3", "-m", "pytest", "tests"],
        "unchanged": ["tests/test_a.py"],
    }


@pytest.mark.parametrize(
    "calls",
    [
        [command("pytest", "3 passed")],
        [command("pytest", "3 passed"), command("pytest", "1 failed")],
        [command("pytest; rm -rf ~", "1 failed"), command("pytest; rm -rf ~", "3 passed")],
        [command("./check.sh", "1 failed"), command("./check.sh", "ok")],
    ],
)
def test_other_commands_are_never_run(calls: list[tuple[str, dict[str, object], str]]) -> None:
    assert proposed(Said(prompt="Repair it", calls=calls)) == ()


def test_a_judge_compares_source_only_where_no_test_does() -> None:
    calls = [command("pytest", "1 failed"), command("pytest", "3 passed")]

    found = proposed(Said(prompt="Repair it", calls=calls), kept={"a.py": b"def f():\n    return 1\n"})

    assert [bool(one.reference) for one in found] == [False]


def test_an_answer_that_the_user_thanked_for_is_a_judges_reference() -> None:
    (one,) = proposed(Said(prompt="When?", answer="On Monday."), Said(prompt="Perfect, thanks!", answer="Welcome."))

    assert one.reference == "On Monday."
    assert one.evidence == "You answered: “Perfect, thanks!”"


def test_a_last_message_that_only_thanks_asks_for_nothing() -> None:
    one = conversation([Said(prompt="Go"), Said(prompt="Thanks!")], cwd="/w")
    again = conversation([Said(prompt="Go"), Said(prompt="Thanks! Now b", calls=[command("ls", "")])], cwd="/w")

    assert is_only_thanks(one.turns[-1])
    assert not is_only_thanks(again.turns[-1])
