"""Work in the terminal: a command's output into a file, permissions of files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rla_envs.errors import InvalidTaskError
from rla_envs.osworld.families import reading
from rla_envs.osworld.families.base import (
    TERMINAL,
    Check,
    Document,
    Family,
    Job,
    Request,
    key,
    steps_of,
    write,
)
from rla_envs.osworld.families.topics import PEOPLE, Topic

_MODES = ("600", "640", "644", "700", "750", "755")
_TASKS = ("lines", "sorted", "matching", "words")


def run(command: str) -> str:
    """Return the step that runs a command in the terminal."""
    return steps_of(write(command), key("enter"))


class TerminalOutput(Family):
    """Let commands write what they find in a text into files beside it."""

    name = "terminal_output"
    applications = (TERMINAL,)
    summary = "write what a command prints into a file"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a log of people and things, and what is asked of it."""
        people, things = rng.permutation(PEOPLE)[:3], rng.permutation(topic.things)[:4]
        lines = [
            f"{rng.choice(people)} {rng.choice(things)} {n}" for n in rng.permutation(np.arange(10, 99))[:9]
        ]
        kinds = [_TASKS[int(i)] for i in rng.permutation(len(_TASKS))]
        asked = [{"find": kind, "word": ""} for kind in kinds[:edits]]
        present = sorted({line.split()[0] for line in lines})
        for edit in asked:
            if edit["find"] == "matching":
                edit["word"] = present[int(rng.integers(len(present)))]
        if edits > len(asked):
            asked.append({"find": "matching", "word": lines[0].split()[1]})
        names = [f"{rng.choice(('out', 'result', 'answer'))}{i + 1}.txt" for i in range(len(asked))]
        return {
            "place": topic.stem,
            "about": topic.about,
            "log": "log.txt",
            "lines": lines,
            "edits": [{**edit, "into": name} for edit, name in zip(asked, names, strict=True)],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("place", "about", "log", "lines", "edits"))
        place = f"{folder}/{reading.text(job['place'], 'place', reading.WORD)}"
        log = reading.file_name(job["log"], "log", ".txt")
        lines = [reading.text(line, "lines") for line in reading.items(job["lines"], "lines", 2, 12)]
        document = Document(place, None, TERMINAL, reading.text(job["about"], "about"))
        requests, checks, steps, names = [], [], [run(f"cd {place}")], [log]
        for entry in reading.items(job["edits"], "edits", 1, 6):
            edit = reading.fields(entry, "edit", ("find", "word", "into"))
            into = reading.file_name(edit["into"], "into", ".txt")
            sentence, command, goal = _find(edit, lines, log)
            names.append(into)
            requests.append(
                Request(
                    f"write the output of `{command}` into {into}",
                    f"write {sentence} into {into}",
                    f"let {into} hold {sentence}",
                    command,
                )
            )
            result = {"type": "vm_file", "path": f"{place}/{into}", "dest": into}
            checks.append(Check("compare_text_file", result, None, goal.encode(), reference=goal.encode()))
            steps.append(run(f"{command} > {into}"))
        reading.distinct(names, "names of files")
        hints = (f"All files belong into the folder of {log}.", "`command > file` writes a command's output.")
        text = "".join(f"{line}\n" for line in lines).encode()
        return Job(
            (document,), tuple(requests), "", hints, tuple(checks), tuple(steps), {f"{place}/{log}": text}
        )

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The last output in another file, or of another command; or the last is missing."""
        *others, last = job["edits"]
        other = "sorted" if last["find"] != "sorted" else "words"
        misses: dict[str, list[Any]] = {
            "wrong file": [*others, {**last, "into": "output.txt"}],
            "wrong command": [*others, {**last, "find": other, "word": ""}],
        }
        if others:
            misses["last one missing"] = others
        else:
            misses["another command"] = [{**last, "find": "lines" if last["find"] != "lines" else "words"}]
        return {wrong: {**job, "edits": edits} for wrong, edits in misses.items()}


def _find(edit: Mapping[str, Any], lines: list[str], log: str) -> tuple[str, str, str]:
    """Return what an edit asks for: in words, as a command, and what that prints."""
    kind = reading.choice(edit["find"], "find", _TASKS)
    if kind == "matching":
        word = reading.text(edit["word"], "word", reading.WORD)
        found = [line for line in lines if word in line]
        if not found:
            raise InvalidTaskError(f"word: expected one that stands in {log}, got {word!r}")
        return f"all lines of {log} with the word {word}", f"grep {word} {log}", _joined(found)
    if kind == "lines":
        return f"the number of lines of {log} (only the number)", f"grep -c . {log}", f"{len(lines)}\n"
    if kind == "words":
        first = sorted({line.split()[0] for line in lines})
        command = f"cut -d' ' -f1 {log} | LC_ALL=C sort -u"
        return f"the first words of all lines of {log}, sorted and each once", command, _joined(first)
    return f"the lines of {log} in alphabetical order", f"LC_ALL=C sort {log}", _joined(sorted(lines))


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


class TerminalPermissions(Family):
    """Change the permissions of files."""

    name = "terminal_permissions"
    applications = (TERMINAL,)
    summary = "change the permissions of files"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw files, all with the same permissions, and other permissions for some."""
        files = [f"{str(thing).lower()}.sh" for thing in rng.permutation(topic.things)[: edits + 2]]
        modes = rng.permutation([mode for mode in _MODES if mode != "644"])
        return {
            "place": topic.stem,
            "about": topic.about,
            "files": files,
            "edits": [{"name": files[i], "mode": str(modes[i % len(modes)])} for i in range(edits)],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("place", "about", "files", "edits"))
        place = f"{folder}/{reading.text(job['place'], 'place', reading.WORD)}"
        files = [reading.file_name(n, "files", ".sh") for n in reading.items(job["files"], "files", 1, 10)]
        reading.distinct(files, "files")
        document = Document(place, None, TERMINAL, reading.text(job["about"], "about"))
        modes = dict.fromkeys(files, "644")
        requests, steps, names = [], [run(f"cd {place}")], []
        for entry in reading.items(job["edits"], "edits", 1, 6):
            edit = reading.fields(entry, "edit", ("name", "mode"))
            name, mode = (
                reading.choice(edit["name"], "name", files),
                reading.choice(edit["mode"], "mode", _MODES),
            )
            if mode == modes[name]:
                raise InvalidTaskError(f"edit of {name}: expected another mode than {mode}")
            modes[name] = mode
            names.append(name)
            words = _mode_in_words(mode)
            requests.append(
                Request(
                    f"set the permissions of {name} to {mode}",
                    f"let {name} be such that {words}",
                    f"make sure of {name} that {words}",
                    mode,
                )
            )
            steps.append(run(f"chmod {mode} {name}"))
        reading.distinct(names, "edits")
        listing = f"find {place} -type f -printf '%m %f\\n' | LC_ALL=C sort -k 2"
        result = {"type": "vm_command_line", "command": ["sh", "-c", listing]}
        start = "".join(f"644 {name}\n" for name in sorted(files))
        end = "".join(f"{modes[name]} {name}\n" for name in sorted(files))
        check = Check("exact_match", result, start, end, rule={"expected": end})
        hints = (
            "chmod changes permissions.",
            "In a mode, 4 is read, 2 write, 1 run, for owner, group, others.",
        )
        contents = {f"{place}/{name}": f"#!/bin/sh\necho {name}\n".encode() for name in files}
        prepare = ("chmod", "644", *contents)
        return Job((document,), tuple(requests), "", hints, (check,), tuple(steps), contents, (prepare,))

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The last mode another, or of another file; or one more file changed."""
        *others, last = job["edits"]
        taken = {edit["name"] for edit in job["edits"]}
        free = [name for name in job["files"] if name not in taken]
        other = next(mode for mode in _MODES if mode not in (last["mode"], "644"))
        misses: dict[str, list[Any]] = {"wrong mode": [*others, {**last, "mode": other}]}
        if free:
            misses["wrong file"] = [*others, {**last, "name": free[0]}]
            misses["one file too many"] = [*job["edits"], {"name": free[-1], "mode": "600"}]
        return {wrong: {**job, "edits": edits} for wrong, edits in misses.items()}


def _mode_in_words(mode: str) -> str:
    rights = {"0": "do nothing", "4": "only read", "5": "read and run", "6": "read and write", "7": "do all"}
    owner, group, others = (rights[digit] for digit in mode)
    return f"its owner can {owner}, its group can {group} and all others can {others} with it"
