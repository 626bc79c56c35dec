"""Benchmark suites, studies and their reports."""
