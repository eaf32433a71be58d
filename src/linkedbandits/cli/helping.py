"""Help that holds on a narrow terminal: panels while nothing in them is cut, else every option in lines of its own."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from inspect import cleandoc
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from linkedbandits.cli.report import terminal_width, wrapped

CUT = "…"
"""What panels put where they have no room."""


class Command(TyperCommand):
    """A command whose help is never cut."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, or print it if that is done by panels."""
        self.help = flowing(self.help or "")
        _say_what_to_type(self.get_params(ctx))
        if _panels_fit(super().format_help, ctx, formatter):
            super().format_help(ctx, formatter)
        else:
            _write_upright(self, ctx, formatter)


class Group(TyperGroup):
    """The same for a group of commands."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, or print it if that is done by panels."""
        _say_what_to_type(self.get_params(ctx))
        if _panels_fit(super().format_help, ctx, formatter):
            super().format_help(ctx, formatter)
        else:
            _write_upright(self, ctx, formatter)


def with_help_that_fits(app: typer.Typer) -> None:
    """Have the commands of a group, and those of the groups in it, use these classes."""
    for command in app.registered_commands:
        command.cls = Command
    for group in app.registered_groups:
        group.cls = Group
        if group.typer_instance is not None:
            with_help_that_fits(group.typer_instance)


def flowing(text: str) -> str:
    """Paragraphs without the ends of lines that their source has; those that are set in, such as examples, keep them.

    >>> flowing("One\\ntwo.\\n\\n  linkedbandits lidar\\n  linkedbandits bounds")
    'One two.\\n\\n  linkedbandits lidar\\n  linkedbandits bounds'
    """
    paragraphs = cleandoc(text).split("\n\n")
    return "\n\n".join(part if part.startswith("  ") else " ".join(part.split()) for part in paragraphs)


def _say_what_to_type(params: list[Any]) -> None:
    """A flag takes no value, and of an option that may be repeated one is given at a time.

    Typer would write the types that the code has: ``--json <bool>``, and ``--policy <list[str]>``.
    """
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
        elif getattr(param, "multiple", False) and param.metavar is None:
            param.metavar = "<str>..."


def _panels_fit(print_panels: Any, ctx: Any, formatter: Any) -> bool:
    """Print them where nobody sees them, and look."""
    with redirect_stdout(io.StringIO()) as shown:
        print_panels(ctx, formatter)
    return CUT not in shown.getvalue()


def _write_upright(command: Any, ctx: Any, formatter: Any) -> None:
    """Usage, what it does, and its options and commands: names in one line, what they mean set in below."""
    width = terminal_width()

    def write(text: str, indent: int = 0) -> None:
        for paragraph in flowing(text).split("\n\n"):
            for line in wrapped(paragraph, width - indent):
                formatter.write(f"{' ' * indent}{line}\n")
            if not indent:
                formatter.write("\n")

    write(f"Usage: {ctx.command_path} {' '.join(command.collect_usage_pieces(ctx))}")
    write(command.help or "")
    parts: dict[str, list[tuple[str, str]]] = {}
    for param in command.get_params(ctx):
        record = _record(param, ctx)
        if record is not None:
            parts.setdefault(getattr(param, "rich_help_panel", None) or "Arguments and options", []).append(record)
    if isinstance(command, TyperGroup):
        listed = [(name, command.get_command(ctx, name)) for name in command.list_commands(ctx)]
        shown = [(name, found) for name, found in listed if found is not None and not found.hidden]
        parts["Commands"] = [(name, (found.help or "").split("\n\n")[0]) for name, found in shown]
    for heading, described in parts.items():
        write(f"{heading}:")
        for names, meaning in described:
            write(names, indent=2)
            if meaning:
                write(meaning, indent=6)
        formatter.write("\n")
    if command.epilog:
        write(command.epilog)


def _record(param: Any, ctx: Any) -> tuple[str, str] | None:
    """What an option is called and means."""
    record: tuple[str, str] | None = param.get_help_record(ctx)
    return record
