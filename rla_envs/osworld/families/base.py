"""What a family of desktop tasks is, and the parts that a task is built from."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from rla_envs.osworld.families.topics import Topic

CALC, WRITER, IMPRESS = "libreoffice_calc", "libreoffice_writer", "libreoffice_impress"
EDITOR, TERMINAL, FILE_MANAGER = "mousepad", "xterm", "pcmanfm"
"""Names of the applications, in the form of OSWorld's ``related_apps``."""

OFFICE = (CALC, WRITER, IMPRESS)
"""Those of LibreOffice, which share a process."""

KINDS = {
    CALC: "spreadsheet",
    WRITER: "document",
    IMPRESS: "presentation",
    EDITOR: "text file",
    TERMINAL: "text file",
}
"""What an instruction calls a document, by the application that it is worked on in."""

MAX_EDITS = 5
"""Most edits that one job asks for."""


@dataclass(frozen=True)
class Document:
    """Something a job works on, in the window of an application.

    Attributes:
        path: Absolute path.
        data: Content at the start; None for a folder.
        application: Which application shows it.
        about: What it is about, as a phrase.
        called: What an instruction calls it, where that is neither path nor name.
    """

    path: str
    data: bytes | None
    application: str
    about: str
    called: str = ""

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """The folder that it lies in."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True)
class Request:
    """One edit in words, from exact to vague.

    Attributes:
        exact: Where and what, by address (``"Set cell B3 to 40"``).
        named: By the names on the page (``"Set Feb of Rent to 40"``).
        described: With what must be found out left out, where there is such a thing.
        address: The exact place, as it stands in ``exact`` alone.
    """

    exact: str
    named: str
    described: str
    address: str

    def worded(self, wording: int) -> str:
        """Return the sentence for a wording: 0 exact, 1 named, 2 described."""
        return (self.exact, self.named, self.described)[wording]


@dataclass(frozen=True)
class Check:
    """One condition on the end, in OSWorld's terms, with what it gets at the start and when all is done.

    Attributes:
        func: Name of the metric.
        result: Getter of what is judged, as in a task file.
        start: What the getter returns at the start: a file's content, or a text.
        goal: What it returns when the job is done.
        reference: Content of the file to compare with; None if there is a rule.
        rule: Rules of the expected state, as in a task file; None if there is a file.
        options: Options of the metric.
    """

    func: str
    result: Mapping[str, Any]
    start: bytes | str | None
    goal: bytes | str
    reference: bytes | None = None
    rule: Mapping[str, Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ending(self) -> str:
        """How the name of the judged file ends, with its dot; metrics go by it."""
        return f".{str(self.result['path']).rpartition('.')[2]}" if "path" in self.result else ""


@dataclass(frozen=True)
class Job:
    """Work of one family, made ready: what lies there, what is asked, how it is judged and done.

    Attributes:
        documents: What it works on; the first is changed, the others are read.
        requests: What is asked for, one an edit.
        closing: What to do at the end, as a sentence; may be empty.
        hints: How to do it, most helpful last.
        checks: Conditions that must all hold at the end.
        steps: Actions that do it, in pyautogui's text, from the moment that the
            first document's window has the focus.
        files: Contents of further files that must lie there, by absolute path.
        prepare: Commands that make the start ready once the files lie there.
    """

    documents: tuple[Document, ...]
    requests: tuple[Request, ...]
    closing: str
    hints: tuple[str, ...]
    checks: tuple[Check, ...]
    steps: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    prepare: tuple[tuple[str, ...], ...] = ()


class Family(abc.ABC):
    """A kind of work that jobs are drawn from.

    A job is plain JSON that says everything about the work; :meth:`read` makes
    documents, sentences, checks and actions of it, and refuses what it cannot.
    """

    name: ClassVar[str]
    """What it is called."""
    applications: ClassVar[tuple[str, ...]]
    """The applications it needs; the first one's document is changed."""
    summary: ClassVar[str]
    """What is asked, in a few words."""

    @abc.abstractmethod
    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a job.

        Args:
            edits: How many edits it asks for, from 1 to :data:`MAX_EDITS`.
            topic: What its documents are about.
            rng: Source of all randomness.
        """

    @abc.abstractmethod
    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make a job ready whose documents lie in a folder.

        Raises:
            InvalidTaskError: If it is malformed or asks for nothing.
        """

    @abc.abstractmethod
    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return jobs that are almost this one, by what is wrong: what they ask for must not count here.

        They leave the documents at the start as they are, so that their actions can be played in this job.
        """

    def impossible(self, job: Mapping[str, Any]) -> Request | None:
        """Return a request that nobody can fulfil, where no document could be missing; else None."""
        return None


def key(*names: str) -> str:
    """Return the action that presses a key, or several together."""
    call = "press" if len(names) == 1 else "hotkey"
    return f"pyautogui.{call}({', '.join(map(repr, names))})"


def write(text: str) -> str:
    """Return the action that types a text."""
    return f"pyautogui.write({text!r})"


def steps_of(*parts: str) -> str:
    """Return several actions as one step."""
    return "; ".join(parts)


def repeated(name: str, times: int) -> str:
    """Return the action that presses a key several times."""
    return key(name) if times == 1 else f"pyautogui.press({name!r}, presses={times})"


def pause(seconds: float) -> str:
    """Return the action that waits, for a window or a field to take what is typed next."""
    return f"time.sleep({seconds:g})"


def show_folder(path: str) -> str:
    """Return the step that shows a folder in the file manager."""
    return steps_of(key("ctrl", "l"), write(path), key("enter"), pause(0.5))


SAVE = key("ctrl", "s")
"""The step that saves in every application with documents."""
