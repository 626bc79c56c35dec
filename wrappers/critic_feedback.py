"""Set an environment's difficulty from its results and from a critic's step votes."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, SupportsFloat, TypeVar, cast

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec, WrapperSpec, load_env_creator
from gymnasium.utils import RecordConstructorArgs

from rla_envs.adaptive import AdaptiveEnv, given_options
from rla_envs.difficulty import DifficultyParameter, DifficultySpace
from rla_envs.errors import InfrastructureError, InputError, InvalidTaskError, UnknownNameError
from rla_envs.task import Task, canonical_json
from wrappers.curricula.base import check_number
from wrappers.curricula.registry import PROPOSAL_LIMIT, check_arguments, check_curriculum, make, next_proposal
from wrappers.curricula.votes import high_risk_steps
from wrappers.lost_steps import LostSteps
from wrappers.protocols import Critic, Curriculum, Episode, Proposal, Step, Verdict

ObsT = TypeVar("ObsT")
ActT = TypeVar("ActT")


class CriticFeedback(gym.Wrapper[ObsT, ActT, ObsT, ActT], RecordConstructorArgs):
    """Choose every episode's difficulty by a curriculum, and tell it how the episode went.

    **At reset** the curriculum proposes parameter values, or a task. Parameters
    that the environment was given itself, by its ``difficulty=`` argument or by
    ``set_difficulty``, are held: the curriculum moves only the others.
    ``reset(options={"difficulty": ...})`` or ``{"task": ...}`` wins for that one
    episode; later ones, also those that a vector environment starts by
    itself, follow the curriculum again. A proposal that has no valid task is
    passed over, up to eight times in a row.

    **At the end** of an episode the critic, if there is one, votes on every
    step; the curriculum learns difficulty, task, success, votes and summary,
    whoever chose the difficulty. An episode that is abandoned by an early
    reset, or broken by an InfrastructureError, is not observed.

    **Reward** stays the environment's. The last step's ``info["rla"]`` gains
    ``votes``, ``vote_summary``, ``high_risk_steps`` (indices of the steps that
    all votes are against) and ``step_rewards``, one number per step:
    R_i = O + step_weight * mean_j S_ij with the outcome O of +1 or -1 and the
    votes S_ij (the integrated reward of arXiv 2602.02488; a malformed vote
    counts as 0). Every ``info["rla"]`` keeps ``difficulty``, what was set, and
    gains ``difficulty_reason`` and ``curriculum``.

    **Seeds**: ``reset(seed=s)`` restarts the environment, and with it the
    curriculum: one given by name goes back to the state it was built with, or
    that was last loaded, so equal seeds give equal episodes. A curriculum
    given as an object may be shared, and is never restarted.

    **Sharing**: give several environments of one process the same object; see
    :func:`wrappers.curricula.shared_curriculum` for several processes.

    Args:
        env: An :class:`rla_envs.adaptive.AdaptiveEnv`, possibly wrapped. A
            wrapper outside this one that cuts episodes short hides their end.
        curriculum: A name (see :func:`wrappers.curricula.curriculum_names`),
            ``"module:Class"``, or an object made for the same parameters.
        critic: Judges finished episodes; None asks nobody.
        step_weight: Weight of the mean vote in ``step_rewards`` (lambda; 1 in
            the paper).
        curriculum_kwargs: Arguments for a curriculum given by name, as JSON
            values.

    Raises:
        UnknownNameError: On an unknown curriculum or argument of it.
        InputError: On another argument that cannot be used.

    Example:
        >>> import gymnasium as gym
        >>> import rla_envs
        >>> from wrappers import CriticFeedback
        >>> env = CriticFeedback(gym.make("RLA/AlfWorld-v0"), curriculum="uniform")
        >>> observation, info = env.reset(seed=0)
        >>> info["rla"]["curriculum"], info["rla"]["difficulty_reason"]
        ('uniform', 'drawn uniformly')
    """

    def __init__(
        self,
        env: gym.Env[ObsT, ActT],
        curriculum: str | Curriculum = "thompson",
        critic: Critic | None = None,
        step_weight: float = 1.0,
        curriculum_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        """Wrap ``env``; see the class for the arguments."""
        self._plain = isinstance(curriculum, str) and critic is None
        RecordConstructorArgs.__init__(
            self,
            # Live objects must not be copied: a copy of a shared curriculum shares nothing.
            _disable_deepcopy=not self._plain,
            curriculum=curriculum,
            critic=critic,
            step_weight=step_weight,
            curriculum_kwargs=curriculum_kwargs,
        )
        gym.Wrapper.__init__(self, env)
        if not isinstance(env.unwrapped, AdaptiveEnv):
            raise InputError(
                f"CriticFeedback sets the difficulty of an AdaptiveEnv, got {type(env.unwrapped).__name__}; "
                "derive it from rla_envs.adaptive.AdaptiveEnv"
            )
        check_number("step_weight", step_weight, 0.0)
        if critic is not None and not callable(getattr(critic, "judge", None)):
            raise InputError(f"critic: expected an object with judge(episodes), got {type(critic).__name__}")
        self.step_weight = float(step_weight)
        self.critic = critic
        self.curriculum = _build(curriculum, curriculum_kwargs, env.unwrapped)
        self._name = str(getattr(self.curriculum, "name", type(self.curriculum).__name__))
        self._initial = self.curriculum.state_dict() if isinstance(curriculum, str) else None
        self._rng: np.random.Generator | None = None
        self._reason = ""
        self._observation: ObsT | None = None
        self._steps: list[Step] | None = None

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]
        """How to make this environment again; a wrapper with live objects can only be described."""
        if not self._plain and self._cached_spec is None and self.env.spec is not None:
            spec = copy.deepcopy(self.env.spec)
            entry_point = f"{type(self).__module__}:{type(self).__name__}"
            spec.additional_wrappers += (WrapperSpec(self.class_name(), entry_point, kwargs=None),)
            self._cached_spec = spec
        return super().spec

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsT, dict[str, Any]]:
        """Start an episode at the curriculum's difficulty, or at the one in ``options``."""
        self._steps = None
        if seed is not None:
            self._restart(seed)
        given = given_options(options)
        if "difficulty" in given or "task" in given:
            self._reason = "given at reset"
            observation, info = self.env.reset(seed=seed, options=given)
        else:
            observation, info = self._reset_as_proposed(seed, given)
        self._observation, self._steps = observation, []
        return observation, self._extended(info, {})

    def step(self, action: ActT) -> tuple[ObsT, SupportsFloat, bool, bool, dict[str, Any]]:
        """Play one action; the last one of an episode brings the critic's votes."""
        try:
            observation, reward, terminated, truncated, info = self.env.step(action)
        except InfrastructureError:
            self._steps = None
            raise
        extra: dict[str, Any] = {}
        if self._steps is not None:
            error = str(info["rla"]["last_action_error"])
            self._steps.append(Step(self._observation, action, observation, float(reward), error))
            self._observation = observation
            if terminated or truncated:
                steps, self._steps = self._steps, None
                extra = self._finish(steps, bool(info["rla"]["success"]), truncated)
        return observation, reward, terminated, truncated, self._extended(info, extra)

    def state_dict(self) -> dict[str, Any]:
        """Return the curriculum's state and both generators', as JSON values.

        Save between episodes: one that is running is not part of the state.
        """
        return {
            "curriculum": self.curriculum.state_dict(),
            "rng": None if self._rng is None else self._rng.bit_generator.state,
            "env_rng": self.unwrapped.np_random.bit_generator.state,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from :meth:`state_dict`: the next ``reset()`` starts the episode that would have come.

        Raises:
            InputError: If the state is damaged, or of another curriculum.
        """
        missing = {"curriculum", "rng", "env_rng"} - set(state)
        if missing:
            raise InputError(
                f"CriticFeedback state: expected the field {sorted(missing)[0]!r}, got {sorted(state)}"
            )
        rng = None if state["rng"] is None else _generator(state["rng"])
        env_rng = _generator(state["env_rng"])
        self.curriculum.load_state_dict(state["curriculum"])
        self._rng, self._steps = rng, None
        self.unwrapped.np_random = env_rng
        if self._initial is not None:
            self._initial = self.curriculum.state_dict()

    def _restart(self, seed: int) -> None:
        # Its own stream, so that a curriculum leaves the environment's draws as they are without it.
        self._rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
        if self._initial is not None:
            self.curriculum.load_state_dict(self._initial)

    def _reset_as_proposed(self, seed: int | None, given: dict[str, Any]) -> tuple[ObsT, dict[str, Any]]:
        if self._rng is None:
            self._rng = np.random.default_rng(int(self.unwrapped.np_random.integers(2**63)))
        for attempt in range(1, PROPOSAL_LIMIT + 1):
            proposal = next_proposal(self.curriculum, self._rng)
            self._reason = proposal.reason
            try:
                return self.env.reset(seed=seed, options={**given, **self._as_option(proposal)})
            except InvalidTaskError:
                if attempt == PROPOSAL_LIMIT:
                    raise
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _as_option(self, proposal: Proposal) -> dict[str, Any]:
        if proposal.task is not None:
            return {"task": proposal.task}
        held = cast(AdaptiveEnv[Any, Any], self.unwrapped).difficulty
        return {"difficulty": {k: v for k, v in (proposal.difficulty or {}).items() if k not in held}}

    def _finish(self, steps: Sequence[Step], success: bool, truncated: bool) -> dict[str, Any]:
        task = cast(AdaptiveEnv[Any, Any], self.unwrapped).task
        episode = Episode(task, tuple(steps), success, truncated)
        verdict = Verdict(()) if self.critic is None else _checked(self.critic.judge([episode]), episode)
        lost = LostSteps(cast(AdaptiveEnv[Any, Any], self.unwrapped), episode, verdict.votes)
        self.curriculum.observe(
            dict(task.difficulty),
            success,
            task=task,
            votes=verdict.votes,
            summary=verdict.summary,
            lost_steps=lost,
        )
        if self.critic is None:
            return {}
        return {
            "votes": [list(votes) for votes in verdict.votes],
            "high_risk_steps": high_risk_steps(verdict.votes),
            "vote_summary": verdict.summary,
            "step_rewards": step_rewards(episode.outcome, verdict.votes, self.step_weight),
        }

    def _extended(self, info: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
        rla = {**info["rla"], "difficulty_reason": self._reason, "curriculum": self._name, **extra}
        return {**info, "rla": rla}


class FreeParameters:
    """An environment as its curriculum sees it: without the parameters that the user holds.

    Tasks are sampled with the held values, which may change at any time.

    Args:
        env: The environment.
    """

    def __init__(self, env: AdaptiveEnv[Any, Any]) -> None:
        """Keep a reference to the environment."""
        self._env = env

    @property
    def difficulty_parameters(self) -> Sequence[DifficultyParameter]:
        """The parameters that are free to move."""
        return tuple(p for p in self._env.difficulty_parameters if p.name not in self._env.difficulty)

    @property
    def difficulty_space(self) -> DifficultySpace:
        """The same parameters as a Gymnasium space."""
        return DifficultySpace(self.difficulty_parameters)

    def sample_task(self, difficulty: Mapping[str, object] | None, rng: np.random.Generator) -> Task:
        """Return a random task with these values and the held ones."""
        return self._env.sample_task({**(difficulty or {}), **self._env.difficulty}, rng)

    def __getattr__(self, name: str) -> Any:
        """Leave everything else to the environment."""
        if name.startswith("_"):
            # Unpickling and copying look for private names before there is an environment.
            raise AttributeError(name)
        return getattr(self._env, name)


def step_rewards(outcome: int, votes: Sequence[Sequence[int]], step_weight: float = 1.0) -> list[float]:
    """Return R_i = outcome + step_weight * mean vote of step i (arXiv 2602.02488).

    Args:
        outcome: O, +1 or -1.
        votes: The votes of each step; a step without votes has mean 0.
        step_weight: lambda.

    Example:
        >>> step_rewards(-1, [(1, 1, -1, -1), (-1, 0)])
        [-1.0, -1.5]
    """
    return [outcome + step_weight * (sum(step) / len(step) if step else 0.0) for step in votes]


def make_adaptive(
    env_id: str,
    curriculum: str = "thompson",
    step_weight: float = 1.0,
    curriculum_kwargs: Mapping[str, Any] | None = None,
    render_mode: str | None = None,
    **env_kwargs: Any,
) -> gym.Env[Any, Any]:
    """Make an environment whose difficulty follows its results; the entry point of the ``-Adaptive`` ids.

    Args:
        env_id: Registered id of the environment to adapt.
        curriculum: Name of the curriculum, or ``"module:Class"``.
        step_weight: See :class:`CriticFeedback`.
        curriculum_kwargs: Arguments of the curriculum, as JSON values.
        render_mode: Passed to the environment.
        **env_kwargs: Everything else, passed to the environment. Parameters in
            ``difficulty`` are held; the curriculum moves the others.

    Raises:
        InputError: If a keyword is a live object; those go to CriticFeedback.
    """
    if not isinstance(curriculum, str):
        raise InputError(
            f"curriculum: expected a name, got {type(curriculum).__name__}; an environment id takes "
            "plain values, so wrap the environment yourself: CriticFeedback(env, curriculum=...)"
        )
    spec = gym.spec(env_id)
    entry_point = spec.entry_point
    if entry_point is None:
        raise InputError(f"environment {env_id!r} is registered without an entry point; register it with one")
    # Not gymnasium.make: the outer make adds the checking wrappers and sets the spec, once.
    creator: Any = load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point
    env = creator(**{**copy.deepcopy(spec.kwargs), "render_mode": render_mode, **env_kwargs})
    return CriticFeedback(env, curriculum, step_weight=step_weight, curriculum_kwargs=curriculum_kwargs)


def _build(
    curriculum: str | Curriculum, kwargs: Mapping[str, Any] | None, env: AdaptiveEnv[Any, Any]
) -> Curriculum:
    source = FreeParameters(env)
    if not isinstance(curriculum, str):
        if kwargs:
            raise InputError(
                "curriculum_kwargs are for a curriculum given by name; this one is already built"
            )
        if isinstance(curriculum, type):
            raise InputError(
                f"curriculum: expected a name or an object, got the class {curriculum.__name__}; "
                "make an object of it"
            )
        return _fitting(check_curriculum(curriculum), source)
    try:
        canonical_json({} if kwargs is None else dict(kwargs))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"curriculum_kwargs: expected JSON values, got {kwargs!r} ({error}); "
            "build the curriculum and pass the object"
        ) from error
    check_arguments(curriculum, kwargs or {})
    try:
        return make(curriculum, source.difficulty_space, tasks=source, **(kwargs or {}))
    except UnknownNameError as error:
        if not env.difficulty:
            raise
        raise UnknownNameError(
            f"{error} The environment's own difficulty= holds {', '.join(env.difficulty)}; "
            "leave a parameter out there to let the curriculum move it."
        ) from error


def _fitting(curriculum: Curriculum, source: FreeParameters) -> Curriculum:
    space = getattr(curriculum, "difficulty_space", None)
    if space is not None and set(space) != set(source.difficulty_space):
        raise InputError(
            f"curriculum: expected one over the free parameters {', '.join(source.difficulty_space)}, "
            f"got one over {', '.join(space)}; give each kind of environment its own"
        )
    return curriculum


def _checked(verdicts: Sequence[Verdict], episode: Episode) -> Verdict:
    if len(verdicts) != 1:
        raise InputError(f"critic: expected 1 verdict for 1 episode, got {len(verdicts)}")
    (verdict,) = verdicts
    if len(verdict.votes) != len(episode.steps):
        raise InputError(
            f"critic: expected votes on {len(episode.steps)} steps, got votes on {len(verdict.votes)}"
        )
    for vote in (vote for step in verdict.votes for vote in step):
        if vote not in (-1, 0, 1):
            raise InputError(f"critic: expected votes of -1, 0 (malformed) or +1, got {vote!r}")
    return verdict


def _generator(state: Mapping[str, Any]) -> np.random.Generator:
    generator = np.random.Generator(np.random.PCG64())
    try:
        generator.bit_generator.state = copy.deepcopy(dict(state))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"CriticFeedback state: expected a PCG64 generator state, got {state!r} ({error})"
        ) from error
    return generator
