"""JUnit's XML says of each trial what a test would say."""

from pathlib import Path
from xml.etree import ElementTree as ET

from past_runs import Made, PlannedRun, random_trials, write_run
from pinchbench.model.ending import Reason
from pinchbench.model.grade import Ungraded
from pinchbench.report.export.junit import junit_lines
from pinchbench.results.finished_run import read_run

SUITE_ATTRIBUTES = {"name", "package", "tests", "failures", "errors", "skipped", "time", "timestamp"}
HOSTILE = ']]></failure><!-- & "quoted" \x00\x1b[31m\x85\ufffe\ufffd <script>'


def _tree(folder: Path, run: PlannedRun) -> ET.Element:
    return ET.fromstring("".join(junit_lines(read_run(write_run(folder, run)))).encode())


def test_a_suite_is_a_category_and_its_numbers_are_those_of_its_cases(tmp_path: Path) -> None:
    trials = random_trials(tasks=8, repetitions=4, trouble=0.5)
    root = _tree(tmp_path, PlannedRun(trials=trials, planned_beyond=1))
    suites = root.findall("testsuite")

    assert root.tag == "testsuites"
    assert [suite.get("name") for suite in suites] == ["basics", "data", "coding", "writing"]
    for suite in suites:
        assert set(suite.attrib) == SUITE_ATTRIBUTES
        assert [child.tag for child in suite][:1] == ["properties"]
        cases = suite.findall("testcase")
        assert int(suite.attrib["tests"]) == len(cases) == 10
        for sort, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.attrib[sort]) == len(suite.findall(f"testcase/{tag}"))
        assert abs(float(suite.attrib["time"]) - sum(float(case.attrib["time"]) for case in cases)) < 0.01
    for sort in ("tests", "failures", "errors"):
        assert int(root.attrib[sort]) == sum(int(suite.attrib[sort]) for suite in suites)


def test_a_case_has_at_most_one_verdict_and_the_schemas_children_in_their_order(tmp_path: Path) -> None:
    root = _tree(tmp_path, PlannedRun(trials=random_trials(tasks=8, repetitions=4, trouble=0.5), planned_beyond=1))
    names = [case.get("name") for case in root.iter("testcase")]

    assert len(names) == len(set(names))
    for case in root.iter("testcase"):
        tags = [child.tag for child in case]
        assert tags in [
            [],
            ["skipped"],
            *([one, "system-out"] for one in ("failure", "error", "skipped")),
            ["system-out"],
        ]
        assert set(case.attrib) == {"name", "classname", "time"}


def test_each_verdict_says_why(tmp_path: Path) -> None:
    trials = {
        "passed": (Made(score=0.5),),
        "failed": (Made(score=0.25, notes=("No sources are named.",)),),
        "close": (Made(score=0.4996),),
        "late": (Made(score=0.0, reason=Reason.TIMED_OUT),),
        "broken": (Made(score=None, reason=Reason.PROVIDER_ERROR, note="429 Too Many Requests"),),
        "ungraded": (Made(score=None, ungraded=Ungraded.JUDGE_UNREACHABLE, notes=("No answer.",)),),
        "cut": (Made(score=None, reason=Reason.INTERRUPTED),),
    }
    root = _tree(tmp_path, PlannedRun(trials=trials, planned_beyond=1))
    cases = {case.attrib["name"]: case for case in root.iter("testcase")}
    said = {
        name: (child.tag, child.get("type"), child.get("message"))
        for name, case in cases.items()
        for child in case
        if child.tag != "system-out"
    }

    assert "passed" not in said
    assert said["failed"] == (
        "failure",
        "score",
        "score 0.25: file there 0.25, is clear (judge) 0.25; No sources are named.",
    )
    assert str(said["close"][2]).startswith("score 0.4996: ")
    assert said["late"][:2] == ("failure", "score")
    assert str(said["late"][2]).startswith("timed out, score 0.00")
    assert said["broken"][:2] == ("error", "provider_error")
    assert str(said["broken"][2]).endswith(": 429 Too Many Requests")
    assert said["ungraded"] == ("skipped", None, "ungraded, judge unreachable: No answer.")
    assert said["cut"] == ("skipped", None, "interrupted (not in the score)")
    assert said["passed@2"][0] == "skipped"
    assert str(said["passed@2"][2]).startswith("not run; ")
    told = cases["failed"].findtext("system-out") or ""
    assert told.startswith("transcript: mock-m1_20260102-030000-0001/trials/failed/1/transcript.jsonl\n")
    assert "automated.file_there: 0.25" in (cases["failed"].findtext("failure") or "")


def test_hostile_notes_and_categories_stay_text(tmp_path: Path) -> None:
    trials = {"task_a": (Made(score=0.1, notes=(HOSTILE,)), Made(score=None, reason=Reason.RUNNER_BUG, note=HOSTILE))}
    root = _tree(tmp_path, PlannedRun(trials=trials, categories={"task_a": HOSTILE}))
    failure, error = root.find(".//failure"), root.find(".//error")

    assert failure is not None
    assert error is not None
    assert ']]></failure><!-- & "quoted"' in str(failure.text)
    assert "<script>" in str(error.get("message"))
    assert not list(root.iter("script"))
