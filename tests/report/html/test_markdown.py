"""Markdown in a trial's conversation, in a real browser: what it becomes, what it can't become, and how fast."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from browser import opened
from mischief import MISCHIEF, transcript_line
from past_runs import Made, PlannedRun, write_run
from pinchbench.report.html.report_page import write_report
from pinchbench.results.finished_run import read_run

TEXT = """# What I *did*

Now **two `files`** for *you*, as [asked](javascript:alert(1)); 2*3*4 is `24`, and *.py stays, as do __init__ and a_b.
The second line.

1. First
   - inner
     goes on
   - inner too
3. Third
```python
x = "**not bold**"
```

> Quoted
> twice

---
| name | count |
|:-----|------:|
| a\\|b | **1** |
"""
SHOWN = (
    "<p><strong>What I <em>did</em></strong></p>"
    "<p>Now <strong>two <code>files</code></strong> for <em>you</em>, as [asked](javascript:alert(1)); 2*3*4 is "
    "<code>24</code>, and *.py stays, as do __init__ and a_b.\nThe second line.</p>"
    '<ol><li value="1">First<ul><li>inner\ngoes on</li><li>inner too</li></ul></li><li value="3">Third'
    '<p class="faint">python</p><pre class="output">x = "**not bold**"</pre></li></ol>'
    '<p class="quote">Quoted\ntwice</p><hr>'
    '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table><thead><tr><th>name</th><th>count</th>'
    "</tr></thead><tbody><tr><td>a|b</td><td><strong>1</strong></td></tr></tbody></table></div>"
)
HOSTILE = ("`", "*", "**", "**a ", "*a ", "[", "[a](", "![a](b", "> ", "- ", "  - a\n", "- a\n 1. b\n", "|", "|-|\n",
           "#", "```\n", "~~~a\n", "- " * 40 + "x\n", "a\n", "\n", "\\|")  # fmt: skip
AS_HTML = (
    "(text) => { const it = document.createElement('div'); it.append(...markdown(page.make)(text)); return it.%s }"
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trial whose model writes Markdown."""
    folder = tmp_path_factory.mktemp("markdown")
    messages: list[dict[str, object]] = [
        {"role": "user", "content": "Do **this**."},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "`x`"}, {"type": "text", "text": TEXT}]},
    ]
    made = Made(score=1.0, transcript="".join(map(transcript_line, messages)))
    path = folder / "report.html"
    write_report([read_run(write_run(folder, PlannedRun(trials={"task_a": (made,)})))], path)
    return path


def test_users_and_models_write_markdown_and_its_links_lead_nowhere(browser: Browser, report: Path) -> None:
    with opened(browser, report, anchor="#trial/task_a") as watched:
        page = watched.page
        page.get_by_text("thinking").click()
        html = page.evaluate(AS_HTML % "innerHTML", TEXT)

        assert html == SHOWN
        assert page.locator(".message.assistant > .text").inner_html() == html
        assert page.locator(".message.user strong").inner_text() == "this"
        assert page.locator(".message .soft code").inner_text() == "x"
        assert page.locator(".message a").count() == 0
        assert watched.complaints == []


def test_an_address_is_shown_behind_its_label(browser: Browser, report: Path) -> None:
    with opened(browser, report) as watched:
        shown = watched.page.evaluate(AS_HTML % "innerHTML", "![a](http://b/c.png) and [**d**](e)")

        assert shown == "<p>a (http://b/c.png) and **d** (e)</p>"


@pytest.mark.parametrize("text", MISCHIEF)
def test_html_stays_text(browser: Browser, report: Path, text: str) -> None:
    text = text.encode("utf-8", "replace").decode().replace("\0", "")
    with opened(browser, report) as watched:
        assert watched.page.evaluate(AS_HTML % "textContent", text) == text


def test_any_text_is_shown_in_linear_time_and_no_list_is_too_deep(browser: Browser, report: Path) -> None:
    deep = "\n".join(" " * 2 * depth + "- a" for depth in range(500))
    with opened(browser, report) as watched:
        for piece in HOSTILE:
            watched.page.evaluate(AS_HTML % "childNodes.length", piece * (300_000 // len(piece)))

        assert watched.page.evaluate(AS_HTML % "querySelectorAll('ul ' + 'ul '.repeat(7)).length", deep) == 1
