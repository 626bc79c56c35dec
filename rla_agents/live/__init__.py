"""The live page: a run in the browser while it goes on, on this machine only."""

from rla_agents.live.command import serve

__all__ = ["serve"]
