"""`serve`: show the runs of a folder in a browser."""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import anyio
import click

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import OUTPUT_DIR, Integer, option
from pinchbench.cli.output import print_result, say
from pinchbench.errors import ResultsError

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from pinchbench.serve.site_guard import Access

NICENESS = 10  # a run on the same machine comes first
# Between two collections of garbage: by default, half of the time of reading a large run goes into looking again at the
# rows that are there to stay.
GC_OBJECTS = 100_000


@click.command(context_settings=CONTEXT)
@OUTPUT_DIR
@option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS",
              help="Where to listen; any other than this machine's own loopback needs a token.")  # fmt: skip
@option("--port", type=Integer(0, 65535), default=8000, show_default=True,
              help="The port; 0 takes a free one.")  # fmt: skip
@click.option("--token", envvar="PINCHBENCH_SERVE_TOKEN", show_envvar=True, metavar="SECRET",
              help="What a browser is asked for. Other users of this machine can read command lines, but not the"
                   " variable.")  # fmt: skip
def serve(*, output_dir: Path, host: str, port: int, token: str | None) -> None:
    """Show the runs and experiments of a folder in a browser, live.

    Reads the files of runs and never writes there; it can be started and ended at any time while runs work. Prints its
    address to stdout. Ctrl-C ends it, never a run.

    \b
    pinchbench-async serve
    ssh -L 8000:127.0.0.1:8000 bench pinchbench-async serve --output-dir /data/results
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.results.paths import no_folder
    from pinchbench.serve.app import access_for, open_listener

    access = access_for(host, token or "")
    if not output_dir.is_dir():
        raise ResultsError(no_folder(output_dir))
    with open_listener(host, port) as listener:
        with suppress(OSError):
            os.nice(NICENESS)
        gc.set_threshold(GC_OBJECTS)
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{listener.getsockname()[1]}/"
        anyio.run(partial(_serve, output_dir, access, listener, url))


async def _serve(output_dir: Path, access: Access, listener: socket.socket, url: str) -> None:
    from pinchbench.serve.app import make_server, serve_site

    def announce() -> None:
        print_result(url)
        say("Ctrl-C ends the server; runs go on by themselves.")

    server, catalogue = make_server(output_dir, access, on_ready=announce)
    await serve_site(server, listener, catalogue)
