"""``RLA/AlfWorld-v0``: household text games that are generated, solvable, and as hard as you ask."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from rla_envs.adaptive import AdaptiveEnv, Turn
from rla_envs.alfworld import edits
from rla_envs.alfworld.commands import refusal
from rla_envs.alfworld.difficulty import PARAMETERS, free_containers
from rla_envs.alfworld.game import GameData, game_data
from rla_envs.alfworld.generator import sample_scene
from rla_envs.alfworld.names import mangle
from rla_envs.alfworld.plan import Planner, Situation
from rla_envs.alfworld.reply import Reply
from rla_envs.alfworld.scene import CLEAN, COOL, HEAT, Scene
from rla_envs.alfworld.splits import SPLITS
from rla_envs.alfworld.verbs import VERBS, Phrasing
from rla_envs.difficulty import DifficultyParameter, Value, parse_difficulty
from rla_envs.errors import InputError, InvalidTaskError, RLAError, unknown_name
from rla_envs.spaces import Unicode
from rla_envs.task import Task, TaskCheck, TaskEdit

ENGINES = ("native", "textworld")


class AlfWorldEnv(AdaptiveEnv[str, str]):
    """Find, take, clean, heat, cool and put down things in rooms, by typed commands.

    The games are alfworld's (its rules, grammar, 120 rooms and compatibility
    tables, read from the installed package; nothing is downloaded), in the verb
    convention of alfworld 0.4 (``move mug 1 to desk 2``). Observations and
    admissible commands are those of the engine, byte for byte. A command that
    is not admissible is answered by ``Nothing happens.`` and costs a step;
    ``info["rla"]["last_action_error"]`` then names the accepted form.

    ==========================================  =====================================
    accepted                                    not accepted
    ==========================================  =====================================
    ``move mug 1 to desk 1``                    ``put mug 1 in/on desk 1`` (before 0.4)
    ``take mug 1 from desk 1``                  ``take mug 1``, ``pick up mug 1``
    ``go to desk 1``                            ``goto desk 1``, ``go desk 1``
    ``open fridge 1``, ``close fridge 1``
    ``heat mug 1 with microwave 1``             ``heat mug 1``; likewise ``clean``, ``cool``
    ``slice bread 1 with knife 1``
    ``use desklamp 1``                          ``toggle desklamp 1``
    ``examine desk 1``, ``examine mug 1``
    ``look``, ``inventory``                     ``Look``, ``i``
    ==========================================  =====================================

    ``info["admissible_commands"]`` is the sorted list of commands that do
    something now. For ``info["rla"]``, rewards, options and endings see
    :class:`~rla_envs.adaptive.AdaptiveEnv`. The difficulty parameters are
    listed with their ranges by ``rla envs`` and in
    :data:`rla_envs.alfworld.difficulty.PARAMETERS`.

    Args:
        engine: ``"native"``, or ``"textworld"`` for the engine that alfworld
            uses, which plays exactly the same, some hundred times slower.
        split: ``"train"`` and ``"valid_seen"`` share ALFRED's 96 training
            rooms and have different goals in them; ``"valid_unseen"`` plays in
            the 24 test rooms.
        difficulty: Values of some or all difficulty parameters, by name.
        render_mode: ``"ansi"``, or None.
        verbs: ``"move"`` for ``move mug 1 to desk 1``, or ``"put"`` for ``put mug 1
            in/on desk 1`` and the observations that went with it before 0.4.

    Raises:
        InputError: On an unknown engine, split, verbs, render mode or difficulty
            parameter, or a value out of range.
        MissingExtraError: At the first use of a game, if alfworld is not
            installed.

    Example:
        >>> import gymnasium, rla_envs
        >>> env = gymnasium.make("RLA/AlfWorld-v0", difficulty={"task_type": "pick_and_place_simple"})
        >>> observation, info = env.reset(seed=0)
        >>> observation.splitlines()[0]
        '-= Welcome to TextWorld, ALFRED! =-'
        >>> command = info["admissible_commands"][0]
        >>> observation, reward, terminated, truncated, info = env.step(command)
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 - Gymnasium's own form
    task_env_id: ClassVar[str] = "RLA/AlfWorld-v0"
    difficulty_parameters: ClassVar[tuple[DifficultyParameter, ...]] = PARAMETERS

    def __init__(
        self,
        engine: str = "native",
        split: str = "train",
        difficulty: Mapping[str, object] | None = None,
        render_mode: str | None = None,
        verbs: str = "move",
    ) -> None:
        """Set up; the engine starts with the first game."""
        if engine not in ENGINES:
            raise unknown_name("engine", engine, ENGINES)
        if split not in SPLITS:
            raise unknown_name("split", split, SPLITS)
        if verbs not in VERBS:
            raise unknown_name("verbs", verbs, VERBS)
        super().__init__(difficulty, render_mode)
        self.split = split
        self._engine_name = engine
        self._phrasing = Phrasing(verbs)
        self.observation_space = Unicode(65536)
        self.action_space = Unicode(1024)
        self._last_text = ""
        self._commands: tuple[str, ...] = ()
        self._begun: Task | None = None
        self._budgeted: Task | None = None

    # Tasks are checked in an engine of their own, so that a check never disturbs the running episode.
    _engine = functools.cached_property(lambda self: _new_engine(self._engine_name))
    _checker = functools.cached_property(lambda self: _new_engine(self._engine_name))

    def check_task(self, task: Task) -> TaskCheck:
        """Return whether a task can be played, with a shortest winning plan.

        The plan is made in closed form and then played in the engine: it must
        win with its last command and not before.
        """
        try:
            check = self._checked(task)
            if check.witness is None or self._phrasing.verbs == "move":
                return check
            return replace(check, witness=tuple(map(self._phrasing.command, check.witness)))
        except InvalidTaskError as error:
            return TaskCheck(False, str(error))

    def _checked(self, task: Task) -> TaskCheck:
        if task.env_id != self.task_env_id:
            return TaskCheck(False, f"expected a task of {self.task_env_id}, got one of {task.env_id}")
        known = _CHECKS.get(task.content_hash)
        if known is not None:
            return known
        scene = Scene.from_payload(task.payload)
        _check_difficulty(task, scene)
        plan = Planner(scene).plan()
        if plan is None:
            return TaskCheck(False, "no plan reaches the goal")
        if not plan:
            return TaskCheck(False, "the goal holds at the start")
        reply = self._checker.start(game_data(scene))
        for position, command in enumerate(plan, start=1):
            if reply.won or command not in reply.commands:
                return TaskCheck(False, f"the engine does not follow the plan at step {position} ({command})")
            reply = self._checker.step(command)
        if not reply.won:
            return TaskCheck(False, "the engine does not accept the plan as a solution")
        check = TaskCheck(True, witness=plan, optimal_length=len(plan))
        _CHECKS.put(task.content_hash, check)
        return check

    def optimal_plan(self) -> tuple[str, ...]:
        """Return a shortest winning plan from this moment of the episode (privileged knowledge).

        Empty if the goal holds. Some plan always exists: nothing a player can
        do makes a game unwinnable.
        """
        task = self.task  # says what to do before the first reset
        scene = self._planner.scene
        plan = self._planner.plan(situation(scene, self._engine.facts()))
        if plan is None:
            raise InputError(f"task {task.id} has no plan from here")
        return tuple(map(self._phrasing.command, plan))

    def render(self) -> str | None:
        """Return the last observation and the commands that are possible now."""
        if self.render_mode != "ansi":
            return None
        return self._last_text

    def close(self) -> None:
        """Forget the running game and free the engine; the next reset starts another."""
        for name in ("_engine", "_checker"):
            engine = self.__dict__.pop(name, None)
            if engine is not None:
                engine.close()

    def _sample_task(self, difficulty: dict[str, Value], rng: np.random.Generator) -> Task:
        scene = sample_scene(self.split, difficulty, rng)
        return Task(self.task_env_id, difficulty, scene.payload())

    def _apply_edit(self, task: Task, edit: TaskEdit) -> Task:
        return edits.apply_edit(task, edit)

    def propose_edits(self, task: Task, direction: str, rng: np.random.Generator) -> Sequence[TaskEdit]:
        """Return single-step edits in random order; see :mod:`rla_envs.alfworld.proposals`."""
        return edits.propose_edits(task, direction, rng)

    def _begin(self, task: Task) -> Turn[str]:
        if self._begun is not task:
            scene = Scene.from_payload(task.payload)
            self._planner, self._data = Planner(scene), game_data(scene)
            self._begun = task
        self._take_checked(self._data)
        return self._turn(self._engine.start(self._data))

    def _take_checked(self, data: GameData) -> None:
        """Play in the engine of the check, if it holds this very game; do not start one only to ask it."""
        checker, engine = self.__dict__.get("_checker"), self.__dict__.get("_engine")
        if checker is not None and checker.has_loaded(data):
            del self.__dict__["_checker"]
            self._engine = checker
            if engine is not None:
                self._checker = engine

    def _act(self, action: str) -> Turn[str]:
        if not isinstance(action, str):
            raise InputError(
                f"action: expected a command as text, got {action!r} of type {type(action).__name__}"
            )
        command = action.strip()
        error = "" if command in self._commands else refusal(command, self._commands, self._phrasing.form)
        return self._turn(self._engine.step(self._phrasing.to_engine(action)), error)

    def _turn(self, answer: Reply, error: str = "") -> Turn[str]:
        reply = self._phrasing.reply(answer)
        self._commands = reply.commands
        self._last_text = reply.text + "\n\nYou can: " + ", ".join(reply.commands)
        return Turn(reply.text, reply.won, False, error, {"admissible_commands": list(reply.commands)})

    def _step_budget(self, task: Task) -> int:
        if self._budgeted is not task:
            length = self.check_task(task).optimal_length or 0
            # Rounded first: 1.1 * 10 is a little over 11 in floating point.
            self._budget = math.ceil(round(float(task.difficulty["step_budget"]) * length, 6))
            self._budgeted = task
        return self._budget


def _check_difficulty(task: Task, scene: Scene) -> None:
    """Refuse a task whose stated difficulty is out of range or not that of its scene."""
    try:
        stated = parse_difficulty(PARAMETERS, task.difficulty)
    except RLAError as error:
        raise InvalidTaskError(str(error)) from error
    missing = next((p.name for p in PARAMETERS if p.name not in stated), None)
    if missing:
        raise InvalidTaskError(f"difficulty parameter {missing!r} is missing from the task")
    measured = edits.measured_difficulty(scene, float(stated["step_budget"]))
    for name, value in measured.items():
        if not _agree(name, stated[name], value, scene):
            raise InvalidTaskError(f"the task states {name}={stated[name]}, its scene has {value}")


def _agree(name: str, stated: Value, measured: Value, scene: Scene) -> bool:
    """Return whether a stated value is one that a scene can be drawn at, given what it measures."""
    if name == "closed_containers":
        containers = len(free_containers(scene))
        return not containers or abs(stated - measured) * containers <= 0.5 + 1e-9
    if name == "rarity":
        return edits.rarity_rank(scene, float(stated)) == edits.rarity_rank(scene, float(measured))
    return stated == measured


def _new_engine(name: str) -> Any:
    # Imported here: importing rla_envs must not import TextWorld, and spaces must not need it.
    if name == "native":
        from rla_envs.alfworld.native.engine import NativeEngine

        return NativeEngine(check_goal=False)  # a task is checked by playing a plan that wins
    from rla_envs.alfworld.textworld_engine import TextWorldEngine

    return TextWorldEngine()


def situation(scene: Scene, facts: frozenset[tuple[str, ...]]) -> Situation:
    """Return the engine's facts as a planner's situation."""
    ids = {mangle(i).lower(): i for i in (*(r.id for r in scene.receptacles), *(o.id for o in scene.objects))}
    by_predicate: dict[str, list[tuple[str, ...]]] = {}
    for name, *arguments in facts:
        by_predicate.setdefault(name.lower(), []).append(tuple(arguments))
    spots = {place: ids[r] for r, place in by_predicate.get("receptacleatlocation", [])}
    here = next((place for _, place in by_predicate.get("atlocation", [])), "")
    state = {CLEAN: "isclean", HEAT: "ishot", COOL: "iscool"}.get(scene.goal.task_type, "")
    return Situation(
        at=spots.get(here),
        holding=next((ids[o] for _, o in by_predicate.get("holds", [])), None),
        inside={ids[o]: ids[r] for o, r in by_predicate.get("inreceptacle", [])},
        opened=frozenset(ids[r] for (r,) in by_predicate.get("opened", [])),
        treated=frozenset(ids[o] for (o,) in by_predicate.get(state, [])),
        lit=frozenset(ids[o] for (o,) in by_predicate.get("istoggled", [])),
    )


class _Checks:
    """Verdicts of the last tasks checked: a check plays the whole game, and a task is checked often."""

    def __init__(self, size: int = 4096) -> None:
        self._size = size
        self._verdicts: dict[str, TaskCheck] = {}

    def get(self, key: str) -> TaskCheck | None:
        return self._verdicts.get(key)

    def put(self, key: str, check: TaskCheck) -> None:
        while len(self._verdicts) >= self._size:
            self._verdicts.pop(next(iter(self._verdicts)))
        self._verdicts[key] = check


_CHECKS = _Checks()
