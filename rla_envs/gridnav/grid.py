"""A grid as a task states it: walls, start, goal and the seed of the weather; and which split it is in."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rla_envs.errors import InvalidTaskError

ENV_ID = "RLA/GridNav-v0"

MIN_SIZE, MAX_SIZE = 5, 20
MAX_RADIUS = 5
WIDTH = MAX_SIZE + 2 * MAX_RADIUS
"""Side of the canvas that every grid lies on: walls all round, as far as anyone can see."""

DIRECTIONS = ("north", "east", "south", "west")
STAY = 4
STEPS = (-WIDTH, 1, WIDTH, -1, 0)
"""What each action adds to a cell's number: a step in each direction, and none."""

SPLITS = ("train", "valid")
_HELD_OUT = 26  # of 256: a tenth, as in AlfWorld's splits here

_FIELDS = {"walls", "start", "goal", "wind_direction", "seed", "split"}
_AS_BITS = str.maketrans("#.", "01")
_AS_BYTES = str.maketrans("#.", "\x01\x00")


class Cell(NamedTuple):
    """A place on the grid, counted from the north-west corner."""

    row: int
    column: int

    @property
    def number(self) -> int:
        """Its number on the canvas, row by row."""
        return (self.row + MAX_RADIUS) * WIDTH + self.column + MAX_RADIUS


def cell_at(number: int) -> Cell:
    """Return the cell with a number on the canvas."""
    row, column = divmod(number, WIDTH)
    return Cell(row - MAX_RADIUS, column - MAX_RADIUS)


@dataclass(frozen=True)
class Grid:
    """What a task's payload says.

    Attributes:
        walls: The rows from north to south: ``#`` is a wall, ``.`` is open.
        start: Where the robot starts.
        goal: Where the goal is at first.
        wind_direction: Where the wind pushes to, as an index into
            :data:`DIRECTIONS`.
        seed: Seed of the gusts and of the goal's moves, so that a task is one
            episode.
        split: The split that the layout (walls, start and goal) belongs to.
    """

    walls: tuple[str, ...]
    start: Cell
    goal: Cell
    wind_direction: int
    seed: int
    split: str

    @property
    def size(self) -> int:
        """Cells along a side."""
        return len(self.walls)

    @property
    def wall_count(self) -> int:
        """Number of walls inside the grid."""
        return sum(row.count("#") for row in self.walls)

    @functools.cached_property
    def _canvas(self) -> str:
        around = "#" * MAX_RADIUS
        fill = "#" * (MAX_SIZE - self.size)
        rows = "".join(f"{around}{row}{fill}{around}" for row in self.walls)
        above = "#" * (MAX_RADIUS * WIDTH)
        return f"{above}{rows}{'#' * (WIDTH * WIDTH - len(above) - len(rows))}"

    @functools.cached_property
    def open_cells(self) -> int:
        """The open cells as a set of bits, by their number on the canvas."""
        return int(self._canvas[::-1].translate(_AS_BITS), 2)

    @functools.cached_property
    def wall_bytes(self) -> bytes:
        """1 for every wall and 0 for every open cell, by their number on the canvas."""
        return self._canvas.translate(_AS_BYTES).encode("latin-1")

    def payload(self) -> dict[str, Any]:
        """Return the task payload that :meth:`from_payload` reads back."""
        return {
            "walls": self.walls,
            "start": tuple(self.start),
            "goal": tuple(self.goal),
            "wind_direction": DIRECTIONS[self.wind_direction],
            "seed": self.seed,
            "split": self.split,
        }

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Grid:
        """Read a task's payload.

        Raises:
            InvalidTaskError: If a field is missing, unknown or malformed, or
                the layout is not one of the split it names.
        """
        if set(payload) != _FIELDS:
            odd = sorted(set(payload) ^ _FIELDS)[0]
            raise InvalidTaskError(f"payload: expected the fields {sorted(_FIELDS)}; check {str(odd)[:80]!r}")
        walls = _walls(payload["walls"])
        start, goal = (_open_cell(name, payload[name], walls) for name in ("start", "goal"))
        if start == goal:
            raise InvalidTaskError(f"the goal holds at the start: both are at {list(start)}")
        direction, seed, split = payload["wind_direction"], payload["seed"], payload["split"]
        if direction not in DIRECTIONS:
            raise InvalidTaskError(f"wind_direction: expected one of {', '.join(DIRECTIONS)}")
        if type(seed) is not int or not 0 <= seed < 2**63:
            raise InvalidTaskError("seed: expected an integer from 0 to 2**63 - 1")
        if split != split_of(walls, start, goal):
            raise InvalidTaskError(
                f"split: this layout belongs to {split_of(walls, start, goal)!r}, "
                f"the task says {str(split)[:80]!r}"
            )
        return cls(walls, start, goal, DIRECTIONS.index(direction), seed, split)


def split_of(walls: Sequence[str], start: Cell, goal: Cell) -> str:
    """Return the split of a layout: a hash holds a tenth of all layouts out as ``"valid"``.

    Walls, start and goal make the layout, so a grid without walls has tasks in
    both splits.
    """
    name = f"{'/'.join(walls)}|{start.row},{start.column}|{goal.row},{goal.column}"
    return SPLITS[hashlib.sha256(name.encode()).digest()[0] < _HELD_OUT]


def _walls(rows: object) -> tuple[str, ...]:
    if not isinstance(rows, list | tuple) or not MIN_SIZE <= len(rows) <= MAX_SIZE:
        raise InvalidTaskError(f"walls: expected a list of {MIN_SIZE} to {MAX_SIZE} rows")
    fits = all(isinstance(row, str) and len(row) == len(rows) for row in rows)
    if not fits or not set("".join(rows)) <= {"#", "."}:
        raise InvalidTaskError(f"walls: expected rows of {len(rows)} characters, each '#' or '.'")
    return tuple(rows)


def _open_cell(name: str, value: object, walls: Sequence[str]) -> Cell:
    inside = range(len(walls))
    if (
        not isinstance(value, list | tuple)
        or len(value) != 2
        or not all(type(n) is int and n in inside for n in value)
    ):
        raise InvalidTaskError(f"{name}: expected [row, column], each from 0 to {len(walls) - 1}")
    cell = Cell(*value)
    if walls[cell.row][cell.column] == "#":
        raise InvalidTaskError(f"{name}: {list(cell)} is a wall")
    return cell
