"""Actions: what a model writes, and the events at the desktop that it means."""

from rla_envs.osworld.actions.action import DONE, FAIL, SPECIALS, WAIT, Action, ActionError
from rla_envs.osworld.actions.spaces import PARSERS, Computer13, make_action_space

__all__ = [
    "DONE",
    "FAIL",
    "PARSERS",
    "SPECIALS",
    "WAIT",
    "Action",
    "ActionError",
    "Computer13",
    "make_action_space",
]
