"""A language model that thinks, then acts (ReAct, arXiv 2210.03629), over a server or in this process."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, cast

import httpx
import numpy as np
from gymnasium import spaces

from benchmarks.bench.desktop import INSTRUCTIONS, data_uri, described, is_desktop
from rla_envs.errors import InfrastructureError, InputError
from rla_envs.spaces import Unicode

if TYPE_CHECKING:  # a served model needs no torch here
    from rla_agents.llm.chat import Message

Turn: TypeAlias = dict[str, Any]
"""A message: ``role``, and ``content`` as text or as OpenAI's list of text and ``image_url`` parts."""

_INSTRUCTIONS = (
    "You act in an environment to solve a task. Each message shows what you see after your last action. "
    "First think in a sentence or two, then write one action on a line of its own:\n"
    "Thought: ...\nAction: ..."
)
_ACTION = re.compile(r"^\W*action\W*:[\s`*]*(.*?)[\s`*]*$", re.IGNORECASE | re.MULTILINE)
_EARLIER = "(an earlier screen)"
_MAX_TOKENS = 1024
_SECONDS = 300.0
_TOO_LONG = (400, 413)
"""How servers answer a conversation that does not fit the model: the agent's affair."""


class Completion(NamedTuple):
    """What a model answered.

    Attributes:
        text: The answer.
        prompt_tokens: Tokens it read; 0 if not known.
        completion_tokens: Tokens it wrote; 0 if not known.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Client(Protocol):
    """Answers a conversation."""

    def complete(self, messages: list[Turn]) -> Completion:
        """Return the model's next message."""

    def close(self) -> None:
        """Let go of what it holds."""


def openai_agent(source: str) -> ChatAgent:
    """Return an agent of ``MODEL@URL``, an OpenAI-compatible server; its key is read from OPENAI_API_KEY."""
    model, _, url = source.partition("@http")
    return ChatAgent(OpenAIClient(model, f"http{url}"))


def openai_vision_agent(source: str) -> ChatAgent:
    """Return an agent as :func:`openai_agent`, of a model that is also shown the screenshot of a desktop."""
    model, _, url = source.partition("@http")
    return ChatAgent(OpenAIClient(model, f"http{url}"), pictures=True)


def react_agent(source: str) -> ChatAgent:
    """Return an agent of a local model, by any name that ``load_model`` takes."""
    return ChatAgent(LocalClient(source))


class OpenAIClient:
    """A model behind an OpenAI-compatible server.

    Args:
        model: The model's name there.
        url: The server's base, such as ``http://localhost:8000/v1``.
    """

    def __init__(self, model: str, url: str) -> None:
        """Set up; nothing is sent yet."""
        self._model, self._url = model, f"{url.rstrip('/')}/chat/completions"
        key = os.environ.get("OPENAI_API_KEY")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(headers=headers, timeout=_SECONDS, transport=httpx.HTTPTransport(retries=2))

    def complete(self, messages: list[Turn]) -> Completion:
        """Return the model's next message, at temperature 0.

        Raises:
            InfrastructureError: If the server does not answer, or not as such servers do.
            InputError: If it refuses the conversation, as one that is too long.
        """
        body = {"model": self._model, "messages": messages, "temperature": 0, "max_tokens": _MAX_TOKENS}
        try:
            answer = self._http.post(self._url, json=body)
            if answer.status_code in _TOO_LONG:
                raise InputError(f"the server refused the conversation: {answer.text[:200]}")
            answer.raise_for_status()
            found = answer.json()
            text = found["choices"][0]["message"]["content"]
        except (httpx.HTTPError, ValueError, LookupError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InfrastructureError(f"{self._url}: {type(error).__name__}: {error}") from error
        usage = found.get("usage") or {}
        read, wrote = usage.get("prompt_tokens"), usage.get("completion_tokens")
        return Completion(str(text or ""), int(read or 0), int(wrote or 0))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


class LocalClient:
    """A model in this process, decoded greedily.

    Args:
        source: What ``load_model`` takes.
    """

    def __init__(self, source: str) -> None:
        """Load the model."""
        import torch

        from rla_agents.llm import Sampling, load_model

        torch.set_num_threads(1)
        self._model = load_model(source)
        self._sampling = Sampling(max_tokens=min(_MAX_TOKENS, self._model.context_length // 4), greedy=True)

    def complete(self, messages: list[Turn]) -> Completion:
        """Return the model's next message.

        Raises:
            InputError: If the conversation does not fit the model.
        """
        ids = self._model.chat.first(cast("list[Message]", messages))
        if len(ids) + self._sampling.max_tokens > self._model.context_length:
            raise InputError(f"the episode is longer than the model's {self._model.context_length} tokens")
        drawn = self._model.open([ids]).generate([0], self._sampling)[0]
        return Completion(drawn.text, len(ids), len(drawn.ids))

    def close(self) -> None:
        """Do nothing: the model goes with the process."""


class ChatAgent:
    """Shows a model what it sees and what it can do, and takes the action from its answer.

    Where an environment takes whole answers (a program with its reasons), the
    model is asked nothing more and its whole message is the action.

    On a desktop the model reads the instruction and a line for each element of
    the accessibility tree. Only the newest screen is kept in the conversation;
    of those before it the model sees what it answered.

    Args:
        client: The model.
        pictures: Whether it is also shown the screenshot, as OpenAI's ``image_url``.
    """

    def __init__(self, client: Client, pictures: bool = False) -> None:
        """Keep the client."""
        self._client, self._pictures = client, pictures

    def reset(self, task_info: Mapping[str, Any]) -> None:
        """Begin a new conversation.

        Raises:
            InputError: If actions are neither text nor a number.
        """
        self._space = task_info["action_space"]
        if not isinstance(self._space, Unicode | spaces.Discrete):
            raise InputError(f"expected actions that are text or a number, got {self._space}")
        self._whole = task_info["whole_answers"]
        self._desktop = is_desktop(task_info.get("observation_space"), self._space)
        told = INSTRUCTIONS if self._desktop else _INSTRUCTIONS
        self._messages: list[Turn] = [] if self._whole else [{"role": "system", "content": told}]
        self._tokens = [0, 0]

    def act(self, observation: Any, info: Mapping[str, Any]) -> str | int:
        """Return the action that the model's answer names."""
        if self._desktop and len(self._messages) > 1:
            self._messages[-2]["content"] = _EARLIER
        self._messages.append({"role": "user", "content": self._shown(observation, info)})
        answer = self._client.complete(self._messages)
        self._messages.append({"role": "assistant", "content": answer.text})
        self._tokens = [self._tokens[0] + answer.prompt_tokens, self._tokens[1] + answer.completion_tokens]
        return answer.text if self._whole else self._action(answer.text)

    def report(self) -> dict[str, int]:
        """Return how many tokens the episode took."""
        return {"prompt_tokens": self._tokens[0], "completion_tokens": self._tokens[1]}

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    def _shown(self, observation: Any, info: Mapping[str, Any]) -> str | list[dict[str, Any]]:
        if self._desktop:
            text, picture = described(observation, info), data_uri(observation) if self._pictures else ""
            if not picture:
                return text
            return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": picture}}]
        if isinstance(observation, str):
            text = observation
        else:
            text = np.array2string(np.asarray(observation), precision=2, threshold=1000)
        if self._whole:
            return text
        commands = info.get("admissible_commands")
        if commands:
            return text + "\n\nPossible actions:\n" + "\n".join(commands)
        if isinstance(self._space, spaces.Discrete):
            first, last = int(self._space.start), int(self._space.start + self._space.n - 1)
            return f"{text}\n\nAn action is a number from {first} to {last}."
        return text

    def _action(self, answer: str) -> str | int:
        if self._desktop and "```" in answer:  # the desktop itself reads the program in the fences
            return str(answer[: self._space.max_length])
        named = _ACTION.findall(answer)
        lines = named or [line.strip() for line in answer.splitlines() if line.strip()] or [""]
        if isinstance(self._space, spaces.Discrete):
            numbers = re.findall(r"\d+", lines[-1])
            return int(numbers[-1][:9]) if numbers else -1
        return str(lines[-1][: self._space.max_length])
