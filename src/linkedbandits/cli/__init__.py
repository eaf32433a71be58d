"""The command line: one module a command, figures on standard output, everything else on standard error."""

from __future__ import annotations

import errno
import sys
from typing import Annotated

import typer

from linkedbandits.cli.bounds import bounds
from linkedbandits.cli.compare import compare
from linkedbandits.cli.demo_traffic import demo_traffic
from linkedbandits.cli.lidar import lidar
from linkedbandits.cli.reproduce import reproduce
from linkedbandits.cli.serve import serve
from linkedbandits.cli.simulate import simulate
from linkedbandits.cli.study import study
from linkedbandits.cli.token import token
from linkedbandits.errors import LinkedBanditError
from linkedbandits.version import __version__

app = typer.Typer(
    name="linkedbandits",
    help="Which option is best, when you try options in order and stop at the first that works.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(compare)
app.command()(simulate)
app.command()(bounds)
app.command()(lidar)
app.command()(reproduce)
app.command()(study)
app.command()(serve)
app.command(name="demo-traffic")(demo_traffic)
app.add_typer(token, name="token")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"linkedbandits {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Which option is best, when you try options in order and stop at the first that works."""


def run() -> None:
    """Run the command line; the library's own errors are one line on standard error, without a traceback."""
    try:
        app()
    except LinkedBanditError as error:
        typer.echo(f"linkedbandits: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        typer.echo(f"linkedbandits: the output cannot be written ({error.strerror}); make room for it", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("linkedbandits: interrupted", err=True)
        sys.exit(130)


__all__ = ["app", "run"]
