"""The command line: one module a command, figures on standard output, everything else on standard error."""

from __future__ import annotations

import errno
import sys
from typing import Annotated

import typer

from linkedbandits.cli.assumed import IN_HELP
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
from linkedbandits.signals import exit_status, farewell
from linkedbandits.version import __version__

app = typer.Typer(
    name="linkedbandits",
    help="Which option is best, when you try options in order and stop at the first that works.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command(epilog=IN_HELP)(compare)
app.command(epilog=IN_HELP)(simulate)
app.command()(bounds)
app.command()(lidar)
app.command()(reproduce)
app.command(epilog=IN_HELP)(study)
app.command(epilog=IN_HELP)(serve)
app.command(name="demo-traffic", epilog=IN_HELP)(demo_traffic)
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
    """Run the command line; errors of the library and interruptions are one line on standard error, no traceback."""
    try:
        app()
    except SystemExit as ending:
        stopped = _interruption_behind(ending)
        if stopped is None:
            raise
        typer.echo(farewell(stopped), err=True)
        sys.exit(exit_status(stopped))
    except LinkedBanditError as error:
        typer.echo(f"linkedbandits: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        typer.echo(f"linkedbandits: the output cannot be written ({error.strerror}); make room for it", err=True)
        sys.exit(2)


def _interruption_behind(ending: SystemExit) -> KeyboardInterrupt | None:
    """The interruption that made typer end; it says nothing of it by itself."""
    error: BaseException | None = ending
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error


__all__ = ["app", "run"]
