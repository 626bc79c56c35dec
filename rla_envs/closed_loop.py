"""The closed loop as a game of three players: one proposes the task, one solves it, one judges the steps.

A PettingZoo view of any adaptive environment here, for learners and for game
theory rather than for language models (those train with ``rla train``)::

    from rla_envs import closed_loop

    game = closed_loop.env("RLA/GridNav-v0")           # one agent after another
    game = closed_loop.parallel_env("RLA/GridNav-v0")  # all at once

A game is one episode. It goes in cycles, in each of which every agent acts
once, in this order:

1. ``environment``: in the first cycle its action proposes the task; in later
   ones it is ignored.
2. ``policy``: its action is played.
3. ``reward_model``: its action is the vote, or the votes, on that step.

All agents leave together, at the end of the cycle in which the episode ends: the
step that wins, or uses up the budget, still gets its votes.

**Proposals** are difficulty values (a member of ``difficulty_space``, or some
of its parameters), or a :class:`~rla_envs.task.TaskEdit` of the previous task. A
proposal without a valid task is *refused*: the previous task is played, the
environment's reward is lowered by :data:`REFUSAL_PENALTY`, and
``infos["environment"]["rla"]["refused"]`` says why. The previous task is that
of the game before; ``reset(seed=...)`` forgets it and draws one at the
environment's own difficulty.

**Rewards** are the system's own (arXiv 2602.02488), with the outcome O of +1 or
-1, the m votes S_ij of +1 or -1 on step i, and R_i = O + step_weight * mean_j S_ij:

* ``policy``: the sum of R_i over the steps. The votes' part is paid with each
  vote, the outcome's when the episode ends.
* ``reward_model``: the sum of R_i * mean_j S_ij (consistency with outcome and
  votes), when the episode ends.
* ``environment``, when the episode ends: the learnability p(1 - p) of the
  accepted task, as expected from the results so far (see :class:`Record`); or
  the policy's whole reward (``"cooperative"``), or its negative
  (``"adversarial"``). The environment moves first and the others answer, so
  these two are the leader's goals of a Stackelberg game.

The parallel view is PettingZoo's conversion, in which all actions of a cycle
are chosen from what was seen before it: there a vote is cast before its step
is seen, and the first action before the task. Where that matters, take turns.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils.conversions import aec_to_parallel
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from rla_envs.adaptive import AdaptiveEnv
from rla_envs.difficulty import Value
from rla_envs.errors import InputError, unknown_name
from rla_envs.registry import find_env
from rla_envs.spaces import Unicode
from rla_envs.task import Task, TaskEdit

ENVIRONMENT, POLICY, REWARD_MODEL = AGENTS = ("environment", "policy", "reward_model")
ENVIRONMENT_REWARDS = ("learnability", "cooperative", "adversarial")

REFUSAL_PENALTY = 1.0
"""What a refused proposal costs the environment; four times what any task can earn as learnability."""


def env(env_id: str, **kwargs: Any) -> AECEnv:
    """Return the game in which the agents take turns.

    Args:
        env_id: Registered id of an adaptive environment; ``"module:ID"``
            imports the module first.
        **kwargs: ``environment_reward``, ``votes`` and ``step_weight`` as for
            :class:`ClosedLoopEnv`; all others go to ``gymnasium.make``.

    Raises:
        InputError: On an unknown id, or an argument that cannot be used.

    Example:
        >>> from rla_envs import closed_loop
        >>> game = closed_loop.env("RLA/GridNav-v0")
        >>> game.reset(seed=0)
        >>> for agent in game.agent_iter():
        ...     observation, reward, termination, truncation, info = game.last()
        ...     game.step(None if termination or truncation else game.action_space(agent).sample())
    """
    return OrderEnforcingWrapper(ClosedLoopEnv(env_id, **kwargs))


def parallel_env(env_id: str, **kwargs: Any) -> ParallelEnv:
    """Return the game in which all agents act at once, once a cycle; arguments as for :func:`env`."""
    return aec_to_parallel(env(env_id, **kwargs))


class Record:
    """The results so far, and what they say about how learnable a task is.

    The success probability p at a difficulty has a Beta posterior: a uniform
    prior, and every result so far weighted by how near its difficulty is,
    exp(-d^2 / (2 * 0.2^2)) for a distance d with every parameter's range as 1.
    The last 200 results count.
    """

    width = 0.2
    length = 200

    def __init__(self) -> None:
        """Start without results."""
        self._results: deque[tuple[NDArray[np.float64], bool]] = deque(maxlen=self.length)

    def add(self, place: NDArray[np.float64], success: bool) -> None:
        """Take in one result at a place in the difficulty space (each parameter from 0 to 1)."""
        self._results.append((place, success))

    def clear(self) -> None:
        """Forget everything."""
        self._results.clear()

    def learnability(self, place: NDArray[np.float64]) -> float:
        """Return the posterior expectation of p(1 - p) at a place, from 0 to 0.25."""
        won = lost = 1.0
        for other, success in self._results:
            weight = float(np.exp(-0.5 * np.sum((other - place) ** 2) / self.width**2))
            won, lost = won + weight * success, lost + weight * (not success)
        total = won + lost
        return won * lost / (total * (total + 1.0))


class _Step(NamedTuple):
    """A step as the reward model sees it."""

    before: Any
    action: Any
    after: Any


class ClosedLoopEnv(AECEnv):  # type: ignore[misc]
    """The game itself; see the module for its rules. Made by :func:`env` and :func:`parallel_env`.

    **Observations**: the policy's are the environment's own; a text comes as
    ``{"text": ...}``, because PettingZoo's checks know no bare texts. The
    reward model sees ``"before"``, ``"action"`` and ``"after"`` of the last step.
    The environment sees, each from -1 to 1: the previous or current task's
    difficulty (each parameter's range as 0 to 1, in order), the last game's
    outcome and mean vote (0 before there is one), and whether it is to
    propose now.

    **Infos**: the policy's are the environment's own. All have ``"rla"``; at the
    end of a game that holds ``votes`` and ``step_rewards`` (R_i), a list entry
    per step, and ``learnability``.

    ``reset(options={"task": task})`` makes a task the previous one. Other
    options are ignored, because PettingZoo's own tests send made-up ones.

    Args:
        env_id: Registered id of an adaptive environment.
        environment_reward: ``"learnability"``, ``"cooperative"`` or ``"adversarial"``.
        votes: Votes per step (m). The reward model's action is 0 (against) or
            1 (for), or an array of as many as there are votes.
        step_weight: Weight of the mean vote (lambda; 1 in the paper).
        render_mode: Passed to the environment.
        **kwargs: Passed to the environment.
    """

    def __init__(
        self,
        env_id: str,
        environment_reward: str = "learnability",
        votes: int = 1,
        step_weight: float = 1.0,
        render_mode: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Make the environment; see the class for the arguments."""
        super().__init__()
        if environment_reward not in ENVIRONMENT_REWARDS:
            raise unknown_name("environment reward", environment_reward, ENVIRONMENT_REWARDS)
        if isinstance(votes, bool) or not isinstance(votes, int) or votes < 1:
            raise InputError(f"votes: expected an integer of 1 or more, got {votes!r}")
        number = isinstance(step_weight, int | float) and not isinstance(step_weight, bool)
        if not number or not 0.0 <= step_weight < np.inf:
            raise InputError(f"step_weight: expected a number of 0 or more, got {step_weight!r}")
        self._env: gym.Env[Any, Any] = gym.make(find_env(env_id), render_mode=render_mode, **kwargs)
        if not isinstance(self._env.unwrapped, AdaptiveEnv):
            raise InputError(f"env_id: expected an adaptive environment, got {env_id!r}")
        self._base: AdaptiveEnv[Any, Any] = self._env.unwrapped
        self.environment_reward, self.votes, self.step_weight = environment_reward, votes, float(step_weight)
        self.render_mode = render_mode
        self.metadata = {
            **self._env.metadata,
            "name": f"closed_loop({env_id})",
            # Whether PettingZoo's conversion may be used: agents act in a fixed cycle and leave at its end.
            "is_parallelizable": True,
        }
        self.possible_agents = list(AGENTS)
        self.agents: list[str] = []
        self._make_spaces()
        self._record = Record()
        self._rng: np.random.Generator | None = None
        self._task: Task | None = None
        self._last_game = (0.0, 0.0)

    def _make_spaces(self) -> None:
        own, action = self._env.observation_space, self._env.action_space
        self._text = isinstance(own, spaces.Text | Unicode)
        seen = spaces.Dict({"text": own}) if self._text else own
        count = len(self._base.difficulty_parameters)
        self._observation_spaces: dict[str, spaces.Space[Any]] = {
            ENVIRONMENT: spaces.Box(-1.0, 1.0, (count + 3,), np.float32),
            POLICY: seen,
            REWARD_MODEL: spaces.Dict({"before": seen, "action": action, "after": seen}),
        }
        vote: spaces.Space[Any] = spaces.Discrete(2) if self.votes == 1 else spaces.MultiBinary(self.votes)
        self._action_spaces: dict[str, spaces.Space[Any]] = {
            ENVIRONMENT: self._base.difficulty_space,
            POLICY: action,
            REWARD_MODEL: vote,
        }

    @property
    def task(self) -> Task:
        """The task that is played, or before the proposal the previous one.

        Raises:
            InputError: Before the first reset.
        """
        if self._task is None:
            raise InputError("the game has no task yet; call reset() first")
        return self._task

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return what an agent sees."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return what an agent may do."""
        return self._action_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Start a game; a seed also forgets the previous task and all results."""
        if options is not None and not isinstance(options, Mapping):
            raise InputError(f"options: expected a mapping, got {options!r}")
        if seed is not None or self._rng is None:
            self._rng = np.random.default_rng(seed)
            self._record.clear()
            self._task, self._last_game = None, (0.0, 0.0)
        # Not kept yet: a task that is refused must not be the one that the next game starts from.
        task = (options or {}).get("task", self._task)
        if task is None:
            task = self._base.sample_task(None, self._rng)
        self.agents = list(AGENTS)
        self.agent_selection = ENVIRONMENT
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {"rla": {}} for agent in AGENTS}
        self._proposed = False
        self._begin(task, seed)
        self._step = _Step(self._seen, _any_action(self._action_spaces[POLICY]), self._seen)

    def _begin(self, task: Task, seed: int | None = None) -> None:
        """Start the episode of a task."""
        observation, info = self._env.reset(seed=seed, options={"task": task})
        self._task = task
        self._cast: list[list[int]] = []
        self._seen, self.infos[POLICY] = self._shown(observation), info
        self._ended = (False, False)

    def _shown(self, observation: Any) -> Any:
        return {"text": observation} if self._text else observation

    def observe(self, agent: str) -> Any:
        """Return what an agent sees now."""
        if agent == ENVIRONMENT:
            state = [*self._place(), *self._last_game, not self._proposed]
            return np.array(state, np.float32)
        return self._seen if agent == POLICY else self._step._asdict()

    def _place(self) -> NDArray[np.float64]:
        """Return the task's difficulty with every parameter's range as 0 to 1."""
        values: Mapping[str, Value] = self.task.difficulty
        ranges = ((p.name, p.low, p.high) for p in self._base.difficulty_parameters)
        return np.array([(values[name] - low) / (high - low) for name, low, high in ranges])

    def step(self, action: Any) -> None:
        """Take the action of the agent whose turn it is."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        # Taken first: an action that is refused with an error leaves the game as it was.
        rewards = {ENVIRONMENT: self._propose, POLICY: self._play, REWARD_MODEL: self._vote}[agent](action)
        self._cumulative_rewards[agent] = 0.0
        self.rewards = {**dict.fromkeys(AGENTS, 0.0), **rewards}
        self._accumulate_rewards()
        if agent == REWARD_MODEL and any(self._ended):
            self.terminations = dict.fromkeys(AGENTS, self._ended[0])
            self.truncations = dict.fromkeys(AGENTS, self._ended[1])
        self.agent_selection = AGENTS[(AGENTS.index(agent) + 1) % len(AGENTS)]

    def _propose(self, proposal: Any) -> dict[str, float]:
        if self._proposed:
            return {}
        if not isinstance(proposal, Mapping | TaskEdit):
            raise InputError(
                "environment's action: expected difficulty values by name or a TaskEdit, "
                f"got {type(proposal).__name__}"
            )
        reason = ""
        try:
            self._begin(self._proposed_task(proposal))
        except InputError as error:
            reason = str(error)
        self._proposed = True
        self.infos[ENVIRONMENT] = {"rla": {"task_id": self.task.id, "refused": reason}}
        return {ENVIRONMENT: -REFUSAL_PENALTY} if reason else {}

    def _proposed_task(self, proposal: Mapping[str, Any] | TaskEdit) -> Task:
        if isinstance(proposal, TaskEdit):
            return self._base.apply_edit(self.task, proposal)
        return self._base.sample_task(proposal, cast(np.random.Generator, self._rng))

    def _play(self, action: Any) -> dict[str, float]:
        observation, _, terminated, truncated, info = self._env.step(action)
        after = self._shown(observation)
        self._step = _Step(self._seen, action, after)
        self._seen, self.infos[POLICY] = after, info
        self._ended = (bool(terminated), bool(truncated))
        return {}

    def _vote(self, action: Any) -> dict[str, float]:
        votes = np.atleast_1d(np.asarray(action))
        if votes.shape != (self.votes,) or not np.isin(votes, (0, 1)).all():
            raise InputError(f"reward_model's action: expected {self.votes} of 0 or 1, got {action!r}")
        self._cast.append([1 if vote else -1 for vote in votes.tolist()])
        paid = self.step_weight * float(np.mean(self._cast[-1]))
        return self._settle(paid) if any(self._ended) else {POLICY: paid}

    def _settle(self, paid: float) -> dict[str, float]:
        """Return what everyone gets at the end, the last vote's part included, and say how it came about."""
        success = bool(self.infos[POLICY]["rla"]["success"])
        outcome, means = 1.0 if success else -1.0, [float(np.mean(votes)) for votes in self._cast]
        step_rewards = [outcome + self.step_weight * mean for mean in means]
        self._record.add(self._place(), success)
        learnability = self._record.learnability(self._place())
        total = sum(step_rewards)
        self._last_game = (outcome, float(np.mean(means)))
        story = {"votes": self._cast, "step_rewards": step_rewards, "learnability": learnability}
        self.infos = {agent: {**info, "rla": {**info["rla"], **story}} for agent, info in self.infos.items()}
        goals = {"learnability": learnability, "cooperative": total, "adversarial": -total}
        return {
            POLICY: paid + outcome * len(means),
            REWARD_MODEL: sum(reward * mean for reward, mean in zip(step_rewards, means, strict=True)),
            ENVIRONMENT: goals[self.environment_reward],
        }

    def render(self) -> Any:
        """Return the environment's picture or text."""
        return self._env.render()

    def close(self) -> None:
        """Free what the environment holds."""
        self._env.close()


def _any_action(space: spaces.Space[Any]) -> Any:
    """Return a member of an action space, always the same: it stands for the action before the first."""
    if space.contains(""):
        return ""
    space = copy.deepcopy(space)
    space.seed(0)
    return space.sample()
