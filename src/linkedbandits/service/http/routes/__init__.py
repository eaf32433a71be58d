"""The routes, grouped by who uses them."""
