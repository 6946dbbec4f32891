"""Files in folders in which others can place anything: nothing but regular files is opened, and no link is followed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pinchbench.files.beneath import is_regular, link_regular, open_regular


def _link(place: Path) -> None:
    place.symlink_to("/proc/self/environ")


def _relative_link(place: Path) -> None:
    place.symlink_to(Path("..", "..", "outside"))


def _folder_that_is_a_link(place: Path) -> None:
    place.parent.rename(place.parents[1] / "moved")
    place.parent.symlink_to("moved")
    (place.parents[1] / "moved" / place.name).write_bytes(b"moved")


PLACED = [_link, _relative_link, _folder_that_is_a_link, os.mkfifo, Path.mkdir]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "outside").write_bytes(b"outside")
    (tmp_path / "home" / "folder").mkdir(parents=True)
    return tmp_path / "home" / "folder" / "file"


@pytest.mark.parametrize("put", PLACED, ids=lambda put: put.__name__.strip("_"))
def test_nothing_else_than_a_regular_file_is_opened_or_linked(
    tmp_path: Path, place: Path, put: Callable[[Path], None]
) -> None:
    put(place)
    with pytest.raises(OSError):  # noqa: PT011 - each has its own number
        open_regular(place, within=tmp_path / "home")
    assert not is_regular(place, within=tmp_path / "home")
    try:
        linked = link_regular(place, tmp_path / "copy", within=tmp_path / "home")
    except PermissionError:  # no hard link to a folder
        linked = False
    assert not linked
    assert not os.path.lexists(tmp_path / "copy")


def test_a_regular_file_is_opened_and_linked_by_a_user_whose_own_path_has_links(tmp_path: Path, place: Path) -> None:
    place.write_bytes(b"kept")
    (tmp_path / "home_of_user").symlink_to("home")
    seen_as = tmp_path / "home_of_user" / "folder" / "file"
    with open_regular(seen_as, within=tmp_path / "home_of_user") as file:
        assert file.read() == b"kept"
    for _ in range(2):  # what had the name before gives way
        assert link_regular(seen_as, tmp_path / "copy", within=tmp_path / "home_of_user")
    assert (tmp_path / "copy").samefile(place)


def test_a_path_does_not_lead_out_of_its_folder(tmp_path: Path, place: Path) -> None:
    with pytest.raises(OSError, match="leads out"):
        open_regular(place.parent / ".." / ".." / "outside", within=tmp_path / "home")
