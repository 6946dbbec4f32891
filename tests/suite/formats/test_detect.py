"""Which reader gets a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pinchbench.defaults import SuiteFormat
from pinchbench.suite.formats.detect import find_reader, reader_of
from suite_packs import put, write_qwenclaw, write_wildclaw

if TYPE_CHECKING:
    from pathlib import Path

TASK = "---\nid: task_a\ngrading_type: llm_judge\n---\n## Prompt\nHi\n"


@pytest.mark.parametrize("name", list(SuiteFormat))
def test_every_format_has_a_reader(name: SuiteFormat) -> None:
    assert reader_of(name).format is name


def test_a_folder_of_task_files_is_pinchbenchs_whatever_lies_below_it(tmp_path: Path) -> None:
    put(tmp_path / "task_a.md", TASK)
    write_wildclaw(tmp_path)
    reader, folder = find_reader(tmp_path, None)
    assert (reader.format, folder) == (SuiteFormat.PINCHBENCH, tmp_path)


def test_an_empty_folder_is_pinchbenchs(tmp_path: Path) -> None:
    assert find_reader(tmp_path, None)[0].format is SuiteFormat.PINCHBENCH


def test_of_two_packs_in_a_checkout_none_is_chosen(tmp_path: Path) -> None:
    tasks = write_qwenclaw(tmp_path)
    (tasks.parents[1] / "pack-v2" / "tasks").mkdir(parents=True)
    assert find_reader(tmp_path, None)[1] == tmp_path
    assert find_reader(tasks.parent, None)[1] == tasks


def test_a_format_that_is_named_is_read_in_the_folder_that_has_it(tmp_path: Path) -> None:
    tasks = write_wildclaw(tmp_path)
    assert find_reader(tmp_path, SuiteFormat.WILDCLAW)[1] == tasks
    assert find_reader(tmp_path, SuiteFormat.QWENCLAW)[1] == tmp_path
