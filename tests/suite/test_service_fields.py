"""The services of a task's head: what they become, and what is wrong with them, with its line."""

from pathlib import Path

import pytest

from made_tasks import task_text
from pinchbench.errors import SuiteError
from pinchbench.model.task_programs import Service
from pinchbench.suite.loading import load_suite, read_suite
from suite_packs import put

HEAD = """
    id: task_a
    {more}services:
      - {{name: db, command: [./db], port: 9000}}
      - {service}
"""
FORGE = "{name: forge, command: [python3, forge.py], folder: forge, port: 8020, ready: /health, limit: 5, env: {A: 1}}"


def write(folder: Path, service: str = FORGE, more: str = "") -> Path:
    put(folder / "assets" / "forge" / "forge.py", "print()\n")
    (folder / "assets" / "plain.txt").write_text("x", encoding="utf-8")
    (folder / "task_a.md").write_text(task_text(HEAD.format(service=service, more=more)), encoding="utf-8")
    return folder


def test_services_are_read_and_their_folders_found_and_part_of_the_digest(tmp_path: Path) -> None:
    [task] = load_suite(write(tmp_path)).suite.tasks
    assert task.services == (
        Service(name="db", command=("./db",), port=9000),
        Service(
            name="forge",
            command=("python3", "forge.py"),
            port=8020,
            folder=(tmp_path / "assets" / "forge").resolve(),
            ready="/health",
            limit_s=5.0,
            env={"A": "1"},
        ),
    )
    put(tmp_path / "assets" / "forge" / "forge.py", "print(1)\n")
    [changed] = load_suite(tmp_path).suite.tasks
    assert changed.digest != task.digest


@pytest.mark.parametrize(
    ("service", "reason"),
    [
        ("web", "a service must be a mapping"),
        ("{name: Web, command: [a], port: 8020}", "`name` of a service must be"),
        ("{command: [a], port: 8020}", "`name` of a service must be"),
        ("{name: db, command: [a], port: 8020}", "two services have the name 'db'"),
        ("{name: web, command: python3 a.py, port: 8020}", "`command` must be a list of texts"),
        ("{name: web, command: [[a]], port: 8020}", "`command` must be a list of texts"),
        ("{name: web, port: 8020}", "`command` must be a list of texts"),
        ("{name: web, command: [a]}", "`port` must be a whole number from 1024"),
        ("{name: web, command: [a], port: 80}", "`port` must be a whole number from 1024"),
        ("{name: web, command: [a], port: true}", "`port` must be a whole number from 1024"),
        ("{name: web, command: [a], port: 9000}", "two services have the port 9000"),
        ("{name: web, command: [a], port: 18080}", "the port 18080 is the one of the model"),
        ("{name: web, command: [a], port: 8020, ready: health}", "`ready` must be the path of a URL"),
        ("{name: web, command: [a], port: 8020, ready: '/a b'}", "`ready` must be the path of a URL"),
        ("{name: web, command: [a], port: 8020, limit: 0}", "`limit` must be a number of seconds"),
        ("{name: web, command: [a], port: 8020, limit: soon}", "`limit` must be a number of seconds"),
        ("{name: web, command: [a], port: 8020, env: [A]}", "`env` must map names to texts"),
        ("{name: web, command: [a], port: 8020, folder: ../x}", "`folder` '../x' holds `..`"),
        ("{name: web, command: [a], port: 8020, folder: gone}", "the source 'gone' is missing"),
        ("{name: web, command: [a], port: 8020, folder: plain.txt}", "'plain.txt' is not a folder"),
        ("{name: web, command: [a], port: 8020, reday: /}", "`reday` has no meaning here: did you mean `ready`?"),
        ("{name: web, command: [a], port: 8020, user: me}", "`user` of a service is not known"),
    ],
)
def test_what_is_wrong_with_a_service_is_reported_with_its_line(tmp_path: Path, service: str, reason: str) -> None:
    problems = read_suite(write(tmp_path, service)).problems
    assert [(one.path.name, one.line) for one in problems if reason in one.reason] == [("task_a.md", 5)], problems


def test_services_and_an_open_network_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="can't have `network: true`"):
        load_suite(write(tmp_path, more="network: true\n    "))
