"""The games of alfworld's data set on disk: which there are, which can be played, and why not the others."""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from rla_envs.alfworld.gamefile import GameFile, defect_of, read_game_file
from rla_envs.alfworld.index_cache import Entry, Stamp, load_index, save_index
from rla_envs.alfworld.progress import progress
from rla_envs.alfworld.real_game import RealGame, check_data, payload_of
from rla_envs.alfworld.scene import TASK_TYPES
from rla_envs.alfworld.splits import SPLITS
from rla_envs.errors import InputError, InvalidTaskError, unknown_name
from rla_envs.task import Task

FOLDER = "json_2.1.1"
COMPLETE = {"train": 3553, "valid_seen": 140, "valid_unseen": 134}
"""Games that can be played in each split of the complete data set (alfworld's own count)."""

GAME, TRAJECTORY = "game.tw-pddl", "traj_data.json"

_log = logging.getLogger(__name__)


class _SkippedError(Exception):
    def __init__(self, kind: str, defect: str) -> None:
        self.kind, self.defect = kind, defect


def data_root() -> Path:
    """Return the folder that alfworld keeps its data in: ``ALFWORLD_DATA``, or ``~/.cache/alfworld``."""
    return Path(os.environ.get("ALFWORLD_DATA") or "~/.cache/alfworld").expanduser()


class DataSet:
    """One split of alfworld's data set.

    The folders are read once and remembered in a file beside them (or in the
    user's cache, where that cannot be written); later only what changed is read
    again. The order is that of the ids and the ids are the folders' paths, so
    neither moves when others come or go.

    What counts as a game is as in alfworld 0.4: a folder with both files, for
    one of the six task types, without movable receptacles or sliced objects,
    and marked solvable. A game that is malformed, or that no plan solves, is
    left out too; :attr:`summary` counts all of these.

    Args:
        split: One of :data:`~rla_envs.alfworld.splits.SPLITS`.
        root: The folder that holds ``json_2.1.1``; None means
            :func:`data_root`.

    Raises:
        InputError: If there are no games; says what to run.
    """

    def __init__(self, split: str, root: str | os.PathLike[str] | None = None) -> None:
        """Read the split, or what is remembered of it."""
        if split not in SPLITS:
            raise unknown_name("split", split, SPLITS)
        self.split = split
        self.root = data_root() if root is None else Path(root)
        stamps = dict(sorted(_stamps(self._folder(), split)))
        if not stamps:
            raise self._missing(f"there are no games in {self._folder()}")
        entries = self._index(stamps)
        self.games: tuple[Entry, ...] = tuple(e for e in entries if not e.kind)
        self.skipped: tuple[Entry, ...] = tuple(e for e in entries if e.kind)
        if not self.games:
            raise self._missing(self.summary)

    @property
    def summary(self) -> str:
        """How many games were found, how many can be played, and why not the others, in one line."""
        found, playable = len(self.games) + len(self.skipped), len(self.games)
        reasons = sorted(Counter(e.kind for e in self.skipped).items(), key=lambda item: (-item[1], item[0]))
        skipped = ", ".join(f"{count} {kind}" for kind, count in reasons)
        line = f"{self.split}: {found} found, {playable} playable, {found - playable} skipped"
        line += f" ({skipped})" if skipped else ""
        complete = COMPLETE[self.split]
        return line if playable == complete else f"{line}; the complete data set has {complete} playable"

    def path(self, game: Entry) -> Path:
        """Return the game's file."""
        return self.root / FOLDER / game.id / GAME

    def read(self, game: Entry) -> GameFile:
        """Read the game's file.

        Raises:
            InputError: If it is not there any more, or malformed.
        """
        return read_game_file(self.path(game))

    def task(self, game: Entry, env_id: str, step_budget: float) -> Task:
        """Return a game as a task.

        Args:
            game: One of :attr:`games`.
            env_id: The environment that is to play it.
            step_budget: Steps, as a multiple of the plan that is known.

        Raises:
            InputError: If its file is not there any more, or malformed.
        """
        file = self.read(game)
        difficulty = {"task_type": TASK_TYPES.index(game.task_type), "step_budget": step_budget}
        payload = payload_of(file.data, game.id, file.walkthrough)
        return Task(env_id, difficulty, payload, id=f"{env_id.split('/')[-1]}:{game.id}")

    def _folder(self) -> Path:
        return self.root / FOLDER / self.split

    def _missing(self, what: str) -> InputError:
        run = f"run alfworld-download, or set ALFWORLD_DATA to the folder that holds {FOLDER}"
        hint = next((f"; did you mean ALFWORLD_DATA={path}?" for path in self._instead()), "")
        return InputError(f"AlfWorld data: {what}; {run}{hint}")

    def _instead(self) -> Iterator[Path]:
        """Yield folders nearby that hold the data set."""
        near = [self.root.parent, self.root.parent.parent]
        if self.root.is_dir():
            near += sorted(path for path in self.root.iterdir() if path.is_dir())
        for path in near:
            if (path / FOLDER / self.split).is_dir() and path != self.root:
                yield path

    def _index(self, stamps: Mapping[str, Stamp]) -> list[Entry]:
        known = load_index(self.root, self.split)
        fresh = [name for name, stamp in stamps.items() if name not in known or known[name][0] != stamp]
        index = {name: known[name] for name in stamps if name in known and known[name][0] == stamps[name]}
        try:
            with progress(f"indexing AlfWorld's {self.split} games", len(fresh)) as advance:
                for name in fresh:
                    index[name] = stamps[name], self._entry(name, stamps[name])
                    advance()
        finally:  # also when it is interrupted: the next start goes on from there
            if index != known:
                save_index(self.root, self.split, index)
        return [index[name][1] for name in stamps]

    def _entry(self, name: str, stamp: Stamp) -> Entry:
        try:
            return self._playable(name, stamp)
        except _SkippedError as skipped:
            _log.info("AlfWorld game left out: %s", skipped.defect)
            return Entry(name, kind=skipped.kind, defect=skipped.defect)

    def _playable(self, name: str, stamp: Stamp) -> Entry:
        folder = self.root / FOLDER / name
        if "movable" in name or "Sliced" in name:
            raise _SkippedError("with movable receptacles or slices", f"{folder}: not supported by alfworld")
        if stamp.trajectory_size < 0:
            raise _SkippedError(f"without {TRAJECTORY}", f"{folder}: there is no {TRAJECTORY}")
        task_type = _task_type(folder / TRAJECTORY)
        if task_type not in TASK_TYPES:
            raise _SkippedError("of another task type", f"{folder}: its task type is {task_type!r}"[:300])
        if stamp.game_size < 0:
            raise _SkippedError("without game file", f"{folder}: there is no {GAME}")
        try:
            file = read_game_file(folder / GAME)
        except InputError as error:
            raise _SkippedError("malformed", str(error)) from error
        if file.solvable is None:
            raise _SkippedError("without 'solvable'", f"game file {file.path}: field 'solvable' is missing")
        if not file.solvable:
            raise _SkippedError("marked unsolvable", f"game file {file.path}: it is marked unsolvable")
        return self._solved(name, task_type, file)

    def _solved(self, name: str, task_type: str, file: GameFile) -> Entry:
        try:
            check_data(file.data)
            game = RealGame(payload_of(file.data, name, file.walkthrough))
        except InvalidTaskError as error:
            raise _SkippedError("malformed", str(defect_of(file, error))) from error
        if game.layout is None:
            return Entry(name, task_type)
        try:
            plan = next(game.plans())
        except InvalidTaskError as error:
            raise _SkippedError("without a plan", str(defect_of(file, error))) from error
        if not plan.commands:
            raise _SkippedError("solved at the start", f"game file {file.path}: the goal holds at the start")
        return Entry(name, game.layout.task_type, len(plan.commands))


def _stamps(folder: Path, split: str) -> Iterator[tuple[str, Stamp]]:
    """Yield each folder that has one of the two files."""
    for path, _, files in os.walk(folder):
        if GAME in files or TRAJECTORY in files:
            name = Path(split, Path(path).relative_to(folder)).as_posix()
            yield name, Stamp(*_stamp(Path(path, GAME)), *_stamp(Path(path, TRAJECTORY)))


def _stamp(file: Path) -> tuple[int, int]:
    try:
        status = file.stat()
    except OSError:
        return -1, -1
    return status.st_size, status.st_mtime_ns


def _task_type(file: Path) -> str:
    try:
        contents = json.loads(file.read_text(encoding="utf-8"))
        return str(contents["task_type"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _SkippedError(
            f"with a malformed {TRAJECTORY}", f"{file}: expected JSON with a task_type ({error!r})"
        ) from error
