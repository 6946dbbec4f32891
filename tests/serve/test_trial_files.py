"""What a page shows of a trial's folder: its workspace against the task's files, logs, replies; no links, no excess."""

import json
import os
from base64 import b64encode
from pathlib import Path

import msgspec
import pytest

from pinchbench.files.archive import KeptFile, NoText
from pinchbench.model.grade import Grade, JudgeGrade
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.report.html.trial_page import read_end
from pinchbench.results.evidence_files import Evidence
from pinchbench.serve.file_sources import IMAGES_BYTES
from pinchbench.serve.trial_files import LOG_BYTES, compared_files, links_outside, trial_texts


def _kept(path: str, text: str) -> KeptFile:
    return KeptFile(path=path, size=len(text.encode()), text=text)


def test_files_are_shown_as_a_diff_to_the_task_s_own() -> None:
    kept = (
        _kept("same.txt", "as it was\n"),
        _kept("notes.md", "one\ntwo\nthree\n"),
        _kept("new/report.md", "<b>done</b>\n"),
        KeptFile(path="a.png", size=5_000, text=None, no_text=NoText.BINARY),
    )
    before = {"same.txt": b"as it was\n", "notes.md": b"one\n2\nthree\n", "gone.csv": b"a,b\n"}

    shown = {one.title: one for one in compared_files(kept, before, {})}

    assert shown["same.txt"].remark == "unchanged"
    assert shown["notes.md"].remark == "changed, 1 KiB"
    assert shown["notes.md"].text == "@@ -1,4 +1,4 @@\n one\n-2\n+two\n three\n "
    assert shown["new/report.md"].remark == "new, 1 KiB"
    assert shown["a.png"].text == ""
    assert shown["a.png"].remark == "5 KiB, no text"
    assert shown["gone.csv"].remark == "deleted, or not kept"
    assert list(shown)[-1] == "same.txt"


def test_a_log_is_shown_from_its_end_and_only_if_it_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "check.log").write_bytes(b"x" * LOG_BYTES + b"the end\xff")
    (tmp_path / "gateway.log").mkdir()
    os.mkfifo(tmp_path / "stdout.log")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "ledger.jsonl").symlink_to(tmp_path / "secret")

    [logs] = trial_texts(Evidence(folder=tmp_path), None, None)

    assert [one.title for one in logs.texts] == ["check.log"]
    assert logs.texts[0].text.endswith("the end\ufffd")
    assert "left out" in logs.texts[0].remark
    assert read_end(tmp_path / "nothing", 10) == (b"", 0)


def test_the_images_that_tools_gave_are_shown_and_nothing_that_only_claims_to_be_one(tmp_path: Path) -> None:
    image = b64encode(b"\x89PNG\r\n\x1a\n picture").decode()
    texts = (image, b64encode(b"<svg onload=alert(1)>").decode(), "no Base64", image + "A" * IMAGES_BYTES, 7)
    parts = [{"type": "image", "data": text, "mimeType": "image/png"} for text in texts]
    events = [
        {"type": "message", "message": {"role": "toolResult", "toolName": "browser", "content": parts}},
        {"type": "message", "message": {"role": "toolResult", "toolName": "read", "content": parts[1:]}},
    ]
    evidence = Evidence(folder=tmp_path)
    evidence.transcript.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")

    [group] = trial_texts(evidence, None, None)

    assert [(one.title, one.images) for one in group.texts] == [
        ("browser", (("image 1", f"data:image/png;base64,{image}"),))
    ]


@pytest.mark.parametrize("data", [b"not json", b'{"votes": 3}', b"[" * 100_000])
def test_a_judge_s_replies_are_shown_even_if_damaged(tmp_path: Path, data: bytes) -> None:
    evidence = Evidence(folder=tmp_path)
    judge = JudgeGrade(score=0.5, replies_digest="ab" * 32)
    grade = Grade(key=TrialKey(task_id="t", repetition=1), grading_type=GradingType.LLM_JUDGE, judge=judge)
    votes = [{"replies": ["<script>alert(1)</script>", "again"], "problem": "", "cached": True}]
    evidence.judge_replies(judge.replies_digest).write_bytes(msgspec.json.encode({"votes": votes}))
    [replies] = trial_texts(evidence, grade, None)
    evidence.judge_replies(judge.replies_digest).write_bytes(data)
    [damaged] = trial_texts(evidence, grade, None)

    assert [(one.title, one.remark, one.text) for one in replies.texts] == [
        ("vote 1", "from the cache", "<script>alert(1)</script>"),
        ("vote 1", "from the cache", "again"),
    ]
    assert damaged.texts[0].text.startswith(data[:8].decode())


def test_a_folder_that_is_a_link_or_holds_one_is_not_shown(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "trials" / "plain").mkdir(parents=True)
    (run / "trials" / "holds").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (run / "trials" / "holds" / "transcript.jsonl").symlink_to("/etc/passwd")
    (run / "trials" / "is").symlink_to(tmp_path / "elsewhere")
    (run / "trials" / "loop").symlink_to(run / "trials" / "loop")

    assert links_outside(run / "trials" / "plain", run) == ""
    assert links_outside(run / "trials" / "nothing", run) == ""
    assert "transcript.jsonl" in links_outside(run / "trials" / "holds", run)
    assert "is a link" in links_outside(run / "trials" / "is", run)
    assert links_outside(run / "trials" / "loop", run) == ""


PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def test_images_are_shown_before_and_now_and_only_as_data_of_types_that_hold_no_code() -> None:
    binary = [KeptFile(path=name, size=28, text=None, no_text=NoText.BINARY) for name in ("a.png", "b.png", "c.jpg")]
    svg = _kept("d.svg", "<svg onload='alert(1)'/>")
    before = {"a.png": PNG + b"old", "c.jpg": b"\xff\xd8\xff"}
    images = {"a.png": PNG, "b.png": b"<html>" + bytes(9), "c.jpg": b"\xff\xd8\xff"}

    shown = {one.path: one for one in compared_files((*binary, svg), before, images)}

    assert [what for what, _ in shown["a.png"].images] == ["before", "now"]
    assert all(uri.startswith("data:image/png;base64,") for _, uri in shown["a.png"].images)
    assert shown["b.png"].images == ()
    assert [what for what, _ in shown["c.jpg"].images] == ["now"]
    assert shown["c.jpg"].remark == "unchanged"
    assert shown["d.svg"].images == ()
