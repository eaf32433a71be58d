"""The command ``linkedbandits``; says what to install where the command line's own dependencies are missing."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from linkedbandits.cli import run  # the library itself works without typer and rich
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich"}:
            raise
        sys.exit(f"the command line needs {error.name}; install it with: pip install 'linkedbandits[cli]'")
    run()


if __name__ == "__main__":
    main()
