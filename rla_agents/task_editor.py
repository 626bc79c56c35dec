"""The editing role: a language model that rewrites tasks in the environment's edit language."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from rla_agents.config import EditorConfig
from rla_agents.llm.base import LanguageModel, Sampling
from rla_agents.llm.chat import Message
from rla_agents.llm.models import load_model
from rla_envs.adaptive import AdaptiveEnv
from rla_envs.coding.edits import REWRITE
from rla_envs.edit_language import describe_operations
from rla_envs.errors import InputError, unknown_name
from rla_envs.task import Task, TaskEdit
from wrappers.rule_editor import RuleEditor

if TYPE_CHECKING:
    import torch

INSTRUCTIONS = """\
You rewrite the tasks of a text environment, to make them harder or easier for the agent that plays them.
A task is rewritten by operations. Each operation is one JSON object:
{operations}
The new task must differ from the old one, be solvable, and not be solved from the start.
Answer with one JSON object and nothing else: {{"changes": [one to three operations], "reason": "why, in one \
sentence"}}"""
QUESTION = """\
{task}

What went wrong when the agent played this task:
{failures}

Make this task {direction}."""
_KEYS = ("changes", "reason")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


class LLMEditor:
    """A language model that proposes edits, told what the critic found.

    Every proposal is an answer in JSON, checked by :func:`parse_edit`. Whether
    the edit is one that the environment accepts is for ``env.apply_edit`` to
    say, which every curriculum asks before it uses an edit.

    Args:
        model: The language model.
        env: The environment whose tasks are edited; it describes them and
            states its edit language (``edit_operations``).
        sampling: How answers are drawn.
        generator: Where its randomness comes from.
        samples: Answers drawn for every task that is to be edited.

    Raises:
        InputError: If the environment states no edit language.
    """

    def __init__(
        self,
        model: LanguageModel,
        env: AdaptiveEnv[Any, Any],
        sampling: Sampling,
        generator: torch.Generator | None,
        samples: int = 4,
    ) -> None:
        """Set up; see the class for the arguments."""
        if not env.edit_operations:
            raise InputError(
                f"editor 'llm' needs an environment with an edit language; {type(env).__name__} states no "
                "edit_operations"
            )
        self.model = model
        self.env = env
        self.sampling = sampling
        self.generator = generator
        self.samples = samples
        self._events: list[dict[str, Any]] = []

    def propose(self, task: Task, direction: str, feedback: Sequence[str]) -> list[TaskEdit]:
        """Return the different edits that the answers hold, in the order in which they were drawn.

        Malformed answers, and a prompt that leaves no room for an answer, are
        left out and told by :meth:`events`.
        """
        prompt = self.model.chat.first(self.messages(task, direction, feedback))
        if len(prompt) + self.sampling.max_tokens > self.model.context_length:
            self._event("edit_not_asked", task, direction, f"a prompt of {len(prompt)} tokens is too long")
            return []
        session = self.model.open([prompt] * self.samples)
        edits: dict[tuple[Mapping[str, Any], ...], TaskEdit] = {}
        for answer in session.generate(range(self.samples), self.sampling, self.generator):
            try:
                edit = parse_edit(answer.text, direction)
            except InputError as error:
                self._event("edit_malformed", task, direction, str(error))
            else:
                self._event("edit_drafted", task, direction, edit.reason)
                edits.setdefault(edit.changes, edit)
        return list(edits.values())

    def messages(self, task: Task, direction: str, feedback: Sequence[str]) -> list[Message]:
        """Return what the model is asked: the edit language, the task, the failures and the direction."""
        failures = [f"- {line}" for line in dict.fromkeys(map(first_sentences, feedback)) if line]
        lost: Mapping[str, float] = getattr(feedback, "lost_steps", {})
        if lost:
            counts = ", ".join(f"{kind} {steps:.1f}" for kind, steps in sorted(lost.items()))
            failures.append(f"- Steps lost, by what they were spent on: {counts}.")
        question = QUESTION.format(
            task=self.env.describe_task(task),
            failures="\n".join(failures) or "- Nothing was reported.",
            direction=direction,
        )
        operations = describe_operations(self.env.edit_operations)
        return [
            {"role": "system", "content": INSTRUCTIONS.format(operations=operations)},
            {"role": "user", "content": question},
        ]

    def events(self) -> list[dict[str, Any]]:
        """Return what became of the answers since the last call, one JSON object each.

        ``"event"`` is ``"edit_drafted"`` for an answer that holds an edit,
        ``"edit_malformed"`` for one that does not, with the reason, and
        ``"edit_not_asked"`` where the prompt was too long.
        """
        events, self._events = self._events, []
        return events

    def _event(self, kind: str, task: Task, direction: str, reason: str) -> None:
        self._events.append({"event": kind, "task_id": task.id, "direction": direction, "reason": reason})


def make_editor(
    config: EditorConfig,
    env: AdaptiveEnv[Any, Any],
    rng: np.random.Generator,
    generator: torch.Generator,
    device: str = "auto",
) -> RuleEditor | LLMEditor | None:
    """Return the editor that a run's settings name; None leaves edits to the environment.

    Args:
        config: The settings.
        env: The environment whose tasks are edited.
        rng: Source of the randomness of rules.
        generator: Source of the randomness of a language model.
        device: Where a language model runs.
    """
    if config.name == "none":
        return None
    if config.name == "rules":
        return RuleEditor(env, rng)
    sampling = Sampling(config.temperature, max_tokens=config.max_tokens)
    # Imported here: it builds on this module.
    from rla_agents.problem_editor import ProblemEditor

    rewrites = any(operation is REWRITE for operation in env.edit_operations)
    editor = ProblemEditor if rewrites else LLMEditor
    return editor(load_model(config.model, device), env, sampling, generator, config.samples)


def first_sentences(text: str, count: int = 2, longest: int = 300) -> str:
    """Return a text's first sentences in one line, cut where it is longer than ``longest`` characters."""
    line = " ".join(_SENTENCE_END.split(" ".join(text.split()))[:count])
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def parse_edit(text: str, direction: str) -> TaskEdit:
    """Return the edit that an answer holds.

    The answer may reason before and after, but must hold a JSON object; if
    there are several side by side, the last one counts. That object has the
    list ``"changes"``, may have the string ``"reason"``, and nothing else. No
    key may occur twice, and only JSON's own values may occur.

    Args:
        text: The answer.
        direction: What was asked for, ``"harder"`` or ``"easier"``.

    Raises:
        InputError: Says what is wrong, in a line.
    """
    answer = _last_object(text)
    for key in answer:
        if key not in _KEYS:
            raise unknown_name("key of the answer:", key[:80], _KEYS)
    reason = answer.get("reason", "")
    if not isinstance(reason, str):
        raise InputError(f"'reason': expected a string, got {type(reason).__name__}")
    if not isinstance(answer.get("changes"), list):
        raise InputError("'changes': expected a list of operations")
    reason = first_sentences(reason.encode(errors="replace").decode())
    return TaskEdit(answer["changes"], direction, author="llm", reason=reason)


def _last_object(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    problem = ""
    start = text.find("{")
    while start >= 0:
        try:
            found, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            end, problem = start + 1, f"expected a JSON object, got one that cannot be read ({error})"
        start = text.find("{", end)
    if "changes" not in found and (problem or not found):
        # What could not be read counts more than a piece of it that could.
        raise InputError(problem or "expected a JSON object, found none")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a key occurs twice")
    return values


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


# Not strict: models break lines inside strings.
_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, strict=False)
