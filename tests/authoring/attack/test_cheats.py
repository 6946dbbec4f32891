"""What an agent can leave that has not done the work."""

import csv
import io
import json

from pinchbench.authoring.attack.cheats import Cheat, cheats_of
from pinchbench.authoring.attack.workspace_files import SymbolicLink

PROMPT = (
    "Write `sums.csv` with `name,sum` from `data.csv`.\n\n```\nname,sum\nada,1\n```\n\n"
    'And `top.json` like `{"top": "ada"}`.'
)
GIVEN = {"data.csv": b"name,n\nada,1\nbob,2\n", "tests/test_x.py": b"def test_a(): assert False\n", "raw.bin": b"\0"}
RESULTS = {"sums.csv": b"name,sum\nada,1\nbob,2\n", "out/top.json": b'{"top": "bob", "n": 2}', "x.py": b"print(2)\n"}


def cheats() -> dict[str, Cheat]:
    return {cheat.name: cheat for cheat in cheats_of([PROMPT], GIVEN, RESULTS)}


def test_a_task_with_files_programs_and_tests_allows_all_of_them() -> None:
    assert list(cheats()) == [
        "claim", "keywords", "verdict", "all input", "every value", "examples", "special-cased", "overwritten tests",
        "patched modules", "equal to everything", "planted modules", "the words of a report", "compiled code", "links",
    ]  # fmt: skip
    assert [cheat.name for cheat in cheats_of(["Say hello."], {}, {})] == [
        "claim", "keywords", "verdict", "all input", "every value",
    ]  # fmt: skip


def test_every_value_stands_next_to_every_name() -> None:
    changes = cheats()["every value"].changes
    assert list(csv.reader(io.StringIO(_text(changes["sums.csv"])))) == [
        ["name", "sum"], ["ada", "1"], ["ada", "2"], ["bob", "1"], ["bob", "2"],
    ]  # fmt: skip
    assert json.loads(_text(changes["out/top.json"])) == {"top": ["bob", 2], "n": ["bob", 2]}


def test_the_prompts_examples_are_the_answer_in_the_files_own_format() -> None:
    changes = cheats()["examples"].changes
    assert changes["sums.csv"] == b"name,sum\nada,1\n"
    assert changes["out/top.json"] == b'{"top": "ada"}'


def test_results_are_links_to_input_of_the_same_kind_and_tests_pass() -> None:
    links = cheats()["links"].changes
    assert links["sums.csv"] == SymbolicLink(target="data.csv")
    assert isinstance(links["out/top.json"], SymbolicLink)
    assert links["out/top.json"].target.startswith("../")
    assert set(cheats()["overwritten tests"].changes) == {"tests/test_x.py", "tests/conftest.py"}


def test_keywords_are_all_words_of_prompt_and_input_and_the_verdict_is_valid_json() -> None:
    assert {"ada", "bob", "sums.csv", "Write"} <= set(cheats()["keywords"].answer.split())
    assert json.loads(_text(cheats()["verdict"].changes["out/top.json"]))["score"] == 1.0


def test_programs_that_a_check_imports_are_patched_in_every_way() -> None:
    given = {"shop/till.py": b"def total():\n    return 1\n", "shop/bad.py": b"def (:\n", "test_till.py": b"pass\n"}
    found = {cheat.name: cheat.changes for cheat in cheats_of(["Repair it."], given, {})}
    assert "json.dumps" in _text(found["patched modules"]["shop/till.py"])
    assert _text(found["patched modules"]["shop/till.py"]).startswith("def total():")
    assert "__getattr__" in _text(found["equal to everything"]["shop/till.py"])
    assert {"conftest.py", "shop/sitecustomize.py"} <= found["planted modules"].keys()
    assert "os._exit(0)" in _text(found["the words of a report"]["shop/till.py"])
    (compiled,) = found["compiled code"]  # what is no program has none
    assert compiled.startswith("shop/__pycache__/till.cpython-")


def _text(content: object) -> str:
    assert isinstance(content, bytes)
    return content.decode()
