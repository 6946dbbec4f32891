"""The site in a real browser: what is live, keys, phones, axe-core, and text that tries to be code."""

import base64
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Browser, expect

from browser import chromium, opened, violations
from history_states import BEGAN, Said, UserState, candidate
from mischief import MISCHIEF, mischievous_calls, mischievous_transcript
from past_experiments import write_variants
from past_runs import Made, PlannedRun, random_trials, write_run
from pinchbench.authoring.history.privacy import Masker
from pinchbench.events import Event
from pinchbench.files.archive_write import keep_workspace
from pinchbench.model.ending import Reason
from pinchbench.model.grade import Ungraded
from pinchbench.model.trial import TrialKey
from pinchbench.report.html.report_page import write_report
from pinchbench.report.terminal.run_progress import RunProgress
from pinchbench.report.terminal.screen import totals_parts
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.finished_run import read_run
from pinchbench.results.journal.journal import JournalWriter
from pinchbench.results.journal.tail import FollowedRun
from pinchbench.results.judge_certificate import keep_certificate
from pinchbench.results.paths import RunFiles
from pinchbench.results.records import decode
from pinchbench.serve.history_review import HistoryReview
from pinchbench.serve.site_guard import Access
from sampling import sampled
from simulated_judges import certificate
from site_server import serving

ONE = PlannedRun(
    trials={
        **random_trials(tasks=6, repetitions=2, trouble=0.3),
        "task_again": (Made(score=0.4, retried=(Reason.PROVIDER_ERROR,)),),
    }
)
TWO = PlannedRun(trials=random_trials(tasks=6, repetitions=2, ability=0.4, seed=1), model="mock/m2")
CERTIFICATE = certificate("mock/judge")
TRIAL = f"/run/{ONE.name}/trial/task_001"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
AT_SOME_TIME = re.compile(r"^\d[\d.]* (s|min|h)|^time left –$|^about ")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


def review_of(folder: Path, text: str) -> HistoryReview:
    """Return what is to be confirmed of a past conversation that has a text everywhere."""
    state, kept = UserState(folder=folder), text.replace("\0", "")
    state.put({"a.txt": kept}, at=BEGAN + 2)
    said = Said(prompt=f"a.txt {text}", calls=[("write", {"path": "a.txt", "content": kept}, text)], answer=text)
    return HistoryReview(candidates=[candidate(state, [said])], masker=Masker())


@pytest.mark.long
def test_axe_finds_nothing_and_nothing_overflows_by_day_or_night_on_a_desk_or_a_phone(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINCHBENCH_DATA", str(tmp_path / "data"))
    write_run(tmp_path, ONE)
    write_run(tmp_path, TWO)
    experiment = write_variants(tmp_path, tasks=3, repetitions=2, variants={"low": 0.4, "high": 0.9})
    keep_certificate(CERTIFICATE)
    paths = (
        "/",
        "/?search=nonsense&state=complete",
        "/items",
        "/judges",
        f"/judge/{CERTIFICATE.identifier}",
        f"/experiment/{quote(experiment.name)}",
        "/compare?" + urlencode([("run", ONE.name), ("run", TWO.name)]),
        f"/run/{ONE.name}",
        TRIAL,
        f"/run/{ONE.name}/trial/task_again?attempt=1",
        "/history",
        "/login",
    )
    found: list[object] = []
    with (
        serving(tmp_path, review=review_of(tmp_path / "state", "Write a.txt")) as site,
        opened(browser, f"{site.url}/") as watched,
    ):
        page = watched.page
        for path in paths:
            page.goto(site.url + path)
            for scheme, width in (("light", 1280), ("dark", 360))[path == "/login" :]:
                page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                page.set_viewport_size({"width": width, "height": 900})
                page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
                found += [(path, scheme, width, *one) for one in violations(page)]
                if page.evaluate("document.documentElement.scrollWidth") > width:
                    found.append((path, width, "overflows"))
        page.keyboard.press("?")
        found += violations(page)

    assert found == []
    assert watched.requests == []
    assert watched.complaints == []


LAYOUT = """() => [...document.querySelectorAll("table")].flatMap((table) => {
  const box = table.closest(".scroll");
  const wide = box.scrollWidth > box.clientWidth + 1 ? [`${box.ariaLabel} is cut off`] : [];
  const heads = [...(table.tHead?.offsetParent ? table.tHead.rows[0].cells : [])];
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
  const cells = rows.flatMap((row) => [...row.cells].map((cell, column) => [cell, heads[column]]))
    .filter(([cell]) => cell.checkVisibility() && cell.innerText.trim());
  const box_of = (one) => one.getBoundingClientRect();
  const look = (one) => [box_of(one).left, box_of(one).right, getComputedStyle(one).textAlign].join();
  const unnamed = heads.length ? cells.filter(([cell, head]) => look(cell) !== look(head)) : cells.filter(([cell]) =>
    cell.matches("td") && !cell.dataset.label);
  const unfit = table.classList.contains("matrix") || !box.ariaLabel ? [] : wide; // it scrolls in its box
  return [...unfit, ...unnamed.map(([cell]) => `${box.ariaLabel}: ${cell.innerText}`)];
})"""


@pytest.mark.parametrize("width", sampled([320, 390, 768, 1300], {320}))
def test_each_value_is_below_its_head_or_next_to_its_name_and_nothing_is_cut_off(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    write_run(tmp_path, ONE)
    write_run(tmp_path, TWO)
    found = {}
    report = tmp_path / "report.html"
    write_report([read_run(RunFiles(output_dir=tmp_path, name=one.name)) for one in (ONE, TWO)], report)
    with serving(tmp_path) as site, opened(browser, f"{site.url}/") as watched:
        watched.page.set_viewport_size({"width": width, "height": 900})
        compared = "/compare?" + urlencode([("run", ONE.name), ("run", TWO.name)])
        pages = [site.url + path for path in ("/", "/items", f"/run/{ONE.name}", compared)]
        for url in (*pages, report.as_uri()):
            watched.page.goto(url)
            found[url] = watched.page.evaluate(LAYOUT)

    assert found == {url: [] for url in found}


def test_keys_lead_through_a_folder_to_a_message(browser: Browser, tmp_path: Path) -> None:
    write_run(tmp_path, ONE)
    with serving(tmp_path) as site, opened(browser, f"{site.url}/") as watched:
        page = watched.page
        page.keyboard.press("?")
        expect(page.locator("#keys")).to_be_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{site.url}/run/{ONE.name}")  # to the end: before, nobody hears a key
        page.keyboard.press("/")
        page.keyboard.type("task_001@2")
        page.keyboard.press("Enter")
        page.wait_for_url("**/*search=task_001*")
        expect(page.locator("tr[data-row]")).to_have_count(1)
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url("**/trial/**")
        expect(page.locator("#served-trial h1")).to_have_text("task_001@2")
        for _ in range(2):
            page.keyboard.press("j")
        expect(page.locator(".message.at")).to_contain_text("exec")
        page.keyboard.press("/")
        page.keyboard.type("I have seen")
        expect(page.locator(".message:visible")).to_have_count(1)
        expect(page.locator("[role=status]")).to_have_text("1 of 3 messages")
        page.keyboard.press("Escape")
        page.keyboard.press("u")
        page.wait_for_url(f"{site.url}/run/{ONE.name}")
        page.go_back()
        page.go_back()
        expect(page.locator("input[name=search]")).to_have_value("task_001@2")

    assert watched.complaints == []


def test_a_user_logs_in_edits_a_proposal_and_makes_the_suite(browser: Browser, tmp_path: Path) -> None:
    review = review_of(tmp_path / "state", "Write\na.txt\n" * 60)
    with (
        serving(tmp_path, access=Access(token="a token of the server"), review=review) as site,
        opened(browser, f"{site.url}/login") as watched,
    ):
        page = watched.page
        page.get_by_label("Token").fill("a token of the server")
        page.get_by_role("button", name="log in").click()
        page.wait_for_url(f"{site.url}/history")
        page.get_by_label("A judge compares with").fill("Any note\nwill do")
        page.get_by_role("button", name="make the suite").click()
        expect(page.get_by_role("heading", name="Confirmed")).to_be_visible()

    assert [one.reference for one in review.confirmed[0].proposals] == ["Any note\nwill do"]
    assert (watched.complaints, watched.requests) == ([], [])


def test_text_from_agents_models_and_judges_is_never_code(browser: Browser, tmp_path: Path) -> None:
    mischief = tuple(text.encode("utf-8", "replace").decode() for text in MISCHIEF)  # a record holds no half characters
    bad = "\n".join(mischief)
    made = Made(
        score=0.5,
        note=bad,
        notes=mischief,
        stderr=bad,
        transcript=mischievous_transcript(),
        exchanges=mischievous_calls(),
        retried=(Reason.PROVIDER_ERROR,),
    )
    run = PlannedRun(
        trials={"task_a": (made,), "task_b": (Made(score=None, ungraded=Ungraded.JUDGE_REFUSED, notes=mischief),)},
        categories={"task_a": MISCHIEF[0], "task_b": MISCHIEF[1]},
        config={"suite": bad, "note": bad},
    )
    files = write_run(tmp_path, run)
    evidence = Evidence(folder=files.trial(TrialKey(task_id="task_a", repetition=1), 2))
    for log in (evidence.stdout, evidence.check_log, evidence.ledger, evidence.gateway_log):
        log.write_text(bad, encoding="utf-8", errors="replace")
    left = tmp_path / "left"
    left.mkdir()
    (left / "chart.png").write_bytes(PIXEL)
    (left / "no image.png").write_bytes(b"\0<script>alert(5)</script>")
    (left / "code.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(6)'/>")
    (left / "cells.csv").write_text("".join(f'1,"{text}"\n' for text in mischief if "\0" not in text))
    keep_workspace(left, evidence.workspace)
    paths = (
        "/",
        "/?" + urlencode({"filter": MISCHIEF[0], "sort": MISCHIEF[1], "page": MISCHIEF[1], MISCHIEF[0]: "x"}),
        f"/run/{files.name}?" + urlencode({"search": MISCHIEF[0], "x": MISCHIEF[0]}),
        f"/run/{files.name}",
        f"/run/{files.name}/trial/task_a",
        f"/run/{files.name}/trial/task_a?attempt=1",
        f"/run/{files.name}/trial/task_b",
        "/history",
        "/" + MISCHIEF[0].replace("/", "%2f").replace(" ", "%20").replace("<", "%3C"),
    )
    with (
        serving(tmp_path, review=review_of(tmp_path / "state", bad)) as site,
        opened(browser, f"{site.url}/") as watched,
    ):
        page = watched.page
        for path in paths:
            page.goto(site.url + path)
            page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
            for button in page.locator(".more button").all():
                button.click()
            assert page.locator("main").is_visible()
            foreign = ":is(iframe, object, svg[onload], img:not([src^='data:image/png']), style, a[href^='javascript'])"
            assert page.locator(f"main {foreign}").count() == 0
            assert page.locator("main script:not([type='application/json'])").count() == 0

        page.goto(f"{site.url}/run/{files.name}/trial/task_a")
        assert page.locator("main img").count() == 1
        assert page.evaluate("document.querySelector('main img').decode().then(() => 'an image')") == "an image"
        with page.expect_download() as download:
            page.get_by_role("link", name="download the transcript").click()
        assert download.value.path().read_bytes() == evidence.transcript.read_bytes()
        assert violations(page) == []

    assert [one for one in watched.complaints if "404" not in one] == []
    assert watched.requests == []


def test_a_run_that_goes_on_shows_the_terminal_s_numbers_at_each_record(browser: Browser, tmp_path: Path) -> None:
    trials = {
        "task_a": (Made(score=1.0), Made(score=0.2, notes=("<b>low</b>",))),
        "task_b": (Made(score=None, reason=Reason.GATEWAY_LOST, retried=(Reason.GATEWAY_LOST,), note="It is gone."),),
    }
    files = write_run(tmp_path, PlannedRun(trials=trials, slots=1, planned_beyond=1))
    records = [decode(line) for line in files.journal.read_bytes().splitlines()]
    files.journal.unlink()
    terminal = RunProgress()
    replay = FollowedRun(files)

    def numbers(events: list[Event]) -> list[str | re.Pattern[str]]:
        for event in events:
            terminal.take(event, 0.0)
        return [AT_SOME_TIME if AT_SOME_TIME.match(part) else part for part in totals_parts(terminal, 0.0)]

    with ExitStack() as stack:
        journal = stack.enter_context(JournalWriter(files.journal))
        journal.append(records[:1])
        site = stack.enter_context(serving(tmp_path))
        watched = stack.enter_context(opened(browser, f"{site.url}/run/{files.name}"))
        totals = watched.page.locator("[data-totals] li")
        seen = [numbers([replay.begin(0.0), *replay.tell(records[0], 0.0)])]
        expect(totals).to_have_text(seen[0])
        expect(watched.page.locator("[data-running]")).to_have_text("running")
        expect(watched.page.locator("[data-pause]")).to_contain_text(f"ctl {replay.facts.run_id} pause")
        for record in records[1:]:
            journal.append([record])
            seen.append(numbers(list(replay.tell(record, 0.0))))
            expect(totals).to_have_text(seen[-1])
        journal.__exit__(None, None, None)
        expect(watched.page.locator("[data-running]")).to_have_text("unfinished")
        expect(watched.page.locator("[data-pause]")).to_be_hidden()
        expect(watched.page.locator("[data-failures] li").first).to_contain_text("task_b gateway lost It is gone.")
        expect(watched.page.locator("[data-failures]")).to_contain_text("<b>low</b>")
        expect(watched.page.locator("[data-new]")).to_contain_text("3 trials have ended since")
        expect(watched.page.locator("[data-mean]")).to_have_text("0.600")

    assert len(records) == 12
    assert len({str(one) for one in seen}) == 7
    assert watched.complaints == []
