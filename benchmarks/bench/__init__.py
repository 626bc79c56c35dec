"""Leaderboards: suites of tasks, agents that plug in, and the run folder that reports are made from."""
