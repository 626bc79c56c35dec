"""Our own policies on the bench: an embedded model, a model's folder, or what a training run has learned."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from rla_agents.checkpoint import latest_checkpoint, load_state
from rla_agents.config import PolicyConfig, load_config
from rla_agents.learner import Learner
from rla_agents.llm import Sampling, load_model
from rla_agents.policy import Policy
from rla_envs.errors import InputError
from rla_envs.spaces import Unicode


def trained_agent(source: str) -> TrainedAgent:
    """Return the agent of a model or of a training run.

    Args:
        source: The folder of a training run, whose last checkpoint plays with the weights that its own
            evaluation uses; or what :func:`~rla_agents.llm.load_model` takes.

    Raises:
        InputError: If there is no such model, or the run has no checkpoint.
    """
    torch.set_num_threads(1)  # a run has a process a job
    if not Path(source, "config.toml").is_file() or not Path(source, "checkpoints").is_dir():
        return TrainedAgent(load_model(source), PolicyConfig(model=source))
    config = load_config(Path(source, "config.toml"))
    found = latest_checkpoint(Path(source, "checkpoints")).checkpoint
    if found is None:
        raise InputError(f"{source}: this training run has no complete checkpoint")
    model = load_model(config.policy.model, config.policy.device)
    model.load(found.path / "policy")
    learner = Learner(model, config.policy_learner)
    learner.load_state_dict(load_state(found.path / "policy_learner"))
    with learner.averaged():
        averaged = {name: tensor.clone() for name, tensor in model.module.state_dict().items()}
    model.module.load_state_dict(averaged)
    return TrainedAgent(model, config.policy)


class TrainedAgent:
    """A policy that takes the most probable action, one conversation an episode, as in training.

    Args:
        model: The language model.
        config: How it is made to act.
    """

    def __init__(self, model: Any, config: PolicyConfig) -> None:
        """Keep the model; see the class for the arguments."""
        self._model, self._config = model, config
        self._session: Any = None

    def reset(self, task_info: Mapping[str, Any]) -> None:
        """Begin a new conversation.

        Raises:
            InputError: If the environment is not one of texts.
        """
        if not isinstance(task_info["action_space"], Unicode):
            raise InputError(f"a language model plays text, got actions in {task_info['action_space']}")
        sampling = Sampling(max_tokens=self._config.max_tokens, greedy=True)
        instructed, whole = not self._model.plain, task_info["whole_answers"]
        constrained, numbered = self._config.constrained, self._config.numbered
        self._policy = Policy(self._model, sampling, constrained, numbered, instructed, whole)
        self._session = None

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the policy's command.

        Raises:
            InputError: If the episode does not fit into the model's context.
        """
        policy, commands = self._policy, info.get("admissible_commands", ())
        if self._session is None:
            self._session = self._model.open([policy.opening(observation, commands)])
        else:
            last = self._session.sequence(0).ids[-1]
            self._session.append(0, policy.continuation(observation, commands, last))
        candidates = policy.candidates(commands)
        longest = self._config.max_tokens if candidates is None else max(map(len, candidates))
        if self._session.room(0) < longest:
            raise InputError(f"the episode is longer than the model's {self._model.context_length} tokens")
        drawn = self._session.generate(
            [0], policy.sampling, None, None if candidates is None else [candidates]
        )
        return policy.command(drawn[0].text, drawn[0].choice, commands)

    def report(self) -> dict[str, int]:
        """Return how many tokens the episode took."""
        if self._session is None:
            return {}
        sequence = self._session.sequence(0)
        written = sum(len(span.generated.ids) for span in sequence.spans)
        return {"prompt_tokens": len(sequence.ids) - written, "completion_tokens": written}
