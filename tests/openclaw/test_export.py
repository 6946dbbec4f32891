"""What the authoritative read says about the place where OpenClaw worked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pinchbench.openclaw.export import elsewhere

if TYPE_CHECKING:
    from pathlib import Path


def test_a_link_to_the_workspace_is_not_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "link").symlink_to("workspace")
    assert elsewhere((str(tmp_path / "link"),), tmp_path / "workspace") == ""
    assert elsewhere((str(tmp_path / "link"), "/"), tmp_path / "workspace") == "/"


@pytest.mark.parametrize("cwd", ["a\0b", "{folder}/circle", "x" * 9000])
def test_a_place_that_cannot_be_is_elsewhere(tmp_path: Path, cwd: str) -> None:
    (tmp_path / "circle").symlink_to("circle")
    said = cwd.format(folder=tmp_path)
    assert elsewhere((said,), tmp_path) == said


def test_a_workspace_that_became_a_circle_of_links_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "workspace").symlink_to("workspace")
    assert elsewhere(("/",), tmp_path / "workspace") == "/"
