"""The report: one self-contained HTML page about a run."""

from rla_agents.report.page import write_report

__all__ = ["write_report"]
