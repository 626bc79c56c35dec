"""Work in the text editor: change, delete, insert and append lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rla_envs.errors import InvalidTaskError
from rla_envs.osworld.families import reading
from rla_envs.osworld.families.base import (
    EDITOR,
    SAVE,
    Check,
    Document,
    Family,
    Job,
    Request,
    key,
    repeated,
    steps_of,
    write,
)
from rla_envs.osworld.families.topics import Topic

CLOSING = "Save the file under its name when you are done."


def text_file(job: Mapping[str, Any], folder: str, lines: list[str], ending: str = ".txt") -> Document:
    """Return the document of a job with a ``file`` and what it is ``about``."""
    name = reading.file_name(job["file"], "file", ending)
    return Document(f"{folder}/{name}", as_text(lines), EDITOR, reading.text(job["about"], "about"))


def as_text(lines: list[str]) -> bytes:
    """Return lines as a file."""
    return "".join(f"{line}\n" for line in lines).encode()


def file_check(document: Document, goal: bytes) -> Check:
    """Return the check that a text file is exactly this one in the end."""
    result = {"type": "vm_file", "path": document.path, "dest": document.name}
    return Check("compare_text_file", result, document.data, goal, reference=goal)


def go_to_line(number: int) -> str:
    """Return the actions that put the editor's cursor at the start of a line, counted from 1."""
    down = [repeated("down", number - 1)] if number > 1 else []
    return steps_of(key("ctrl", "home"), *down)


class TextLines(Family):
    """Replace lines of a text file by others."""

    name = "text_lines"
    applications = (EDITOR,)
    summary = "replace lines of a text file"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a list of things with numbers, and new numbers for some."""
        things = rng.permutation(topic.things)[:7]
        numbers = rng.permutation(np.arange(10, 100))[:14]
        lines = [f"{thing}: {number}" for thing, number in zip(things, numbers, strict=False)]
        chosen = sorted(int(i) for i in rng.permutation(len(lines))[:edits])
        return {
            "file": f"{topic.stem}.txt",
            "about": topic.about,
            "lines": lines,
            "edits": [{"line": i + 1, "text": f"{things[i]}: {numbers[7 + i]}"} for i in chosen],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("file", "about", "lines", "edits"))
        lines = [reading.text(line, "lines") for line in reading.items(job["lines"], "lines", 2, 12)]
        reading.distinct(lines, "lines")
        document = text_file(job, folder, lines)
        end, requests, steps, numbers = list(lines), [], [], []
        for entry in reading.items(job["edits"], "edits", 1, 6):
            edit = reading.fields(entry, "edit", ("line", "text"))
            number = reading.integer(edit["line"], "line", 1, len(lines))
            text, old = reading.text(edit["text"], "text"), lines[number - 1]
            if text == old:
                raise InvalidTaskError(f"edit of line {number}: expected another text, got {text!r}")
            end[number - 1] = text
            numbers.append(number)
            requests.append(
                Request(
                    f"replace the text of line {number} by {text!r}",
                    f"replace the line {old!r} by {text!r}",
                    f"let the line that begins with {_first_word(old)!r} read {text!r}",
                    f"line {number}",
                )
            )
            steps.append(steps_of(go_to_line(number), key("shift", "end"), write(text)))
        reading.distinct(numbers, "edits")
        hints = ("Ctrl+S saves.", "Ctrl+L goes to a line, and Shift+End selects up to its end.")
        check = file_check(document, as_text(end))
        return Job((document,), tuple(requests), CLOSING, hints, (check,), (*steps, SAVE))

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The last edit one line off, or its text one letter off; or one more line changed."""
        *others, last = job["edits"]
        taken = {edit["line"] for edit in job["edits"]}
        free = [n + 1 for n in range(len(job["lines"])) if n + 1 not in taken]
        misses: dict[str, list[Any]] = {"wrong text": [*others, {**last, "text": f"{last['text']}0"}]}
        if free:
            misses["wrong line"] = [*others, {**last, "line": free[0]}]
            misses["one line too many"] = [*job["edits"], {"line": free[-1], "text": "Changed"}]
        return {wrong: {**job, "edits": edits} for wrong, edits in misses.items()}


class TextAppend(Family):
    """Add lines at the end of a text file."""

    name = "text_append"
    applications = (EDITOR,)
    summary = "add lines at the end of a text file"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a short list of things, and the things that are missing."""
        things = [str(thing) for thing in rng.permutation(topic.things)]
        return {
            "file": f"{topic.stem}.txt",
            "about": topic.about,
            "lines": things[:3],
            "edits": [{"text": thing} for thing in things[3 : 3 + edits]],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("file", "about", "lines", "edits"))
        lines = [reading.text(line, "lines") for line in reading.items(job["lines"], "lines", 1, 12)]
        document = text_file(job, folder, lines)
        edits = [reading.fields(e, "edit", ("text",)) for e in reading.items(job["edits"], "edits", 1, 6)]
        added = [reading.text(edit["text"], "text") for edit in edits]
        reading.distinct([*lines, *added], "lines and edits")
        requests = [
            Request(
                f"add line {len(lines) + 1 + i} with the text {text!r}",
                f"add the line {text!r} at the end",
                f"put {text} on the list, after what is there",
                f"line {len(lines) + 1 + i}",
            )
            for i, text in enumerate(added)
        ]
        # Every line ends with a line feed, so the cursor at the end stands on an empty line.
        steps = [steps_of(key("ctrl", "end"), write(text), key("enter")) for text in added]
        hints = ("Ctrl+S saves.", "Ctrl+End goes to the end of the text.")
        check = file_check(document, as_text([*lines, *added]))
        return Job((document,), tuple(requests), CLOSING, hints, (check,), (*steps, SAVE))

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The last text one letter off; one line missing; one line too many."""
        *others, last = job["edits"]
        misses: dict[str, list[Any]] = {
            "wrong text": [*others, {"text": f"{last['text']}s"}],
            "one line too many": [*job["edits"], {"text": "Nothing"}],
            "another line": [*others, {"text": "Others"}],
        }
        return {wrong: {**job, "edits": edits} for wrong, edits in misses.items()}


def _first_word(line: str) -> str:
    return line.split()[0]
