"""``RLA/OSWorld-v0``: computer control on a real desktop, seen as pixels and as an accessibility tree."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from rla_envs.adaptive import AdaptiveEnv, Turn
from rla_envs.difficulty import DifficultyParameter, Value
from rla_envs.edit_language import EditOperation
from rla_envs.errors import InfrastructureError, InputError
from rla_envs.osworld import edits
from rla_envs.osworld.actions import (
    PARSERS,
    ActionError,
    computer_13,
    make_action_space,
    pyautogui_text,
)
from rla_envs.osworld.desktop.base import SETTLE_SECONDS, View
from rla_envs.osworld.desktop.opening import (
    SCREEN_SIZE,
    DesktopSource,
    check_provider,
    check_screen_size,
    open_desktop,
)
from rla_envs.osworld.difficulty import PARAMETERS
from rla_envs.osworld.elements import describe_elements
from rla_envs.osworld.episode import Episode
from rla_envs.osworld.observation import (
    PARTS,
    Observation,
    check_parts,
    make_observation,
    make_observation_space,
)
from rla_envs.osworld.sources import (
    ENV_ID,
    EveryApplication,
    GeneratedTasks,
    OfficialTasks,
    Paths,
    TaskSource,
)
from rla_envs.osworld.tasks import Score
from rla_envs.task import Task, TaskCheck, TaskEdit, require_task

_MOST_SETTLE = 600.0
_MOST_DRAWN = 100


class OSWorldEnv(AdaptiveEnv[Observation, Any]):
    """Work on a desktop with real applications until a task in OSWorld's format is done.

    **Observations** hold ``"instruction"`` (text), ``"screenshot"`` (uint8,
    height x width x 3) and ``"accessibility_tree"`` (OSWorld's XML). **One
    coordinate space**: places in actions, in the tree and in both pictures
    (``screenshot`` and ``render()`` in ``"rgb_array"``) are pixels of the
    screen, from (0, 0) in the top left corner. Nothing here scales a picture;
    whoever shows a model a smaller one scales its coordinates back.

    **Actions** are pyautogui's language as text, parsed and never executed
    (:mod:`rla_envs.osworld.actions.pyautogui_text`), or OSWorld's
    ``computer_13`` objects (:mod:`rla_envs.osworld.actions.computer_13`); and
    ``WAIT`` (one second passes), ``DONE`` and ``FAIL``. What is not
    understood, off the screen or cannot be typed leaves the desktop as it was,
    costs a step and is told in ``last_action_error``.

    **Endings**: ``DONE`` and ``FAIL`` end the episode (``terminated``), and so
    does the last allowed step. Then, and only then, the task is scored. The
    reward is 1.0 if its score is 1, else 0.0. An infeasible task is solved by
    ``FAIL`` alone, any other never by it.

    ``info["rla"]`` has, besides what every
    :class:`~rla_envs.adaptive.AdaptiveEnv` says: ``score`` (0.0 until scored),
    ``checkpoints`` (the score of each of the task's metrics; empty until
    scored), ``settled`` (whether the desktop had come to rest when it was
    looked at), ``cause`` (what disturbed the episode that the agent did not
    do, such as an application that crashed; empty otherwise).

    **Failure**: a desktop that is lost raises
    :class:`~rla_envs.errors.InfrastructureError` from ``step``, and the episode
    has no score; the next ``reset`` starts a fresh one. ``reset`` itself tries
    ``max_retries`` more times before it raises it.

    Every episode has a fresh desktop, except with ``provider="remote"``, where
    it is the one that is there. A ``local`` one is started by the first
    ``reset``, and from then on the next one in the background.

    Args:
        provider: ``"local"``, ``"docker"`` or ``"remote"``; see
            :func:`~rla_envs.osworld.desktop.opening.open_desktop`.
        address: Where a remote desktop is: ``"http://host:port"``.
        image: Docker image.
        task_file: OSWorld task file, list of them, or folder that has some; None for generated tasks.
        files: Folder with the files that official tasks point to on the web;
            None for the environment variable ``RLA_OSWORLD_CACHE``.
        family: One of :func:`rla_envs.osworld.families`, of which tasks are generated; None for all.
        split: ``"train"`` or ``"valid"``, of generated tasks.
        action_space: ``"pyautogui"`` or ``"computer_13"``.
        observation: Which of ``"screenshot"`` and ``"accessibility_tree"`` are seen.
        screen_size: Width and height in pixels.
        settle: Longest time that the desktop is waited for after an action, in seconds.
        execute_code: Whether an action in pyautogui's language is run as
            Python, inside the desktop, in place of being parsed.
        partial_credit: Whether the reward is the rise of the share of the
            task's checkpoints that hold above the best so far, after every
            step. Where scoring would act on the desktop (OSWorld's
            ``postconfig``), only at the end.
        max_retries: How often ``reset`` tries again after a failure of the machinery.
        difficulty: Values of some or all difficulty parameters, by name; see
            :data:`rla_envs.osworld.difficulty.PARAMETERS`. Official tasks have
            ``steps`` only, the step budget.
        render_mode: ``"rgb_array"`` (the screenshot last seen), ``"ansi"``
            (the instruction, and a line for each of the first 100 elements
            last seen that can be clicked) or None.

    Raises:
        InputError: On a value that is not one of these, or a task file that cannot be used here.

    Example:
        >>> import gymnasium, rla_envs
        >>> env = gymnasium.make("RLA/OSWorld-v0", observation=["accessibility_tree"])
        >>> env.action_space.contains("pyautogui.click(640, 360)")
        True
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 2}  # noqa: RUF012 - Gymnasium's own form
    task_env_id: ClassVar[str] = ENV_ID
    difficulty_parameters: ClassVar[tuple[DifficultyParameter, ...]] = PARAMETERS
    edit_operations: ClassVar[tuple[EditOperation, ...]] = edits.EDIT_OPERATIONS

    def __init__(
        self,
        provider: str = "local",
        address: str | None = None,
        image: str | None = None,
        task_file: Paths | None = None,
        files: str | None = None,
        family: str | None = None,
        split: str = "train",
        action_space: str = "pyautogui",
        observation: Sequence[str] = PARTS,
        screen_size: tuple[int, int] = SCREEN_SIZE,
        settle: float = SETTLE_SECONDS,
        execute_code: bool = False,
        partial_credit: bool = False,
        max_retries: int = 2,
        difficulty: Mapping[str, object] | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Set up; the first desktop starts with the first reset."""
        check_provider(provider, address, image)
        self._source = _make_source(provider, task_file, files, family, split)
        # What can be asked for depends on the source: it is this object's, not the class's.
        self.difficulty_parameters = self._source.difficulty_parameters  # type: ignore[misc]
        self.edit_operations = self._source.edit_operations  # type: ignore[misc]
        super().__init__(difficulty, render_mode)
        self.screen_size = check_screen_size(screen_size)
        self._parts = check_parts(observation)
        self.observation_space = make_observation_space(self._parts, self.screen_size)
        self.action_space = make_action_space(action_space, self.screen_size)
        if execute_code and action_space != "pyautogui":
            raise InputError(f"execute_code: expected action_space 'pyautogui' with it, got {action_space!r}")
        self._parse, self._executes = PARSERS[action_space], bool(execute_code)
        self._settle = _number("settle", settle, _MOST_SETTLE)
        self._retries = int(_number("max_retries", max_retries, 100, whole=True))
        self._partial = bool(partial_credit)
        self._desktops = DesktopSource(
            functools.partial(
                open_desktop, provider, self.screen_size, address, image, office=self._source.uses_office
            )
        )
        self._prepares = provider == "local"
        self._episode: Episode | None = None
        self._view: View | None = None
        self._score: Score | None = None
        self._best = self._gained = 0.0
        self._over = False

    def check_task(self, task: Task) -> TaskCheck:
        """Return whether a task can be played, with actions that solve it.

        Official tasks come without a solution: they are valid if they can be
        set up and scored here, and have no witness, except FAIL for infeasible ones.
        """
        require_task(task, "check_task")
        try:
            if task.env_id != self.task_env_id:
                raise InputError(f"expected a task of {self.task_env_id}, got one of {task.env_id}")
            check = self._source.check(task)
        except InputError as error:
            return TaskCheck(False, str(error))
        if not check.valid or self._parse is pyautogui_text.parse:
            return check
        witness = tuple(self._as_objects(check.witness))
        return TaskCheck(True, "", witness, len(witness) if witness else None)

    def all_tasks(self) -> Sequence[Task]:
        """Return every official task in the order of the files; raises InputError for generated ones."""
        payloads = self._source.all_payloads()
        if payloads is None:
            return super().all_tasks()
        difficulty = {p.name: self._difficulty.get(p.name, p.default) for p in self.difficulty_parameters}
        return [Task(self.task_env_id, difficulty, payload) for payload in payloads]

    def describe_task(self, task: Task) -> str:
        """Return the instruction, and the task's difficulty in words."""
        return f"{self._source.task_file(task).instruction}\n\n{super().describe_task(task)}"

    def propose_edits(self, task: Task, direction: str, rng: np.random.Generator) -> Sequence[TaskEdit]:
        """Return edits of a generated task; nothing for official ones."""
        return self._source.propose_edits(task, direction, rng)

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play one action; see the class for the reward.

        Raises:
            InfrastructureError: If the desktop is lost; reset to go on.
            InputError: If the episode is over.
        """
        observation, reward, terminated, truncated, info = super().step(action)
        self._over = terminated or truncated
        return observation, self._gained if self._partial else reward, terminated, truncated, info

    def render(self) -> Any:
        """Return what was last seen: the screenshot, or the instruction and a line for each element."""
        if self.render_mode is None or self._view is None:
            return None
        if self.render_mode == "rgb_array":
            return self._view.screenshot
        tree = self._view.accessibility_tree
        shown = describe_elements(tree, _MOST_DRAWN) if tree else ""
        return f"{self._instruction}\n\n{shown}" if shown else self._instruction

    def close(self) -> None:
        """End the desktops; the next reset starts another."""
        self._drop_episode()
        self._desktops.close()

    def _sample_task(self, difficulty: dict[str, Value], rng: np.random.Generator) -> Task:
        return Task(self.task_env_id, difficulty, self._source.sample(difficulty, rng))

    def _apply_edit(self, task: Task, edit: TaskEdit) -> Task:
        return self._source.apply_edit(task, edit)

    def _step_budget(self, task: Task) -> int:
        return self._budget

    def _begin(self, task: Task) -> Turn[Observation]:
        self._drop_episode()
        self._score, self._view, self._over = None, None, False
        self._best = self._gained = 0.0
        read = self._source.task_file(task)
        self._instruction = read.instruction
        self._budget = self._allowed_steps(task)
        for attempt in range(self._retries + 1):
            try:
                with self._losing_desktop():
                    tree = "accessibility_tree" in self._parts
                    self._episode = Episode(self._desktops.take(), read, self._settle, tree)
                    self._view = self._episode.begin()
                    self._check_size(self._view)
                break
            except InfrastructureError:
                if attempt == self._retries:
                    raise
        if self._prepares:  # not before: this reset would wait for the processor
            self._desktops.prepare()
        return Turn(self._observation())

    def _act(self, action: Any) -> Turn[Observation]:
        if self._over:
            raise InputError("the episode is over; call reset()")
        if self._episode is None:
            raise InfrastructureError("the desktop of this episode is lost; call reset()")
        episode = self._episode
        special, error = "", ""
        with self._losing_desktop():
            try:
                special, error = self._carry_out(episode, action)
            except ActionError as refusal:
                error = str(refusal)
            self._view = episode.look()
            ended = special in ("DONE", "FAIL")
            if ended or self._steps + 1 >= self._budget:
                self._score = episode.score()
            self._gain(episode)
        solved = self._score is not None and self._score.score >= 1.0
        return Turn(self._observation(), solved, ended and not solved, error)

    def _carry_out(self, episode: Episode, action: Any) -> tuple[str, str]:
        """Do an action; return its special part, and what could not be done."""
        if self._executes:
            code, special = pyautogui_text.split(action)
            return special, episode.run(code, special)
        parsed = self._parse(action, self.screen_size, episode.pointer)
        return parsed.special, episode.do(parsed)

    def _gain(self, episode: Episode) -> None:
        """Note how far the share of checkpoints has risen."""
        self._gained = 0.0
        if not self._partial:
            return
        score, evaluator = self._score, episode.task.evaluator
        if score is None and not episode.task.infeasible and not evaluator.postconfig:
            score = episode.score()
        if score is not None:
            either = evaluator.conj == "or"
            share = max(score.checkpoints) if either else sum(score.checkpoints) / len(score.checkpoints)
            self._gained = max(0.0, share - self._best)
            self._best += self._gained

    def _info(self, turn: Turn[Observation]) -> dict[str, Any]:
        info = super()._info(turn)
        info["rla"] |= {
            "score": self._score.score if self._score else 0.0,
            "checkpoints": self._score.checkpoints if self._score else (),
            "settled": self._view is not None and self._view.settled,
            "cause": self._episode.cause if self._episode else "",
        }
        return info

    def _observation(self) -> Observation:
        assert self._view is not None
        return make_observation(self._instruction, self._view, self._parts)

    def _check_size(self, view: View) -> None:
        height, width = view.screenshot.shape[:2]
        if (width, height) != self.screen_size:
            raise InputError(
                f"screen_size: the desktop's screen is {width} x {height}, got {self.screen_size}; make the "
                f"environment with screen_size=({width}, {height})"
            )

    def _allowed_steps(self, task: Task) -> int:
        allowed = self._source.step_budget(task)
        if self._parse is pyautogui_text.parse:
            return allowed
        # One step of the witness may be several objects; the budget grows with them.
        plain = self._source.check(task).witness
        return math.ceil(allowed * len(self._as_objects(plain)) / len(plain)) if plain else allowed

    def _as_objects(self, witness: Sequence[str]) -> list[dict[str, Any]]:
        """Return actions in pyautogui's language as computer_13 objects, of which more may be needed."""
        objects: list[dict[str, Any]] = []
        pointer = (self.screen_size[0] // 2, self.screen_size[1] // 2)
        for text in witness:
            objects += computer_13.from_action(pyautogui_text.parse(text, self.screen_size, pointer))
        return objects

    @contextlib.contextmanager
    def _losing_desktop(self) -> Iterator[None]:
        """Give the desktop up if anything inside fails."""
        try:
            yield
        except BaseException:
            self._drop_episode()
            raise

    def _drop_episode(self) -> None:
        episode, self._episode = self._episode, None
        if episode is not None:
            episode.desktop.close()


def _make_source(
    provider: str, task_file: Paths | None, files: str | None, family: str | None, split: str
) -> TaskSource:
    if task_file is None:
        if files is not None:
            raise InputError(f"files: expected them with task_file only, got {files!r}")
        return GeneratedTasks(family, split)
    if family is not None or split != "train":
        raise InputError("task_file: expected no family and no split with it; they belong to generated tasks")
    return OfficialTasks(task_file, files, None if provider == "local" else EveryApplication())


def _number(name: str, value: object, most: float, whole: bool = False) -> float:
    kind = int if whole else int | float
    if isinstance(value, bool) or not isinstance(value, kind) or not 0 <= value <= most:
        raise InputError(
            f"{name}: expected {'a whole number' if whole else 'a number'} from 0 to {most:g}, got {value!r}"
        )
    return float(value)
