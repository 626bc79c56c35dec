"""Environments with one fault each, for the check that must find it."""

import multiprocessing
import os
import random
import sys
from dataclasses import replace

import numpy as np
from gymnasium import spaces

from rla_envs import Turn
from tests.rla_envs.toy_env import COLOURS, ToyEnv


class SharedInfo(ToyEnv):
    """Returns the same object in every info."""

    map = {"west": "door"}

    def _turn(self, text, error=""):
        return super()._turn(text, error)._replace(extras={"map": self.map})


class NotText(ToyEnv):
    """Returns observations outside its space."""

    def _turn(self, text, error=""):
        return super()._turn(text * 100, error)


class Prints(ToyEnv):
    """Prints from Python."""

    def _act(self, action):
        print("acting")  # noqa: T201 - the fault
        return super()._act(action)


class PrintsFromC(ToyEnv):
    """Writes to the file descriptor, as a compiled engine does."""

    def _begin(self, task):
        os.write(1, b"engine ready\n")
        return super()._begin(task)


class OverwritesArgv(ToyEnv):
    """Replaces the program's arguments."""

    def _begin(self, task):
        sys.argv = ["engine"]
        return super()._begin(task)


class UsesRandom(ToyEnv):
    """Draws from Python's global generator."""

    def _begin(self, task):
        random.random()
        return super()._begin(task)


class SeedsNumpy(ToyEnv):
    """Seeds numpy's global generator."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        np.random.seed(0)


class CountsInstances(ToyEnv):
    """Shows a counter of the whole process, from the third step on."""

    calls = 0

    def _act(self, action):
        CountsInstances.calls += 1
        turn = super()._act(action)
        return turn._replace(observation=f"{turn.observation} {self.calls}") if self._steps >= 3 else turn


class KeepsState(ToyEnv):
    """Carries a mood from one episode to the next, even over a seeded reset."""

    wins = 0

    def _act(self, action):
        turn = super()._act(action)
        self.wins += turn.success
        return turn._replace(observation=f"{turn.observation} {self.wins}")


class SetOrder(ToyEnv):
    """Fills the payload in the order of a set of strings."""

    def _sample_task(self, difficulty, rng):
        task = super()._sample_task(difficulty, rng)
        return replace(
            task, payload={**task.payload, "colours": list(set(task.payload["colours"]))}, id="", root_id=""
        )


class SecretState(ToyEnv):
    """Keeps part of the episode outside the task."""

    greeting = ""

    def _sample_task(self, difficulty, rng):
        self.greeting = f"Day {rng.integers(1000)}. "
        return super()._sample_task(difficulty, rng)

    def _begin(self, task):
        turn = super()._begin(task)
        return turn._replace(observation=self.greeting + turn.observation)


class LiveKeyword(ToyEnv):
    """Is registered with a keyword that JSON cannot hold."""

    def __init__(self, *args, palette=None, **kwargs):
        super().__init__(*args, **kwargs)


class AcceptsAnyOption(ToyEnv):
    """Ignores options it does not know."""

    def reset(self, *, seed=None, options=None):
        known = {k: v for k, v in (options or {}).items() if k in ("task", "difficulty")}
        return super().reset(seed=seed, options=known)


class PlaysAnotherTask(ToyEnv):
    """Samples a task although one was given, when it is a legal one."""

    def reset(self, *, seed=None, options=None):
        if options and options.get("task") is not None and options["task"].difficulty["colours"] == 4:
            return super().reset(seed=seed, options={"difficulty": options["task"].difficulty})
        return super().reset(seed=seed, options=options)


class StickyDifficulty(ToyEnv):
    """Keeps the difficulty option for all later episodes."""

    def reset(self, *, seed=None, options=None):
        result = super().reset(seed=seed, options=options)
        if options and "difficulty" in options:
            self.set_difficulty(options["difficulty"])
        return result


class StopsEarly(ToyEnv):
    """Truncates one step before the budget it announces."""

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated, self._steps >= self.budget - 1 and not terminated, info


class TerminatesAtBudget(ToyEnv):
    """Reports the time limit as an end of the task as well."""

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated or truncated, truncated, info


class NeverStops(ToyEnv):
    """Announces a budget and ignores it."""

    def step(self, action):
        observation, reward, terminated, _, info = super().step(action)
        return observation, reward, terminated, False, info


class NumpyReward(ToyEnv):
    """Returns the reward as a numpy scalar."""

    def step(self, action):
        observation, reward, *rest = super().step(action)
        return observation, np.float32(reward), *rest


class WrongWitness(ToyEnv):
    """Gives the plan backwards."""

    def check_task(self, task):
        check = super().check_task(task)
        return replace(check, witness=check.witness[::-1])


class UncheckedTasks(ToyEnv):
    """Samples tasks without checking them."""

    def sample_task(self, difficulty, rng):
        task = super().sample_task(difficulty, rng)
        return task.child({**task.payload, "order": []}) if rng.random() < 0.3 else task

    def _act(self, action):
        return super()._act(action) if self.task.payload["order"] else Turn("Nothing to do.")

    def _given_task(self, task):
        return task


class IgnoresParameter(ToyEnv):
    """Records the number of colours and always uses four."""

    def _sample_task(self, difficulty, rng):
        task = super()._sample_task({**difficulty, "colours": 4}, rng)
        return replace(task, difficulty=difficulty, id="", root_id="")


class ClampsParameter(ToyEnv):
    """Raises low values silently."""

    def _sample_task(self, difficulty, rng):
        return super()._sample_task({**difficulty, "doors": max(2, difficulty["doors"])}, rng)


class WrongDirection(ToyEnv):
    """States that fewer doors are harder."""

    difficulty_parameters = (
        replace(ToyEnv.difficulty_parameters[0], direction=-1),
        ToyEnv.difficulty_parameters[1],
    )


class DipsInTheMiddle(ToyEnv):
    """Makes its middle value the easiest."""

    def _sample_task(self, difficulty, rng):
        task = super()._sample_task({**difficulty, "doors": 1 if difficulty["doors"] == 3 else 4}, rng)
        if difficulty["doors"] == 1:
            return replace(
                task, payload={**task.payload, "order": task.payload["order"][:2]}, difficulty=difficulty
            )
        return replace(task, difficulty=difficulty, id="", root_id="")


class OtherInWorker(ToyEnv):
    """Sends other text from a worker process."""

    def _begin(self, task):
        turn = super()._begin(task)
        alone = multiprocessing.parent_process() is None
        return turn if alone else turn._replace(observation="0" * len(turn.observation))


class TextSpace(ToyEnv):
    """Has no fault; uses Gymnasium's Text space in place of ours."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        charset = "".join(COLOURS) + "abcdefghijklmnopqrstuvwxyzAN .,:0123456789"
        self.observation_space = spaces.Text(400, charset=charset)


class UsesTorch(ToyEnv):
    """Draws from torch's global generator."""

    def _begin(self, task):
        sys.modules["torch"].rand(1)
        return super()._begin(task)
