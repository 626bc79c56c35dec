"""How agents plug in: what one must offer, how one is named, and the process it acts in.

An agent is any object with

- ``reset(task_info)``: an episode begins; forget the last one. ``task_info``
  is described in :func:`task_info`;
- ``act(observation, info) -> action``: both as the environment gives them.

Either may be a coroutine. In place of ``act`` it may have
``act_batch(observations, infos) -> actions``, or ``predict(observation)``
as policies of Gymnasium libraries do (an action, or a tuple whose first part
is one). It may have ``report() -> dict``, asked when an episode ends, with any
of ``claim`` (whether it believes it succeeded), ``prompt_tokens`` and
``completion_tokens``; and ``close()``.

For results that can be made again, draw random numbers from
``task_info["seed"]`` alone: which process plays an episode, and after which
other one, is not fixed.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.metadata
import importlib.util
import inspect
import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from benchmarks.bench.host import one_line
from benchmarks.bench.stage import Opening
from rla_envs.errors import InputError, unknown_name

GROUP = "rla.agents"
"""Entry-point group: a package that names a class there can be used by that name."""

_OURS = {
    "random": ("benchmarks.bench.baselines:RandomAgent", "baseline"),
    "first-admissible": ("benchmarks.bench.baselines:FirstAdmissible", "baseline"),
    "alfworld-heuristic": ("benchmarks.bench.alfworld_heuristic:AlfWorldHeuristic", "baseline"),
    "oracle": ("benchmarks.bench.baselines:Oracle", "privileged"),
}
_MODELS = {
    "openai": "benchmarks.bench.chat_agent:openai_agent",
    "openai-vision": "benchmarks.bench.chat_agent:openai_vision_agent",
    "react": "benchmarks.bench.chat_agent:react_agent",
    "policy": "benchmarks.bench.trained:trained_agent",
}
_LONGEST_ACTION = 1 << 20


class AgentSpec(NamedTuple):
    """An agent by name.

    Attributes:
        name: As the user named it; a folder's or a file's path is made absolute.
        place: ``"module:Name"`` or ``"file.py:Name"`` of what makes it.
        kind: As in :class:`~benchmarks.bench.schema.Config`.
        argument: What the maker is given, or None to give it nothing.
    """

    name: str
    place: str
    kind: str
    argument: str | None = None


def agent_names() -> list[str]:
    """Return the agents that can be named: ours, and those of installed packages."""
    return sorted({*_OURS, *(point.name for point in importlib.metadata.entry_points(group=GROUP))})


def find_agent(spec: str) -> AgentSpec:
    """Return the agent that a command line names; nothing is imported yet.

    Args:
        spec: One of :func:`agent_names`; ``policy:MODEL`` (a policy of ours with an embedded model or a
            model's folder) or the folder of a training run; ``react:MODEL`` (the same models, asked to
            think first); ``openai:MODEL@URL`` (an OpenAI-compatible server) or ``openai-vision:MODEL@URL``
            (that also gets the screenshots of desktops); ``module:Class``; ``path/to/file.py:Class``.

    Raises:
        UnknownNameError: If it is none of these.
        InputError: If a file is not there, or a form lacks a part.
    """
    if spec in _OURS:
        return AgentSpec(spec, *_OURS[spec])
    head, colon, rest = spec.partition(":")
    if head in _MODELS and colon:
        served = head.startswith("openai")
        if not rest or (served and "@http" not in rest):
            form = f"{head}:MODEL@URL" if served else f"{head}:MODEL"
            raise InputError(f"agent {spec!r}: expected {form}")
        return AgentSpec(re.sub(r"//[^@/]*@", "//", spec), _MODELS[head], "model", rest)
    if Path(spec, "config.toml").is_file():
        return AgentSpec(
            f"policy:{Path(spec).resolve()}", _MODELS["policy"], "model", str(Path(spec).resolve())
        )
    points = {point.name: point.value for point in importlib.metadata.entry_points(group=GROUP)}
    if spec in points:
        return AgentSpec(spec, points[spec], "third-party")
    path, colon, name = spec.rpartition(":")
    if path.endswith(".py") and colon and name:
        if not Path(path).is_file():
            raise InputError(f"agent {spec!r}: there is no file {path}")
        return AgentSpec(f"{Path(path).resolve()}:{name}", f"{Path(path).resolve()}:{name}", "third-party")
    if path and name.isidentifier():
        return AgentSpec(spec, spec, "third-party")
    raise unknown_name("agent", spec, {*agent_names(), "openai:MODEL@URL", "policy:MODEL", "module:Class"})


def task_info(suite: str, cell: str, opening: Opening, seed: int, attempt: int, kind: str) -> dict[str, Any]:
    """Return what an agent is told when an episode begins.

    Args:
        suite: Name of the suite.
        cell: Name of the task's group.
        opening: The episode.
        seed: The agent's own, of 63 bits: it depends on the run's seed and on the episode alone.
        attempt: Which attempt at the task this is.
        kind: Of the agent; a privileged one is also told ``witness``, the actions that solve the task.
    """
    told = {
        "suite": suite,
        "cell": cell,
        "env_id": opening.env_id,
        "task_id": opening.task_id,
        "difficulty": opening.difficulty,
        "step_budget": opening.step_budget,
        "seed": seed,
        "attempt": attempt,
        "observation_space": opening.observation_space,
        "action_space": opening.action_space,
        "whole_answers": opening.whole_answers,
    }
    return {**told, "witness": opening.witness} if kind == "privileged" else told


class AgentServer:
    """An agent in its own process, asked by :class:`~benchmarks.bench.host.Host`.

    Args:
        spec: Which agent.
    """

    def __init__(self, spec: AgentSpec) -> None:
        """Make the agent."""
        self._agent = make_agent(spec)
        self._runner = asyncio.Runner()
        self._space: gym.Space[Any] | None = None
        self._state: Any = None
        self._begun = False

    def ready(self) -> bool:
        """Return True: the agent was made."""
        return True

    def reset(self, info: Mapping[str, Any]) -> None:
        """Begin an episode."""
        self._space, self._state, self._begun = info["action_space"], None, True
        if hasattr(self._agent, "reset"):
            self._wait(self._agent.reset(dict(info)))

    def act(self, observation: Any, info: dict[str, Any]) -> Any:
        """Return the agent's action as ``action_space.to_jsonable([action])``.

        Raises:
            TypeError: If it is not in the action space.
        """
        action = self._act(observation, info)
        space = self._space
        if isinstance(space, gym.spaces.Discrete) and isinstance(action, np.ndarray) and action.size == 1:
            action = action.item()
        if isinstance(action, str) and len(action) > _LONGEST_ACTION:
            raise ActionError(f"returned {len(action):,} characters; the most is {_LONGEST_ACTION:,}")
        if space is None or not space.contains(action):
            raise ActionError(f"returned {_shown(action)}; expected an action of {space}")
        plain = space.to_jsonable([action])
        try:
            json.dumps(plain, allow_nan=False)
        except ValueError as error:
            # An unbounded box holds infinity; a trace, which is JSON, does not.
            raise ActionError(f"returned {_shown(action)} that is not finite") from error
        return plain

    def report(self) -> dict[str, Any]:
        """Return what the agent says about the episode, as far as it is of the right type."""
        said = self._wait(self._agent.report()) if hasattr(self._agent, "report") else {}
        if not isinstance(said, Mapping):
            return {}
        tokens = {key: said.get(key) for key in ("prompt_tokens", "completion_tokens")}
        kept: dict[str, Any] = {key: n for key, n in tokens.items() if type(n) is int and 0 <= n < 1 << 53}
        if isinstance(said.get("claim"), bool):
            kept["claim"] = said["claim"]
        return kept

    def close(self) -> None:
        """Close the agent, if it can be closed."""
        if hasattr(self._agent, "close"):
            self._wait(self._agent.close())

    def _act(self, observation: Any, info: dict[str, Any]) -> Any:
        agent = self._agent
        if hasattr(agent, "act"):
            return self._wait(agent.act(observation, info))
        if hasattr(agent, "act_batch"):
            return self._wait(agent.act_batch([observation], [info]))[0]
        # Recurrent policies carry a state from one call to the next.
        known = inspect.signature(agent.predict).parameters
        given = {"state": self._state, "episode_start": np.array([self._begun]), "deterministic": True}
        self._begun = False
        answer = self._wait(agent.predict(observation, **{k: v for k, v in given.items() if k in known}))
        if isinstance(answer, tuple):
            self._state = answer[1] if len(answer) > 1 else None
            return answer[0]
        return answer

    def _wait(self, result: Any) -> Any:
        return self._runner.run(_awaited(result)) if inspect.isawaitable(result) else result


class ActionError(TypeError):
    """An agent did something that is no action."""


def make_agent(spec: AgentSpec) -> Any:
    """Return the agent, made.

    Raises:
        InputError: If its module cannot be imported, has no such name, or what it names is no agent.
    """
    place, _, name = spec.place.rpartition(":")
    try:
        module = _from_file(place) if place.endswith(".py") else importlib.import_module(place)
        maker: Any = getattr(module, name)
        made = maker
        if inspect.isclass(maker) or inspect.isroutine(maker):
            made = _call(maker, spec.argument)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"agent {spec.name!r} cannot be made: {one_line(error)}") from error
    if not any(callable(getattr(made, method, None)) for method in ("act", "act_batch", "predict")):
        raise InputError(
            f"agent {spec.name!r}: expected an object with act(observation, info), got {_shown(made)}"
        )
    return made


def _call(maker: Any, argument: str | None) -> Any:
    return maker() if argument is None else maker(argument)


def _from_file(path: str) -> Any:
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is no Python file")
    sys.path.insert(0, os.path.dirname(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # as an import would: dataclasses and pickle look there
    spec.loader.exec_module(module)
    return module


async def _awaited(result: Any) -> Any:
    return await result


def _shown(value: object) -> str:
    if value is None:
        return "None"
    text = repr(value) if isinstance(value, int | float | str | np.generic) else ""
    text = f"{text[:60]}..." if len(text) > 60 else text
    return f"{text} of type {type(value).__name__}" if text else f"a {type(value).__name__}"
