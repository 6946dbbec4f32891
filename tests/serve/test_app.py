"""The site by its addresses: every page, names that lead nowhere, streams, and answers of bounded size."""

import errno
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from starlette.datastructures import QueryParams

from past_experiments import write_variants
from past_runs import Made, PlannedRun, random_trials, write_run
from pinchbench.errors import ConfigError
from pinchbench.model.ending import Reason
from pinchbench.model.trial import TrialKey
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.journal.journal import JournalWriter
from pinchbench.results.judge_certificate import keep_certificate
from pinchbench.results.records import RunFinished, TrialStarted, decode
from pinchbench.serve import app
from pinchbench.serve.app import access_for, open_listener
from pinchbench.serve.pages import Page, problem_page, run_page
from pinchbench.serve.run_catalogue import Catalogue
from simulated_judges import certificate
from site_server import START_S, ServedSite, serving

RUN = PlannedRun(
    trials={
        **random_trials(tasks=4, repetitions=2),
        "task_again": (Made(score=0.4, retried=(Reason.PROVIDER_ERROR,), stderr="second attempt\n"),),
    },
    categories={"task_000": "coding"},
    titles={"task_000": "Sort <em>a pile"},
)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ServedSite]:
    write_run(tmp_path, RUN)
    with serving(tmp_path) as one:
        yield one


def test_every_page_answers(tmp_path: Path) -> None:
    write_run(tmp_path, RUN)
    write_run(tmp_path, PlannedRun(trials=random_trials(tasks=4, repetitions=2, seed=2), model="mock/m2"))
    files = write_variants(tmp_path, tasks=3, repetitions=2, variants={"low": 0.4, "high": 0.9})
    with serving(tmp_path) as site:
        newest = site.ask("/compare")  # before anything else was read
        runs = site.ask("/")
        filtered = site.ask("/?" + urlencode({"model": "mock/m2"}))
        run = site.ask(f"/run/{RUN.name}")
        report = site.ask(f"/run/{RUN.name}/report")
        coding = site.ask(f"/run/{RUN.name}?" + urlencode({"category": "coding", "sort": "-score"}))
        trial = site.ask(f"/run/{RUN.name}/trial/task_001@2")
        earlier = site.ask(f"/run/{RUN.name}/trial/task_again?attempt=1")
        both = [("run", RUN.name), ("run", RUN.name.replace("m1", "m2"))]
        compared = site.ask("/compare?" + urlencode(both))
        experiment = site.ask(f"/experiment/{quote(files.name)}")

    for one in (runs, filtered, run, report, coding, trial, earlier, compared, newest, experiment):
        assert one.status == 200, one.text
        assert one.headers["content-type"].startswith("text/html")
    assert "mock/m1" in runs.text
    assert f"/experiment/{files.name}" in runs.text
    assert filtered.text.count("<tr data-row>") == 1
    assert run.text.count("<tr data-row>") == 9
    assert f'href="/run/{RUN.name}/report"' in run.text
    assert report.text.count('class="trial-data"') == 9
    assert coding.text.count("<tr data-row>") == 4
    for one in (run, coding, compared):
        assert "Sort &lt;em&gt;a pile" in one.text
    assert "Please see to task_001." in trial.text
    assert '"provider error"' in earlier.text
    assert "m1 and m2" in compared.text
    assert "mock-m2" in newest.text
    assert f"/run/{quote(RUN.name)}/trial/" in compared.text
    assert "high" in experiment.text


def test_a_public_run_next_to_one_of_a_fresh_form_shows_an_estimate_of_memorisation(tmp_path: Path) -> None:
    trials = random_trials(tasks=4, repetitions=1, seed=2)
    runs = {form: f"20260105-03000{form or 0}-0001" for form in (None, 7)}
    for form, run_id in runs.items():
        write_run(tmp_path, PlannedRun(trials=trials, run_id=run_id, config={"form": form}))
    with serving(tmp_path) as site:
        page = site.ask("/compare?" + urlencode([("run", f"mock-m1_{run_id}") for run_id in runs.values()])).text

    assert '<section class="card" id="memorisation">' in page
    assert "public − fresh is 0.000" in page


NOWHERE = (
    "/nothing",
    "/run/",
    "/run/..",
    "/run/../../etc/passwd",
    "/run/%2e%2e%2f%2e%2e%2fetc",
    "/run/..%2fother",
    "/run/%2fetc",
    "/run/NAME%00",
    "/run/NAME%2f..%2fNAME",
    "/run/NAME/trial/..%2f..%2frun.json",
    "/run/NAME/trial/task_000%2f..",
    "/run/NAME/trial/task_000@9",
    "/run/NAME/trial/../../run.json",
    "/run/NAME/journal.jsonl",
    "/run/NAME/trials/task_000/1/transcript.jsonl",
    "/run/NAME/events/../run.json",
    "/run/..%2fother/events",
    "/run/NAME/trial/nothing/events",
    "/experiment/..",
    "/experiment/NAME",
    "/experiment/%2e%2e",
    "/compare?run=..%2fother&run=NAME",
    "/compare?run=NAME",
    "/compare",
    "//etc/passwd",
    "/static/../run.json",
)


def test_a_name_that_is_none_of_the_folder_s_leads_nowhere(tmp_path: Path) -> None:
    output = tmp_path / "results"
    write_run(output, RUN)
    secret = PlannedRun(trials={"task_000": (Made(note="a secret"),)}, model="secret")
    write_run(tmp_path, secret).folder.rename(tmp_path / "other")
    with serving(output) as site:
        answers = {path: site.ask(path.replace("NAME", RUN.name)) for path in NOWHERE}

    assert {path: one.status for path, one in answers.items()} == dict.fromkeys(NOWHERE, 404)
    assert [path for path, one in answers.items() if "secret" in one.text or "root:" in one.text] == []


def test_a_search_or_an_attempt_that_means_nothing_is_no_error_of_the_server(site: ServedSite) -> None:
    odd = site.ask(f"/run/{RUN.name}?" + urlencode({"search": "<script>alert(1)</script>", "page": "x", "sort": "-"}))
    attempt = site.ask(f"/run/{RUN.name}/trial/task_000?attempt=99999999999999")

    assert odd.status == attempt.status == 200
    assert "<script>alert(1)" not in odd.text
    assert "No trial fits." in odd.text


def test_a_folder_without_runs_says_how_to_make_one(tmp_path: Path) -> None:
    with serving(tmp_path) as site:
        page = site.ask("/").text

    assert "no runs in this folder yet; <code>pinchbench-async --model MODEL</code> makes one." in page
    assert "compare the chosen runs" not in page


def test_a_run_that_can_t_be_read_is_listed_with_the_reason_and_hides_no_other(tmp_path: Path) -> None:
    write_run(tmp_path, RUN)
    files = write_run(tmp_path, PlannedRun(trials={"task_a": (Made(),)}, run_id="20260103-030000-0002"))
    files.provenance.write_text("{", encoding="utf-8")
    with serving(tmp_path) as site:
        runs = site.ask("/")
        run = site.ask(f"/run/{files.name}")
        stream = site.ask(f"/run/{files.name}/events")

    assert runs.text.count("<tr data-row>") == 2
    assert "unreadable" in runs.text
    assert (run.status, stream.status) == (422, 422)
    assert "run.json" in run.text


def test_runs_that_were_not_read_yet_are_counted(site: ServedSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "LIST_WAIT_S", 0.0)
    first = site.ask("/")
    monkeypatch.setattr(app, "LIST_WAIT_S", START_S)
    second = site.ask("/")

    assert (first.status, second.status) == (200, 200)
    assert "1 run still to be read" in first.text
    assert first.text.count("<tr data-row>") == 0
    assert "still to be read" not in second.text
    assert second.text.count("<tr data-row>") == 1


def test_a_page_that_takes_long_is_made_once_and_another_says_so_until_it_is_ready(
    site: ServedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, may_go_on = [], threading.Event()

    def slow_page(*_: object) -> Page:
        made.append(1)
        assert may_go_on.wait(START_S)
        return problem_page("At last.")

    monkeypatch.setattr(app, "run_page", slow_page)
    monkeypatch.setattr(app, "PAGE_WAIT_S", 0.1)
    while not made:  # on a busy machine, its thread may not have begun in time
        early = site.ask(f"/run/{RUN.name}")
    again = site.ask(f"/run/{RUN.name}")
    may_go_on.set()
    monkeypatch.setattr(app, "PAGE_WAIT_S", START_S)
    ready = site.ask(f"/run/{RUN.name}")

    assert [one.status for one in (early, again, ready)] == [202, 202, 200]
    assert early.headers["refresh"] == "1"
    assert "This page comes soon" in again.text
    assert "At last." in ready.text
    assert len(made) == 1


def test_a_file_that_can_t_be_read_is_reported(site: ServedSite, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **_options: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(app, "run_page", fail)
    monkeypatch.setattr(app, "live_data", fail)
    answers = [site.ask(f"/run/{RUN.name}"), site.ask(f"/run/{RUN.name}/events")]

    assert [one.status for one in answers] == [422, 422]
    assert all("can&#39;t be read: Input/output error" in one.text.replace("'", "&#39;") for one in answers)


@contextmanager
def _streamed(site: ServedSite, path: str) -> Iterator[Iterator[tuple[str, Any]]]:
    """The events of an address, as they come."""
    connection = HTTPConnection("127.0.0.1", site.port, timeout=START_S)
    try:
        connection.request("GET", path)
        yield _events(connection.getresponse())
    finally:
        connection.close()


def _events(answer: HTTPResponse) -> Iterator[tuple[str, Any]]:
    name = ""
    while line := answer.readline():
        if line.startswith(b"event: "):
            name = line[7:].decode().strip()
        elif line.startswith(b"data: "):
            yield name, json.loads(line[6:])


def test_a_run_that_goes_on_is_streamed_until_it_ends(tmp_path: Path) -> None:
    files = write_run(tmp_path, PlannedRun(trials={"task_a": (Made(),)}, planned_beyond=2, has_ended=False))
    with ExitStack() as stack:
        journal = stack.enter_context(JournalWriter(files.journal, go_on=True))
        site = stack.enter_context(serving(tmp_path))
        events = stack.enter_context(_streamed(site, f"/run/{files.name}/events"))
        first = next(events)
        on = [(2, "host-111111"), (3, "host-222222")]
        keys = {slot: TrialKey(task_id="task_a", repetition=slot) for slot, _ in on}
        journal.append(
            [TrialStarted(key=keys[slot], slot=slot, attempt=1, at=1_767_322_900.0, node=node) for slot, node in on]
        )
        second = next(one for one in events if one[1]["slots"])
        journal.append([RunFinished(at=1_767_323_000.0)])
        journal.__exit__(None, None, None)
        *_, last, end = events

    assert first[0] == second[0] == last[0] == "state"
    assert first[1]["state"] == "running"
    assert first[1]["ended"] == 1
    assert [(one["slot"], one["trial"], one["node"]) for one in second[1]["slots"]] == [
        (2, "task_a@2", "host-111111"),
        (3, "task_a@3", "host-222222"),
    ]
    assert last[1]["state"] == "unfinished"
    assert last[1]["slots"] == []
    assert end == ("end", None)


@pytest.mark.parametrize(("planned_beyond", "says"), [(2, True), (0, False)])
def test_the_page_of_a_run_that_was_stopped_says_how_to_resume_it(
    tmp_path: Path, planned_beyond: int, *, says: bool
) -> None:
    files = write_run(tmp_path, PlannedRun(trials={"task_a": (Made(),)}, planned_beyond=planned_beyond))

    page = run_page(Catalogue(tmp_path), files.name, QueryParams()).body.decode()

    run_id = files.name.rpartition("_")[2]
    hint = f"2 trials without a score: <code>pinchbench-async resume {run_id}</code> runs or grades them."
    assert (hint in page) is says


def test_a_trial_that_runs_is_streamed_until_it_is_graded(tmp_path: Path) -> None:
    planned = PlannedRun(trials={"task_a": (Made(score=0.3, transcript="", note="It gave up."),)})
    files = write_run(tmp_path, planned)
    records = [decode(line) for line in files.journal.read_bytes().splitlines()]
    files.journal.unlink()
    evidence = Evidence(folder=files.trial(TrialKey(task_id="task_a", repetition=1)))
    with ExitStack() as stack:
        journal = stack.enter_context(JournalWriter(files.journal))
        journal.append(records[:2])
        site = stack.enter_context(serving(tmp_path))
        events = stack.enter_context(_streamed(site, f"/run/{files.name}/trial/task_a/events"))
        states = [next(events)[1]]
        evidence.stderr.write_text("a warning of OpenClaw", encoding="utf-8")
        states.append(next(events)[1])
        for record in records[2:4]:
            journal.append([record])
            states.append(next(events)[1])
        end = next(events)

    assert [one["state"]["text"] for one in states] == ["running", "running", "grading", "failed"]
    assert ["a warning" in one["stderr"]["text"] for one in states] == [False, True, True, True]
    assert states[-1]["grade"]["score"] == 0.3
    assert states[-1]["notes"] == ["It gave up."]
    assert end == ("end", None)


def test_only_so_many_pages_are_reported_what_is_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write_run(tmp_path, PlannedRun(trials={"task_a": (Made(),)}, planned_beyond=1, has_ended=False))
    monkeypatch.setattr(app, "MOST_STREAMS", 1)
    path = f"/run/{files.name}/events"
    with JournalWriter(files.journal, go_on=True), serving(tmp_path) as site, _streamed(site, path) as events:
        next(events)
        refused = site.ask(path)
        page = site.ask(f"/run/{files.name}")

    assert refused.status == 503
    assert page.status == 200


def test_a_huge_transcript_gives_an_answer_of_bounded_size(tmp_path: Path) -> None:
    line = json.dumps({"type": "message", "message": {"role": "user", "content": "long " * 50_000}}) + "\n"
    files = write_run(tmp_path, PlannedRun(trials={"task_a": (Made(transcript=line * 80, stderr="e" * 3_000_000),)}))
    key = TrialKey(task_id="task_a", repetition=1)
    with serving(tmp_path) as site:
        cut = site.ask(f"/run/{files.name}/trial/task_a")
        with (files.trial(key) / "transcript.jsonl").open("ab") as file:
            file.truncate(50_000_000_000)  # a sparse one: it takes no room
        endless = site.ask(f"/run/{files.name}/trial/task_a")

    assert len(cut.text) < 2_500_000
    assert "parts of long texts are left out" in cut.text
    assert endless.status == 200
    assert len(endless.text) < 200_000
    assert "too large" in endless.text


def test_a_trial_whose_files_are_links_shows_none_of_them(tmp_path: Path) -> None:
    files = write_run(tmp_path, RUN)
    (tmp_path / "secret").write_text("a secret of this machine\n", encoding="utf-8")
    for name, target in {"stderr.log": "secret", "transcript.jsonl": "secret"}.items():
        path = files.trial(TrialKey(task_id="task_000", repetition=1)) / name
        path.unlink()
        path.symlink_to(tmp_path / target)
    with serving(tmp_path) as site:
        answer = site.ask(f"/run/{files.name}/trial/task_000")

    assert answer.status == 200
    assert "which are not followed" in answer.text
    assert "a secret of this machine" not in answer.text


def test_certificates_of_judges_are_listed_and_shown_and_a_damaged_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINCHBENCH_DATA", str(tmp_path / "data"))
    (tmp_path / "runs").mkdir()
    one = certificate("<b>judge-1</b>")
    with serving(tmp_path / "runs") as site:
        none = site.ask("/judges")
        keep_certificate(one).with_name("damaged.json").write_text("{", encoding="utf-8")
        listed = site.ask("/judges")
        shown = site.ask(f"/judge/{one.identifier}")
        nowhere = site.ask("/judge/..%2fdamaged")

    assert "No judge has a certificate yet" in none.text
    assert f'href="/judge/{one.identifier}"' in listed.text
    assert "&lt;b&gt;judge-1" in listed.text
    assert "damaged.json can&#39;t be read" in listed.text
    assert (shown.status, nowhere.status) == (200, 404)
    assert f"Certificate {one.identifier}" in shown.text


TOKEN = "a-secret-of-some-length"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "::1", "localhost"])
def test_this_machine_s_loopback_needs_no_token(host: str) -> None:
    assert access_for(host, "").is_local
    assert access_for(host, TOKEN).token == TOKEN


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.7", "bench.example", ""])
def test_any_other_address_is_refused_without_a_token(host: str) -> None:
    with pytest.raises(ConfigError, match="PINCHBENCH_SERVE_TOKEN"):
        access_for(host, "")

    access = access_for(host, TOKEN)
    assert not access.is_local
    assert access.has_token(TOKEN)
    assert not access.has_token(TOKEN[:-1])


def test_a_token_that_can_be_guessed_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigError, match="shorter than 16") as raised:
        access_for("127.0.0.1", "hunter2")

    assert "hunter2" not in str(raised.value)


def test_a_port_that_is_taken_is_an_error_that_names_it() -> None:
    with open_listener("127.0.0.1", 0) as listener:
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(ConfigError, match=f"127.0.0.1, port {port}: .*--port 0 takes a free port"):
            open_listener("127.0.0.1", port)
