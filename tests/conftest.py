"""Shared by all tests."""

from hypothesis import settings

# Property tests are the same on every machine and every day; a failure can always be repeated.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("repeatable")
