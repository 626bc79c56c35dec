"""Grid search: a grid of walls is changed by some rules, and then searched."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np

from rla_envs.coding.families.base import Family
from rla_envs.coding.families.formats import LINES
from rla_envs.coding.families.operation import Operation, Plan


def _free_either(grid: list[str]) -> list[str]:
    pairs = [zip(row, row[::-1]) for row in grid]  # noqa: B905
    return ["".join("." if "." in pair else "#" for pair in row) for row in pairs]


def _free_either_brute(grid: list[str]) -> list[str]:
    result = []
    for row in grid:
        line = ""
        for j in range(len(row)):
            line += "#" if row[j] == "#" and row[len(row) - 1 - j] == "#" else "."
        result.append(line)
    return result


def _free_both(grid: list[str]) -> list[str]:
    return ["".join("." if row[j] == row[-1 - j] == "." else "#" for j in range(len(row))) for row in grid]


def _slant(grid: list[str]) -> list[str]:
    return [row[len(row) - i % len(row) :] + row[: len(row) - i % len(row)] for i, row in enumerate(grid)]


def _slant_brute(grid: list[str]) -> list[str]:
    return ["".join(row[(j - i) % len(row)] for j in range(len(row))) for i, row in enumerate(grid)]


def _slant_left(grid: list[str]) -> list[str]:
    return [row[i % len(row) :] + row[: i % len(row)] for i, row in enumerate(grid)]


def _spread_right(grid: list[str]) -> list[str]:
    return [
        "".join("#" if "#" in row[max(0, j - 1) : j + 1] else "." for j in range(len(row))) for row in grid
    ]


def _spread_right_brute(grid: list[str]) -> list[str]:
    walls = {
        (i, j + step) for i, row in enumerate(grid) for j, c in enumerate(row) if c == "#" for step in (0, 1)
    }
    return ["".join("#" if (i, j) in walls else "." for j in range(len(row))) for i, row in enumerate(grid)]


def _spread_right_at_once(grid: list[str]) -> list[str]:
    return ["".join("#" if "#" in row[: j + 1] else "." for j in range(len(row))) for row in grid]


def _close_pockets(grid: list[str]) -> list[str]:
    high, wide = len(grid), len(grid[0])
    border = "#" * wide
    result = []
    for i, row in enumerate(grid):
        above = grid[i - 1] if i > 0 else border
        below = grid[i + 1] if i + 1 < high else border
        padded = "#" + row + "#"
        walls = [(above[j] + below[j] + padded[j] + padded[j + 2]).count("#") for j in range(wide)]
        result.append("".join("#" if row[j] == "#" or walls[j] >= 3 else "." for j in range(wide)))
    return result


def _close_pockets_brute(grid: list[str]) -> list[str]:
    free = {(i, j) for i, row in enumerate(grid) for j, c in enumerate(row) if c == "."}
    kept = set()
    for i, j in free:
        exits = free & {(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)}
        if len(exits) > 1:
            kept.add((i, j))
    return ["".join("." if (i, j) in kept else "#" for j in range(len(row))) for i, row in enumerate(grid)]


def _close_dead_ends_inside(grid: list[str]) -> list[str]:
    high, wide = len(grid), len(grid[0])
    result = []
    for i, row in enumerate(grid):
        line = ""
        for j in range(wide):
            near = [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]
            walls = sum(0 <= a < high and 0 <= b < wide and grid[a][b] == "#" for a, b in near)
            line += "#" if row[j] == "#" or walls >= 3 else "."
        result.append(line)
    return result


def _open_border(grid: list[str]) -> list[str]:
    wide = len(grid[0])
    inner = ["." + row[1:-1] + "." if wide > 1 else "." for row in grid[1:-1]]
    return ["." * wide, *inner, "." * wide][: len(grid)]


def _open_border_brute(grid: list[str]) -> list[str]:
    last, end = len(grid) - 1, len(grid[0]) - 1
    return [
        "".join("." if i in (0, last) or j in (0, end) else c for j, c in enumerate(row))
        for i, row in enumerate(grid)
    ]


def _open_rows(grid: list[str]) -> list[str]:
    return ["." * len(grid[0]), *grid[1:-1], "." * len(grid[0])][: len(grid)]


def _walls(grid: list[str]) -> int:
    return sum(row.count("#") for row in grid)


def _walls_brute(grid: list[str]) -> int:
    return sum(1 for row in grid for c in row if c == "#")


def _free_cells(grid: list[str]) -> int:
    return sum(row.count(".") for row in grid)


def _longest_corridor(grid: list[str]) -> int:
    return max(len(part) for row in grid for part in row.split("#"))


def _longest_corridor_brute(grid: list[str]) -> int:
    best = 0
    for row in grid:
        for length in range(1, len(row) + 1):
            if "." * length in row:
                best = max(best, length)
    return best


def _fullest_row(grid: list[str]) -> int:
    return max(row.count(".") for row in grid)


def _shortest_path(grid: list[str]) -> int:
    high, wide = len(grid), len(grid[0])
    if grid[0][0] == "#":
        return -1
    steps = {(0, 0): 0}
    queue = deque([(0, 0)])
    while queue:
        i, j = queue.popleft()
        for a, b in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
            if 0 <= a < high and 0 <= b < wide and grid[a][b] == "." and (a, b) not in steps:
                steps[a, b] = steps[i, j] + 1
                queue.append((a, b))
    return steps.get((high - 1, wide - 1), -1)


def _shortest_path_brute(grid: list[str]) -> int:
    free = {(i, j) for i, row in enumerate(grid) for j, c in enumerate(row) if c == "."}
    goal = (len(grid) - 1, len(grid[0]) - 1)
    reached = free & {(0, 0)}
    for steps in range(len(free)):
        if goal in reached:
            return steps
        around = {(i + a, j + b) for i, j in reached for a, b in ((-1, 0), (1, 0), (0, -1), (0, 1))}
        reached = reached | (around & free)
    return -1


def _shortest_path_right_down(grid: list[str]) -> int:
    reached = set()
    for i, row in enumerate(grid):
        for j, c in enumerate(row):
            if c == "." and (i + j == 0 or (i - 1, j) in reached or (i, j - 1) in reached):
                reached.add((i, j))
    goal = (len(grid) - 1, len(grid[0]) - 1)
    return sum(goal) if goal in reached else -1


def _shortest_path_never_up(grid: list[str]) -> int:
    steps: dict[tuple[int, int], int] = {}
    queue = deque([(0, 0, 0)])
    while queue:
        i, j, distance = queue.popleft()
        if i == len(grid) or not 0 <= j < len(grid[0]) or grid[i][j] == "#" or (i, j) in steps:
            continue
        steps[i, j] = distance
        queue += [(i + 1, j, distance + 1), (i, j - 1, distance + 1), (i, j + 1, distance + 1)]
    return steps.get((len(grid) - 1, len(grid[0]) - 1), -1)


def _path_cells(grid: list[str]) -> int:
    steps = _shortest_path(grid)
    return steps if steps < 0 else steps + 1


def _largest_region(grid: list[str]) -> int:
    high, wide = len(grid), len(grid[0])
    seen = set()
    best = 0
    for start in [(i, j) for i in range(high) for j in range(wide) if grid[i][j] == "."]:
        if start in seen:
            continue
        seen.add(start)
        todo, size = [start], 0
        while todo:
            i, j = todo.pop()
            size += 1
            for a, b in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                if 0 <= a < high and 0 <= b < wide and grid[a][b] == "." and (a, b) not in seen:
                    seen.add((a, b))
                    todo.append((a, b))
        best = max(best, size)
    return best


def _largest_region_brute(grid: list[str]) -> int:
    free = {(i, j) for i, row in enumerate(grid) for j, c in enumerate(row) if c == "."}
    best = 0
    for cell in free:
        region, grown = set(), {cell}
        while grown:
            region |= grown
            around = {(i + a, j + b) for i, j in grown for a, b in ((-1, 0), (1, 0), (0, -1), (0, 1))}
            grown = (around & free) - region
        best = max(best, len(region))
    return best


def _largest_region_diagonal(grid: list[str]) -> int:
    free = {(i, j) for i, row in enumerate(grid) for j, c in enumerate(row) if c == "."}
    best = 0
    while free:
        todo, size = [free.pop()], 0
        while todo:
            i, j = todo.pop()
            size += 1
            near = {(i + a, j + b) for a in (-1, 0, 1) for b in (-1, 0, 1)} & free
            free -= near
            todo += sorted(near)
        best = max(best, size)
    return best


def _wall_distances(grid: list[str]) -> int:
    high, wide = len(grid), len(grid[0])
    steps = {(i, j): 0 for i in range(high) for j in range(wide) if grid[i][j] == "#"}
    queue = deque(steps)
    while queue:
        i, j = queue.popleft()
        for a, b in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
            if 0 <= a < high and 0 <= b < wide and (a, b) not in steps:
                steps[a, b] = steps[i, j] + 1
                queue.append((a, b))
    return sum(steps.values())


def _wall_distances_brute(grid: list[str]) -> int:
    cells = [(i, j, c) for i, row in enumerate(grid) for j, c in enumerate(row)]
    walls = [(i, j) for i, j, c in cells if c == "#"]
    if not walls:
        return 0
    return sum(min(abs(i - a) + abs(j - b) for a, b in walls) for i, j, c in cells if c == ".")


def _wall_distances_diagonal(grid: list[str]) -> int:
    cells = [(i, j, c) for i, row in enumerate(grid) for j, c in enumerate(row)]
    walls = [(i, j) for i, j, c in cells if c == "#"]
    if not walls:
        return 0
    return sum(min(max(abs(i - a), abs(j - b)) for a, b in walls) for i, j, c in cells if c == ".")


_WINDING = [".#...", ".#.#.", ".#.#.", "...#."]


class Grids(Family):
    """Folding and slanting a grid, spreading and closing walls, then paths, regions and distances."""

    name = "grids"
    title = "Grid search"
    intro = (
        "You are given a grid of n rows. All rows have the same length; each character is a free cell (.) "
        "or a wall (#). Neighbours are the cells directly above, below, left and right."
    )
    form = LINES
    short = 24
    minimum = (4, 1, 1, 1)
    limits = "No row is empty."
    operations = (
        Operation(
            "Lay the grid and its mirror image (every row read from right to left) on top of each other: a "
            "cell is free if it is free in at least one of them.",
            _free_either,
            _free_either_brute,
            (_free_both,),
        ),
        Operation(
            "Slant the grid: the first row stays, the second one is moved to the right by 1 cell, the third "
            "by 2 cells, and so on; what leaves a row on the right comes back on the left.",
            _slant,
            _slant_brute,
            (_slant_left,),
        ),
        Operation(
            "Every free cell whose left neighbour is a wall becomes a wall, all at the same time.",
            _spread_right,
            _spread_right_brute,
            (_spread_right_at_once,),
        ),
        Operation(
            "Every free cell with at most one free neighbour becomes a wall, all at the same time.",
            _close_pockets,
            _close_pockets_brute,
            (_close_dead_ends_inside,),
        ),
        Operation(
            "Every cell of the first row, last row, first column and last column becomes free.",
            _open_border,
            _open_border_brute,
            (_open_rows,),
        ),
        Operation(
            "The answer is the number of walls.", _walls, _walls_brute, (_free_cells,), final=True, easy=True
        ),
        Operation(
            "The answer is the largest number of free cells that follow each other in a row (from left to "
            "right, without a wall between them).",
            _longest_corridor,
            _longest_corridor_brute,
            (_fullest_row,),
            final=True,
            easy=True,
        ),
        Operation(
            "The answer is the smallest number of moves from the top left to the bottom right cell, moving "
            "between free neighbours; -1 if there is no way, or one of the two cells is a wall.",
            _shortest_path,
            _shortest_path_brute,
            (_shortest_path_right_down, _shortest_path_never_up, _path_cells),
            final=True,
            heavy=True,
        ),
        Operation(
            "The answer is the number of cells of the largest region: free cells that can reach each other "
            "by moves between free neighbours (0 if there are no free cells).",
            _largest_region,
            _largest_region_brute,
            (_largest_region_diagonal, _free_cells),
            final=True,
            heavy=True,
        ),
        Operation(
            "The answer is the sum, over all free cells, of the distance to the nearest wall: the "
            "difference of the rows plus the difference of the columns (0 if there are no walls).",
            _wall_distances,
            _wall_distances_brute,
            (_wall_distances_diagonal,),
            final=True,
            heavy=True,
        ),
    )

    def constraints(self, size: int, edge_cases: int) -> list[str]:
        """Return the bounds on the number of cells."""
        return [f"The grid has at least {self.minimum[edge_cases]} and at most {10**size} cells."]

    def length(self, arguments: list[Any]) -> int:
        """Return the number of cells."""
        return sum(map(len, arguments[0]))

    def rarest_inputs(self, rng: np.random.Generator, plan: Plan) -> list[list[Any]]:
        """Return two corners that meet only diagonally, and a single wall."""
        return [[[".#", "#."]], [["#"]]]

    def draw_input(self, rng: np.random.Generator, n: int, plan: Plan) -> list[Any]:
        """Return a grid of about ``n`` cells, at least two by two from 4 on; larger ones have fewer walls."""
        root = max(1, math.isqrt(n))
        high = int(rng.integers(max(min(2, root), root - 2), root + 1))
        wide = max(1, n // high)
        share = float(rng.choice([0.15, 0.3, 0.45])) if n <= 40 else 0.1
        walls = (rng.random((high, wide)) < share).tolist()
        return [["".join("#" if wall else "." for wall in row) for row in walls]]

    def special_inputs(self, plan: Plan) -> list[list[Any]]:
        """Return a grid without walls, one without free cells, one row, one column, and one winding way."""
        return [[["...", "..."]], [["##", "##"]], [["..#.."]], [["."] * 4], [_WINDING]]
