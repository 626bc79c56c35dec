"""A handwritten player of AlfWorld: search place by place, treat what was found, bring it where it belongs.

It reads the goal and the admissible commands and nothing else, and knows what
a person would: that things are cleaned in sinks, heated in microwaves and
cooled in fridges.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_FILLERS = frozenset(
    ("put", "a", "some", "the", "two", "find", "and", "it", "them", "in", "on", "under", "with", "look", "at")
)
_TREATMENTS = {
    "clean": ("clean", "sinkbasin"),
    "hot": ("heat", "microwave"),
    "heat": ("heat", "microwave"),
    "cool": ("cool", "fridge"),
    "cold": ("cool", "fridge"),
}


class AlfWorldHeuristic:
    """Visits places in the order they are listed in, and never looks twice where nothing was."""

    def reset(self, task_info: Mapping[str, Any]) -> None:
        """Forget the last room."""
        self._goal: list[str] = []
        self._treatment: tuple[str, str] | None = None
        self._seen: set[str] = set()
        self._holding = ""
        self._treated = False
        self._delivered: set[str] = set()
        self._here = self._noticed = ""

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the next command."""
        commands: Sequence[str] = info["admissible_commands"]
        if not self._goal:
            self._read_goal(observation)
        elif self._here and f" {self._goal[-1]} " in observation:
            self._noticed = self._here
        command = self._next(commands)
        self._note(command)
        return command

    def _read_goal(self, observation: str) -> None:
        text = observation.partition("Your task is to:")[2].splitlines()[0].rstrip(". ")
        words = re.findall(r"[a-z]+", text)
        self._goal = [word for word in words if word not in _FILLERS and word not in _TREATMENTS]
        self._treatment = next((_TREATMENTS[word] for word in words if word in _TREATMENTS), None)

    def _next(self, commands: Sequence[str]) -> str:
        wanted, place = self._goal[0], self._goal[-1]
        if self._holding:
            return self._bring(commands, place)
        for command in commands:
            taken = re.fullmatch(r"take (\w+ \d+) from (\w+ \d+)", command)
            if taken and taken[1].startswith(f"{wanted} ") and taken[1] not in self._delivered:
                return command
        return self._search(commands)

    def _bring(self, commands: Sequence[str], place: str) -> str:
        if self._treatment and not self._treated:
            verb, tool = self._treatment
            treat = _first(commands, f"{verb} {self._holding} with ")
            return treat or self._towards(commands, tool)
        if "lamp" in place:
            use = _first(commands, f"use {place} ")
            return use or (
                _first(commands, f"go to {self._noticed}") if self._noticed else self._search(commands)
            )
        move = re.compile(rf"move {re.escape(self._holding)} to {place} \d+")
        return next(filter(move.fullmatch, commands), "") or self._towards(commands, place)

    def _towards(self, commands: Sequence[str], kind: str) -> str:
        """Go to a place of a kind, and open it if it is closed."""
        if self._here.startswith(f"{kind} ") and f"open {self._here}" in commands:
            return f"open {self._here}"
        others = [c for c in commands if c.startswith(f"go to {kind} ")]
        return others[0] if others else self._search(commands)

    def _search(self, commands: Sequence[str]) -> str:
        """Look into this place, then into one not seen before; when all were seen, start over."""
        if f"open {self._here}" in commands:
            return f"open {self._here}"
        places = [c.removeprefix("go to ") for c in commands if c.startswith("go to ")]
        fresh = [place for place in places if place not in self._seen]
        if not fresh:
            self._seen.clear()
        return f"go to {(fresh or places)[0]}" if places else commands[0]

    def _note(self, command: str) -> None:
        verb, _, rest = command.partition(" ")
        if verb == "go":
            self._here = rest.removeprefix("to ")
            self._seen.add(self._here)
        elif verb == "take":
            self._holding, self._treated = rest.partition(" from ")[0], False
        elif verb in ("clean", "heat", "cool"):
            self._treated = True
        elif verb == "move":
            self._delivered.add(self._holding)
            self._holding = ""
            self._seen.clear()


def _first(commands: Sequence[str], start: str) -> str:
    return next((command for command in commands if command.startswith(start)), "")
