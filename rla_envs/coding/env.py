"""``RLA/LiveBenchCoding-v0``: programming problems, answered with a program in text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from rla_envs.adaptive import AdaptiveEnv, Turn
from rla_envs.coding import edits
from rla_envs.coding.check import problem_fault
from rla_envs.coding.families.parameters import PARAMETERS
from rla_envs.coding.grade import Grader, Verdict
from rla_envs.coding.problem import Problem
from rla_envs.coding.prompt import error_line, feedback, prompt, solution_answer
from rla_envs.coding.sources import FixedSource, make_source
from rla_envs.difficulty import DifficultyParameter, Value, parse_difficulty
from rla_envs.errors import InputError, RLAError, unknown_name
from rla_envs.spaces import Unicode
from rla_envs.task import Task, TaskCheck, TaskEdit, require_task

REWARDS = ("outcome", "fraction")

_LONGEST_ANSWER = 1 << 20
_LONGEST_OBSERVATION = 1 << 22


class LiveBenchCodingEnv(AdaptiveEnv[str, str]):
    r"""Read a problem, answer with a program; the program is run on tests that it never sees.

    The observation is the problem's text and the action is the whole answer, in
    which the program is found (see :func:`~rla_envs.coding.extraction.extract_code`).
    With one attempt this is LiveBench; with more, a failed attempt is answered
    by the first public test that failed, or by the news that a hidden one did.

    An answer without a program sets ``info["rla"]["last_action_error"]``; one
    with a wrong program does not. ``info["coding"]`` holds ``problem_id``,
    ``kind`` and, about the last attempt, ``status`` (``"ok"``, ``"no_code"``,
    or that of the first failed test), ``passed``, ``total``, ``fraction`` and
    ``error``. Tests after the first failed one (with fractions as reward, after
    the first that takes too long) are not run and count as failed. For
    everything else see :class:`~rla_envs.adaptive.AdaptiveEnv`.

    The sandbox starts when the first program is run and ends with :meth:`close`.

    Args:
        source: ``"generated"``, ``"livebench"``, ``"humaneval"`` or ``"codeio"``.
        attempts: How many answers an episode may take. A single one is final:
            the episode is then terminated; running out of several truncates it.
        reward: ``"outcome"``: 1.0 for an answer that passes every test, else
            0.0. ``"fraction"``: the share of the tests that an answer passes,
            less the best share before it, so that an episode's rewards add up
            to its best share.
        grading: ``"strict"`` for what is right, ``"livebench"`` for
            LiveBench's own verdicts.
        backend: The sandbox's backend.
        split: ``"all"``, or ``"train"`` or ``"valid_unseen"``, which share no
            statement.
        source_options: Keywords of the source, such as ``path`` and ``release``
            of ``"livebench"``; see :func:`~rla_envs.coding.load_problems`.
        difficulty: Values of some or all difficulty parameters, by name. Those
            of generated problems are in
            :data:`rla_envs.coding.families.PARAMETERS`; the other sources have
            ``level``, a share of the set by a measured difficulty.
        render_mode: ``"ansi"``, or None.

    Raises:
        InputError: On a value that is not one of these, or question files that
            are missing or malformed.

    Example:
        >>> import gymnasium, rla_envs
        >>> env = gymnasium.make("RLA/LiveBenchCoding-v0", source="generated", attempts=1)
        >>> env.action_space.contains("```python\nprint(42)\n```")
        True
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 - Gymnasium's own form
    task_env_id: ClassVar[str] = "RLA/LiveBenchCoding-v0"
    difficulty_parameters: ClassVar[tuple[DifficultyParameter, ...]] = PARAMETERS
    whole_answers: ClassVar[bool] = True

    def __init__(
        self,
        source: str = "generated",
        attempts: int = 1,
        reward: str = "outcome",
        grading: str = "strict",
        backend: str = "bubblewrap",
        split: str = "all",
        source_options: Mapping[str, Any] | None = None,
        difficulty: Mapping[str, object] | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Set up; the sandbox starts when the first program is run."""
        if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
            raise InputError(f"attempts: expected an integer of 1 or more, got {attempts!r}")
        if reward not in REWARDS:
            raise unknown_name("reward", reward, REWARDS)
        if source_options is not None and not isinstance(source_options, Mapping):
            raise InputError(f"source_options: expected a mapping of keywords, got {source_options!r}")
        self._grader = Grader(grading, backend)
        self._source = make_source(source, split, source_options or {}, lambda: self._grader.sandbox)
        # The parameters and the edit language depend on the source: they are this object's, not the class's.
        self.difficulty_parameters = self._source.difficulty_parameters  # type: ignore[misc]
        self._generated = source == "generated"
        self.edit_operations = (  # type: ignore[misc]
            edits.GENERATED_OPERATIONS if self._generated else edits.OTHER_OPERATIONS
        )
        super().__init__(difficulty, render_mode)
        self.attempts = attempts
        self.reward = reward
        self.backend = backend
        self.observation_space = Unicode(_LONGEST_OBSERVATION)
        self.action_space = Unicode(_LONGEST_ANSWER)
        self._best = self._gained = 0.0
        self._last_text = ""

    def check_task(self, task: Task) -> TaskCheck:
        """Return whether a task can be played, with an answer that solves it.

        Every reference solution is run on every test. A question of the
        environment's own files that comes without one is taken as it is, and
        has no witness; an edited one never is.
        """
        require_task(task, "check_task")
        try:
            return self._checked(task)
        except InputError as error:
            return TaskCheck(False, str(error))

    def _checked(self, task: Task) -> TaskCheck:
        if task.env_id != self.task_env_id:
            return TaskCheck(False, f"expected a task of {self.task_env_id}, got one of {task.env_id}")
        problem = _problem(task)
        stated = parse_difficulty(self.difficulty_parameters, task.difficulty)
        for parameter in self.difficulty_parameters:
            if parameter.name not in stated:
                return TaskCheck(False, f"difficulty parameter {parameter.name!r} is missing from the task")
        made_with = edits.stated_parameters(task) if self._generated else {}
        for name, value in made_with.items():
            if stated.get(name) != value:
                return TaskCheck(
                    False, f"the task states {name}={stated.get(name)}, its problem was made with {value}"
                )
        shipped = isinstance(self._source, FixedSource) and self._source.holds(problem)
        if shipped and not problem.reference_solutions:
            return TaskCheck(True)
        fault = problem_fault(problem, self._grader)
        if fault:
            return TaskCheck(False, fault)
        return TaskCheck(True, witness=(solution_answer(problem.reference_solutions[0]),), optimal_length=1)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Grade one answer; the reward is the class's ``reward``."""
        observation, reward, terminated, truncated, info = super().step(action)
        if self.reward == "fraction":
            reward = self._gained
        return observation, reward, terminated, truncated, info

    def describe_task(self, task: Task) -> str:
        """Return the problem as the solver reads it, and its difficulty."""
        return f"{prompt(_problem(task))}\n\n{super().describe_task(task)}"

    def propose_edits(self, task: Task, direction: str, rng: np.random.Generator) -> Sequence[TaskEdit]:
        """Return single steps of each difficulty parameter of a generated problem; nothing for others."""
        return edits.propose_sets(task, direction, rng) if self._generated else ()

    def render(self) -> str | None:
        """Return the last observation."""
        return self._last_text if self.render_mode == "ansi" else None

    def close(self) -> None:
        """End the sandbox; the next program starts another."""
        self._grader.close()

    def all_tasks(self) -> Sequence[Task]:
        """Return every problem of a fixed set, the easiest first; raises InputError for the other sources."""
        if not isinstance(self._source, FixedSource):
            return super().all_tasks()
        return [
            Task(self.task_env_id, difficulty, {"problem": problem.to_dict()})
            for problem, difficulty in self._source.every()
        ]

    def _sample_task(self, difficulty: dict[str, Value], rng: np.random.Generator) -> Task:
        problem = self._source.sample(difficulty, rng)
        return Task(self.task_env_id, difficulty, {"problem": problem.to_dict()})

    def _apply_edit(self, task: Task, edit: TaskEdit) -> Task:
        if self._generated:
            return edits.apply_set(task, edit)
        return edits.apply_rewrite(task, edit, lambda: self._grader)

    def _begin(self, task: Task) -> Turn[str]:
        self._problem = _problem(task)
        self._best = self._gained = 0.0
        self._last_text = prompt(self._problem)
        return Turn(self._last_text, extras={"coding": self._report(None)})

    def _act(self, action: str) -> Turn[str]:
        if not isinstance(action, str):
            raise InputError(
                f"action: expected an answer as text, got {action!r} of type {type(action).__name__}"
            )
        # An answer beyond the action space is cut; no program is that long, and a flood has none.
        answer = action[:_LONGEST_ANSWER]
        stop_at = "failure" if self.reward == "outcome" else "timeout"
        verdict = self._grader.grade(self._problem, answer, stop_at=stop_at)
        self._gained = max(0.0, verdict.fraction - self._best)
        self._best = max(self._best, verdict.fraction)
        self._last_text = feedback(verdict, self._steps + 1, self.attempts)
        # The only answer is final. Of several, running out is the step budget's affair.
        failed = self.attempts == 1 and not verdict.passed
        extras = {"coding": self._report(verdict)}
        return Turn(self._last_text, verdict.passed, failed, error_line(verdict), extras)

    def _report(self, verdict: Verdict | None) -> dict[str, Any]:
        tests = verdict.tests if verdict else ()
        failed = next((test for test in tests if not test.passed), None)
        return {
            "problem_id": self._problem.id,
            "kind": self._problem.kind,
            "status": verdict.status if verdict else "",
            "passed": sum(test.passed for test in tests),
            "total": verdict.total if verdict else 0,
            "fraction": verdict.fraction if verdict else 0.0,
            "error": failed.error if failed else "",
        }

    def _step_budget(self, task: Task) -> int:
        return self.attempts


def _problem(task: Task) -> Problem:
    if set(task.payload) != {"problem"}:
        raise InputError(f"payload: expected 'problem' alone, got {', '.join(task.payload) or 'nothing'}")
    try:
        return Problem.from_dict(task.payload["problem"])
    except RLAError as error:
        raise InputError(f"payload.problem: {error}") from error
