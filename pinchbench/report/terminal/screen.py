"""The drawn rows of a run: its slots, its last failures, its totals; never more than fit on the screen (pure)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from pinchbench.report.text import amount, duration, many, plain, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pinchbench.model.trial import TrialKey
    from pinchbench.report.terminal.run_progress import Failure, RunProgress, Slot

SHOWN_FAILURES = 5
MAX_NODE_COLUMNS = 16
NODE_END = 7  # of them: the part that tells nodes of one host apart
KEPT_FAILURES = 2  # rows for them even if there are more slots than rows
MAX_KEY_COLUMNS = 32  # of a trial's name, next to its activity
MAX_LABEL_COLUMNS = 28
BAR_COLUMNS = 8
MIN_TEXT_COLUMNS = 16  # for an agent's activity; with less, the bar is omitted first
NEARLY = 0.8  # of its limit is used up
# the terminal echoes typed characters, ^C above all, after the last row: that must not wrap to a new row
ECHO_COLUMNS = 8
SPARE_COLUMNS = 1
BETWEEN = " · "
STARTING = "starting OpenClaw"  # for an agent that has had no output yet
MINUTE_S, HOUR_S = 60.0, 3600.0
NO_ESTIMATE = "time left –"


def screen_rows(run_progress: RunProgress, now: float, *, columns: int, rows: int) -> list[Text]:
    """Return the rows to draw on a terminal of this size, from the top: fewer than it has."""
    width = max(1, columns - SPARE_COLUMNS)
    most = max(1, rows - 1)
    totals = list(_packed(totals_parts(run_progress, now), max(1, columns - ECHO_COLUMNS)))[:most]
    left = most - len(totals)
    failures = list(run_progress.failures.values())[-SHOWN_FAILURES:]
    for_slots = max(left - min(KEPT_FAILURES, len(failures)), min(left, 1))
    slots = list(_slot_rows(run_progress, now, width, most=for_slots))
    left -= len(slots)
    shown = failures[-left:] if left > 0 else []
    drawn = [*slots, *map(_failure_row, shown), *(Text(line) for line in totals)]
    drawn[-1].stylize("bold" if run_progress.has_ended else "")
    for row in drawn:
        row.truncate(width, overflow="ellipsis")
        row.no_wrap, row.overflow = True, "ellipsis"
    return drawn


def totals_parts(run_progress: RunProgress, now: float) -> Iterator[str]:
    """Yield the state of the run in parts, for any separator."""
    if run_progress.began is None:
        yield f"getting ready: {run_progress.step}" if run_progress.step else "getting ready"
        if run_progress.set_up_since is not None:
            yield duration(now - run_progress.set_up_since)
        return
    if run_progress.only_grades:
        scores = [one.score for one in run_progress.regraded.values() if one.score is not None]
        yield f"{len(run_progress.regraded)} of {run_progress.trials} graded again"
        if scores:
            yield _mean(sum(scores) / len(scores), len(scores))
        return
    if run_progress.pace:
        yield run_progress.pace
    yield from _count_parts(run_progress)
    yield _tokens_part(run_progress)
    yield from _cost_parts(run_progress)
    yield _time_part(run_progress, max(0.0, now - run_progress.began))
    if (run_progress.slots or run_progress.ahead) and not run_progress.has_ended:
        left_s = run_progress.left_s(now)
        yield NO_ESTIMATE if left_s is None else time_left(left_s)


def _count_parts(run_progress: RunProgress) -> Iterator[str]:
    counts = run_progress.counts
    before = f" ({run_progress.before} of them before)" if run_progress.before else ""
    yield f"{counts.done} of {run_progress.trials} done{before}"
    yield f"{counts.passed} passed"
    yield f"{counts.failed} failed"
    others = {
        "ungraded": counts.ungraded,
        "excluded (infrastructure)": counts.infrastructure,
        "excluded (untrusted)": counts.untrusted,
        "being graded": counts.waiting,
        "prerequisite missing": counts.missing,
        "skipped": counts.skipped,
        "interrupted": counts.interrupted,
        "retried": run_progress.retries,
    }
    yield from (f"{number} {words}" for words, number in others.items() if number)
    if counts.mean is not None:
        yield _mean(counts.mean, counts.passed + counts.failed)


def _tokens_part(run_progress: RunProgress) -> str:
    """Format what the agents have used; with a limit, which is for everything, including the judge's part."""
    tokens = run_progress.agents_usage.total_tokens
    if run_progress.max_tokens is None:
        return f"{amount(tokens)} tokens"
    return f"{amount(tokens + run_progress.judge_usage.total_tokens)} of {amount(run_progress.max_tokens)} tokens"


def _cost_parts(run_progress: RunProgress) -> Iterator[str]:
    """Yield the cost in the same way."""
    agents_usd, judge_usd = run_progress.agents_usage.known_cost_usd, run_progress.judge_usage.cost_usd
    if agents_usd is None:
        yield "cost unknown"
    elif run_progress.max_cost_usd is None:
        if run_progress.agents_usage.total_tokens:  # until then, nobody has reported a cost
            yield f"${agents_usd:.4f}"
    else:
        yield f"${agents_usd + judge_usd:.4f} of ${run_progress.max_cost_usd:.2f}"
    if judge_usd:
        yield f"judge ${judge_usd:.4f}{'' if run_progress.max_cost_usd is None else ' of it'}"


def _time_part(run_progress: RunProgress, elapsed_s: float) -> str:
    """Format how long this session has taken, with its limit if there is one."""
    limit = "" if run_progress.max_hours is None else f" of {duration(run_progress.max_hours * HOUR_S)}"
    return f"{duration(elapsed_s)}{limit}{' since it was resumed' if run_progress.before else ''}"


def _mean(mean: float, number: int) -> str:
    return f"mean {mean:.2f} of {many(number, 'trial')}"


def time_left(seconds: float) -> str:
    """Format an estimate as exactly as it can be: `about 40 min left`."""
    if seconds < 1.5 * MINUTE_S:
        return f"about {max(5, 5 * round(seconds / 5))} s left"
    if seconds < 1.5 * HOUR_S:
        return f"about {round(seconds / MINUTE_S)} min left"
    hours, minutes = divmod(5 * round(seconds / MINUTE_S / 5), 60)
    return f"about {hours} h {minutes:02d} min left" if minutes else f"about {hours} h left"


def _packed(parts: Iterable[str], width: int) -> Iterator[str]:
    """Join as many parts per row as fit."""
    row = ""
    for part in map(plain, parts):
        longer = f"{row}{BETWEEN}{part}" if row else part
        if row and cell_len(longer) > width:
            yield row
            longer = part
        row = _cut(longer, width)
    if row:
        yield row


def _slot_rows(run_progress: RunProgress, now: float, width: int, *, most: int) -> Iterator[Text]:
    slots = sorted(run_progress.slots.items())
    if len(slots) > most:
        shown = max(0, most - 1)
        hidden = len(slots) - shown
    else:
        shown, hidden = len(slots), 0
    yield from _busy_rows(slots[:shown], now, width)
    if hidden and most:
        more = "more " if shown else ""
        yield Text(f"and {many(hidden, f'{more}slot')}" if shown else many(hidden, "slot"), style="dim")


def _busy_rows(slots: Sequence[tuple[int, Slot]], now: float, width: int) -> Iterator[Text]:
    """Yield a row for each slot: its number, its node, its trial, how much of its time is used up, and what it does."""
    if not slots:
        return
    rows = [_cells(number, slot, now) for number, slot in slots]
    number_width, node_width, key_width, time_width, tokens_width = (
        max(cell_len(cells[place]) for cells, _ in rows) for place in range(5)
    )
    room = width - number_width - node_width - time_width - tokens_width - (5 if node_width else 4)
    key_width = max(1, min(key_width, MAX_KEY_COLUMNS, room))
    has_bar = room - key_width - BAR_COLUMNS >= MIN_TEXT_COLUMNS
    for ((number, node, key, time, tokens), kept), (_, slot) in zip(rows, slots, strict=True):
        text = Text()
        text.append(f"{number:>{number_width}} ", style="dim")
        if node_width:
            text.append(f"{node:<{node_width}} ", style="dim")
        text.append(set_cell_size(_cut(key, key_width, kept), key_width), style="bold")
        if has_bar:
            share = min(1.0, max(0.0, now - slot.since) / slot.timeout_s) if slot.timeout_s > 0 else 1.0
            full = round(BAR_COLUMNS * share)
            text.append(" ")
            text.append("━" * full, style="yellow" if share >= NEARLY else "green")
            text.append("─" * (BAR_COLUMNS - full), style="dim")
        text.append(f" {time:>{time_width}}")
        if tokens_width:
            text.append(f" {tokens:>{tokens_width}}", style="dim")
        is_quiet = slot.usage is None and not slot.text
        doing = STARTING if is_quiet else plain(f"{slot.text}{_wait(slot, now)}", width=400)
        text.append(f" {doing}", style="dim" if is_quiet else "cyan")
        yield text


def _cells(number: int, slot: Slot, now: float) -> tuple[tuple[str, str, str, str, str], int]:
    """Return the texts of the first columns of a slot's row, and how much of the end of its trial's name is kept."""
    key, kept = _name(slot.key, slot.attempt)
    node = shorten(plain(slot.node), MAX_NODE_COLUMNS, end=NODE_END)
    time = f"{max(0.0, now - slot.since):.0f} of {slot.timeout_s:.0f} s"
    return (str(number), node, key, time, "" if slot.usage is None else amount(slot.usage.total_tokens)), kept


def _wait(slot: Slot, now: float) -> str:
    """Format how long OpenClaw waits until it retries a call; empty if it does not wait."""
    if slot.next_at is None:
        return ""
    left_s = math.ceil(slot.next_at - now)
    return f", next in {left_s} s" if left_s > 0 else ", waiting for the model"


def _failure_row(one: Failure) -> Text:
    label = _cut(plain(one.label), MAX_LABEL_COLUMNS)
    text = Text.assemble(("✗ ", "red"), (label, "yellow" if one.is_ours else "red"))
    name, kept = _name(one.key)
    text.append(f"  {_cut(name, MAX_KEY_COLUMNS, kept)}")
    if one.text:
        text.append(f"  {plain(one.text, width=400)}", style="dim")
    return text


def _name(key: TrialKey, attempt: int = 1) -> tuple[str, int]:
    """Return a trial's name, and how many characters at its end distinguish it from the task's other trials."""
    again = f" #{attempt}" if attempt > 1 else ""
    return plain(f"{key}{again}"), len(f"{key}{again}") - len(key.task_id)


def _cut(text: str, width: int, kept: int = 0) -> str:
    """Truncate text to so many columns, keeping its last `kept` characters if there is room for more than those."""
    if cell_len(text) <= width:
        return text
    end = text[len(text) - kept :] if kept + 1 < width else ""
    return f"{set_cell_size(text, max(0, width - 1 - len(end)))}…{end}"
