"""Abilities of tasks on real OpenClaw: their tools work offline, in namespaces."""

import base64
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

import chromium
from fakes import NEW_RELEASE, OLD_RELEASE
from pinchbench import Reason, run_benchmark
from pinchbench.authoring.check import check_tasks
from pinchbench.authoring.check_results import Part
from pinchbench.authoring.template import PARTS, write_skeleton
from pinchbench.cli.selected_tasks import with_solutions
from pinchbench.defaults import Network, Sandbox
from pinchbench.model.task import GradingType
from pinchbench.openclaw.homes.home_config import OF_ABILITY, tools_of, tools_of_all
from pinchbench.openclaw.install import install
from pinchbench.openclaw.trial_clock import find_libfaketime
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.finished_run import Result
from pinchbench.suite.loading import load_suite
from pinchbench.wire.exchange_facts import facts_of
from pinchbench.wire.recording import RecordingReader
from real_openclaw import Step, TaskFile, UserHome, run_config, write_suite

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
RENT = "The rent is 913 euros."
FOUND = """
def grade(transcript, workspace_path):
    results = [
        str(one["message"]["content"])
        for one in transcript
        if one.get("type") == "message" and one["message"]["role"] == "toolResult"
    ]
    return {word: float(any(word in text for text in results)) for word in WORDS}
"""


def _check(*words: str) -> str:
    return FOUND.replace("WORDS", repr(words))


def _memory() -> TaskFile:
    search: Step = ("memory_search", {"query": "plumber"})
    note: Step = ("write", {"path": "memory/people.md", "content": "The plumber is called Zebulon.\n"})
    return TaskFile(
        task_id="task_memory",
        abilities=["memory"],
        files=[{"path": "memory/older.md", "content": "The plumber before was Ferdinand.\n"}],
        turns=[("Who was it?", [search, note], "Ferdinand."), ("Who is it now?", [search], "Zebulon.")],
        new_session=frozenset({1}),
        check=_check("Ferdinand", "Zebulon"),
        timeout_s=600,
    )


def _images(release: str) -> TaskFile:
    is_new = release == NEW_RELEASE
    look: Step = ("view_image" if is_new else "read", {"path": "pixel.png"})
    read: Step = ("pdf", {"pdf": "lease.pdf", "prompt": "How much is the rent?"})
    return TaskFile(
        task_id="task_images",
        abilities=["images"],
        files=[{"source": name, "dest": name} for name in ("pixel.png", "lease.pdf")],
        turns=[("Which colour is it?", [look], "Red."), ("And the rent?", [read], "913 euros.")],
        check=_check("Loaded 1 image" if is_new else "Read image file", "913 euros."),
        timeout_s=600,
    )


def _pdf(text: str) -> bytes:
    """Return a PDF file of one page with a line of text."""
    line = f"BT /F1 18 Tf 50 100 Td ({text}) Tj ET".encode()
    fonts = b"/Resources << /Font << /F1 5 0 R >> >>"
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R %s >>" % fonts,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(line), line),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    data, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(data))
    return data + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + end


SHOP = """
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/ordered"):
            print("ordered", flush=True)
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<script>document.write('<img src=/ordered>')</script><h1>Shop</h1>")

HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Shop).serve_forever()
"""


def _browser() -> TaskFile:
    steps: list[dict[str, object]] = [
        {"action": "open", "url": "http://127.0.0.1:8021/"},
        {"action": "open", "url": "http://127.0.0.1:8021/"},  # OpenClaw does not wait for a browser that starts slowly
        {"action": "snapshot"},
        {"action": "screenshot"},
    ]
    check = """
from pathlib import Path

def grade(transcript, workspace_path):
    return {"ordered": float(Path(workspace_path, ".services", "shop.log").read_text().count("ordered") > 0)}
"""
    return TaskFile(
        task_id="task_browser",
        abilities=["browser"],
        services=[
            {
                "name": "shop",
                "command": ["python3", "shop.py"],
                "folder": "shop",
                "port": 8021,
                "ready": "/",
                "limit": 240,
            }
        ],
        turns=[("Order it at http://127.0.0.1:8021/.", [("browser", step) for step in steps], "Ordered.")],
        check=check,
        timeout_s=600,
    )


@pytest.fixture
def _on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the tests' Chromium, with its libraries, where the system's is looked for."""
    program, wrapper = chromium.executable(), tmp_path / "bin" / "chromium"
    wrapper.parent.mkdir()
    given = ""
    if program == str(chromium.PROGRAM):
        parts = wrapper.with_name("parts")
        shutil.copytree(chromium.FOLDER, parts, ignore=shutil.ignore_patterns("node-compile-cache"))
        program = f"{parts}/chromium"
        variables = {"LD_LIBRARY_PATH": f"{parts}/al2023/lib", **chromium.fonts(parts)}
        given = " ".join(f"{name}={value}" for name, value in variables.items())
    wrapper.write_text(f'#!/bin/sh\nexec env {given} {program} "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")


async def _run(folder: Path, release: str, tasks: Sequence[TaskFile]) -> Result:
    install(release)
    suite = write_suite(folder / "suite", tasks)
    (suite / "assets" / "shop").mkdir(parents=True)
    (suite / "assets" / "shop" / "shop.py").write_text(SHOP, encoding="utf-8")
    (suite / "assets" / "pixel.png").write_bytes(base64.b64decode(PIXEL))
    (suite / "assets" / "lease.pdf").write_bytes(_pdf(RENT))
    return await run_benchmark(
        run_config(folder, release, suite, sandbox=Sandbox.NAMESPACES, network=Network.MODEL, preflight=False)
    )


@pytest.mark.parametrize("release", [NEW_RELEASE, OLD_RELEASE])
async def test_the_tools_of_abilities_work_in_tasks_that_name_them(
    home: UserHome, tmp_path: Path, release: str
) -> None:
    del home
    result = await _run(tmp_path, release, [_memory(), _images(release)])

    names = ("task_memory", "task_images")
    assert {one.key.task_id: (one.reason, one.findings) for one in result.outcomes} == dict.fromkeys(
        names, (Reason.COMPLETED, ())
    )
    assert {one.key.task_id: one.score for one in result.grades.values()} == dict.fromkeys(names, 1.0)
    for one in result.outcomes:
        exchanges = [*RecordingReader(Evidence(folder=result.folder / one.evidence).wire)]
        read_by_model = any(RENT.encode() in exchange.request for exchange in exchanges)
        assert read_by_model == (one.key.task_id == "task_images")
        first = min(exchanges, key=lambda exchange: exchange.number)
        has = {tool.name for tool in facts_of(first).request.tools}
        [ability] = [name for name in OF_ABILITY if one.key.task_id == f"task_{name}"]
        assert has == {*tools_of_all(release, takes_images=True), *tools_of([ability], release, has_web=False)}


@pytest.mark.usefixtures("_on_path")
async def test_a_browser_executes_what_a_service_of_the_task_serves(home: UserHome, tmp_path: Path) -> None:
    del home
    result = await _run(tmp_path, NEW_RELEASE, [_browser()])

    [outcome] = result.outcomes
    assert (outcome.reason, outcome.note, outcome.findings) == (Reason.COMPLETED, "", ())
    assert [one.score for one in result.grades.values()] == [1.0]


@pytest.mark.skipif(find_libfaketime() is None, reason="libfaketime is not installed")
@pytest.mark.usefixtures("_on_path")
async def test_the_examples_of_new_tasks_are_solved_by_their_solutions_alone(home: UserHome, tmp_path: Path) -> None:
    del home
    install(NEW_RELEASE)
    write_skeleton(tmp_path, "task_all", grading=GradingType.AUTOMATED, category="x", parts=list(PARTS))
    suite = load_suite(tmp_path).suite

    found = await check_tasks(
        with_solutions(suite, suite.tasks), show=print, openclaw=NEW_RELEASE, run_root=tmp_path / "runs"
    )

    assert [(one.part, one.check, one.problems, one.untried) for one in found] == [
        (Part.ORACLE, 1.0, (), ""),
        (Part.NOTHING, 0.0, (), ""),
    ]
