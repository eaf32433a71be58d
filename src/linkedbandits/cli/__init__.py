"""The command line: one module a command, figures on standard output, everything else on standard error."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from typing import Annotated

import typer

from linkedbandits.cli.helping import Group, with_help_that_fits
from linkedbandits.errors import LinkedBanditError, why_not
from linkedbandits.signals import exit_status, farewell, interruption_behind
from linkedbandits.version import __version__

NAME = "linkedbandits"
"""What completion is installed for, and the help calls it, however it was begun."""
COMPLETES = "_LINKEDBANDITS_COMPLETE"
"""Set by a shell that asks how words go on."""
WITH_POLICIES = ("compare", "simulate", "study", "serve", "demo-traffic")
"""Commands in which one meets policies: their help says what these assume."""
COMMANDS = (
    *("verdict", "compare", "simulate", "bounds", "policies", "lidar", "reproduce", "study"),
    *("serve", "demo-traffic", "token", "webhook"),
    *("backup", "restore", "delete", "prune", "compact", "audit"),
)
"""In the order of the help. Each has a module of its name with a function, or a group of commands, of that name."""


def application(asked: str | None = None) -> typer.Typer:
    """The whole command line; or, to begin sooner, only the command that is asked for, if there is one."""
    app = typer.Typer(
        name=NAME,
        help="Which option is best, when you try options in order and stop at the first that works.",
        no_args_is_help=True,
        cls=Group,
        context_settings={"help_option_names": ["-h", "--help"]},  # commands inherit it
        pretty_exceptions_enable=False,
        callback=options_of_all,
    )
    for name in (asked,) if asked in COMMANDS else COMMANDS:
        _add_command(app, name)
    with_help_that_fits(app)
    return app


def _add_command(app: typer.Typer, name: str) -> None:
    word = name.replace("-", "_")
    command = getattr(import_module(f"linkedbandits.cli.{word}"), word)
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name)
    elif name in WITH_POLICIES:
        from linkedbandits.cli.assumed import IN_HELP

        app.command(name=name, epilog=IN_HELP)(command)
    else:
        app.command(name=name)(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"linkedbandits {__version__}")
        raise typer.Exit


def options_of_all(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Which option is best, when you try options in order and stop at the first that works."""


def _asked_for() -> str | None:
    """The command that is to run; a shell that completes words passes them on in its own ways."""
    words = sys.argv
    if COMPLETES in os.environ:
        words = (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")).split()
    return words[1] if len(words) > 1 else None


def run() -> None:
    """Run the command line; errors of the library and interruptions are one line on standard error, no traceback."""
    try:
        application(_asked_for())(prog_name=NAME)
    except SystemExit as ending:
        stopped = interruption_behind(ending)  # typer says nothing of it by itself
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
        typer.echo(f"linkedbandits: the output cannot be written: {why_not(error)}; make room for it", err=True)
        sys.exit(2)


__all__ = ["application", "run"]
