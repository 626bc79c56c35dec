"""Draw grids of a given difficulty and split."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rla_envs.difficulty import Value
from rla_envs.errors import InvalidTaskError
from rla_envs.gridnav.difficulty import steps_away
from rla_envs.gridnav.grid import MAX_RADIUS, WIDTH, Cell, Grid, cell_at, split_of
from rla_envs.gridnav.search import layers

_LAYOUTS = 500
"""Layouts drawn for one of the split; a tenth of them is held out, so this many always hold one."""


def sample_grid(split: str, difficulty: Mapping[str, Value], rng: np.random.Generator) -> Grid:
    """Return a random grid whose goal can be walked to.

    Walls are placed anywhere, goal and start in the largest region they leave.

    Args:
        split: Split that the layout must belong to.
        difficulty: A value for ``size``, ``obstacle_density`` and
            ``goal_distance``; the other parameters don't shape a grid.
        rng: Source of all randomness.

    Raises:
        InvalidTaskError: If no open cell has an open neighbour, or no layout
            of the split was found.
    """
    for _ in range(_LAYOUTS):
        walls, start, goal = _layout(difficulty, rng)
        if split_of(walls, start, goal) == split:
            return Grid(walls, start, goal, int(rng.integers(4)), int(rng.integers(2**63)), split)
    raise InvalidTaskError(f"none of {_LAYOUTS} layouts belongs to the split {split!r}")


def _layout(difficulty: Mapping[str, Value], rng: np.random.Generator) -> tuple[tuple[str, ...], Cell, Cell]:
    size = int(difficulty["size"])
    order = rng.permutation(size * size)
    count = round(difficulty["obstacle_density"] * size * size)
    marks = np.full(size * size, ord("."), np.uint8)
    marks[order[:count]] = ord("#")
    text = marks.tobytes().decode()
    walls = tuple(text[i : i + size] for i in range(0, size * size, size))
    free = _numbers(size)[order[count:]]
    canvas = np.zeros(WIDTH * WIDTH, np.bool_)
    canvas[free] = True
    open_cells = int.from_bytes(np.packbits(canvas, bitorder="little").tobytes(), "little")
    goal, by_distance = _goal(free.tolist(), open_cells)
    furthest = len(by_distance) - 1
    if furthest == 0:
        raise InvalidTaskError("no open cell has an open neighbour")
    starts = by_distance[steps_away(float(difficulty["goal_distance"]), furthest)]
    for _ in range(int(rng.integers(starts.bit_count()))):
        starts &= starts - 1  # drop the lowest bit
    return walls, cell_at((starts & -starts).bit_length() - 1), cell_at(goal)


@functools.cache
def _numbers(size: int) -> NDArray[np.int64]:
    """Return the canvas numbers of a grid's cells, row by row."""
    first = MAX_RADIUS + np.arange(size)
    return np.add.outer(first * WIDTH, first).ravel()


def _goal(free: list[int], open_cells: int) -> tuple[int, list[int]]:
    """Return the first open cell of the largest region, with the cells at each distance from it."""
    unseen, best_size = open_cells, 0
    for cell in free:
        if unseen >> cell & 1:
            by_distance = layers(open_cells, cell)
            region = sum(by_distance)
            unseen &= ~region
            if (region_size := region.bit_count()) > best_size:
                best, best_size = (cell, by_distance), region_size
            if unseen.bit_count() <= best_size:
                break
    return best
