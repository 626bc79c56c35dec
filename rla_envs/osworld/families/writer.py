"""Work in text documents: replace words, mark headings, fill in a table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rla_envs.errors import InvalidTaskError
from rla_envs.osworld.families import reading
from rla_envs.osworld.families.base import (
    SAVE,
    WRITER,
    Check,
    Document,
    Family,
    Job,
    Request,
    key,
    pause,
    repeated,
    steps_of,
    write,
)
from rla_envs.osworld.families.documents import Cell, Rows, text_document
from rla_envs.osworld.families.topics import PEOPLE, PLACES, Topic

CLOSING = "Save the file under its name when you are done."
SAVE_HINT = "Ctrl+S saves."
REPLACE_HINT = "Ctrl+H opens Find and Replace."

Paragraphs = list[tuple[str, str]]

_HEADINGS = (
    "import re,zipfile; t=zipfile.ZipFile('{path}').read('word/document.xml').decode(); "
    "ps=re.findall('<w:p[ >].*?</w:p>',t,re.S); "
    "hs=[(re.search('w:pStyle w:val=.Heading([0-9])',p),re.sub('<[^>]*>','',p)) for p in ps]; "
    "print(*[h.group(1)+' '+s for h,s in hs if h],sep=chr(10))"
)


def written(job: Mapping[str, Any], folder: str, data: bytes) -> Document:
    """Return the document of a job with a ``file`` and what it is ``about``."""
    name = reading.file_name(job["file"], "file", ".docx")
    return Document(f"{folder}/{name}", data, WRITER, reading.text(job["about"], "about"))


def docx_check(func: str, document: Document, goal: bytes) -> Check:
    """Return the check of a metric that compares two documents."""
    result = {"type": "vm_file", "path": document.path, "dest": document.name}
    return Check(func, result, document.data, goal, reference=goal)


def replace_all(words: Mapping[str, str]) -> list[str]:
    """Return the steps that replace words everywhere, in a document or a presentation."""
    steps = [steps_of(key("ctrl", "h"), pause(1))]
    for old, new in words.items():
        steps += [
            steps_of(key("alt", "f"), key("ctrl", "a"), write(old)),
            steps_of(key("alt", "p"), key("ctrl", "a"), write(new)),
            steps_of(key("alt", "l"), pause(0.5)),
        ]
    return [*steps, steps_of(key("alt", "c"), pause(0.5))]


def read_lines(value: object, where: str, least: int = 2) -> list[str]:
    """Return lines of plain text."""
    return [reading.text(line, where) for line in reading.items(value, where, least, 12)]


def replaced(lines: Sequence[str], old: str, new: str) -> list[str]:
    """Return lines with a word replaced.

    Raises:
        InvalidTaskError: If it is not there, or also within other words, in
            whatever case: people would not agree on what is meant then.
    """
    text = "\n".join(lines)
    whole = re.findall(rf"\b{re.escape(old)}\b", text)
    if not whole or len(re.findall(re.escape(old), text, re.IGNORECASE)) != len(whole):
        raise InvalidTaskError(f"expected a word that stands alone and in one spelling, got {old!r}")
    return [line.replace(old, new) for line in lines]


def sample_lines(topic: Topic, count: int, rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """Draw sentences, and the people named in them."""
    people = [str(person) for person in rng.permutation(PEOPLE)]
    things = [str(thing) for thing in rng.permutation(topic.things)]
    lines = [
        f"{people[i % 5]} asked for {things[i % len(things)]} from the {rng.choice(PLACES)} side."
        for i in range(count)
    ]
    return lines, people


class WriterReplace(Family):
    """Replace words of a document everywhere."""

    name = "writer_replace"
    applications = (WRITER,)
    summary = "replace words of a document"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw sentences about people, and other names for some."""
        lines, _ = sample_lines(topic, 7, rng)
        named = list(dict.fromkeys(line.split()[0] for line in lines))
        others = [
            str(n) for n in rng.permutation(("Ingrid", "Jonas", "Katrin", "Lukas", "Martha", "Norbert"))
        ]
        return {
            "file": f"{topic.stem}.docx",
            "about": topic.about,
            "title": f"Notes on {topic.about}",
            "lines": lines,
            "edits": [{"find": old, "replace": new} for old, new in zip(named[:edits], others, strict=False)],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("file", "about", "title", "lines", "edits"))
        title, lines = reading.text(job["title"], "title"), read_lines(job["lines"], "lines")
        end, requests = [title, *lines], []
        words: dict[str, str] = {}
        for entry in reading.items(job["edits"], "edits", 1, 6):
            edit = reading.fields(entry, "edit", ("find", "replace"))
            old = reading.text(edit["find"], "find", reading.WORD)
            new = reading.text(edit["replace"], "replace", reading.WORD)
            end = replaced(end, old, new)
            words[old] = new
            count = sum(line.count(old) for line in (title, *lines))
            requests.append(
                Request(
                    f"replace all {count} occurrences of {old!r} by {new!r}",
                    f"replace {old!r} by {new!r} everywhere",
                    f"write {new} wherever it says {old}",
                    f"all {count} occurrences",
                )
            )
        reading.distinct([*words, *words.values()], "words of the edits")
        document = written(job, folder, _document([title, *lines]))
        check = docx_check("compare_docx_files", document, _document(end))
        return Job(
            (document,),
            tuple(requests),
            CLOSING,
            (SAVE_HINT, REPLACE_HINT),
            (check,),
            (*replace_all(words), SAVE),
        )

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The last word replaced by one with another letter; another word; one word too many."""
        *others, last = job["edits"]
        taken = {edit["find"] for edit in job["edits"]}
        names = dict.fromkeys(line.split()[0] for line in job["lines"])
        things = dict.fromkeys(line.split()[3] for line in job["lines"])
        free = next((name for name in (*names, *things) if name not in taken), "asked")
        misses = {
            "wrong spelling": [*others, {**last, "replace": f"{last['replace']}e"}],
            "wrong word": [*others, {**last, "find": free}],
            "one word too many": [*job["edits"], {"find": free, "replace": "Nobody"}],
        }
        return {wrong: {**job, "edits": edits} for wrong, edits in misses.items()}


def _document(lines: Sequence[str], headings: Mapping[int, int] | None = None) -> bytes:
    marks = headings or {}
    styles = {number: f"Heading {level}" for number, level in marks.items()}
    paragraphs = [("Normal" if i else "Title", line) for i, line in enumerate(lines)]
    return text_document([(styles.get(i, style), line) for i, (style, line) in enumerate(paragraphs)])


class WriterHeadings(Family):
    """Mark paragraphs of a document as headings."""

    name = "writer_headings"
    applications = (WRITER,)
    summary = "mark paragraphs as headings"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw short paragraphs and sentences, and a level for some of the short ones."""
        sentences, _ = sample_lines(topic, 5, rng)
        things = [str(thing) for thing in rng.permutation(topic.things)[:5]]
        lines = [line for pair in zip(things, sentences, strict=True) for line in pair]
        chosen = sorted(int(i) for i in rng.permutation(5)[:edits])
        return {
            "file": f"{topic.stem}.docx",
            "about": topic.about,
            "title": f"Notes on {topic.about}",
            "lines": lines,
            "edits": [{"paragraph": 2 * i + 2, "level": 1 + int(rng.integers(3))} for i in chosen],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("file", "about", "title", "lines", "edits"))
        lines = [reading.text(job["title"], "title"), *read_lines(job["lines"], "lines")]
        reading.distinct(lines, "title and lines")
        levels: dict[int, int] = {}
        requests, steps = [], []
        for entry in reading.items(job["edits"], "edits", 1, 6):
            edit = reading.fields(entry, "edit", ("paragraph", "level"))
            number = reading.integer(edit["paragraph"], "paragraph", 2, len(lines))
            level = reading.integer(edit["level"], "level", 1, 3)
            if number - 1 in levels:
                raise InvalidTaskError(f"edits: expected each paragraph once, got {number} twice")
            levels[number - 1] = level
            line = lines[number - 1]
            rank = ("a main heading", "a heading of the second rank", "a heading of the third rank")[
                level - 1
            ]
            requests.append(
                Request(
                    f"give paragraph {number} ({line!r}) the style Heading {level}",
                    f"give the paragraph {line!r} the style Heading {level}",
                    f"make {line!r} {rank}",
                    f"paragraph {number}",
                )
            )
            down = [key("ctrl", "down")] * (number - 1)
            steps += [steps_of(key("ctrl", "home"), *down), key("ctrl", str(level))]
        document = written(job, folder, _document(lines))
        goal = _document(lines, levels)
        listed = "".join(f"{level} {lines[n]}\n" for n, level in sorted(levels.items()))
        command = ["python3", "-c", _HEADINGS.format(path=document.path)]
        headings = Check(
            "exact_match",
            {"type": "vm_command_line", "command": command},
            "\n",
            listed,
            rule={"expected": listed},
        )
        checks = (headings, docx_check("compare_docx_files", document, goal))
        hints = (SAVE_HINT, "Ctrl+1 to Ctrl+3 give the styles Heading 1 to Heading 3.")
        return Job((document,), tuple(requests), CLOSING, hints, checks, (*steps, SAVE))

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The last heading of another level or another paragraph; one heading too many."""
        *others, last = job["edits"]
        taken = {edit["paragraph"] for edit in job["edits"]}
        free = [n for n in range(2, len(job["lines"]) + 2) if n not in taken]
        misses = {
            "wrong level": [*others, {**last, "level": last["level"] % 3 + 1}],
            "wrong paragraph": [*others, {**last, "paragraph": free[0]}],
            "one heading too many": [*job["edits"], {"paragraph": free[-1], "level": 1}],
        }
        return {wrong: {**job, "edits": edits} for wrong, edits in misses.items()}


class WriterTable(Family):
    """Fill in empty cells of a document's table."""

    name = "writer_table"
    applications = (WRITER,)
    summary = "fill in a table of a document"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a table of things and places, and numbers for some of its empty cells."""
        things = [str(thing) for thing in rng.permutation(topic.things)[:4]]
        heads = ["Item", *(str(place) for place in rng.permutation(PLACES)[:3])]
        table: list[list[Cell]] = [list(heads)]
        table += [[thing, int(rng.integers(10, 99)), None, None] for thing in things]
        empty = [(row, column) for row in range(1, 5) for column in (2, 3)]
        chosen = sorted(empty[int(i)] for i in rng.permutation(len(empty))[:edits])
        values = rng.permutation(np.arange(100, 999))[:edits]
        return {
            "file": f"{topic.stem}.docx",
            "about": topic.about,
            "title": f"Table of {topic.about}",
            "table": table,
            "edits": [
                {"row": row + 1, "column": column + 1, "value": int(value)}
                for (row, column), value in zip(chosen, values, strict=True)
            ],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("file", "about", "title", "table", "edits"))
        title, table = reading.text(job["title"], "title"), reading.table(job["table"], "table")
        end, requests, steps, done = [list(row) for row in table], [], [], []
        for entry in reading.items(job["edits"], "edits", 1, 6):
            edit = reading.fields(entry, "edit", ("row", "column", "value"))
            row = reading.integer(edit["row"], "row", 2, len(table)) - 1
            column = reading.integer(edit["column"], "column", 2, len(table[0])) - 1
            value = reading.integer(edit["value"], "value", 0, 99999)
            if table[row][column] is not None:
                raise InvalidTaskError(f"edit of row {row + 1}, column {column + 1}: expected an empty cell")
            end[row][column] = value
            done.append((row, column))
            thing, head = str(table[row][0]), str(table[0][column])
            requests.append(
                Request(
                    f"enter {value} in row {row + 1}, column {column + 1} of the table",
                    f"enter {value} in the row {thing!r} and the column {head!r} of the table",
                    f"note in the table that {head} has {value} of {thing}",
                    f"row {row + 1}, column {column + 1}",
                )
            )
            tabs = repeated("tab", row * len(table[0]) + column)
            # In a table, Ctrl+Home goes to its first cell first.
            top = [key("ctrl", "home")] * 3
            steps += [steps_of(*top, pause(0.5), key("down"), pause(0.3), tabs), write(str(value))]
        reading.distinct(done, "edits")
        document = written(job, folder, _with_table(title, table))
        goal = _with_table(title, end)
        checks = (
            docx_check("compare_docx_tables", document, goal),
            docx_check("compare_docx_files", document, goal),
        )
        hints = (SAVE_HINT, "Tab goes to the next cell of a table.")
        return Job((document,), tuple(requests), CLOSING, hints, checks, (*steps, SAVE))

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The last number one off or in another cell; one number too many."""
        *others, last = job["edits"]
        taken = {(edit["row"], edit["column"]) for edit in job["edits"]}
        free = [
            {"row": r, "column": c}
            for r, row in enumerate(job["table"], 1)
            for c, value in enumerate(row, 1)
            if value is None and (r, c) not in taken
        ]
        misses = {
            "wrong number": [*others, {**last, "value": last["value"] + 1}],
            "wrong cell": [*others, {**last, **free[0]}],
            "one number too many": [*job["edits"], {"value": 1, **free[-1]}],
        }
        return {wrong: {**job, "edits": edits} for wrong, edits in misses.items()}


def _with_table(title: str, table: Rows) -> bytes:
    return text_document([("Normal", title)], table)
