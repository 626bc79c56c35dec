"""GridNav's rules once more, plain and slow: coordinates instead of numbers, one cell at a time."""

import numpy as np

MOVES = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
ACTIONS = [*MOVES.values(), (0, 0)]


class Walk:
    """One episode of a task."""

    def __init__(self, task):
        self.walls = task.payload["walls"]
        self.at, self.goal = tuple(task.payload["start"]), tuple(task.payload["goal"])
        self.push = MOVES[task.payload["wind_direction"]]
        self.difficulty = task.difficulty
        self.stream = iter(np.random.PCG64(task.payload["seed"]).random_raw(6000).tolist())

    def is_open(self, cell):
        return all(0 <= n < len(self.walls) for n in cell) and self.walls[cell[0]][cell[1]] == "."

    def moved(self, cell, step):
        target = (cell[0] + step[0], cell[1] + step[1])
        return target if self.is_open(target) else cell

    def weather(self):
        """Return whether there is a gust now, and where the goal is next."""
        gust, walk, way = (next(self.stream) for _ in range(3))
        gusty = (gust >> 11) / 2**53 < self.difficulty["wind"]
        walks = (walk >> 11) / 2**53 < self.difficulty["goal_moving"]
        return gusty, self.moved(self.goal, ACTIONS[way >> 62]) if walks else self.goal

    def after(self, cell, action, gusty):
        """Return where an action leads from a cell."""
        cell = self.moved(cell, ACTIONS[action])
        return self.moved(cell, self.push) if gusty else cell

    def step(self, action):
        """Play one action; return whether it solves the task."""
        gusty, goal = self.weather()
        self.at = self.after(self.at, action, gusty)
        solved = self.at in (self.goal, goal)
        self.goal = goal
        return solved

    def observation(self):
        radius = self.difficulty["view_radius"]
        view = np.full((11, 11), -1.0)
        for row in range(-radius, radius + 1):
            for column in range(-radius, radius + 1):
                cell = (self.at[0] + row, self.at[1] + column)
                view[row + 5, column + 5] = 0.0 if self.is_open(cell) else 1.0
        offset = [np.clip(g - a, -radius, radius) / 5 for g, a in zip(self.goal, self.at, strict=True)]
        wind = [self.difficulty["wind"] * part for part in self.push]
        return np.array([*view.ravel(), *offset, *wind], np.float32)

    def shortest(self):
        """Return the length of a shortest solution, by trying everything."""
        cells = {self.at}
        for length in range(1, 2000):
            gusty, goal = self.weather()
            cells = {self.after(cell, action, gusty) for cell in cells for action in range(5)}
            if cells & {self.goal, goal}:
                return length
            self.goal = goal
        raise AssertionError("no solution")
