"""The command line: one module a command, figures on standard output, everything else on standard error."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from linkedbandits.assumptions import INDEPENDENT_OPTIONS
from linkedbandits.errors import InvalidParameter, LinkedBanditError, MissingExtra, why_not
from linkedbandits.signals import exit_status, farewell, interruption_behind
from linkedbandits.version import __version__

NAME = "linkedbandits"
COMPLETES = "_LINKEDBANDITS_COMPLETE"
"""Set by a shell that asks how a word goes on."""
COMMANDS = {
    **{"verdict": "study", "compare": "cli", "simulate": "cli", "bounds": "cli", "policies": "cli"},
    **{"lidar": "lidar", "reproduce": "study", "study": "study"},
    **dict.fromkeys(("serve", "demo-traffic", "token", "webhook"), "service"),
    **dict.fromkeys(("backup", "restore", "delete", "prune", "compact", "audit"), "service"),
}
"""The commands in the order of the help, each with the extra that brings it; a module has the name of its command."""
_WITH_POLICIES = ("compare", "simulate", "study", "serve", "demo-traffic")
"""Commands whose help says what policies assume."""
_OPTION_OF = {"n": "arms"}
"""Options that are not called like the parameter of the library that they are passed to."""


def _write_help(command: Any, write: Callable[[Any, Any], None], ctx: Any, formatter: Any) -> None:
    """Help in panels, or in plain text where panels would cut a name; flags are shown without a type."""
    for param in command.get_params(ctx):
        if getattr(param, "is_flag", False):
            param.metavar = ""
    with redirect_stdout(io.StringIO()) as panels:
        write(ctx, ctx.make_formatter())
    if "…" in panels.getvalue():
        command.rich_markup_mode = None
    write(ctx, formatter)


class _Command(TyperCommand):
    def format_help(self, ctx: Any, formatter: Any) -> None:
        _write_help(self, super().format_help, ctx, formatter)


class _Commands(TyperGroup):
    def format_help(self, ctx: Any, formatter: Any) -> None:
        _write_help(self, super().format_help, ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error about a parameter names the option by which it was given."""
        try:
            return super().invoke(ctx)
        except InvalidParameter as error:
            if error.value is ...:
                raise
            command: Any = self.get_command(ctx, ctx.invoked_subcommand or "")
            name = _OPTION_OF.get(error.parameter or "", error.parameter)
            for param in command.params:
                if param.name == name:
                    raise InvalidParameter(f"{param.opts[0]} {error.value} {error.problem}") from error
            raise


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"linkedbandits {__version__}")
        raise typer.Exit


def _options_of_all_commands(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Which option is best, when you try options in order and stop at the first that works."""


def application(asked: str | None = None) -> typer.Typer:
    """The whole command line; or, to start sooner, only the command that is asked for, if there is one."""
    app = typer.Typer(
        name=NAME,
        no_args_is_help=True,
        cls=_Commands,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        callback=_options_of_all_commands,
    )
    for name in (asked,) if asked in COMMANDS else COMMANDS:
        _add_command(app, name)
    groups = [group.typer_instance for group in app.registered_groups if group.typer_instance is not None]
    for command in [command for group in (app, *groups) for command in group.registered_commands]:
        command.cls = _Command
    return app


def _add_command(app: typer.Typer, name: str) -> None:
    word = name.replace("-", "_")
    try:
        command = getattr(import_module(f"linkedbandits.cli.{word}"), word)
    except ModuleNotFoundError as error:
        command = _not_installed(name, error)
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name)
    else:
        assumed = f"{INDEPENDENT_OPTIONS.sentence} {INDEPENDENT_OPTIONS.remedy}"
        app.command(name=name, epilog=assumed if name in _WITH_POLICIES else None)(command)


def _not_installed(name: str, error: ModuleNotFoundError) -> Callable[..., None]:
    """A command that says what to install."""

    def command(words: Annotated[list[str] | None, typer.Argument(hidden=True)] = None) -> None:
        raise MissingExtra(
            f"{name} needs {error.name}; install it with: pip install 'linkedbandits[{COMMANDS[name]}]'"
        ) from error

    command.__doc__ = f"Not installed; the extra {COMMANDS[name]} brings it."
    return command


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
