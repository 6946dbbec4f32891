"""What tasks need, out of the words for it."""

import pytest

from pinchbench.suite.prerequisite import Kind, parse_prerequisite


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("git", Kind.PROGRAM, "git"),
        ("cli:gh", Kind.PROGRAM, "gh"),
        (" CLI : gh ", Kind.PROGRAM, "gh"),
        ("command:g++", Kind.PROGRAM, "g++"),
        ("bin:/opt/x/tool", Kind.PROGRAM, "/opt/x/tool"),
        ("npm:@juppytt/fws", Kind.SERVER, "fws"),
        ("npm:@juppytt/fws@1.2.0", Kind.SERVER, "fws"),
        ("cli:fws", Kind.SERVER, "fws"),
        ("npm:@googleworkspace/cli", Kind.NPM, "@googleworkspace/cli"),
        ("npm:typescript@^5", Kind.NPM, "typescript"),
        ("pip:PyYAML>=6", Kind.PYTHON, "PyYAML"),
        ("python:pandas[excel] == 2.0", Kind.PYTHON, "pandas"),
        ("env:GITHUB_TOKEN", Kind.VARIABLE, "GITHUB_TOKEN"),
        ("module:yaml", Kind.MODULE, "yaml"),
        ("module:os.path", Kind.UNKNOWN, ""),
        ("python-version:3.12", Kind.PYTHON_VERSION, "3.12"),
        ("python-version:>=3.12", Kind.UNKNOWN, ""),
        ("GNU coreutils and findutils", Kind.UNKNOWN, ""),
        ("node 24", Kind.UNKNOWN, ""),
        ("python:3.12", Kind.UNKNOWN, ""),
        ("python>=3.10", Kind.UNKNOWN, ""),
        ("internet", Kind.UNKNOWN, ""),
        ("apt:ffmpeg", Kind.UNKNOWN, ""),
        ("cli:", Kind.UNKNOWN, ""),
        ("npm:../x", Kind.UNKNOWN, ""),
        ("", Kind.UNKNOWN, ""),
    ],
)
def test_a_prerequisite_has_a_kind_and_a_name(text: str, kind: Kind, name: str) -> None:
    found = parse_prerequisite(text)
    assert (found.kind, found.name, found.text) == (kind, name, text)
