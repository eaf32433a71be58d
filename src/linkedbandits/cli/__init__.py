"""The command line: one module a command, figures on standard output, everything else on standard error."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

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
from linkedbandits.signals import exit_status, farewell
from linkedbandits.version import __version__

app = typer.Typer(
    name="linkedbandits",
    help="Which option is best, when you try options in order and stop at the first that works.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """A command that ends with one line when it is interrupted; typer itself would say nothing."""

    @wraps(command)
    def run_it(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except KeyboardInterrupt as stopped:
            typer.echo(farewell(stopped), err=True)
            raise typer.Exit(exit_status(stopped)) from None

    return run_it


for _command in (compare, simulate, bounds, lidar, reproduce, study, serve):
    app.command()(_interruptible(_command))
app.command(name="demo-traffic")(_interruptible(demo_traffic))
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


__all__ = ["app", "run"]
