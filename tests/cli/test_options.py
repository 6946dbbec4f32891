"""What --cluster may be."""

import click
import pytest
from click.testing import CliRunner

from pinchbench.cli.options import setting_option
from pinchbench.errors import ConfigError


@click.command()
@setting_option("cluster")
def _command(*, cluster: str | None) -> None:
    click.echo(repr(cluster))


@pytest.mark.parametrize(
    ("words", "head"), [([], None), (["--cluster=ray"], ""), (["--cluster=ray://first:6379"], "first:6379")]
)
def test_a_cluster_is_that_of_this_machine_or_named_by_its_head(words: list[str], head: str | None) -> None:
    assert CliRunner().invoke(_command, words).stdout == f"{head!r}\n"


@pytest.mark.parametrize("cluster", ["dask", "ray://", "first:6379", "RAY", ""])
def test_another_cluster_is_refused(cluster: str) -> None:
    with pytest.raises(ConfigError, match="neither `ray` nor"):
        CliRunner().invoke(_command, ["--cluster", cluster], catch_exceptions=False)
