"""`tasks` and `suite`: list, show and check the tasks of a suite, create one, or add a suite of other tasks."""

from __future__ import annotations

import json
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pinchbench.cli.lazy import CONTEXT, LazyGroup
from pinchbench.cli.options import FOLDER, option, setting_option, suggesting
from pinchbench.cli.output import print_result, say
from pinchbench.errors import SuiteError
from pinchbench.report.text import many, plain

if TYPE_CHECKING:
    from pinchbench.defaults import SuiteFormat

# The names of authoring.template.PARTS.
PARTS = ("clock", "memory", "images", "browser", "subagents", "chat", "automations", "service")
GRADINGS = ("automated", "llm_judge", "hybrid")  # the values of GradingType, whose module `--help` must not wait for


@click.group(
    cls=LazyGroup,
    modules={"check": "tasks_check", "from-history": "tasks_from_history"},
    lines={
        "check": "Check tasks without a model: play their solutions and grade what they leave.",
        "from-history": "Make a private suite of your own conversations with OpenClaw.",
    },
    context_settings=CONTEXT,
)
def tasks() -> None:
    """Look at the tasks of a suite and check them.

    \b
    pinchbench-async tasks list
    pinchbench-async tasks show task_00_sanity
    pinchbench-async tasks check
    """  # noqa: D301 - \b is click's mark for lines that stay as they are


class _Listing(click.Command):
    """A command that prints a wrong use of its options as JSON too, if that is asked for."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> click.Context:  # noqa: ANN401
        as_json = "--json" in args
        try:
            return super().make_context(info_name, args, *rest, **extra)
        except click.UsageError as error:
            from pinchbench.cli.task_listing import refusals_as_json

            with refusals_as_json(as_json=as_json):
                raise suggesting(error) if isinstance(error, click.NoSuchOption) else error from None


@tasks.command("list", cls=_Listing, context_settings=CONTEXT)
@setting_option("tasks-dir")
@setting_option("suite-format")
@setting_option("form")
@setting_option("form-from")
@setting_option("suite")
@option("--json", "as_json", is_flag=True, help="Print JSON.")
@option("--markdown", is_flag=True,
        help="Print a Markdown table, with what each task asks; core ones are bold, hard ones italic.")  # fmt: skip
def tasks_list(
    *,
    tasks_dir: Path | None,
    suite_format: SuiteFormat | None,
    form: int | None,
    form_from: str | None,
    suite: str,
    as_json: bool,
    markdown: bool,
) -> None:
    """List the tasks, one a line.

    With --json, a row with `refused` says why a file is not used.

    \b
    pinchbench-async tasks list
    pinchbench-async tasks list --suite core,coding --json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.cli.selected_tasks import select
    from pinchbench.cli.task_listing import refusals_as_json, show_list

    with refusals_as_json(as_json=as_json):
        if markdown and as_json:
            raise click.UsageError("--markdown goes without --json.")
        if form_from is not None:
            from pinchbench.config.run_config import drawn_form

            form = drawn_form(form, form_from)
        loaded, chosen = select(tasks_dir, suite, suite_format, form=form, only_shown=True)
    show_list(loaded, chosen, as_json=as_json, markdown=markdown)


@tasks.command("show", context_settings=CONTEXT)
@click.argument("task_id", metavar="ID")
@setting_option("tasks-dir")
@setting_option("suite-format")
def tasks_show(*, task_id: str, tasks_dir: Path | None, suite_format: SuiteFormat | None) -> None:
    """Show one task as the agent and the graders see it.

    \b
    pinchbench-async tasks show task_01_calendar
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.cli.task_listing import show_task

    show_task(task_id, tasks_dir, suite_format)


@tasks.command("new", context_settings=CONTEXT)
@click.argument("task_id", metavar="ID")
@option("--tasks-dir", type=FOLDER, default=Path("tasks"), show_default=True, help="The folder it is written to.")
@option("--grading", type=click.Choice(GRADINGS), default="automated",
             show_default=True, help="By a check, by a judge, or by both.")  # fmt: skip
@option("--category", default="uncategorized", show_default=True, help="The task's category.")
@option("--with", "parts", metavar="PART,PART…", default="",
             help=f"Examples of what is needed besides files and shell: {', '.join(PARTS)}.")  # fmt: skip
def tasks_new(*, task_id: str, tasks_dir: Path, grading: str, category: str, parts: str) -> None:
    """Write a new task to begin with, small but whole: a task file, its solution and, without --with, two near misses.

    \b
    pinchbench-async tasks new task_50_refunds --tasks-dir mine --grading hybrid
    pinchbench-async tasks check --tasks-dir mine
    pinchbench-async tasks new task_51_brief --tasks-dir mine --with chat,automations
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.authoring.template import write_skeleton
    from pinchbench.model.task import GradingType

    names = [name.strip() for name in parts.split(",") if name.strip()]
    for path in write_skeleton(tasks_dir, task_id, grading=GradingType(grading), category=category, parts=names):
        print_result(path)
    where = f"--tasks-dir {shlex.quote(str(tasks_dir))} --suite {task_id}"
    say(f"Change them, and try them with: pinchbench-async tasks check {where}")


SHOWN_COMMIT = 12  # characters


@click.command(context_settings=CONTEXT)
@click.argument("name", required=False)
@click.argument("source", metavar="[PATH]", required=False)
@click.option(
    "--remove", is_flag=True, help="Remove the suite's files. Its runs stay, but can't be resumed or regraded."
)
@option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def suite(*, name: str | None, source: str | None, remove: bool, as_json: bool) -> None:
    """Add a suite of other tasks for `--suite NAME[:selection]`, or list the suites that were added.

    The folder PATH is copied into the user's data folder. The files are pinned by a digest of all of them: a run
    refuses them when they have changed, and the list says so. Format and licence are recorded. Nothing of the suite is
    executed.

    \b
    pinchbench-async suite claw ../claw-bench
    pinchbench-async suite
    pinchbench-async --model MODEL --suite claw:email
    pinchbench-async suite claw --remove
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.authoring.added_suites import remove_pack

    if name is None:
        if remove:
            raise click.UsageError("--remove needs the name of a suite.")
        _list_packs(as_json=as_json)
    elif remove:
        if source is not None:
            raise click.UsageError("--remove takes a name alone.")
        say(f"Removed {remove_pack(name)}.")
    elif source is None:
        raise click.UsageError(f"Say where the suite {name} comes from: its folder. `suite` alone lists suites.")
    else:
        _add(name, Path(source))


def _add(name: str, source: Path) -> None:
    from pinchbench.authoring.added_suites import add_pack

    pack, remarks = add_pack(name, source)
    if remarks:
        say(remarks)
    say(
        f"{many(len(pack.tasks), 'task')} in the format {pack.format}. "
        + (f"Licence: {pack.licence}." if pack.licence else "No file states a licence.")
        + f" `--suite {name}` names them."
    )
    print_result(pack.folder)


def _list_packs(*, as_json: bool) -> None:
    import msgspec

    from pinchbench.files.user_data import pack_names
    from pinchbench.suite.named import read_pack

    problems: list[str] = []
    rows: list[dict[str, object]] = []
    names = pack_names()
    for name in names:
        try:
            pack = read_pack(name)
        except SuiteError as error:
            problems.append(str(error))
            continue
        if pack is None:
            continue
        if change := pack.find_change():
            problems.append(f"The suite {name} has changed since it was added: {change}.")
        if as_json:
            rows.append({**msgspec.to_builtins(pack), "folder": str(pack.folder), "changed": change})
            continue
        commit = (
            f"@{pack.commit[:SHOWN_COMMIT]}" if pack.commit else f", {datetime.fromtimestamp(pack.added_at, UTC):%F}"
        )
        licence = pack.licence or "no licence stated"
        print_result(
            plain(f"{name}  {pack.format}  {many(len(pack.tasks), 'task')}  {pack.source}{commit}  ({licence})")
            + ("  changed" if change else "")
        )
    if as_json:
        print_result(json.dumps(rows))
    elif not names:
        say("No suite was added; `pinchbench-async suite NAME PATH` adds one.")
    if problems:
        raise SuiteError("\n".join(problems))
