"""Work in folders: rename files, and move them by their ending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rla_envs.errors import InvalidTaskError
from rla_envs.osworld.families import reading
from rla_envs.osworld.families.base import (
    FILE_MANAGER,
    Check,
    Document,
    Family,
    Job,
    Request,
    key,
    pause,
    show_folder,
    steps_of,
    write,
)
from rla_envs.osworld.families.topics import PLACES, Topic

_ENDINGS = (".txt", ".csv", ".log", ".md", ".ini")


def _listing_check(
    place: str, start: Mapping[str, bytes], end: Mapping[str, bytes], folders: Sequence[str]
) -> Check:
    """Return the check that a folder holds exactly these files, told apart by their sizes, and folders."""
    # A folder's own size differs between file systems.
    listing = f"cd {place} && find . -mindepth 1 ( -type d -printf 'd %p\\n' ) -o -printf '%y %s %p\\n'"
    command = listing.replace("( ", "\\( ").replace(" )", " \\)") + " | LC_ALL=C sort"
    result = {"type": "vm_command_line", "command": ["sh", "-c", command]}
    goal = _listing(end, folders)
    return Check("exact_match", result, _listing(start, folders), goal, rule={"expected": goal})


def _listing(files: Mapping[str, bytes], folders: Sequence[str]) -> str:
    lines = [f"f {len(data)} ./{name}\n" for name, data in files.items()]
    return "".join(sorted([*lines, *(f"d ./{name}\n" for name in folders)]))


def _contents(names: Sequence[str]) -> dict[str, bytes]:
    # Every file has its own size, so that a listing tells which is which.
    return {name: b"." * (10 + number) + b"\n" for number, name in enumerate(names)}


def _file(value: object, where: str) -> str:
    ending = f".{value.rpartition('.')[2]}" if isinstance(value, str) else ""
    return reading.file_name(value, where, reading.choice(ending, "ending of a file", _ENDINGS))


def _place(job: Mapping[str, Any], folder: str) -> Document:
    path = f"{folder}/{reading.text(job['place'], 'place', reading.WORD)}"
    return Document(path, None, FILE_MANAGER, reading.text(job["about"], "about"))


class FilesRename(Family):
    """Rename files of a folder."""

    name = "files_rename"
    applications = (FILE_MANAGER,)
    summary = "rename files"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw files, and other names for some."""
        stems = [str(thing).lower() for thing in rng.permutation(topic.things)[:7]]
        files = [f"{stem}{rng.choice(_ENDINGS)}" for stem in stems]
        chosen = sorted(int(i) for i in rng.permutation(len(files))[:edits])
        places = [str(place).lower() for place in rng.permutation(PLACES)]
        return {
            "place": topic.stem,
            "about": topic.about,
            "files": files,
            "edits": [
                {"name": files[i], "new": f"{stems[i]}_{place}.{files[i].rpartition('.')[2]}"}
                for i, place in zip(chosen, places, strict=False)
            ],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("place", "about", "files", "edits"))
        document = _place(job, folder)
        files = [_file(name, "files") for name in reading.items(job["files"], "files", 1, 10)]
        reading.distinct(files, "files")
        start = _contents(files)
        end, requests, steps, old = dict(start), [], [], []
        for entry in reading.items(job["edits"], "edits", 1, 6):
            edit = reading.fields(entry, "edit", ("name", "new"))
            name, new = reading.choice(edit["name"], "name", files), _file(edit["new"], "new")
            if name not in end or new in end:
                raise InvalidTaskError(
                    f"edit of {name}: expected each file once, and a new name, got {new!r}"
                )
            end[new] = end.pop(name)
            old.append(name)
            stem = name.rpartition(".")[0]
            requests.append(
                Request(
                    f"rename {name} to {new}",
                    f"rename the file {stem} to {new}",
                    f"let the file on {stem} be called {new}",
                    name,
                )
            )
            steps += _rename(name, new)
        check = _listing_check(document.path, start, end, ())
        hints = ("F2 renames the selected file.", "Typing the beginning of a name selects the file.")
        uploads = {f"{document.path}/{name}": data for name, data in start.items()}
        return Job((document,), tuple(requests), "", hints, (check,), tuple(steps), uploads)

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The last new name with another letter, or for another file; one file too many."""
        *others, last = job["edits"]
        taken = {edit["name"] for edit in job["edits"]}
        free = [name for name in job["files"] if name not in taken]
        misses = {
            "wrong name": [*others, {**last, "new": f"x{last['new']}"}],
            "wrong file": [*others, {**last, "name": free[0]}],
            "one file too many": [*job["edits"], {"name": free[-1], "new": "other.txt"}],
        }
        return {wrong: {**job, "edits": edits} for wrong, edits in misses.items()}


class FilesMove(Family):
    """Move all files with an ending into a folder."""

    name = "files_move"
    applications = (FILE_MANAGER,)
    summary = "move files into folders by their ending"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw two files of every ending, folders, and where the files of some endings go."""
        stems = [str(thing).lower() for thing in rng.permutation(topic.things)]
        endings = [str(ending) for ending in rng.permutation(_ENDINGS)]
        files = [f"{stems[(i + j) % len(stems)]}{ending}" for i, ending in enumerate(endings) for j in (0, 3)]
        folders = [str(place).lower() for place in rng.permutation(PLACES)[:3]]
        return {
            "place": topic.stem,
            "about": topic.about,
            "files": files,
            "folders": folders,
            "edits": [
                {"ending": ending, "into": folders[int(rng.integers(3))]} for ending in endings[:edits]
            ],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("place", "about", "files", "folders", "edits"))
        document = _place(job, folder)
        files = [_file(name, "files") for name in reading.items(job["files"], "files", 1, 12)]
        folders = [
            reading.text(name, "folders", reading.WORD)
            for name in reading.items(job["folders"], "folders", 1, 4)
        ]
        reading.distinct([*files, *folders], "files and folders")
        start = _contents(files)
        end, requests, steps, done = dict(start), [], [], []
        for entry in reading.items(job["edits"], "edits", 1, 6):
            edit = reading.fields(entry, "edit", ("ending", "into"))
            ending = reading.choice(edit["ending"], "ending", _ENDINGS)
            into = reading.choice(edit["into"], "into", folders)
            moved = [name for name in files if name.endswith(ending)]
            if not moved:
                raise InvalidTaskError(f"edit of {ending}: expected an ending that some file has")
            done.append(ending)
            for name in moved:
                end[f"{into}/{name}"] = end.pop(name)
            requests.append(
                Request(
                    f"move {' and '.join(moved)} into the folder {into}",
                    f"move all {ending} files into the folder {into}",
                    f"let {into} hold whatever ends with {ending[1:]}",
                    " and ".join(moved),
                )
            )
            steps += _move(moved, document.path, into)
        reading.distinct(done, "edits")
        check = _listing_check(document.path, start, end, folders)
        prepare = ("mkdir", "-p", *(f"{document.path}/{name}" for name in folders))
        hints = (
            "Ctrl+X cuts the selected files, and Ctrl+V puts them into the folder shown.",
            "Ctrl+L and a path show another folder.",
        )
        uploads = {f"{document.path}/{name}": data for name, data in start.items()}
        return Job((document,), tuple(requests), "", hints, (check,), tuple(steps), uploads, (prepare,))

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The last files in another folder; those of another ending; or more than asked for."""
        *others, last = job["edits"]
        into = next(name for name in job["folders"] if name != last["into"])
        taken = {edit["ending"] for edit in job["edits"]}
        free = [ending for ending in _ENDINGS if ending not in taken]
        misses = {"wrong folder": [*others, {**last, "into": into}]}
        if free:
            misses["wrong ending"] = [*others, {**last, "ending": free[0]}]
            misses["one ending too many"] = [*job["edits"], {"ending": free[-1], "into": into}]
        else:
            misses["two wrong folders"] = [{**edit, "into": into} for edit in job["edits"]]
            misses["one ending not"] = others
        return {wrong: {**job, "edits": edits} for wrong, edits in misses.items()}


def _rename(name: str, new: str) -> list[str]:
    stem = new.rpartition(".")[0]
    return [
        # Typing looks for a name, and Escape keeps what was found.
        steps_of(write(name), pause(0.3), key("esc")),
        # The name without its ending is selected.
        steps_of(key("f2"), pause(0.7), write(stem), key("enter")),
    ]


def _move(names: Sequence[str], place: str, into: str) -> list[str]:
    steps = []
    for name in names:
        steps += [
            steps_of(write(name), pause(0.3), key("esc"), key("ctrl", "x")),
            show_folder(f"{place}/{into}"),
            steps_of(key("ctrl", "v"), pause(0.7)),
            show_folder(place),
        ]
    return steps
