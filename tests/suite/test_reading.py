"""Values of YAML mappings: their types, and the lines of those that have another."""

from pathlib import Path

import pytest
import yaml

from pinchbench.suite.reading import FieldReader
from pinchbench.suite.yaml_nodes import YamlNode, YamlTextError, read_yaml

TEXT = "text: a\nnumber: 3\nflag: true\nlist: [a, b]\nnothing: null\nother: 1\n"


def test_values_have_their_types_and_what_is_missing_its_default() -> None:
    root, reader = read_yaml(TEXT), FieldReader(path=Path("x"))
    assert root is not None
    fields = reader.mapping(root, "it", known=("text", "number", "flag", "list", "nothing"))
    assert [(one.line, one.reason) for one in reader.problems] == [
        (6, "`other` of it is not known: there are text, number, flag, list, nothing")
    ]
    assert (reader.text(fields, "text"), reader.text(fields, "nothing", "b")) == ("a", "b")
    assert (reader.whole(fields, "number", 1, low=0, high=5), reader.flag(fields, "flag", default=False)) == (3, True)
    assert reader.texts(fields, "list") == ("a", "b")
    assert (reader.items(fields, "gone"), reader.flag(fields, "gone", default=True)) == ((), True)


def test_values_of_another_type_are_problems_with_their_lines() -> None:
    root, reader = read_yaml(TEXT), FieldReader(path=Path("x"))
    assert root is not None
    fields = root.fields or {}
    reader.text(fields, "list")
    reader.whole(fields, "number", 1, low=4, high=5)
    reader.whole(fields, "flag", 1, low=0, high=5)
    reader.flag(fields, "text", default=False)
    reader.items(fields, "text")
    reader.mapping(fields["number"], "it", known=())
    assert [one.line for one in reader.problems] == [4, 2, 3, 1, 1, 2]


@pytest.mark.parametrize(
    "text",
    [
        "a: {b: [1, 'ü😀']}\nc: |\n  d\n e: 0600\n",
        "a: {b: [1, 'ü😀']}\nc: |\n  d\n",
        "a:\tb",
        "a: b\rc: d",
        "\ufeffa: 1\nb: 2",
        "- !\n- b",
        "a: [b",
        "[" * 1200 + "]" * 1200,
    ],
)
def test_a_text_is_read_alike_with_and_without_libyaml(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> YamlNode | tuple[str, int] | None:
        try:
            return read_yaml(text)
        except YamlTextError as error:
            return str(error), error.line

    usual = read()
    monkeypatch.setattr(yaml, "__with_libyaml__", False)

    assert read() == usual
