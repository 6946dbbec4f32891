"""`tasks from-history`: make a private suite of the user's own conversations with OpenClaw."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
import time
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

import anyio
import click

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import FOLDER, OUTPUT_DIR, Integer, option, setting_option
from pinchbench.cli.output import print_result, say
from pinchbench.errors import ConfigError, SuiteError
from pinchbench.report.text import many, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinchbench.authoring.history.candidates import Candidate
    from pinchbench.authoring.history.privacy import Masker
    from pinchbench.authoring.history.proposals import Proposal

SUITE = "history"
SOURCE = "your conversations with OpenClaw"
UNITS_S = {"h": 3600.0, "d": 86_400.0, "w": 7 * 86_400.0}
SHOWN_REFERENCE = 400  # characters of what a result is compared with


@click.command("from-history", context_settings=CONTEXT)
@option("--state", type=FOLDER, default=None, help="OpenClaw's state folder.  [default: ~/.openclaw]")
@option("--agent", default="", metavar="NAME", help="Only the conversations of this agent.")
@option("--since", default="30d", show_default=True, metavar="AGE", help="How old they may be, such as 12h, 30d or 8w.")
@option("--match", default="", metavar="TEXT", help="Only those with this text in a message of yours.")
@option("--pick", default="", metavar="ID,…",
        help="Make a suite of these, or of all that are `suggested`.")  # fmt: skip
@option("--yes", is_flag=True, help="Accept every proposal for grading without asking.")
@option("--serve", "port", type=Integer(0, 65535), default=None, metavar="PORT",
        help="Confirm the proposals in a browser, at this port of 127.0.0.1; 0 takes a free one.")  # fmt: skip
@option("--memory", is_flag=True, help="Include your agent's memory and instructions as they were.")
@option("--skills", is_flag=True, help="Include the skills of the workspace as they were.")
@option("--clock", is_flag=True, help="Begin the trials at the time of the conversation; takes libfaketime.")
@option("--name", "names", multiple=True, metavar="NAME", help="Replace a name everywhere; may be repeated.")
@option("--addresses", is_flag=True, help="Replace mail addresses and telephone numbers.")
@option("--replace", "replaces", is_flag=True, help="Replace the suite `history` that is there.")
@option("--weigh", "runs", multiple=True, metavar="RUN",
        help="Say how a run of the suite weighs against your work of a month; may be repeated.")  # fmt: skip
@OUTPUT_DIR
@setting_option("run-root")
@option("--json", "as_json", is_flag=True, help="Print the conversations as JSON.")
def from_history(
    *,
    state: Path | None,
    agent: str,
    since: str,
    match: str,
    pick: str,
    yes: bool,
    port: int | None,
    memory: bool,
    skills: bool,
    clock: bool,
    names: tuple[str, ...],
    addresses: bool,
    replaces: bool,
    runs: tuple[str, ...],
    output_dir: Path,
    run_root: Path,
    as_json: bool,
) -> None:
    """Make a private suite of your own conversations with OpenClaw.

    Lists them with what keeps each from being asked again, and suggests some that stand for your work. With --pick, or
    by what you choose in the terminal, it restores the files that each began with, and proposes how to grade it: what
    you corrected, the files you kept, tests that passed. You confirm, edit or drop each proposal, in the terminal or
    with --serve in a browser. Then the suite is written to your data folder, and the old conversations are played again
    to show that they score 1.0.

    OpenClaw's state and workspaces are only read, and nothing leaves this machine. Keys are masked. Running the suite
    sends its prompts and files to the model that you name.

    \b
    pinchbench-async tasks from-history
    pinchbench-async tasks from-history --pick suggested
    pinchbench-async tasks from-history --since 8w --pick 3fa1b2c4,77e0d1aa --yes --name "Ada Example" --addresses
    pinchbench-async --model MODEL --suite history
    pinchbench-async tasks from-history --weigh RUN
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    if runs:
        _weigh(runs, output_dir, as_json=as_json)
        return
    from pinchbench.authoring.history.candidates import find_history
    from pinchbench.authoring.history.privacy import Masker
    from pinchbench.files.user_data import packs_dir
    from pinchbench.openclaw.homes.credentials import read_config, read_user_state, user_state_dir
    from pinchbench.openclaw.homes.user_state import secrets_of

    env = {**os.environ, **({} if state is None else {"OPENCLAW_STATE_DIR": str(state.absolute())})}
    folder = user_state_dir(env)
    user = read_user_state(env)
    config_path = Path(env.get("OPENCLAW_CONFIG_PATH") or folder / "openclaw.json").expanduser()
    config = read_config(config_path) if config_path.is_file() else {}
    masker = Masker(secrets=secrets_of(user), home=str(Path.home()), names=names, addresses=addresses)
    now = time.time()
    candidates, problems = find_history(
        folder, config=config, agent=agent, since=now - _age_s(since), until=now, memory=memory, skills=skills
    )
    for problem in problems:
        say(f"Left out: {problem}")
    listed = [
        one
        for one in candidates
        if match.casefold() in "\n".join(turn.prompt for turn in one.conversation.turns).casefold()
    ]
    if not pick:
        _show(listed, masker, as_json=as_json)
        if as_json or not listed or not _is_terminal():
            return
        pick = click.prompt("Which of them? Ids, or", default="suggested", err=True)
    chosen = _picked(pick, listed)
    if not yes and port is None and not _is_terminal():
        raise ConfigError(
            "Cannot prompt: not a terminal. Confirm proposals in a browser with --serve PORT, or accept all with --yes."
        )
    if (packs_dir() / SUITE).exists() and not replaces:
        raise ConfigError(f"There is a suite {SUITE} already. Replace it with --replace.")
    if yes:
        confirmed: Sequence[Candidate] = chosen
    elif port is None:
        confirmed = [_confirmed(one, masker) for one in chosen]
    else:
        confirmed = anyio.run(partial(_confirmed_in_browser, chosen, masker, output_dir=output_dir, port=port))
    _write([one for one in confirmed if one.proposals], masker, run_root=run_root, has_clock=clock)


def _age_s(text: str) -> float:
    found = re.fullmatch(r"(\d{1,5})([hdw])", text.strip())
    if found is None:
        raise ConfigError(f"--since {text}: write a number and h, d or w, such as 30d.")
    return int(found[1]) * UNITS_S[found[2]]


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()


def _show(listed: Sequence[Candidate], masker: Masker, *, as_json: bool) -> None:
    """Print the conversations, one a line, those that are suggested with a star."""
    if as_json:
        print_result(json.dumps([_row(one, masker) for one in listed]))
        return
    for one in listed:
        row = _row(one, masker)
        began = datetime.fromtimestamp(one.conversation.began_at).astimezone()
        mark = "*" if one.is_suggested else "-" if one.obstacles else " "
        turns, calls = many(len(one.conversation.turns), "turn"), many(one.conversation.tools.total(), "tool call")
        took_s = one.conversation.ended_at - one.conversation.began_at
        line = (
            f"{row['id']}  {began:%Y-%m-%d %H:%M}  {turns:8}  {calls:13}  ${one.conversation.usage.cost_usd:.4f}"
            f"  {took_s:3.0f} s  {one.conversation.model}  {one.share:3.0%}  {row['title']}"
        )
        print_result(f"{mark} {plain(line)}")
        for why in one.obstacles:
            print_result(f"    left out: {plain(masker.text(why))}")
    usable = sum(not one.obstacles for one in listed)
    say(
        f"{many(len(listed), 'conversation')}, of which {usable} can be asked again; * marks"
        f" {sum(one.is_suggested for one in listed)} that stand for your work. The percentage is the share of similar"
        " requests."
    )
    if usable and not _is_terminal():
        say("Make a suite of them with: pinchbench-async tasks from-history --pick suggested")


def _row(one: Candidate, masker: Masker) -> dict[str, object]:
    from pinchbench.authoring.history.task_writer import title_of

    conversation = one.conversation

    def text(value: str) -> str:
        return masker.text(value, workspace=conversation.workspace)

    return {
        "id": conversation.key,
        "agent": conversation.agent,
        "title": title_of(text(conversation.turns[0].prompt)),
        "began_at": conversation.began_at,
        "duration_s": round(conversation.ended_at - conversation.began_at, 3),
        "turns": len(conversation.turns),
        "tools": dict(conversation.tools),
        "model_calls": conversation.usage.requests,
        "tokens": conversation.usage.total_tokens,
        "cost_usd": conversation.usage.cost_usd,
        "model": conversation.model,
        "kind": one.group,
        "share": one.share,
        "monthly": one.monthly,
        "suggested": one.is_suggested,
        "files": len(one.restored.files),
        "coverage": one.restored.coverage,
        "lost": {text(path): why for path, why in one.restored.lost.items()},
        "proposals": [text(proposal.criterion) for proposal in one.proposals],
        "left_out": [masker.text(why) for why in one.obstacles],
        "notes": list(conversation.notes),
    }


def _picked(pick: str, listed: Sequence[Candidate]) -> list[Candidate]:
    known = {one.conversation.key: one for one in listed}
    words = [word.strip() for word in pick.split(",") if word.strip()]
    if words == ["suggested"]:
        chosen = [one for one in listed if one.is_suggested]
    else:
        if unknown := [word for word in words if word not in known]:
            raise ConfigError(f"There is no conversation {unknown[0]!r} in the list.")
        chosen = [known[word] for word in dict.fromkeys(words)]
    for one in chosen:
        for why in one.obstacles:
            say(f"{one.conversation.key} is used although: {why}.")
        if not one.proposals:
            say(f"{one.conversation.key} is left out: there is nothing to grade it by.")
    usable = [one for one in chosen if one.proposals]
    if not usable:
        raise ConfigError("None of these conversations can become a task.")
    return usable


def _confirmed(one: Candidate, masker: Masker) -> Candidate:
    """Show each proposal with its evidence, and return those that the user keeps."""

    def text(value: object) -> str:
        return masker.text(str(value), workspace=one.conversation.workspace)

    say(f"\n{one.conversation.key}: {_row(one, masker)['title']}\n  {one.restored.coverage.capitalize()}.")
    kept: list[Proposal] = []
    for proposal in one.proposals:
        say(f"  {text(proposal.criterion)}.\n    {text(proposal.evidence)}")
        if shown := proposal.reference or str(proposal.point.get("expected", "")):
            quoted = indent(text(shown)[:SHOWN_REFERENCE].rstrip(), "      ")
            say(f"    {'A judge compares with' if proposal.reference else 'It held'}:\n{quoted}")
        answer = click.prompt(
            "  Keep it (y), edit it (e) or drop it (d)?",
            show_choices=False,
            type=click.Choice(["y", "e", "d"]),
            default="y",
            err=True,
        )
        if answer != "d":
            kept.append(_edited(proposal) if answer == "e" else proposal)
    return replace(one, proposals=kept)


def _edited(proposal: Proposal) -> Proposal:
    """Let the user edit what a result is compared with."""
    if not proposal.compared:
        say("    A command is not edited; drop it, or keep it as it is.")
        return proposal
    after = click.edit(proposal.compared)
    return proposal if after is None or after == proposal.compared else proposal.edited(after)


async def _confirmed_in_browser(
    chosen: Sequence[Candidate], masker: Masker, *, output_dir: Path, port: int
) -> Sequence[Candidate]:
    """Serve the proposals on this machine until the user has confirmed them. Raises ConfigError."""
    from pinchbench.serve.app import HISTORY, access_for, make_server, open_listener, serve_site
    from pinchbench.serve.history_review import HistoryReview

    token = os.environ.get("PINCHBENCH_SERVE_TOKEN") or secrets.token_urlsafe(16)
    review = HistoryReview(candidates=chosen, masker=masker)
    with open_listener("127.0.0.1", port) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}{HISTORY}"
        announce = partial(say, f"Confirm the proposals at {url} with the token {token}")
        access = access_for("127.0.0.1", token)
        server, catalogue = make_server(output_dir, access, on_ready=announce, review=review)
        async with anyio.create_task_group() as group:
            group.start_soon(serve_site, server, listener, catalogue)
            await review.done.wait()
            server.should_exit = True
    return review.confirmed


def _write(chosen: Sequence[Candidate], masker: Masker, *, run_root: Path, has_clock: bool) -> None:
    """Write the suite, play the old conversations again, and keep the tasks whose scores are right."""
    from pinchbench.authoring.added_suites import making_pack
    from pinchbench.authoring.history.task_writer import write_task
    from pinchbench.files.folders import remove_folder
    from pinchbench.files.user_data import FILES, packs_dir

    if not chosen:
        raise ConfigError("Nothing is left to grade, so no suite was written.")
    with making_pack(SUITE, source=SOURCE) as folder:
        for one in chosen:
            alike = sum(other.group == one.group for other in chosen)
            task = replace(one, share=one.share / alike, monthly=one.monthly / alike)
            write_task(folder, task, masker, has_clock=has_clock)
        for task_id, problem in _problems(folder, run_root):
            say(f"Left out {task_id}: {problem}")
            remove_folder(folder / task_id)
        left = sorted(path.name for path in folder.iterdir())
        if not left:
            raise SuiteError(
                "No task is left: played again, none of the old conversations had the score it should have."
            )
        size = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    say(
        f"{many(len(left), 'task')}. Played again, each old conversation scores 1.0 in its check, and doing nothing at"
        f" most 0.2. A run sends the prompts, and what the agent reads of {many(len(size), 'file')}"
        f" ({sum(size) / 1024:.0f} KiB), to its model: look at them first."
    )
    say(f"Run it with: pinchbench-async --model MODEL --suite {SUITE}")
    print_result(packs_dir() / SUITE / FILES)


def _problems(folder: Path, run_root: Path) -> Iterator[tuple[str, str]]:
    """Play the solutions of the tasks in a folder; yield those that don't have the score they should have."""
    from pinchbench.authoring.check import check_tasks
    from pinchbench.config.settings import absolute_path
    from pinchbench.suite.loading import read_suite, solution_of

    loaded = read_suite(folder)
    for problem in loaded.problems:
        yield problem.path.parent.name, problem.reason
    tasks = [(task, solution_of(loaded.suite, task)) for task in loaded.suite.tasks]
    if not tasks:
        return
    root = absolute_path(run_root, option="--run-root")
    results = anyio.run(partial(check_tasks, tasks, show=lambda _: None, run_root=root, say=say))
    wrong: dict[str, str] = {}
    for result in results:
        if result.problems:
            wrong.setdefault(result.task_id, f"{result.part.value}: {result.problems[0]}")
    yield from wrong.items()


def _weigh(names: Sequence[str], output_dir: Path, *, as_json: bool) -> None:
    """Print how runs of the suite weigh, one line each. Raises SuiteError without the suite, and ResultsError."""
    from dataclasses import asdict

    from pinchbench.authoring.history.monthly import monthly_work
    from pinchbench.files.user_data import FILES, packs_dir
    from pinchbench.results.finished_run import read_run
    from pinchbench.results.paths import find_run
    from pinchbench.suite.loading import load_suite

    tasks = load_suite(packs_dir() / SUITE / FILES).suite.tasks
    found = [monthly_work(read_run(find_run(name, output_dir)), tasks) for name in names]
    if as_json:
        print_result(json.dumps([asdict(one) for one in found]))
        return
    for one in found:
        print_result(plain(str(one)))
