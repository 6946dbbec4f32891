"""Background services of clawbench Core: ports, addresses, and what stands for them."""

from pathlib import Path

import pytest

from core_pack import write_clawbench_core
from pinchbench.model.task import Task
from pinchbench.suite.loading import load_suite, read_suite

SERVICES = """background_services:
        - name: docs
          command: "jq . x.json && python3 serve.py --root {workspace} --url {docs_url}"
          cwd: data
          env: {SELF: "{docs_port}"}
          port_env: DOCS_PORT
          ready_path: /health
          startup_timeout_seconds: 30
        - {name: plain, command: "{python_exe} -m x {docs_url}", port: 9000, url_template: null}
        - {name: deep, command: python3 x.py, url_template: "http://localhost:{port}/app", ready_path: up}"""


def task(folder: Path) -> Task:
    path = write_clawbench_core(folder) / "tier1" / "t1-note.yaml"
    text = path.read_text("utf-8").replace("background_services: []", SERVICES)
    text = text.replace("Is that all?", "Is {docs_url} all of {docs_port} and {deep_url}?")
    path.write_text(text, encoding="utf-8")
    return load_suite(path.parent.parent).suite.by_id["t1-note"]


def test_services_work_in_the_workspace_with_ports_that_are_free_in_any_trial(tmp_path: Path) -> None:
    docs, plain, deep = task(tmp_path).services
    command = "jq . x.json && python3 serve.py --root /workspace --url http://127.0.0.1:18101"
    assert docs.command == ("sh", "-c", command)
    assert (docs.port, docs.folder, docs.cwd, docs.ready, docs.limit_s) == (18101, None, "data", "/health", 30)
    assert docs.env == {"SELF": "18101", "DOCS_PORT": "18101"}
    assert (plain.port, plain.ready, plain.limit_s) == (9000, "", 20)
    assert plain.command[-1] == "python3 -m x http://127.0.0.1:18101"
    assert (deep.port, deep.ready) == (18102, "/app/up")


def test_messages_name_the_ports_and_addresses_and_programs_are_prerequisites(tmp_path: Path) -> None:
    found = task(tmp_path)
    assert found.turns[1].prompt == "Is http://127.0.0.1:18101 all of 18101 and http://localhost:18102/app?"
    assert "cli:jq" in found.prerequisites
    assert found.needs_namespaces
    assert not found.needs_own_root


@pytest.mark.parametrize("command", ["curl {docs_url}", "curl 127.0.0.1:{docs_port}"])
def test_a_check_that_asks_a_service_is_refused(tmp_path: Path, command: str) -> None:
    task(tmp_path)
    path = tmp_path / "tasks-public" / "tier1" / "t1-note.yaml"
    path.write_text(path.read_text("utf-8").replace('command: "false"', f"command: {command}"), encoding="utf-8")
    [problem] = read_suite(tmp_path / "tasks-public").problems
    assert "stands for a service" in problem.reason
