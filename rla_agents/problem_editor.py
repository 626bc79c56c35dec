"""The editing role for programming problems that come from files: rewrite one, and have it solved unseen."""

from __future__ import annotations

from collections.abc import Sequence

from rla_agents.llm.chat import Message
from rla_agents.task_editor import LLMEditor
from rla_envs.coding.edits import REWRITE, SOLUTION
from rla_envs.coding.extraction import extract_code
from rla_envs.coding.problem import Problem
from rla_envs.coding.prompt import prompt
from rla_envs.task import Task, TaskEdit


class ProblemEditor(LLMEditor):
    """A language model that rewrites problems, and solves what it wrote from the new statement alone.

    Nobody vouches for the expected outputs of a rewritten problem. So programs
    are sampled for its statement, without a look at its tests, and go along with
    the edit; the environment accepts it only if enough of them, or a reference of
    the old problem, pass every test (:func:`rla_envs.coding.edits.apply_rewrite`).
    As many programs are sampled for each rewrite as rewrites for each task.
    """

    def propose(self, task: Task, direction: str, feedback: Sequence[str]) -> list[TaskEdit]:
        """Return the different rewrites that the answers hold, each with the programs written for it."""
        old = Problem.from_dict(task.payload["problem"])
        return [self._with_solutions(edit, old) for edit in super().propose(task, direction, feedback)]

    def _with_solutions(self, edit: TaskEdit, old: Problem) -> TaskEdit:
        rewrites = [change for change in edit.changes if change["op"] == REWRITE.op]
        if len(rewrites) != 1 or not isinstance(rewrites[0].get("statement"), str):
            return edit  # the environment says what is wrong with it
        new = old.replace(statement=rewrites[0]["statement"], public_tests=(), private_tests=())
        codes = self._solve(new)
        changes = (rewrites[0], *({"op": SOLUTION.op, "code": code} for code in codes))
        return TaskEdit(changes, edit.direction, edit.author, edit.reason)

    def _solve(self, problem: Problem) -> list[str]:
        messages: list[Message] = [{"role": "user", "content": prompt(problem)}]
        ids = self.model.chat.first(messages)
        if len(ids) + self.sampling.max_tokens > self.model.context_length:
            return []
        session = self.model.open([ids] * self.samples)
        answers = session.generate(range(self.samples), self.sampling, self.generator)
        codes = (extract_code(answer.text, problem.partial_solution) for answer in answers)
        return [code for code in codes if code is not None]
