"""Build a task from its payload: instruction, OSWorld's task file, documents, checks and a witness."""

from __future__ import annotations

import base64
import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rla_envs.errors import InvalidTaskError
from rla_envs.osworld.families import reading
from rla_envs.osworld.families.base import (
    FILE_MANAGER,
    KINDS,
    OFFICE,
    TERMINAL,
    Check,
    Document,
    Job,
    key,
    pause,
    repeated,
    show_folder,
    steps_of,
    write,
)
from rla_envs.osworld.families.documents import workbook
from rla_envs.osworld.families.spec import Spec
from rla_envs.task import Task, canonical_json

FAIL, DONE = "FAIL", "DONE"
"""The actions that end an episode: it cannot be done; it is done."""

_OPENING_SECONDS = 5
"""Time that the witness gives an application to start."""
TERMINAL_TITLE = "Terminal"
_DISTRACTOR_TITLES = ("System log", "Downloads", "Remote session")


@dataclass(frozen=True, eq=False)
class BuiltTask:
    """A task made ready.

    Attributes:
        spec: What it was built from.
        jobs: The jobs, in the order of the instruction.
        instruction: What the agent is told.
        uploads: Content of every file that lies there at the start, by absolute path.
        checks: Conditions that must all hold at the end; none if it cannot be done.
        witness: Actions that solve it.
        plan_length: Steps of the witness; of a task that cannot be done, those it
            would take if the document were there, so that a budget tells nothing.
        applications: Names of the applications that take part.
        addresses: Places that an exact instruction names, some of which a vague one does not.
        hints: The hints that are given.
    """

    spec: Spec
    jobs: tuple[Job, ...]
    instruction: str
    uploads: Mapping[str, bytes]
    checks: tuple[Check, ...]
    witness: tuple[str, ...]
    plan_length: int
    applications: tuple[str, ...]
    addresses: tuple[str, ...]
    hints: tuple[str, ...]

    @property
    def documents(self) -> tuple[Document, ...]:
        """All that is worked on or read, in the order in which it is opened: each job's first one last."""
        return tuple(_shown_documents(self.jobs))

    def task_json(self, task_id: str) -> dict[str, Any]:
        """Return the task as a task file of OSWorld that holds its files in ``data:`` addresses."""
        files = [{"url": _data_url(data), "path": path} for path, data in self.uploads.items()]
        setup = [{"type": "download", "parameters": {"files": files}}] if files else []
        return self.task_file(task_id, setup, {n: _data_url(d) for n, d in self.references().items()})

    def task_file(
        self, task_id: str, setup: Sequence[Mapping[str, Any]], references: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return the task as a task file of OSWorld.

        Args:
            task_id: Its id.
            setup: The steps that put the files in place.
            references: Address of every reference file, by the names of :meth:`references`.
        """
        return {
            "id": task_id,
            "snapshot": self.applications[0],
            "instruction": self.instruction,
            "source": "generated",
            "config": [*setup, *self._setup()],
            "related_apps": list(self.applications),
            "evaluator": _evaluator(self.checks, references),
        }

    def references(self) -> dict[str, bytes]:
        """Return the files that the end is compared with, by the name they are kept under."""
        return {
            _reference_name(number, check): check.reference
            for number, check in enumerate(self.checks)
            if check.reference is not None
        }

    def _setup(self) -> list[dict[str, Any]]:
        gone = self.spec.missing and not self.jobs[0].documents[0].called
        commands: list[tuple[str, ...]] = [("mkdir", "-p", self.spec.folder)]
        commands += [command for job in self.jobs[gone:] for command in job.prepare]
        steps = [_step("execute", command=list(command)) for command in commands]
        for title in _DISTRACTOR_TITLES[: self.spec.distractor_windows]:
            steps.append(_step("launch", command=["xterm", "-T", title]))
            steps.append(_step("activate_window", window_name=title))
        if self.spec.start == 0 and not gone:
            shown = self.documents
        else:
            folder = self.spec.folder if self.spec.start < 2 else reading.HOME
            # There is no other way to a terminal.
            terminals = [d for d in self.documents if d.application == TERMINAL][:1]
            shown = (*terminals, Document(folder, None, FILE_MANAGER, ""))
        for document in shown:
            steps += _opening(document)
        return steps


def build(payload: object) -> BuiltTask:
    """Build a task; the same payload gives the same task, byte for byte.

    Raises:
        InvalidTaskError: If the payload is malformed or its jobs get in each other's way.
    """
    try:
        text = canonical_json(payload)  # type: ignore[arg-type] # whether it is JSON is found out here
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidTaskError(
            f"payload: expected JSON of a few levels, got something else ({error})"
        ) from error
    return _build(text)


@functools.lru_cache(maxsize=128)
def _build(text: str) -> BuiltTask:
    spec = Spec.from_payload(json.loads(text))
    jobs = tuple(_read(spec, number) for number in range(len(spec.works)))
    uploads = _uploads(spec, jobs)
    steps = _witness(spec, jobs)
    hints = tuple(dict.fromkeys(hint for job in jobs for hint in job.hints[: spec.hints]))
    return BuiltTask(
        spec=spec,
        jobs=jobs,
        instruction=_instruction(spec, jobs, hints),
        uploads=uploads,
        checks=() if spec.missing else tuple(check for job in jobs for check in job.checks),
        witness=(FAIL,) if spec.missing else steps,
        plan_length=len(steps),
        applications=tuple(dict.fromkeys(name for work in spec.works for name in work.family.applications)),
        addresses=tuple(address for job in jobs for address in _addresses(job)),
        hints=hints,
    )


def build_task(task: Task) -> BuiltTask:
    """Build a task of the environment."""
    return build(task.payload)


def _addresses(job: Job) -> list[str]:
    places = [place for d in job.documents if not d.called for place in (d.path, d.name)]
    return [*places, *(request.address for request in job.requests)]


def _read(spec: Spec, number: int) -> Job:
    work = spec.works[number]
    job = work.family.read(work.job, spec.folder)
    impossible = work.family.impossible(work.job) if spec.missing and number == 0 else None
    if impossible is None:
        return job
    return dataclasses.replace(job, requests=(impossible, *job.requests[1:]))


def _uploads(spec: Spec, jobs: Sequence[Job]) -> dict[str, bytes]:
    uploads: dict[str, bytes] = {}
    places: list[str] = []
    for number, job in enumerate(jobs):
        gone = job.documents[0].path if spec.missing and number == 0 else ""
        for document in job.documents:
            if not document.called:
                places.append(document.path)
            if document.data is not None and document.path != gone:
                uploads[document.path] = document.data
        for path, data in job.files.items():
            if path in uploads:
                raise InvalidTaskError(f"expected every file once, got {path} twice")
            if not gone or not path.startswith(f"{gone}/"):
                uploads[path] = data
    reading.distinct(places, "documents of the jobs")
    for name in spec.distractor_files:
        path = f"{spec.folder}/{name}"
        if path in uploads or path in places:
            raise InvalidTaskError(f"distractor_files: expected other names than the task's, got {name!r}")
        uploads[path] = _useless(name)
    return uploads


def _useless(name: str) -> bytes:
    stem, _, ending = name.rpartition(".")
    if ending == "xlsx":
        return workbook({"Sheet1": [["Item", "Count"], [stem, len(stem)]]})
    return f"Nothing about {stem} yet.\n".encode()


def _instruction(spec: Spec, jobs: Sequence[Job], hints: Sequence[str]) -> str:
    parts = [_ask(job, spec.wording) for job in jobs]
    text = " Then, ".join([parts[0], *(part[0].lower() + part[1:] for part in parts[1:])])
    return " ".join([text, *(f"Hint: {hint}" for hint in hints)])


def _ask(job: Job, wording: int) -> str:
    requests = [request.worded(wording) for request in job.requests]
    listed = requests[0] if len(requests) == 1 else "; ".join([*requests[:-1], f"and {requests[-1]}"])
    sources = [_reference(document, wording) for document in job.documents[1:]]
    source = f", with what {' and '.join(sources)} says" if sources else ""
    sentence = f"In {_reference(job.documents[0], wording)}{source}: {listed}."
    return f"{sentence} {job.closing}".strip()


def _reference(document: Document, wording: int) -> str:
    if document.called:
        return document.called
    kind = "folder" if document.data is None else KINDS[document.application]
    if wording == 0:
        return f"the {kind} {document.path}"
    if wording == 1:
        return f"the {kind} {document.name}"
    return f"the {kind} about {document.about}"


def _witness(spec: Spec, jobs: Sequence[Job]) -> tuple[str, ...]:
    """Return the steps that do all jobs, following the focus from window to window.

    Windows are reached by Alt+Tab, which goes through them by when they were used last.
    """
    steps: list[str] = []
    if spec.start == 0:
        recent = [document.path for document in _shown_documents(jobs)][::-1]
        # The job whose window has the focus comes first; the order does not matter for the outcome.
        for job in reversed(jobs):
            steps += [*_switch(recent, job.documents[0].path), *job.steps]
    else:
        recent = [FILE_MANAGER, TERMINAL]
        for job in jobs:
            steps += [*_reach(recent, spec, job.documents[0]), *job.steps]
    return (*steps, DONE)


def _shown_documents(jobs: Sequence[Job]) -> list[Document]:
    return [document for job in jobs for document in reversed(job.documents)]


def _switch(recent: list[str], window: str) -> list[str]:
    """Return the steps to a window, none if it has the focus, and note that it has it then."""
    presses = recent.index(window)
    recent.insert(0, recent.pop(presses))
    if presses == 0:
        return []
    # The window manager takes its time to see that keys are held.
    held = ("pyautogui.keyDown('alt')", repeated("tab", presses), pause(0.4), "pyautogui.keyUp('alt')")
    return [steps_of(*held, pause(0.4))]


def _reach(recent: list[str], spec: Spec, document: Document) -> list[str]:
    """Return the steps to a document that is not open, from the file manager."""
    if document.application == TERMINAL:
        return _switch(recent, TERMINAL)
    steps = _switch(recent, FILE_MANAGER)
    if document.application == FILE_MANAGER:
        return [*steps, show_folder(document.path)]
    recent.insert(0, document.path)
    found = [write(document.name), pause(0.3), key("esc"), key("enter"), pause(_OPENING_SECONDS)]
    if document.application in OFFICE:
        # A second document's window comes up without the focus; all of them fill the screen.
        found.append("pyautogui.click(300, 8)")
    return [*steps, show_folder(document.folder), steps_of(*found)]


def _opening(document: Document) -> list[dict[str, Any]]:
    if document.application == TERMINAL:
        return [
            _step("launch", command=["xterm", "-T", TERMINAL_TITLE]),
            _step("activate_window", window_name=TERMINAL_TITLE),
        ]
    # OSWorld's "open" waits for the window; in a box, it shows a folder in the file manager.
    return [_step("open", path=document.path), _step("activate_window", window_name=document.name)]


def _step(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"type": kind, "parameters": parameters}


def _evaluator(checks: Sequence[Check], references: Mapping[str, str]) -> dict[str, Any]:
    if not checks:
        return {"func": "infeasible"}
    expected: list[dict[str, Any]] = []
    for number, check in enumerate(checks):
        if check.rule is not None:
            expected.append({"type": "rule", "rules": dict(check.rule)})
        else:
            name = _reference_name(number, check)
            expected.append({"type": "cloud_file", "path": references[name], "dest": name})
    parts: dict[str, list[Any]] = {
        "func": [check.func for check in checks],
        "result": [dict(check.result) for check in checks],
        "expected": expected,
        "options": [dict(check.options) for check in checks],
    }
    if len(checks) == 1:
        return {name: values[0] for name, values in parts.items()}
    return {**parts, "conj": "and"}


def _reference_name(number: int, check: Check) -> str:
    return f"expected_{number}{check.ending}"


def _data_url(data: bytes) -> str:
    return f"data:application/octet-stream;base64,{base64.b64encode(data).decode()}"
