"""Games as an able but slow and careless player plays them, to warm a small model up.

The player knows the rules and what it has seen, not where things are. It looks
for them place by place, comes back to places it has already seen, looks twice
at most places, and now and then does something at random. Its clone inherits
all of that, which is what reinforcement learning then has to work on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rla_envs.alfworld.env import AlfWorldEnv
from rla_envs.errors import InvalidTaskError

SLIP, LOOK_TWICE, ELSEWHERE = 0.12, 0.6, 0.4
"""Chance of a random command; of examining a place it is at; of searching any place instead of a new one."""
MAX_STEPS = 40
_NAME = re.compile(r"[a-z]+ \d+")


class Shown(NamedTuple):
    """One step of a demonstration.

    Attributes:
        observation: What was seen before it.
        commands: What was admissible.
        command: What was played.
    """

    observation: str
    commands: tuple[str, ...]
    command: str


def demonstrations(seed: int, games: int) -> Iterator[list[Shown]]:
    """Play training games and yield what was shown.

    Args:
        seed: Seed of the games and of the player.
        games: Number of different games; one whose drawn difficulty has no
            game is left out.
    """
    rng = np.random.default_rng(seed)
    env = AlfWorldEnv(split="train")
    for _ in range(games):
        try:
            task = env.sample_task(draw_difficulty(rng), rng)
        except InvalidTaskError:
            continue  # no game at this difficulty; the next draw has another
        observation, info = env.reset(options={"task": task})
        player, shown, over = _Player(rng), list[Shown](), False
        while not over and len(shown) < MAX_STEPS:
            commands = tuple(info["admissible_commands"])
            command = player.choose(commands, env.optimal_plan())
            shown.append(Shown(observation, commands, command))
            observation, _, won, cut, info = env.step(command)
            player.see(command, observation)
            over = won or cut
        yield shown


def draw_difficulty(rng: np.random.Generator) -> dict[str, float]:
    """Return a difficulty of the games that the embedded models are warmed up on."""
    return {
        "receptacles": int(rng.integers(5, 11)),
        "objects": int(rng.integers(6, 11)),
        "closed_containers": float(rng.uniform()),
        "distractors": int(rng.integers(0, 2)),
    }


class _Player:
    """Someone who knows what to do with a thing, once it has been found."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._here = ""
        self._visited: set[str] = set()
        self._seen: set[str] = set()
        self._looked = False

    def see(self, command: str, observation: str) -> None:
        """Remember where the player is and every name it has read."""
        if command.startswith("go to "):
            self._here, self._looked = command.removeprefix("go to "), False
            self._visited.add(self._here)
        self._looked |= command.startswith("examine")
        self._seen.update(_NAME.findall(observation))

    def choose(self, commands: Sequence[str], plan: Sequence[str]) -> str:
        """Return the next command; of the plan, only what the player could know is used."""
        if self._rng.random() < SLIP:
            return str(self._rng.choice([c for c in commands if c != "help"]))
        opening, examine = f"open {self._here}", f"examine {self._here}"
        wanted = _missing(plan)
        searching = wanted is not None and wanted not in self._seen
        if searching and opening in commands:
            return opening
        if not self._looked and examine in commands and self._rng.random() < LOOK_TWICE:
            return examine
        self._looked = True  # it decides once per visit
        if not searching:
            return plan[0]
        places = [c for c in commands if c.startswith("go to ")]
        new = [c for c in places if c.removeprefix("go to ") not in self._visited]
        return str(self._rng.choice(new if new and self._rng.random() >= ELSEWHERE else places))


def _missing(plan: Sequence[str]) -> str | None:
    """Return the thing a plan uses first, if it has to be found; None if it is in hand."""
    for command in plan:
        verb, _, rest = command.partition(" ")
        if verb in ("take", "use"):
            return rest.split(" from ")[0]
        if verb not in ("go", "open"):
            return None
    return None
