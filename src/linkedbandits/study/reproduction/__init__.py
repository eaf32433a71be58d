"""The paper's experiment, run again: its grid, what it says about it, and the report on what was measured."""
