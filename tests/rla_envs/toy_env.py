"""A text game of a few lines, adaptive in two parameters: read the notice, open the doors in its order."""

import gymnasium as gym

from rla_envs import AdaptiveEnv, DifficultyParameter, Task, TaskCheck, TaskEdit, Turn, Unicode
from rla_envs.errors import RefusedEditError

TOY_ID = "RLATest/Toy-v0"
COLOURS = ("red", "blue", "grün", "žlutá", "黒", "🟣")


class ToyEnv(AdaptiveEnv):
    """Open the doors in the order on the notice."""

    metadata = {"render_modes": ["ansi"], "render_fps": 4}
    task_env_id = TOY_ID
    difficulty_parameters = (
        DifficultyParameter("doors", 1, 5, 3, "doors to open", lambda task: len(task.payload["order"])),
        DifficultyParameter(
            "colours", 2, 6, 4, "colours to tell apart", lambda task: len(task.payload["colours"])
        ),
    )

    def __init__(self, difficulty=None, render_mode=None, step_budget=10):
        super().__init__(difficulty, render_mode)
        self.observation_space = Unicode(400)
        self.action_space = Unicode(40)
        self.budget = step_budget

    def check_task(self, task):
        order = task.payload["order"]
        if not order or not set(order) <= set(task.payload["colours"]):
            return TaskCheck(False, "the notice names a door that is not there")
        if len(order) > task.payload["budget"]:
            return TaskCheck(False, f"{len(order)} doors need more than {task.payload['budget']} steps")
        return TaskCheck(True, witness=tuple(f"open {colour}" for colour in order), optimal_length=len(order))

    def _sample_task(self, difficulty, rng):
        colours = [COLOURS[int(i)] for i in rng.permutation(len(COLOURS))[: difficulty["colours"]]]
        order = [colours[int(i)] for i in rng.integers(0, len(colours), difficulty["doors"])]
        return Task(self.task_env_id, difficulty, {"colours": colours, "order": order, "budget": self.budget})

    def _apply_edit(self, task, edit):
        order = list(task.payload["order"])
        for change in edit.changes:
            if change["op"] == "add":
                order.append(change["colour"])
            elif change["op"] == "drop" and order:
                order.pop()
            else:
                raise RefusedEditError(f"unknown operation {change['op']!r}")
        return task.child({**task.payload, "order": order}, {**task.difficulty, "doors": len(order)})

    def propose_edits(self, task, direction, rng):
        if direction == "easier":
            return (TaskEdit(({"op": "drop"},), direction),)
        return tuple(TaskEdit(({"op": "add", "colour": c},), direction) for c in task.payload["colours"])

    def _begin(self, task):
        self.opened = 0
        return self._turn("Notice: " + ", ".join(task.payload["order"]))

    def _act(self, action):
        order = self.task.payload["order"]
        if action != f"open {order[self.opened]}":
            return self._turn("Nothing happens.", f"{action!r} opens no door")
        self.opened += 1
        return self._turn(f"A door opens. {len(order) - self.opened} to go.")

    def _turn(self, text, error=""):
        commands = [f"open {colour}" for colour in self.task.payload["colours"]]
        won = self.opened == len(self.task.payload["order"])
        return Turn(text, success=won, error=error, extras={"admissible_commands": commands})

    def _step_budget(self, task):
        return task.payload["budget"]

    def render(self):
        return f"{self.opened} doors open"


if TOY_ID not in gym.registry:
    gym.register(TOY_ID, entry_point="tests.rla_envs.toy_env:ToyEnv")
