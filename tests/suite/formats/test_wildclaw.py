"""WildClawBench's tasks: read if they need nothing of their container but a path, and refused otherwise."""

import shutil
from pathlib import Path

import pytest

from pinchbench.defaults import CheckTotal, SuiteFormat
from pinchbench.errors import SuiteError
from pinchbench.suite.loading import load_suite, read_suite
from suite_packs import put, write_wildclaw


@pytest.mark.parametrize("folder", [".", "tasks", "tasks/01_Office"])
def test_a_task_has_its_path_its_data_its_skills_and_its_rule(tmp_path: Path, folder: str) -> None:
    write_wildclaw(tmp_path)
    loaded = load_suite(tmp_path / folder)
    assert loaded.suite.format is SuiteFormat.WILDCLAW
    [task] = loaded.suite.tasks
    assert (task.task_id, task.timeout_s, task.workspace_path) == ("01_Office_task_1_minutes", 300.0, "/tmp_workspace")
    assert task.rule.check_total is CheckTotal.OVERALL
    assert [file.dest for file in task.workspace_files] == ["notes", "tmp"]
    assert [file.dest for file in task.check_files] == ["gt"]
    assert [shown.path for shown in task.shown] == ["/root/skills/minutes"]
    assert task.transcript_path == "/root/.openclaw/agents/main/sessions/chat.jsonl"
    assert "a skill that there is not: gone" in loaded.note
    assert task.turns[0].prompt.startswith("Your workspace is the folder /tmp_workspace. You have 300 seconds")
    put(tmp_path / "workspace" / "01_Office" / "task_1_minutes" / "gt" / "more.txt", "x")
    assert load_suite(tmp_path).suite.tasks[0].digest != task.digest


def test_a_folder_of_the_agents_home_that_the_check_looks_into_is_kept(tmp_path: Path) -> None:
    path = write_wildclaw(tmp_path) / "01_Office" / "01_Office_task_1_minutes.md"
    text = path.read_text("utf-8").replace("minutes\ngone\n", "")
    text = text.replace('Path("/root/skills/minutes/SKILL.md")', "Path.home() / 'skills' / 'minutes'")
    path.write_text(text, encoding="utf-8")
    [task] = load_suite(tmp_path).suite.tasks
    assert (task.home_folders, task.needs_namespaces) == (("skills",), True)


@pytest.mark.parametrize("nothing", ["None.", "- None", "<!-- none -->", "[]", "```bash\n```"])
@pytest.mark.parametrize(
    "stated", ["- `workspace/01_Office/task_1_minutes`", "`./workspace/01_Office/task_1_minutes/`"]
)
def test_sections_may_be_written_as_lists_or_as_code(tmp_path: Path, nothing: str, stated: str) -> None:
    path = write_wildclaw(tmp_path) / "01_Office" / "01_Office_task_1_minutes.md"
    text = path.read_text("utf-8").replace("```\nworkspace/01_Office/task_1_minutes\n```", stated)
    text = text.replace("```\nminutes\ngone\n```", "- `minutes`").replace("```\n```", nothing)
    path.write_text(text, encoding="utf-8")
    loaded = load_suite(tmp_path)
    assert [shown.path for shown in loaded.suite.tasks[0].shown] == ["/root/skills/minutes"]
    assert [file.dest for file in loaded.suite.tasks[0].workspace_files] == ["notes", "tmp"]


BROKEN = [
    # old, new, line, reason
    ("name: Minutes", "name: [Minutes", 4, "not valid YAML"),
    ("timeout_seconds: 300", "timeout_seconds: 0", 5, "`timeout_seconds` must be a number"),
    ("timeout_seconds: 300", "timeout_seconds: soon", 5, "`timeout_seconds` must be a number"),
    ("timeout_seconds: 300", "timeout_secs: 300", 5, "did you mean `timeout_seconds`"),
    ("category: 01_Office", "category: [x]", 4, "`category` must be text"),
    ("modality: pure-text", "sessions: [Hi]", 2, "`sessions` is no key of this format"),
    ("modality: pure-text", "workspace_files: [{path: a, content: b}]", 2, "`workspace_files` is no key"),
    ("---\n\n## Prompt", "\n## Prompt", 1, "no YAML head"),
    ("## Prompt", "## Promt", 2, "no text under `## Prompt`"),
    ("## Automated Checks", "## Checks", 2, "needs a python fence"),
    ("```python\n", "```yaml\n", 21, "needs a python fence"),
    ("def grade(", "def judge(", 24, "no function `grade"),
    ("def grade(", "def grade(:", 27, "not valid Python"),
    ("        return {", "    return {", 36, "not valid Python"),
    ('kwargs["workspace_path"] == "/tmp', '"/root/.openclaw/x" == "/tmp', 28, "OpenClaw's files"),
    ("# whatever the argument says", "# /root/.openclaw/agents/main/sessions/old.jsonl", 29, "OpenClaw's files"),
    ('Path("/root/skills/minutes/SKILL.md")', "Path.home()", 33, "the agent's home, which is not kept as a whole"),
    ('Path("/root/skills/minutes/SKILL.md")', 'Path.home() / "skills"', 1, "looks into skills of the agent's home"),
    ("# whatever the argument says", "# OPENROUTER_API_KEY", 29, "asks a judge of its own"),
    (
        "from pathlib import Path\n\n\n    def",
        "from pathlib import Path\nfrom openai import OpenAI\n\ndef",
        25,
        "asks a judge of its own",
    ),
    ("# whatever the argument says", "# http://localhost:9100/audit", 29, "has to outlive the agent"),
    ("# whatever the argument says", "# pip install x", 29, "installs packages"),
    ("workspace/01_Office/task_1_minutes", "workspace/01_Office/task_2_gone", 39, "its files are not here"),
    ("workspace/01_Office/task_1_minutes", "/workspace/01_Office", 39, "is absolute"),
    ("workspace/01_Office/task_1_minutes", "../secret", 39, "holds `..`"),
    ("workspace/01_Office/task_1_minutes", "", 39, "is empty"),
    ("workspace/01_Office/task_1_minutes", "a\nb", 39, "is empty"),
    ("    gone\n", "    ../gone\n", 45, "is not the name of a skill"),
    ("    gone\n", "    .hidden\n", 45, "is not the name of a skill"),
    ("## Env\n\n```\n", "## Env\n\n```\nBRAVE_API_KEY\n", 52, "environment variables"),
    ("## Warmup\n\n```\n", "## Warmup\n\n```\npip install x\n", 57, "its warm-up runs commands"),
    ("## Warmup\n\n```\n", "## Warmup\n\npython serve.py &\n\n```\n", 57, "its warm-up runs commands"),
]


@pytest.mark.parametrize(("old", "new", "line", "reason"), BROKEN)
def test_what_would_be_scored_wrongly_is_refused_with_file_and_line(
    tmp_path: Path, old: str, new: str, line: int, reason: str
) -> None:
    path = write_wildclaw(tmp_path) / "01_Office" / "01_Office_task_1_minutes.md"
    text = path.read_text("utf-8")
    old, new = (part.replace("\n    ", "\n").removeprefix("    ") for part in (old, new))
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    loaded = read_suite(tmp_path, suite_format=SuiteFormat.WILDCLAW)
    assert loaded.suite.tasks == ()
    found = [one.line for one in loaded.problems if one.path == path and reason in one.reason]
    assert found == [line], loaded.problems
    with pytest.raises(SuiteError):
        load_suite(tmp_path, suite_format=SuiteFormat.WILDCLAW, skip_broken=True)


def test_without_the_data_set_no_task_is_run(tmp_path: Path) -> None:
    write_wildclaw(tmp_path)
    shutil.rmtree(tmp_path / "workspace")
    [problem] = read_suite(tmp_path).problems
    assert "put the suite's data set next to its tasks" in problem.reason


def test_they_are_refused_as_pinchbench_tasks(tmp_path: Path) -> None:
    folder = write_wildclaw(tmp_path) / "01_Office"
    [problem] = read_suite(folder, suite_format=SuiteFormat.PINCHBENCH).problems
    assert "looks like a task of the format wildclaw" in problem.reason
