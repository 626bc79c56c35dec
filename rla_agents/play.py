"""`rla play`: a person plays a task in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import gymnasium as gym
import tyro

from rla_agents.command_line import Arguments, parse
from rla_agents.environments import make_env
from rla_envs.adaptive import AdaptiveEnv
from rla_envs.errors import InputError
from rla_envs.spaces import Unicode

_LONGEST_NUMBER = 9


@dataclass(frozen=True)
class PlayArguments:
    """Play a task yourself: type a command, or the number beside it. `quit` ends the game."""

    env: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ENV")]
    """Environment; `rla envs` lists them."""
    seed: int = 0
    """Seed of the task and the episode."""
    difficulty: Arguments = field(default_factory=dict)
    """Difficulty parameters of the task; the others take their defaults."""
    arguments: Arguments = field(default_factory=dict)
    """Keywords of the environment: `data=alfred`, `game_file=PATH`."""


def play(words: Sequence[str]) -> int:
    """Play the episode that a command line asks for, and return the exit code 0.

    Reads commands from stdin until the episode ends, the input ends, or
    ``quit``.

    Raises:
        InputError: On an unknown environment or parameter, a value out of
            range, or an environment that is not adaptive or not played by
            text or numbers.
    """
    arguments = parse(PlayArguments, words, prog="rla play")
    if arguments.seed < 0:
        raise InputError(f"--seed: expected 0 or more, got {arguments.seed}")
    env = _make(arguments)
    try:
        if not isinstance(env.unwrapped, AdaptiveEnv):
            raise InputError(f"expected an adaptive environment, got {arguments.env}; see rla envs")
        if not isinstance(env.action_space, Unicode | gym.spaces.Text | gym.spaces.Discrete):
            raise InputError(
                f"{arguments.env} cannot be played in a terminal: its actions are {env.action_space}"
            )
        options = {"difficulty": dict(arguments.difficulty)} if arguments.difficulty else None
        _play_episode(env, arguments.seed, options)
    finally:
        env.close()
    return 0


def _make(arguments: PlayArguments) -> gym.Env[Any, Any]:
    """Make the environment; one that is not seen in words is drawn in them, where it can be."""
    env = make_env(arguments.env, arguments.arguments)
    in_words = isinstance(env.observation_space, Unicode | gym.spaces.Text)
    if in_words or "ansi" not in env.metadata["render_modes"]:
        return env
    env.close()
    return make_env(arguments.env, {"render_mode": "ansi", **arguments.arguments})


def _shown(env: gym.Env[Any, Any], observation: object) -> object:
    return observation if isinstance(observation, str) or env.render_mode != "ansi" else env.render()


def _play_episode(env: gym.Env[Any, Any], seed: int, options: dict[str, Any] | None) -> None:
    observation, info = env.reset(seed=seed, options=options)
    difficulty = ", ".join(f"{name} {_short(value)}" for name, value in info["rla"]["difficulty"].items())
    print(f"Task {info['rla']['task_id']}" + (f" ({difficulty})" if difficulty else ""))
    over = False
    while not over:
        commands = tuple(info.get("admissible_commands", ()))
        print(f"\n{_shown(env, observation)}\n")
        _print_commands(commands)
        action = _ask(env, commands)
        if action is None:
            print("Left the game.")
            return
        observation, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        if info["rla"]["last_action_error"]:
            print(f"! {info['rla']['last_action_error']}")
    print(f"\n{_shown(env, observation)}\n\n{_ending(info['rla'], truncated)}")


def _ending(state: Mapping[str, Any], truncated: bool) -> str:
    if state["success"]:
        return f"Solved in {state['steps']} of {state['step_budget']} steps."
    return f"Not solved: {'the step budget is used up' if truncated else 'the task is lost'}."


def _print_commands(commands: Sequence[str]) -> None:
    width = len(str(len(commands)))
    for number, command in enumerate(commands, start=1):
        print(f"  {number:>{width}}) {command}")


def _ask(env: gym.Env[Any, Any], commands: Sequence[str]) -> str | int | None:
    """Return the chosen action, or None to leave."""
    while True:
        try:
            text = input("> ").strip()
        except EOFError:
            print()
            return None
        if text.lower() in ("quit", "exit"):
            return None
        number = int(text) if text.isdecimal() and len(text) <= _LONGEST_NUMBER else -1
        if isinstance(env.action_space, gym.spaces.Discrete):
            if env.action_space.contains(number):
                return number
            first = int(env.action_space.start)
            print(f"Type a number from {first} to {first + int(env.action_space.n) - 1}.")
        elif not text.isdecimal() or not commands:
            if text:
                return text
        elif 1 <= number <= len(commands):
            return commands[number - 1]
        else:
            print(f"Type a command, or a number from 1 to {len(commands)}.")


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
