"""The task's own files, downloads, and images and tables as a page may show them."""

from pathlib import Path
from urllib.parse import urlencode

import msgspec
import pytest

from fakes import make_suite
from past_runs import Made, PlannedRun, write_run
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.manifest import RunFacts, read_facts
from pinchbench.serve import file_sources as module
from pinchbench.serve.file_sources import (
    IMAGE_BYTES,
    NoDownloadError,
    TaskSources,
    first_files,
    image_uri,
    kept_file,
    whole_file,
)
from pinchbench.suite.loading import read_suite
from site_server import serving

WORKSPACE = """workspace_files:
  - source: notes.md
    dest: notes.md
  - source: data
    dest: input
  - path: todo.txt
    content: "buy milk"
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = make_suite(tmp_path, {"task_a": "Do something."}, head=WORKSPACE, check="return {'made': 1.0}")
    (folder / "assets" / "data" / "deep").mkdir(parents=True)
    (folder / "assets" / "notes.md").write_text("notes", encoding="utf-8")
    (folder / "assets" / "data" / "deep" / "a.csv").write_text("a,b", encoding="utf-8")
    return folder


def _facts(folder: Path, suite: Path | str) -> RunFacts:
    files = write_run(folder / "out", PlannedRun(trials={"task_a": (Made(),)}))
    return msgspec.structs.replace(read_facts(files.provenance), suite={"folder": str(suite)})


def _outcome(digest: str) -> Outcome:
    return Outcome(key=TrialKey(task_id="task_a", repetition=1), reason=Reason.COMPLETED, digest=digest)


def test_a_task_is_found_while_it_is_the_one_that_was_run(tmp_path: Path, suite: Path) -> None:
    task = read_suite(suite).suite.by_id["task_a"]
    facts = _facts(tmp_path, suite)

    found = TaskSources().find(facts, _outcome(task.digest))

    assert found == task
    assert first_files(task) == {"notes.md": b"notes", "input/deep/a.csv": b"a,b", "todo.txt": b"buy milk"}
    assert TaskSources().find(facts, _outcome("another")) is None


RUN = PlannedRun(trials={"task_a": (Made(score=1.0, transcript='{"<script>": 1}\n'),)})


def test_a_transcript_is_sent_as_it_is_to_be_saved_and_not_to_be_shown(tmp_path: Path) -> None:
    files = write_run(tmp_path, RUN)
    kept = Evidence(folder=files.trial(TrialKey(task_id="task_a", repetition=1))).transcript.read_bytes()
    with serving(tmp_path) as site:
        sent = site.ask(f"/run/{RUN.name}/trial/task_a/transcript?attempt=")
        missing = site.ask(f"/run/{RUN.name}/trial/task_a/file?" + urlencode({"path": "../../run.json"}))
        nowhere = site.ask(f"/run/{RUN.name}/trial/task_b/transcript")

    assert sent.status == 200
    assert sent.text.encode() == kept
    assert sent.headers["content-type"] == "application/octet-stream"
    assert sent.headers["content-disposition"] == "attachment; filename*=UTF-8''task_a.jsonl"
    assert (missing.status, nowhere.status) == (404, 404)


def test_links_and_what_is_too_large_are_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    for path in (tmp_path / "link", tmp_path, tmp_path / "nothing"):
        with pytest.raises(NoDownloadError, match="no such file"):
            whole_file(path)
    with pytest.raises(NoDownloadError, match="can't be read"):
        kept_file(tmp_path / "secret", "a.txt")
    monkeypatch.setattr(module, "MOST_BYTES", 3)
    with pytest.raises(NoDownloadError, match="too large"):
        whole_file(tmp_path / "secret")


PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    ("data", "kind"),
    [(PNG, "png"), (b"\xff\xd8\xff\xe0", "jpeg"), (b"GIF89a", "gif"), (b"RIFF\0\0\0\0WEBPVP8 ", "webp")],
)
def test_an_image_of_a_safe_type_is_data(data: bytes, kind: str) -> None:
    assert image_uri(data).startswith(f"data:image/{kind};base64,")


@pytest.mark.parametrize(
    "data", [b"", b"<svg/>", b"<!doctype html>", b"GIF", b"RIFF0000WAVE", PNG + bytes(IMAGE_BYTES)]
)
def test_anything_else_and_what_is_too_large_is_none(data: bytes) -> None:
    assert image_uri(data) == ""
