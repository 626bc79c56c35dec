"""Many AlfWorld games in one process, a command for each at a time."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray

from rla_envs.alfworld.env import AlfWorldEnv
from rla_envs.errors import InputError, unknown_name
from rla_envs.task import Task

_RESETS = (AutoresetMode.NEXT_STEP.value, AutoresetMode.SAME_STEP.value, AutoresetMode.DISABLED.value)


class AlfWorldVectorEnv(SyncVectorEnv):
    """Step many games at once, with what they have in common done once.

    Everything that ``reset`` and ``step`` return is what
    ``rla_envs.make_vec("RLA/AlfWorld-v0", n, "sync")`` returns: member ``i`` of
    ``reset(seed=s)`` starts with seed ``s + i``, observations are a tuple of
    texts, and ``infos`` holds an array and a mask for each entry. A step goes
    straight to the members' games, and their infos become arrays in one go;
    all games share the compiled rules.

    Args:
        num_envs: Number of members.
        difficulty: Values of difficulty parameters by name, for all members, or
            one such mapping (or None) for each.
        autoreset_mode: ``"NextStep"``: a member that has ended starts anew with
            the next step, whose action is not used. Also ``"SameStep"`` and
            ``"Disabled"``, as Gymnasium defines them; batch infos are then put
            together member by member.
        **kwargs: The other keywords of :class:`~rla_envs.alfworld.env.AlfWorldEnv`.

    Raises:
        InputError: If the number of members is not positive, not that of the
            difficulties, or an argument is not one that the environment takes.

    Example:
        >>> import gymnasium, rla_envs
        >>> envs = gymnasium.make_vec("RLA/AlfWorld-v0", 3)
        >>> observations, infos = envs.reset(seed=0)
        >>> observations, rewards, terminations, truncations, infos = envs.step(["look"] * 3)
        >>> infos["rla"]["steps"].tolist()
        [1, 1, 1]
    """

    def __init__(
        self,
        num_envs: int = 1,
        difficulty: Mapping[str, object] | Sequence[Mapping[str, object] | None] | None = None,
        autoreset_mode: str = AutoresetMode.NEXT_STEP.value,
        **kwargs: Any,
    ) -> None:
        """Make the members; see the class for the arguments."""
        if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
            raise InputError(f"num_envs: expected an integer of 1 or more, got {num_envs!r}")
        if autoreset_mode not in _RESETS:
            raise unknown_name("autoreset mode", autoreset_mode, _RESETS)
        each = [difficulty] * num_envs if isinstance(difficulty, Mapping | None) else list(difficulty)
        if len(each) != num_envs:
            raise InputError(
                f"difficulty: expected one mapping, or one for each of {num_envs}, got {len(each)}"
            )
        members = [functools.partial(AlfWorldEnv, difficulty=own, **kwargs) for own in each]
        super().__init__(members, copy=False, autoreset_mode=autoreset_mode)
        self._members = cast("list[AlfWorldEnv]", self.envs)
        self._tasks: list[Task | None] = [None] * num_envs
        self._fixed: dict[str, Any] = {}

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play one command of every member.

        Args:
            actions: A command for each member, in a sequence or an array.

        Raises:
            InputError: If they are not one text for each member; no game has
                gone on then.
        """
        actions = self._checked(actions)
        if self.autoreset_mode is not AutoresetMode.NEXT_STEP:
            return super().step(actions)
        count = self.num_envs
        rewards = np.zeros(count, np.float64)
        terminations, truncations = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        observations, commands, errors, steps = [], [], [], []
        for i, (env, action) in enumerate(zip(self._members, actions, strict=True)):
            if self._autoreset_envs[i]:
                observation, info = env.reset()
                observations.append(observation)
                commands.append(info["admissible_commands"])
                errors.append(info["rla"]["last_action_error"])
            else:
                turn, terminations[i], truncations[i] = env.play(action)
                rewards[i] = turn.success
                observations.append(turn.observation)
                commands.append(turn.extras["admissible_commands"])
                errors.append(turn.error)
            steps.append(env.steps)
            if env.task is not self._tasks[i]:
                self._note(i, env)
        self._env_obs = observations  # type: ignore[assignment] # Gymnasium has it as a list of None
        self._rewards, self._terminations, self._truncations = rewards, terminations, truncations
        self._autoreset_envs = terminations | truncations
        rla = {
            **_copied(self._fixed),
            **_entry("success", rewards > 0),
            **_entry("last_action_error", _objects(errors)),
            **_entry("steps", np.array(steps)),
        }
        infos = {**_entry("admissible_commands", _objects(commands)), **_entry("rla", rla, count)}
        return tuple(observations), rewards.copy(), terminations.copy(), truncations.copy(), infos

    def _checked(self, actions: Any) -> list[str]:
        given = [] if isinstance(actions, str | bytes) else list(actions)
        wrong = next((action for action in given if not isinstance(action, str)), None)
        if len(given) != self.num_envs or wrong is not None:
            what = f"{len(given)} values" if wrong is None else repr(wrong)
            raise InputError(f"actions: expected {self.num_envs} commands as text, got {what}")
        return given

    def _note(self, member: int, env: AlfWorldEnv) -> None:
        """Take down what stays the same during a member's episode."""
        task = self._tasks[member] = env.task
        fixed = {"task_id": task.id, "difficulty": dict(task.difficulty), "step_budget": env.step_budget}
        self._fixed = self._add_info(self._fixed, fixed, member)


def _objects(values: list[Any]) -> NDArray[np.object_]:
    return np.fromiter(values, dtype=object, count=len(values))


def _entry(name: str, values: Any, count: int | None = None) -> dict[str, Any]:
    """Return an entry of a vector's infos, which every member has."""
    return {name: values, f"_{name}": np.ones(len(values) if count is None else count, np.bool_)}


def _copied(entries: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _copied(x) if isinstance(x, dict) else x.copy() for name, x in entries.items()}
