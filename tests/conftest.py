"""Settings for every test: examples are the same in every run, and a busy machine fails none."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")
