"""Small packs of our own in the formats of other suites, with every feature that their readers know."""

from pathlib import Path
from textwrap import dedent


def put(path: Path, text: str) -> Path:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    return path


LEDGER = """
    ---
    id: task_00001_ledger
    name: Ledger total
    category: data
    subcategory: finance
    difficulty: easy
    grading_type: hybrid
    grading_weights:
      automated: 0.4
      llm_judge: 0.6
    timeout_seconds: 1800
    workspace_files:
      - source: ledger.csv
        dest: workspace/ledger.csv
      - source: shared.txt
        dest: shared.txt
      - path: notes/rounding.md
        content: |
          Round to whole numbers.
    ---

    ## Prompt

    Write hello to out.txt.

    ## Expected Behavior

    The file says hello.

    ## Grading Criteria

    - [ ] out.txt exists

    ## Automated Checks

    ```python
    def grade(transcript, workspace_path):
        from pathlib import Path
        ws = Path(workspace_path)
        given = (ws / "workspace/ledger.csv").read_text() == "amount\\n5\\n" and (ws / "shared.txt").exists()
        made = (ws / "out.txt").exists() and (ws / "out.txt").read_text() == "hello"
        return {"given": 0.5 * given, "made": 1.5 * made}
    ```

    ## LLM Judge Rubric

    ### Clarity (Weight: 80%)

    Clear.

    ### Order (Weight: 20%)

    In order.
"""
CALLS = """
    ---
    id: another_id
    name: Tool calls
    category: data
    grading_type: automated
    timeout_seconds: 1800
    ---

    ## Prompt

    Keep the report in /root/reports and write hello to out.txt.

    ## Automated Checks

    ```python
    def grade(transcript, workspace_path):
        if not any(event.get("type") == "message" for event in transcript):
            raise LookupError("an empty transcript")
        from pathlib import Path
        return {"made": (Path(workspace_path) / "out.txt").read_text() == "hello"}
    ```
"""
WEIGHTS = """
    ---
    id: task_00003_weights
    name: A weight of another name
    category: writing
    grading_type: hybrid
    grading_weights:
      automated: 0.7
      llmjudge: 0.3
    timeout_seconds: 1800
    ---

    ## Prompt

    Write hello to out.txt.

    ## Automated Checks

    ```python
    def grade(transcript, workspace_path):
        from pathlib import Path
        return {"made": float((Path(workspace_path) / "out.txt").exists())}
    ```

    ## LLM Judge Rubric

    Is it good?
"""


def write_qwenclaw(root: Path) -> Path:
    """Write three tasks as QwenClawBench lays them out, and solutions as a user may add them; return `tasks`."""
    data = root / "data" / "pack-v1"
    tasks = data / "tasks"
    put(tasks / "task_00001_ledger.md", LEDGER)
    put(tasks / "task_00002_calls.md", CALLS)
    put(tasks / "task_00003_weights.md", WEIGHTS)
    put(data / "assets" / "task_00001_ledger" / "ledger.csv", "amount\n5\n")
    put(data / "assets" / "ledger.csv", "of nobody\n")
    put(data / "assets" / "shared.txt", "for all\n")
    for path in tasks.glob("*.md"):
        write = "{tool: write, args: {path: out.txt, content: hello}}"
        put(tasks / "solutions" / f"{path.stem}.yaml", f"turns: [{{steps: [{write}], answer: Done.}}]\n")
    return tasks


WILD = """
    ---
    id: another_id
    name: Minutes
    category: 01_Office
    timeout_seconds: 300
    modality: pure-text
    ---

    ## Prompt

    Write hello to /tmp_workspace/out.txt, as /tmp_workspace/notes/given.txt and your skill say.

    ## Expected Behavior

    It is there.

    ## Grading Criteria

    - [ ] it says hello

    ## Automated Checks

    ```python
    from pathlib import Path


    def grade(**kwargs):
        assert kwargs["workspace_path"] == "/tmp_workspace", kwargs["workspace_path"]
        work = Path("/tmp_workspace")  # whatever the argument says
        said = work / "out.txt"
        made = said.exists() and said.read_text() == (work / "gt" / "answer.txt").read_text()
        given = (work / "notes" / "given.txt").exists() and (work / "tmp" / "draft.txt").exists()
        skill = Path("/root/skills/minutes/SKILL.md").exists()
        chat = Path("/root/.openclaw/agents/main/sessions/chat.jsonl").read_text().splitlines()
        told = len(chat) == len(kwargs["transcript"]) > 0
        return {"given": float(given), "skill": float(skill), "told": float(told), "overall_score": 0.75 * made}
    ```

    ## Workspace Path

    ```
    workspace/01_Office/task_1_minutes
    ```

    ## Skills

    ```
    minutes
    gone
    ```

    ## Env

    ```
    ```

    ## Warmup

    ```
    ```
"""


def write_wildclaw(root: Path) -> Path:
    """Write a category with one task, a template and the data set as WildClawBench lays them out; return `tasks`."""
    put(root / "tasks" / "01_Office" / "01_Office_task_1_minutes.md", WILD)
    put(root / "tasks" / "01_Office" / "task0_template.md", WILD)
    data = root / "workspace" / "01_Office" / "task_1_minutes"
    put(data / "exec" / "notes" / "given.txt", "hello\n")
    put(data / "tmp" / "draft.txt", "x\n")
    (data / "gt").mkdir()
    (data / "gt" / "answer.txt").write_text("hello", encoding="utf-8")
    put(root / "skills" / "minutes" / "SKILL.md", "---\nname: minutes\ndescription: Say hello.\n---\nHello.\n")
    return root / "tasks"


HARBOR = """
    schema_version = "1.1"

    [task]
    name = "ours/say-hello"

    [metadata]
    difficulty = "easy"
    category = "files"

    [agent]
    timeout_sec = 120.0

    [verifier]
    timeout_sec = 60.0

    [verifier.env]
    EXPECTED = "hello"

    [environment]
    build_timeout_sec = 600.0
    cpus = 1
    memory_mb = 2048
    allow_internet = false

    [environment.env]
    TONE = "kind"
"""
DOCKERFILE = """
    # a comment
    FROM debian:12-slim

    WORKDIR /app
    COPY notes.txt ./
    COPY notes.txt renamed.txt
    COPY deep \\
         inner/
    ENV LEVEL=3
    CMD ["bash"]
"""
TEST_SH = """
    #!/bin/bash
    # run in the working directory, with its folder at /tests
    python3 /tests/judge.py && exit 3
    exit 7
"""
JUDGE = """
    import json
    import os
    from pathlib import Path

    out = Path("/app/out.txt")
    given = [Path("notes.txt"), Path("renamed.txt"), Path("/app/inner/in.txt")]
    said = out.exists() and out.read_text() == os.environ["EXPECTED"]
    rewards = {
        "given": float(all(path.exists() for path in given)),
        "env": float((os.environ["TONE"], os.environ["LEVEL"]) == ("kind", "3")),
        "reward": 0.5 * said,
    }
    Path("/logs/verifier/reward.json").write_text(json.dumps(rewards))
    Path("/logs/verifier/reward.txt").write_text(str(rewards["reward"]))
"""


def write_harbor(root: Path) -> Path:
    """Write one task that needs no container as Harbor lays it out; return the folder of tasks."""
    folder = root / "tasks" / "say-hello-folder"
    put(folder / "task.toml", HARBOR)
    put(folder / "instruction.md", "Write hello to /app/out.txt.\n")
    put(folder / "environment" / "Dockerfile", DOCKERFILE)
    put(folder / "environment" / "notes.txt", "Be kind.\n")
    put(folder / "environment" / "deep" / "in.txt", "x\n")
    put(folder / "tests" / "test.sh", TEST_SH)
    put(folder / "tests" / "judge.py", JUDGE)
    put(folder / "solution" / "solve.sh", "#!/bin/bash\nprintf hello > /app/out.txt\n")
    return folder.parent


CONFTEST = """
    from pathlib import Path

    import pytest


    def pytest_addoption(parser):
        parser.addoption("--workspace", required=True)


    def pytest_configure(config):
        config.addinivalue_line("markers", "weight(n): how much a test counts")


    @pytest.fixture
    def workspace(request):
        return Path(request.config.getoption("--workspace"))
"""
TESTS = """
    import json

    import pytest


    def test_the_set_up_is_there(workspace):
        assert json.loads((workspace / "seed.json").read_text()) == {"from": "data"}
        assert (workspace / "made.txt").read_text() == "made\\n"


    @pytest.mark.weight(5)
    def test_out_says_hello(workspace):
        assert (workspace / "out.txt").read_text() == "hello"


    @pytest.mark.weight(3)
    @pytest.mark.parametrize("name", ["out.txt", "missing.txt"])
    def test_there_is(workspace, name):
        assert (workspace / name).exists()


    @pytest.fixture
    def report(workspace):
        return json.loads((workspace / "report.json").read_text())


    class TestReport:
        @pytest.mark.weight(4)
        def test_it_is_read(self, report):
            assert report == {"done": True}

    @pytest.mark.skip
    @pytest.mark.weight(1)
    def test_for_later():
        pass


    def test_nothing_else_lies_about(workspace):
        names = {path.name for path in workspace.iterdir()}
        assert names <= {"seed.json", "made.txt", "deep", "out.txt", "report.json", "missing.txt", ".hidden"}, names
"""
SETUP = """
    #!/bin/bash
    # the folder of the task is a copy, and data come after this
    test -f task.toml && mkdir -p "$1" && echo made > "$1/made.txt" && echo '{}' > "$1/seed.json"
    echo mine > environment/written-beside.txt
    exit 3
"""
SOLVE = """
    #!/bin/bash
    set -e
    test -f instruction.md
    printf hello > "$1/out.txt"
    printf '{"done": true}' > "$1/report.json"
    touch "$1/missing.txt" solved-beside.txt
"""


def write_claw_bench(root: Path) -> Path:
    """Write a flat task, one in `[task]` and a schema as claw-bench lays them out; return `tasks`."""
    tasks = root / "tasks"
    put(tasks / "conftest.py", CONFTEST)
    flat = tasks / "mail" / "mail-001-hello"
    put(
        flat / "task.toml",
        """
        id = "mail-001"
        title = "Hello"
        domain = "mail"
        level = "L1"
        timeout = 120
        track = "core"
        tags = ["short"]
        """,
    )
    put(flat / "instruction.md", "Write hello to workspace/out.txt, and a report to `./workspace/report.json`.\n")
    put(flat / "environment" / "setup.sh", SETUP)
    put(flat / "environment" / "data" / "seed.json", '{"from": "data"}\n')
    put(flat / "environment" / "data" / "deep" / "in.txt", "x\n")
    put(flat / "environment" / "data" / ".hidden", "x\n")
    put(flat / "verifier" / "test_output.py", TESTS)
    put(flat / "solution" / "solve.sh", SOLVE)
    table = tasks / "sums" / "sums-001-total"
    put(table / "task.toml", '[task]\nid = "sums-001"\ntitle = "Total"\ndomain = "sums"\nlevel = "L2"\n')
    put(table / "instruction.md", "Write hello to out.txt.\n")
    put(table / "environment" / "setup.sh", "exit 0\n")
    put(
        table / "verifier" / "test_output.py",
        """
        import numpy


        def test_out_is_there(workspace):
            assert numpy.asarray([(workspace / "out.txt").exists()]).all()
        """,
    )
    put(tasks / "_schema" / "example" / "task.toml", "id = 3\n")
    return tasks
