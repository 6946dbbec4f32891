"""What `--help` tells: commands in the order in which they are needed, options by what they are for, and examples."""

import re
from collections.abc import Iterator

import click
import pytest

from pinchbench import errors
from pinchbench.cli import cli
from pinchbench.cli.lazy import LazyGroup
from pinchbench.cli.options import REST, SettingsCommand
from pinchbench.cli.program import EXIT_CODES, SECTIONS
from pinchbench.cli.running import GATES, INCOMPLETE, STOPPED


def _commands(group: click.Group, *above: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name in group.list_commands(CONTEXT):
        command = group.get_command(CONTEXT, name)
        assert command is not None
        yield (*above, name), command
        if isinstance(command, click.Group):
            yield from _commands(command, *above, name)


CONTEXT = click.Context(cli)
COMMANDS = dict(_commands(cli))
TOP = {path[0]: command for path, command in COMMANDS.items() if len(path) == 1}


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_shows_an_example_of_itself_that_has_no_unknown_option(path: tuple[str, ...]) -> None:
    command = COMMANDS[path]
    helped = command.get_help(click.Context(command, info_name=" ".join(path)))
    known = {name for one in COMMANDS.values() for parameter in one.params for name in parameter.opts}

    # a group may have an argument of its own, as `ctl RUN pause` has
    own = "" if path == ("run",) else " " + r"(?: \S+)? ".join(path)
    examples = re.findall(rf"^ +(?:eval \"\$\()?(pinchbench-async{own}(?: .*)?)$", helped, re.MULTILINE)
    assert examples
    assert set(re.findall(r" (--[a-z-]+)", "\n".join(examples))) <= known


def test_the_commands_are_listed_in_the_order_in_which_they_are_needed(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["--help"], standalone_mode=False, prog_name="pinchbench-async")
    shown = capsys.readouterr().out

    places = [shown.index(f"\n  {name} ") for names in SECTIONS.values() for name in names]
    assert places == sorted(places)
    assert shown.index("pinchbench-async demo") < places[0]


def test_the_line_of_each_command_that_a_group_shows_is_that_of_its_own_help() -> None:
    groups = {(): cli, **{path: one for path, one in COMMANDS.items() if isinstance(one, LazyGroup)}}
    lines = {(*path, name): line for path, group in groups.items() for name, line in group.lines.items()}
    assert lines == {path: COMMANDS[path].get_short_help_str(96) for path in lines}


@pytest.mark.usefixtures("user")
def test_no_arguments_show_what_is_here_and_the_next_commands_on_one_screen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("COLUMNS", "60")

    with pytest.raises(click.UsageError) as raised:
        cli.main([], standalone_mode=False, prog_name="pinchbench-async")
    raised.value.show()

    shown = capsys.readouterr().err
    assert len(shown.strip().split("\n")) <= 24
    assert "OPENAI_API_KEY" in shown
    assert "sk-of-nobody" not in shown
    assert "pinchbench-async openclaw install" in shown
    assert "pinchbench-async demo" in shown
    assert re.search(r"\n  pinchbench-async --model \S.* --suite core --dry-run\n", shown), "in one piece, to be copied"
    assert "pinchbench-async --help" in shown
    assert raised.value.exit_code == 2


@pytest.mark.parametrize("columns", [40, 57, 80, 200])
@pytest.mark.parametrize("path", [(), *COMMANDS], ids=" ".join)
def test_help_is_broken_between_words_only(
    path: tuple[str, ...], columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = COMMANDS[path] if path else cli
    helps = {}
    for width in (columns, 1000):
        monkeypatch.setenv("COLUMNS", str(width))
        context = command.context_class(command, info_name="x", max_content_width=None if width == columns else 1000)
        helps[width] = command.get_help(context)
    assert helps[columns].split() == helps[1000].split()
    too_long = [line for line in helps[columns].split("\n") if len(line) > columns and " " in line.strip()]
    assert too_long == []


def test_every_exit_code_of_the_program_is_in_the_help() -> None:
    reported = set(map(int, EXIT_CODES))
    classes = {one.exit_code for one in vars(errors).values() if isinstance(one, type) and hasattr(one, "exit_code")}

    assert reported == {0, 130, INCOMPLETE, *STOPPED.values(), *GATES.values(), *classes}


@pytest.mark.parametrize("name", ["run", "resume", "regrade"])
def test_every_option_of_a_command_stands_in_its_help_exactly_once(name: str) -> None:
    command = TOP[name]
    assert isinstance(command, SettingsCommand)
    context = click.Context(command)
    titles = [title for title, _ in command.option_sections(context, shows_all=True)]
    shown = [row[0] for _, rows in command.option_sections(context, shows_all=True) for row in rows]
    basic = [row[0] for _, rows in command.option_sections(context) for row in rows]

    options = [one for one in command.get_params(context) if isinstance(one, click.Option) and not one.hidden]
    assert len(shown) == len(set(shown)) == len(options)
    assert titles[-1] == REST
    assert set(basic) < set(shown)
