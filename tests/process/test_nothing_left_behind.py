"""The check in `tests/conftest.py` that every test is put under, put to the test."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LEAKS = {
    "a_process": """
        subprocess.Popen(["sleep", "600"])
    """,
    "a_zombie": """
        kept.append(subprocess.Popen(["true"]))
        os.waitid(os.P_PID, kept[-1].pid, os.WEXITED | os.WNOWAIT)
    """,
    "a_thread": """
        conftest.THREAD_END_S = 0.1  # the longest that this one may still run, which runs until all tests are over
        threading.Thread(target=threading.main_thread().join).start()
    """,
    "a_file": """
        os.open(os.devnull, os.O_RDONLY)
    """,
    "a_socket": """
        kept.append(socket.socket())
    """,
}
TIDY = """
def test_tidy():
    subprocess.run(["true"])
    conftest.THREAD_END_S = 60  # that is not needed
    thread = threading.Thread(target=threading.Event().wait, args=(0.2,))
    thread.start()
    with open(os.devnull), socket.socket():
        pass
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="zombies are made the Linux way")
def test_it_fails_each_leak_and_nothing_else(tmp_path: Path) -> None:
    conftest = Path(__file__).parents[1] / "conftest.py"
    (tmp_path / "conftest.py").write_text(conftest.read_text(encoding="utf-8"), encoding="utf-8")
    tests = "".join(f"\ndef test_{name}():{body}" for name, body in LEAKS.items())
    head = "import os, socket, subprocess, threading\n\nimport conftest\n\nkept = []\n"
    (tmp_path / "test_leaks.py").write_text(head + tests + TIDY, encoding="utf-8")
    # Python's own warning about a forgotten child would come first, and would not name it.
    argv = [sys.executable, "-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider", "-W", "ignore", str(tmp_path)]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    run = subprocess.run(argv, cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=60, check=False)
    for name in LEAKS:
        assert f"ERROR test_leaks.py::test_{name} - Failed: the test left behind: " in run.stdout
    assert f"{len(LEAKS) + 1} passed, {len(LEAKS)} errors" in run.stdout
