"""A command whose help groups its options by purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

REST = "Other options"
JUDGE = (
    "--judge",
    "--judge-base-url",
    "--judge-api-key-env",
    "--judge-votes",
    "--judge-concurrency",
    "--no-judge-cache",
)
USER = ("--user-model", "--user-base-url", "--user-api-key-env")
GATE = ("--fail-under", "--baseline", "--fail-if", "--margin")
MODEL = (
    "--model",
    "--thinking",
    "--base-url",
    "--api-key-env",
    "--price-in",
    "--price-out",
    "--pass-env",
    "--accept-unknown-model",
)
LIMITS = (
    "--timeout-multiplier",
    "--max-cost",
    "--max-tokens",
    "--max-hours",
    "--infra-retries",
    "--retry-timeouts",
    "--retry-timeouts-alone",
    "--no-fail-fast",
)


class SectionedCommand(click.Command):
    """A command with `sections`: the long names of its options, by title. Options in no section come last."""

    def __init__(self, *args: Any, sections: Mapping[str, tuple[str, ...]], **settings: Any) -> None:  # noqa: ANN401
        """Initialise the command; other settings are click's."""
        super().__init__(*args, **settings)
        self._sections = sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, one section each."""
        for title, rows in self.option_sections(ctx):
            with formatter.section(title):
                formatter.write_dl(rows)

    def option_sections(self, ctx: click.Context) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield the options as click formats them, by title; titles without options are omitted."""
        records = {
            name: record
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)) is not None
            for name in [_long_name(parameter)]
        }
        placed = {name for names in self._sections.values() for name in names}
        rest = tuple(name for name in records if name not in placed)
        for title, names in (*self._sections.items(), (REST, rest)):
            rows = [records[name] for name in names if name in records]
            if rows:
                yield title, rows


def _long_name(parameter: click.Parameter) -> str:
    return next((name for name in parameter.opts if name.startswith("--")), parameter.opts[0])
