"""clawbench Core: what a task is made of its YAML and its packs, and what is refused, with file and line."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from core_pack import write_clawbench_core
from pinchbench.cli import cli
from pinchbench.defaults import SuiteFormat
from pinchbench.errors import SuiteError
from pinchbench.model.task import Task, TurnGate
from pinchbench.model.task_programs import AssertionsVerifier
from pinchbench.suite.loading import load_suite, read_suite, solution_of
from suite_packs import put


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_clawbench_core(tmp_path)


def note(folder: Path) -> Task:
    return load_suite(folder).suite.by_id["t1-note"]


def test_the_tasks_are_those_of_the_manifest_and_the_rule_says_that_it_is_not_the_suites_score(folder: Path) -> None:
    loaded = load_suite(folder.parent)
    assert loaded.suite.format is SuiteFormat.CLAWBENCH_CORE
    found = {task.task_id: (task.category, task.timeout_s, len(task.turns)) for task in loaded.suite.tasks}
    assert found == {"t1-note": ("tools", 240, 3), "t4-phases": ("multi_tool", 180, 3)}
    assert loaded.note == "Not in MANIFEST.yaml, and so not read: t1-note-perturbed."
    assert "not the suite's own score" in loaded.suite.tasks[0].rule.text
    assert solution_of(loaded.suite, loaded.suite.tasks[0]) is not None


def test_packs_become_the_workspace_and_what_the_check_needs_is_restored(folder: Path) -> None:
    task = note(folder)
    given = [file.dest for file in task.workspace_files]
    assert given == [
        ".answer.txt",
        "data",
        "expected",
        "report.py",
        "tests",
        "verify_common.py",
        "verify_note.py",
        "data",
    ]
    restored = {file.dest for file in task.check_files}
    scripts = {".answer.txt", "verify_common.py", "verify_note.py", "tests/test_out.py"}
    assert restored == {*scripts, "expected/out.txt", "expected/in.json"}  # and not report.py
    path = folder / "tier1" / "t1-note.yaml"
    path.write_text(path.read_text("utf-8").replace("structured_output", "test_authoring"), encoding="utf-8")
    assert {file.dest for file in note(folder).check_files} == restored - {"tests/test_out.py"}


def test_turns_have_gates_and_phases_begin_sessions(folder: Path, tmp_path: Path) -> None:
    first, second, third = note(folder).turns
    assert first.prompt_in(tmp_path) == f"Write hello to {tmp_path}/out.txt, as {{notes}} say."
    assert (first.gate, second.gate) == (None, TurnGate(replies=1, pattern="DONE|can't"))
    assert third.gate == TurnGate(pattern="never said")
    phases = load_suite(folder).suite.by_id["t4-phases"].turns
    assert [turn.new_session for turn in phases] == [False, True, False]


def test_a_task_is_shown_with_its_gates_and_its_assertions(folder: Path) -> None:
    shown = CliRunner().invoke(cli, ["tasks", "show", "t1-note", "--tasks-dir", str(folder)]).output
    assert 'Turn 2, if the model has written 1 message and its last one matches "DONE|can\'t":' in shown
    assert "Turn 3, if the model's last message matches 'never said':" in shown
    assert "file gone.txt is not there\nthe note is right: python3 verify_note.py\n" in shown


def test_assertions_are_read_with_their_limits(folder: Path) -> None:
    verifier = note(folder).verifier
    assert isinstance(verifier, AssertionsVerifier)
    assert [file.path for file in verifier.files] == ["out.txt", "gone.txt"]
    assert [one.limit_s for one in verifier.commands] == [60, 60, 60, 60, 30, 60, 60, 60]
    assert verifier.limit_s == 30 + 450
    assert note(folder).prerequisites == ("cli:cat", "cli:wc", "module:pytest")


def test_pytest_takes_options_from_the_packs_alone(folder: Path) -> None:
    def options() -> set[str]:
        verifier = note(folder).verifier
        assert isinstance(verifier, AssertionsVerifier)
        return {one.env.get("PYTEST_ADDOPTS", "") for one in verifier.commands}

    pack = folder / "assets" / "t1_note"
    assert options() == {"-c /dev/null --rootdir={workspace} --noconftest"}
    put(pack / "pytest.ini", "[pytest]\n")
    assert options() == {"--noconftest"}
    assert "pytest.ini" in {file.dest for file in note(folder).check_files}
    put(pack / "conftest.py", "")
    assert options() == {""}


def test_the_digest_is_of_the_task_and_its_packs(folder: Path) -> None:
    digests = [note(folder).digest]
    for path in (folder / "tier1" / "t1-note.yaml", folder / "assets" / "shared" / "data" / "shared.txt"):
        path.write_text(path.read_text("utf-8") + "\n", encoding="utf-8")
        digests.append(note(folder).digest)
    assert len(set(digests)) == len(digests)
    put(folder / "solutions" / "t1-note.yaml", "turns: []\n")
    assert note(folder).digest == digests[-1]


TASK, VERIFY = "tier1/t1-note.yaml", "assets/t1_note/verify_note.py"
SERVICE = "background_services: [{{name: web, command: python3 serve.py, {more}}}]"
BROKEN = [
    # file, old, new, whereof the line is (None: the new text), reason
    (TASK, "background_services: []", SERVICE.format(more="url: x"), None, "`url` of a service is not known"),
    (TASK, "background_services: []", SERVICE.format(more="ready_file: x"), None, "`ready_file`: here a service"),
    (TASK, "background_services: []", SERVICE.format(more="ready_status: 204"), None, "`ready_status`: here"),
    (TASK, "background_services: []", SERVICE.format(more="url_template: x"), None, "`url_template` must begin with"),
    (TASK, "background_services: []", SERVICE.format(more="port: 80"), None, "`port` must be a whole number from 1024"),
    (TASK, "background_services: []", SERVICE.format(more="port: 18080"), None, "is the one of the model"),
    (TASK, "background_services: []", SERVICE.format(more="cwd: ../x"), None, "`cwd` holds `..`"),
    (TASK, "background_services: []", SERVICE.format(more='env: {A: "{x_url}"}'), None, "{x_url} stands for a service"),
    (TASK, "background_services: []", "background_services: [{name: web}]", None, "a service needs a `command`"),
    (TASK, "background_services: []", "background_services: [{command: x}]", None, "a service needs a `name`"),
    (TASK, "background_services: []", "memory_seed: [{key: a}]", None, "entries in the gateway's memory"),
    (TASK, "background_services: []", "config_overrides: {a: 1}", None, "settings of OpenClaw"),
    (TASK, "background_services: []", "pre_check_gateway: [{method: x}]", None, "asks the gateway before"),
    (TASK, "background_services: []", "workspace_files: [a.txt]", None, "only the suite's runner knows"),
    (TASK, "background_services: []", "containers: []", None, "`containers` of `setup` is not known"),
    (TASK, "- shared", "- gone", None, "the pack 'gone' is missing"),
    (TASK, "- shared", "- ../shared", None, "the name of a pack holds `..`"),
    (TASK, "max_turns: 3", "max_turns: 0", None, "`max_turns` must be a whole number from 1"),
    (TASK, "max_turns: 3", "persona: rude", None, "`persona` of `user` is not known"),
    (TASK, "after_assistant_turns: 1", "after_assistant_turns: soon", None, "must be a whole number"),
    (TASK, "after_assistant_turns: 1", "when_tool_family: edit", None, "depends on the suite's own classes"),
    (TASK, "after_assistant_turns: 1", "when_last_tool_failed: true", None, "depends on the suite's own classes"),
    (TASK, "after_assistant_turns: 1", "after_seconds: 3", None, "`after_seconds` of a turn is not known"),
    (TASK, '"DONE|can\'t"', '"DONE|("', None, "not a regular expression"),
    (TASK, 'message: "Is that all?"', 'message: ""', None, "a turn needs a `message`"),
    (TASK, "Is that all?", "Look at {web_url}.", None, "{web_url} stands for a service"),
    (TASK, "variant_messages:\n", "after_assistant_turns: 1\n      variant_messages:\n", "message:", "never be sent"),
    (TASK, 'content_contains: ["hell"]', "content_contains: hell", None, "`content_contains` must be a list"),
    (TASK, 'content_contains: ["hell"]', "content_equals: hell", None, "`content_equals` of an assertion"),
    (TASK, "^hel.o$", "^hel(o$", None, "not a regular expression"),
    (TASK, "exists: false", "exists: never", None, "`exists` must be true or false"),
    (TASK, "path: out.txt", "path: /out.txt", None, "`path` is absolute"),
    (TASK, "min_size_bytes: 5", "min_size_bytes: -5", None, "must be a whole number"),
    (TASK, "cwd: data", "cwd: ../data", None, "`cwd` holds `..`"),
    (TASK, 'command: "false"', 'command: ""', '- name: "nobody', "needs a `command`"),
    (TASK, 'command: "false"', "command: npx playwright test", None, "needs a browser"),
    (TASK, 'command: "false"', "command: curl {web_url}", None, "stands for a service"),
    (TASK, 'command: "cat out.txt"', "command: cat 'out\n      shell: false", "cat 'out", "split into words"),
    (TASK, "timeout_seconds: 30", "timeout_seconds: 9999", None, "from 1 to 3600"),
    (TASK, "{LEVEL: 3}", "{LEVEL: [3]}", None, "`env` must map names to texts"),
    (TASK, "{LEVEL: 3}", '{LEVEL: "{openclaw_node_path}"}', None, "{openclaw_node_path} stands for a service"),
    (TASK, "expected/out.txt", "expected/gone.txt", None, "no pack has the file expected/gone.txt"),
    (TASK, "expected/in.json", "report.py", "expected_json_file: report.py", "is not JSON"),
    (TASK, "  files:\n", "  memory: [{key_pattern: a}]\n  files:\n", "memory: [", "searches the gateway's memory"),
    (TASK, "  files:\n", "  session: {should_exist: true}\n  files:\n", "session: {", "asks the gateway for a session"),
    (TASK, "  files:\n", "  cron: [{exists: true}]\n  files:\n", "cron: [", "scheduled jobs"),
    (TASK, "  files:\n", "  gateway_assertions: [{method: x}]\n  files:\n", "gateway_as", "asks the gateway"),
    (TASK, "  files:\n", "  screenshots: []\n  files:\n", "screenshots", "`screenshots` of `completion` is not known"),
    (TASK, "family: tools", "setup_commands: [make]", None, "`setup_commands` is not known"),
    (TASK, "completion:", "expectation:", "  files:", "`expectation` is not known"),
    (TASK, "timeout_seconds: 240", "timeout_seconds: forever", None, "must be a whole number from 1"),
    (TASK, "id: t1-note", "id: t1-other", None, "`id` is 't1-other', but 't1-note' in MANIFEST.yaml"),
    (TASK, "id: t1-note", "id: t1/note", None, "can't be a folder name"),
    (TASK, "family: tools", "family: [tools", "tier1", "not valid YAML"),
    ("tier4/t4-phases.yaml", "- name: prep", "- timeout_seconds: 9", None, "a phase has a limit of its own"),
    ("tier4/t4-phases.yaml", "phases:", "chapters:", "id: t4", "neither `user` nor `phases`"),
    (VERIFY, "import verify_common", "from playwright import sync_api", None, "needs a browser"),
    ("MANIFEST.yaml", "path: tier1/t1-note.yaml", "path: tier1/gone.yaml", "- id: t1-note", "there is no file"),
    ("MANIFEST.yaml", "path: tier1/t1-note.yaml", "path: /etc/passwd", "- id: t1-note", "is absolute"),
    ("MANIFEST.yaml", "tasks:", "works:", "manifest_version", "it lists no `tasks`"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "place", "reason"), BROKEN)
def test_what_can_not_be_represented_is_refused_with_file_and_line(  # noqa: PLR0917 - a table
    folder: Path, file: str, old: str, new: str, place: str | None, reason: str
) -> None:
    path = folder / file
    text = path.read_text("utf-8")
    assert old in text
    text = text.replace(old, new, 1)
    path.write_text(text, encoding="utf-8")
    line = text.count("\n", 0, text.index(place or new)) + 1
    problems = read_suite(folder).problems
    if reason == "not valid YAML":
        assert [problem.path for problem in problems] == [path]
    else:
        assert [(one.path, one.line) for one in problems if reason in one.reason] == [(path, line)], problems
    with pytest.raises(SuiteError):
        load_suite(folder)


def test_files_that_can_not_be_read_and_ids_that_are_taken_are_named(folder: Path) -> None:
    (folder / VERIFY).write_bytes(b"\xff")
    (folder / "assets" / "shared" / "loop").symlink_to("loop")
    manifest = folder / "MANIFEST.yaml"
    again = "  - {id: t4-phases, path: tier4/t4-phases.yaml}\n"
    manifest.write_text(manifest.read_text("utf-8") + again, encoding="utf-8")
    problems = [(one.path.name, one.reason) for one in read_suite(folder).problems]
    assert ("verify_note.py", "the file is not UTF-8 text") in problems
    assert any("leads nowhere" in reason for _, reason in problems)
    (folder / "assets" / "shared" / "loop").unlink()
    assert "already taken" in str(read_suite(folder).problems)


def test_a_task_that_asserts_nothing_is_refused(folder: Path) -> None:
    path = folder / "tier4" / "t4-phases.yaml"
    path.write_text(path.read_text("utf-8").partition("completion:")[0], encoding="utf-8")
    assert "it asserts nothing" in str(read_suite(folder).problems)


def test_what_a_verifier_imports_and_a_command_starts_are_prerequisites(folder: Path) -> None:
    verify = folder / VERIFY
    verify.write_text("import json, numpy, verify_common\nfrom report import NAME\n", encoding="utf-8")
    path = folder / TASK
    text = path.read_text("utf-8").replace('command: "false"', 'command: "A=1 node x.js && ./own.sh; test -e a"')
    path.write_text(text, encoding="utf-8")
    assert note(folder).prerequisites == ("cli:cat", "cli:node", "cli:wc", "module:numpy", "module:pytest")
