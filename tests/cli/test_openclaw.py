"""`pinchbench-async doctor` as a user meets it."""

import json
import subprocess
import sys
from pathlib import Path

from command_line import Completed, call, clean_environment
from fakes import MODEL, fake_openclaw
from refused_namespaces import NAMED, without_namespaces

KEY = "sk-fedcba9876543210-NOBODYS-KEY-EITHER"


def _doctor(folder: Path, *args: str, **env: str) -> Completed:
    argv = ("doctor", "--run-root", str(folder / "runs"), *args)
    return call(*argv, cwd=folder, env=clean_environment(folder, **env))


def test_findings_go_to_stdout_and_words_to_stderr(tmp_path: Path) -> None:
    program = fake_openclaw(tmp_path)

    done = _doctor(tmp_path, "--model", MODEL, "--openclaw", str(program), MOCK_API_KEY=KEY)

    assert done.returncode == 0, done.stdout + done.stderr
    subjects = {line[9:].split("  ")[0] for line in done.stdout.splitlines() if not line.startswith(" ")}
    assert {"OpenClaw", "Node", "key", "memory", "run root", "model"} <= subjects
    assert f"Asking {MODEL}" in done.stderr
    assert "No problem" in done.stderr
    assert "MOCK_API_KEY in the environment" in done.stdout
    assert KEY[:12] not in done.stdout + done.stderr
    assert "\x1b" not in done.stdout
    assert list((tmp_path / "runs").iterdir()) == []
    assert not (tmp_path / "results").exists()


def test_json_is_a_list_of_findings_and_a_problem_such_as_a_key_that_is_not_set_is_exit_code_1(tmp_path: Path) -> None:
    judge = ("--judge", "openai/gpt-5")
    done = _doctor(tmp_path, "--openclaw", str(tmp_path / "nowhere"), *judge, "--json", OPENAI_API_KEY="")

    assert done.returncode == 1
    findings = json.loads(done.stdout)
    assert all(set(one) == {"level", "subject", "said", "do"} for one in findings)
    problems = {one["subject"]: one for one in findings if one["level"] == "problem"}
    assert problems.keys() == {"OpenClaw", "judge's key"}
    assert "openclaw install" in problems["OpenClaw"]["do"]
    assert "OPENAI_API_KEY; it is not set" in problems["judge's key"]["said"]
    assert "Error: 2 problems (OpenClaw, judge's key)" in done.stderr


def test_a_machine_that_refuses_namespaces_is_reported_what_its_trials_have_instead(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "pinchbench", "doctor", "--json", "--openclaw", str(tmp_path / "nowhere")]
    command = without_namespaces(Path(sys.executable), argv)
    done = subprocess.run(
        command, cwd=tmp_path, env=clean_environment(tmp_path), capture_output=True, timeout=240, check=False
    )

    [finding] = [one for one in json.loads(done.stdout) if one["subject"] == "sandbox"]
    assert "restricted by Landlock" in finding["said"]
    assert NAMED in finding["said"]
    assert "allow unprivileged user namespaces" in finding["do"]
