"""What the maintainers run on the library itself; no part of what is installed."""
