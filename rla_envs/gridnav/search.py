"""Breadth-first search where cells are bits of an integer: a whole frontier moves in a few shifts."""

from __future__ import annotations

from collections.abc import Sequence

from rla_envs.gridnav.grid import STAY, STEPS, WIDTH


def layers(open_cells: int, source: int) -> list[int]:
    """Return the sets of cells at walking distance 0, 1, 2 ... from a cell, up to the furthest.

    Args:
        open_cells: The cells that can be entered, as bits; none at the edge of
            the canvas.
        source: Number of the cell to start from.
    """
    frontier = 1 << source
    unseen = open_cells & ~frontier
    found = [frontier]
    while frontier := _around(frontier) & unseen:
        unseen &= ~frontier
        found.append(frontier)
    return found


def shortest_plan(
    open_cells: int, start: int, gusts: Sequence[int], wind_step: int, goals: Sequence[int]
) -> tuple[int, ...] | None:
    """Return the shortest list of actions that ends on the goal, or None if none does in time.

    Args:
        open_cells: The cells that can be entered, as bits.
        start: Number of the cell to start from.
        gusts: Whether the wind pushes after each action; as long as the search
            may look ahead.
        wind_step: What a gust adds to a cell's number.
        goals: Number of the goal's cell before each action, and after the last.
    """
    sheltered = open_cells & ~_shifted(open_cells, -wind_step)
    reached = [1 << start]
    for time, gust in enumerate(gusts):
        cells = reached[-1]
        cells = (cells | _around(cells)) & open_cells
        if gust:
            cells = _shifted(cells, wind_step) & open_cells | cells & sheltered
        reached.append(cells)
        for goal in goals[time : time + 2]:
            if cells >> goal & 1:
                return _plan(open_cells, reached, gusts, wind_step, goal)
    return None


def _around(cells: int) -> int:
    return cells << WIDTH | cells >> WIDTH | cells << 1 | cells >> 1


def _shifted(cells: int, step: int) -> int:
    return cells << step if step >= 0 else cells >> -step


def _plan(
    open_cells: int, reached: Sequence[int], gusts: Sequence[int], wind_step: int, cell: int
) -> tuple[int, ...]:
    """Walk back from the cell reached last; any predecessor that was reached in time will do."""
    plan = []
    for time in range(len(reached) - 2, -1, -1):
        cell, action = next(
            (landed - STEPS[action], action)
            for landed in _before_wind(open_cells, cell, wind_step if gusts[time] else 0)
            for action in (0, 1, 2, 3, STAY)
            if reached[time] >> (landed - STEPS[action]) & 1
        )
        plan.append(action)
    return tuple(reversed(plan))


def _before_wind(open_cells: int, cell: int, wind_step: int) -> list[int]:
    """Return the cells from which a gust of this step (0: none) ends on a cell."""
    if not wind_step:
        return [cell]
    stayed = [] if open_cells >> (cell + wind_step) & 1 else [cell]
    return [*stayed, *([cell - wind_step] if open_cells >> (cell - wind_step) & 1 else [])]
