"""The command ``linkedbandits``; says what to install where the command line's own dependencies are missing."""

import sys

from linkedbandits.signals import ended_with_a_line


def main() -> None:
    """Run the command line, until it is done or a signal ends it."""
    with ended_with_a_line():
        try:
            from linkedbandits.cli import run  # the library itself works without typer and rich

            run()
        except ModuleNotFoundError as error:
            if error.name not in {"typer", "rich"}:
                raise
            sys.exit(f"the command line needs {error.name}; install it with: pip install 'linkedbandits[cli]'")


if __name__ == "__main__":
    main()
