"""The phrasing of alfworld before 0.4, for prompts and agents written for it: ``put mug 1 in/on desk 1``.

============================  =================  ==================  ===========================
command                       ``verbs="move"``   ``verbs="put"``     in a file from before 0.4
============================  =================  ==================  ===========================
``move mug 1 to desk 1``      accepted, listed   not accepted        not accepted
``put mug 1 in/on desk 1``    not accepted       accepted, listed    accepted, listed
``put mug 1 in desk 1``       not accepted       not accepted        not accepted
``put mug 1 on desk 1``       not accepted       not accepted        not accepted
``put mug 1 in / on desk 1``  not accepted       not accepted        not accepted
============================  =================  ==================  ===========================

What is not accepted does nothing, and ``last_action_error`` names what is.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rla_envs.alfworld.reply import Reply

VERBS = ("move", "put")

_MOVE = re.compile(r"move (.+) to (.+)")
_PUT = re.compile(r"put (.+) in/on (.+)")
_MOVED = re.compile(r"You move the (.+) to the (.+)\.")
_HELP = re.compile(r"^  move \(object\) to \(receptacle\):", re.MULTILINE)


class Phrasing(NamedTuple):
    """How commands are worded, and how that is translated for the engine.

    Attributes:
        verbs: ``"move"``, for the engine's own words, or ``"put"``.
        old_game: Whether the game is of a file from before alfworld 0.4: its
            own words are the old ones.
    """

    verbs: str
    old_game: bool = False

    @property
    def form(self) -> str:
        """The command that puts something somewhere, with fields ``{object}`` and ``{place}``."""
        old = self.verbs == "put" or self.old_game
        return "put {object} in/on {place}" if old else "move {object} to {place}"

    def to_engine(self, command: str) -> str:
        """Return a player's command in the engine's words; what has none there becomes impossible."""
        if self.verbs == "move":
            return command
        match = _PUT.fullmatch(command.strip())
        if match:
            return f"move {match[1]} to {match[2]}"
        return "" if _MOVE.fullmatch(command.strip()) else command

    def command(self, command: str) -> str:
        """Return one of the engine's commands in the player's words."""
        match = _MOVE.fullmatch(command) if self.verbs == "put" else None
        return f"put {match[1]} in/on {match[2]}" if match else command

    def reply(self, reply: Reply) -> Reply:
        """Return an engine's answer in the player's words."""
        if self.verbs == "move":
            return reply
        match = _MOVED.fullmatch(reply.text)
        text = f"You put the {match[1]} in/on the {match[2]}." if match else reply.text
        text = _HELP.sub("  put (object) in/on (receptacle):", text)
        return reply._replace(text=text, commands=tuple(sorted(map(self.command, reply.commands))))
