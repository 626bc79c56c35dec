"""``RLA/AlfWorld-v0``: household text games, generated as hard as you ask or from alfworld's data set."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from rla_envs.adaptive import AdaptiveEnv, Turn
from rla_envs.alfworld import edits
from rla_envs.alfworld.commands import refusal
from rla_envs.alfworld.dataset import DataSet
from rla_envs.alfworld.describe import describe_scene
from rla_envs.alfworld.diagnosis import lost_step_kinds
from rla_envs.alfworld.difficulty import PARAMETERS
from rla_envs.alfworld.edit_operations import EDIT_OPERATIONS
from rla_envs.alfworld.game import GameData
from rla_envs.alfworld.generator import sample_scene
from rla_envs.alfworld.real_game import RealGame, is_real
from rla_envs.alfworld.reply import Reply
from rla_envs.alfworld.scene import Scene
from rla_envs.alfworld.scene_game import SceneGame
from rla_envs.alfworld.sources import DataSetGames, OneGame, open_game
from rla_envs.alfworld.splits import SPLITS
from rla_envs.alfworld.verbs import VERBS, Phrasing
from rla_envs.difficulty import DifficultyParameter, Value, parse_difficulty
from rla_envs.edit_language import EditOperation
from rla_envs.errors import InputError, InvalidTaskError, RefusedEditError, unknown_name
from rla_envs.spaces import Unicode
from rla_envs.step_budget import stated_step_budget, steps_allowed
from rla_envs.task import Task, TaskCheck, TaskEdit, require_task

ENGINES = ("native", "textworld")
DATA = ("generated", "alfred")
_NO_EDITS = "a game of alfworld's data set or a game file is played as it is; edit a generated task instead"


class AlfWorldEnv(AdaptiveEnv[str, str]):
    """Find, take, clean, heat, cool and put down things in rooms, by typed commands.

    The games are alfworld's (its rules, grammar, 120 rooms and compatibility
    tables, read from the installed package; nothing is downloaded), in the verb
    convention of alfworld 0.4 (``move mug 1 to desk 2``). Observations and
    admissible commands are those of the engine, byte for byte. A command that
    is not admissible is answered by ``Nothing happens.`` and costs a step;
    ``info["rla"]["last_action_error"]`` then names the accepted form.

    With ``data="alfred"`` the games are those of alfworld's data set, as they
    are: :attr:`dataset` lists them, ``sample_task`` draws one of a
    ``task_type``, or of all. Their difficulty parameters are ``task_type`` and
    ``step_budget`` alone, and they cannot be edited. A game file from before
    alfworld 0.4 keeps its ``put mug 1 in/on desk 1`` with either ``verbs``.

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
            in/on desk 1`` and the observations that went with it before 0.4; the
            table in :mod:`rla_envs.alfworld.verbs` says what each takes.
        data: ``"generated"``, or ``"alfred"`` for the games in
            ``json_2.1.1`` under ``ALFWORLD_DATA`` (``~/.cache/alfworld``, if
            that is not set), where ``alfworld-download`` puts them.
        game_file: A ``game.tw-pddl`` file: every episode plays it, and neither
            ``split`` nor ``data`` matters.

    Raises:
        InputError: On an unknown engine, split, verbs, data, render mode or
            difficulty parameter, or a value out of range; if there are no games
            of the data set (says what to run), or the game file has none that
            can be played (says what is wrong with it, and where).
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
    edit_operations: ClassVar[tuple[EditOperation, ...]] = EDIT_OPERATIONS

    def __init__(
        self,
        engine: str = "native",
        split: str = "train",
        difficulty: Mapping[str, object] | None = None,
        render_mode: str | None = None,
        verbs: str = "move",
        data: str = "generated",
        game_file: str | None = None,
    ) -> None:
        """Set up; the engine starts with the first game."""
        if engine not in ENGINES:
            raise unknown_name("engine", engine, ENGINES)
        if split not in SPLITS:
            raise unknown_name("split", split, SPLITS)
        if verbs not in VERBS:
            raise unknown_name("verbs", verbs, VERBS)
        if data not in DATA:
            raise unknown_name("data", data, DATA)
        self._source = _source(data, split, game_file)
        if self._source is not None:
            # Real games have parameters of their own; the class has those of generated ones.
            self.__dict__["difficulty_parameters"] = self._source.parameters
        super().__init__(difficulty, render_mode)
        self.split = split
        self._engine_name = engine
        self._verbs = verbs
        self._phrasing = Phrasing(verbs)
        self.observation_space = Unicode(65536)
        self.action_space = Unicode(1024)
        self._last_reply = Reply("", (), False)
        self._played: list[str] = []
        self._resumes = False
        self._begun: Task | None = None
        self._budgeted: Task | None = None

    # Tasks are checked in an engine of their own, so that a check never disturbs the running episode.
    _engine = functools.cached_property(lambda self: self._started_engine())
    _checker = functools.cached_property(lambda self: _new_engine(self._engine_name))
    _game = functools.cached_property(lambda self: open_game(self._begun))

    @property
    def dataset(self) -> DataSet:
        """The games of ``data="alfred"``: which there are, which were left out, and a summary.

        Raises:
            InputError: If the games are not those of the data set.
        """
        if not isinstance(self._source, DataSetGames):
            raise InputError("only data='alfred' has a data set; make the environment with it")
        return self._source.dataset

    def check_task(self, task: Task) -> TaskCheck:
        """Return whether a task can be played, with a winning plan.

        The plan is made in closed form and then played in the engine: it must
        win with its last command and not before. Where a real game has no
        closed form (see :mod:`rla_envs.alfworld.layouts`) the plan is the
        walkthrough of its file, whose ``optimal_length`` is not known, or a
        shortest one that a search of limited length found.
        """
        require_task(task, "check_task")
        try:
            check = self._checked(task)
        except InvalidTaskError as error:
            return TaskCheck(False, str(error))
        if check.witness is None or self._verbs == "move" or not check.valid:
            return check
        command = self._wording(open_game(task)).command
        return replace(check, witness=tuple(map(command, check.witness)))

    def _checked(self, task: Task) -> TaskCheck:
        if task.env_id != self.task_env_id:
            return TaskCheck(False, f"expected a task of {self.task_env_id}, got one of {task.env_id}")
        known = _CHECKS.get(task.content_hash)
        if known is not None:
            return known
        game = open_game(task)
        reason = ""
        for plan in game.plans():
            fault, witness = self._try(game.data, plan.commands)
            if not fault:
                check = TaskCheck(True, "", witness, len(witness) if plan.shortest else None)
                _CHECKS.put(task.content_hash, check)
                return check
            reason = reason or fault
        return TaskCheck(False, reason)

    def _try(self, data: GameData, plan: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        """Play a plan; return why it is no solution, or its commands up to the one that wins."""
        reply = self._checker.start(data)
        if reply.won:
            return "the goal holds at the start", ()
        for position, command in enumerate(plan, start=1):
            if command not in reply.commands:
                return f"the engine does not follow the plan at step {position} ({command})", ()
            reply = self._checker.step(command)
            if reply.won:
                return "", tuple(plan[:position])
        return "the engine does not accept the plan as a solution", ()

    def optimal_plan(self) -> tuple[str, ...]:
        """Return a shortest winning plan from this moment of the episode (privileged knowledge).

        Empty if the goal holds. Some plan always exists in a generated game:
        nothing a player can do makes one unwinnable.

        Raises:
            InputError: If a real game has none from here, or a search of limited
                length found none.
        """
        self.task  # noqa: B018 - says what to do before the first reset
        plan = self._game.plan_now(self._engine.facts(), self._played)
        return tuple(map(self._phrasing.command, plan))

    def render(self) -> str | None:
        """Return the last observation and the commands that are possible now."""
        if self.render_mode != "ansi":
            return None
        if self._task is None:
            return ""
        return self._last_reply.text + "\n\nYou can: " + ", ".join(self._last_reply.commands)

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the engines and the open game, which cannot be copied.

        The first engine that is made from it plays the commands of the running episode again.
        """
        state = {**self.__dict__, "_resumes": self._resumes or "_engine" in self.__dict__}
        return {name: x for name, x in state.items() if name not in ("_engine", "_checker", "_game")}

    def _started_engine(self) -> Any:
        engine = _new_engine(self._engine_name)
        if self._resumes:
            engine.start(self._game.data)
            for command in self._played:
                engine.step(command)
        self._resumes = False
        return engine

    def close(self) -> None:
        """Forget the running game and free the engine; the next reset starts another."""
        self._resumes = False
        for name in ("_engine", "_checker"):
            engine = self.__dict__.pop(name, None)
            if engine is not None:
                engine.close()

    def sample_task(self, difficulty: Mapping[str, object] | None, rng: np.random.Generator) -> Task:
        """Return a random solvable task; a real game of the ``task_type`` given, or of any.

        Raises:
            InputError: If the difficulty is not in ``difficulty_space``.
            InvalidTaskError: If there is no such game, or no valid one was drawn.
        """
        if self._source is None:
            return super().sample_task(difficulty, rng)
        given = {**self._difficulty, **parse_difficulty(self._source.parameters, difficulty)}
        return self._source.sample(given, rng, self.check_task)

    def all_tasks(self) -> Sequence[Task]:
        """Return every real game, in the data set's order; raises InputError where games are generated."""
        return super().all_tasks() if self._source is None else self._source.every(self._difficulty)

    def _sample_task(self, difficulty: dict[str, Value], rng: np.random.Generator) -> Task:
        scene = sample_scene(self.split, difficulty, rng)
        return Task(self.task_env_id, difficulty, scene.payload())

    def _apply_edit(self, task: Task, edit: TaskEdit) -> Task:
        if is_real(task):
            raise RefusedEditError(_NO_EDITS)
        return edits.apply_edit(task, edit)

    def propose_edits(self, task: Task, direction: str, rng: np.random.Generator) -> Sequence[TaskEdit]:
        """Return single-step edits in random order; see :mod:`rla_envs.alfworld.proposals`."""
        return () if is_real(task) else edits.propose_edits(task, direction, rng)

    def describe_task(self, task: Task) -> str:
        """Return the goal and every place with what is there, in English; of a real game its difficulty."""
        if is_real(task):
            return super().describe_task(task)
        return describe_scene(Scene.from_payload(task.payload), stated_step_budget(task))

    def lost_step_kinds(
        self, task: Task, actions: Sequence[str], effective: Sequence[bool]
    ) -> tuple[str, ...]:
        """Return what each step that gained nothing was spent on; see :mod:`rla_envs.alfworld.diagnosis`.

        Empty for a real game whose plans have no closed form.
        """
        game = open_game(task)
        commands = [self._wording(game).to_engine(action) for action in actions]
        return lost_step_kinds(game.layout, commands, effective) if game.layout else ()

    def _begin(self, task: Task) -> Turn[str]:
        if self._begun is not task:
            self._game = open_game(task)
            self._phrasing = self._wording(self._game)
            self._begun = task
        self._played, self._resumes = [], False
        self._take_checked(self._game.data)
        return self._turn(self._engine.start(self._game.data))

    def _wording(self, game: SceneGame | RealGame) -> Phrasing:
        """Return how commands are worded: a file from before alfworld 0.4 has the old words itself."""
        return Phrasing("move" if game.old_verbs else self._verbs, game.old_verbs)

    def _take_checked(self, data: GameData) -> None:
        """Play in the engine of the check, if it holds this very game; do not start one only to ask it."""
        checker, engine = self.__dict__.get("_checker"), self.__dict__.get("_engine")
        if checker is not None and checker.has_loaded(data):
            del self.__dict__["_checker"]
            self._engine = checker
            if engine is not None:
                engine.forget()
                self._checker = engine

    def _act(self, action: str) -> Turn[str]:
        if not isinstance(action, str):
            raise InputError(
                f"action: expected a command as text, got {action!r} of type {type(action).__name__}"
            )
        command = action.strip()
        commands = self._last_reply.commands
        error = "" if command in commands else refusal(command, commands, self._phrasing.form)
        sent = self._phrasing.to_engine(action)
        self._played.append(sent)
        return self._turn(self._engine.step(sent), error)

    def _turn(self, answer: Reply, error: str = "") -> Turn[str]:
        reply = self._last_reply = self._phrasing.reply(answer)
        return Turn(reply.text, reply.won, False, error, {"admissible_commands": list(reply.commands)})

    def _step_budget(self, task: Task) -> int:
        if self._budgeted is not task:
            check = self.check_task(task)
            length = check.optimal_length or len(check.witness)
            self._budget = steps_allowed(float(task.difficulty["step_budget"]), length)
            self._budgeted = task
        return self._budget


def _new_engine(name: str) -> Any:
    # Imported here: importing rla_envs must not import TextWorld, and spaces must not need it.
    if name == "native":
        from rla_envs.alfworld.native.engine import NativeEngine

        return NativeEngine(check_goal=False)  # a task is checked by playing a plan that wins
    from rla_envs.alfworld.textworld_engine import TextWorldEngine

    return TextWorldEngine()


def _source(data: str, split: str, game_file: str | None) -> DataSetGames | OneGame | None:
    """Return where real games come from; None means that games are generated."""
    if game_file is not None:
        return OneGame(game_file, AlfWorldEnv.task_env_id)
    return DataSetGames(split, AlfWorldEnv.task_env_id) if data == "alfred" else None


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
