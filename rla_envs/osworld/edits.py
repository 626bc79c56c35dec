"""Edits of OSWorld's generated tasks: one operation each, towards harder or easier.

A task's payload lists jobs: the first is the family's own, errands follow.
Every job lists the edits it asks for, as JSON objects of its family's form.

======================  ========================  ==========================================
op                      fields                    effect
======================  ========================  ==========================================
``add_edit``            ``job``, ``edit``         ask a job for one more edit (JSON text)
``remove_edit``         ``job``, ``number``       ask a job for one edit less
``add_errand``          ``family``, ``job``       add a job of another family (JSON text)
``remove_errand``       ``number``                take a job away
``set_vagueness``       ``value``                 let the instruction say it otherwise
``set_hints``           ``value``                 give so many hints for each document
``set_start``           ``value``                 let documents be open, or to be found
``add_distractor``      ``name``                  put a useless file beside the documents
``remove_distractor``   ``name``                  take it away
``set_windows``         ``value``                 let so many useless windows be open
``set_step_budget``     ``value``                 change how many steps are allowed
======================  ========================  ==========================================

An edit is refused, with the reason, if it is malformed, changes nothing, leaves
a difficulty parameter's range, or leaves a task that cannot be done or is done
before it begins.
"""

from __future__ import annotations

import copy
import json
import reprlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from rla_envs.difficulty import parse_difficulty
from rla_envs.edit_language import EditField, EditOperation, apply_changes
from rla_envs.errors import RefusedEditError
from rla_envs.osworld.difficulty import PARAMETERS, measured
from rla_envs.osworld.families.build import build
from rla_envs.osworld.families.register import FAMILIES, find_family
from rla_envs.osworld.families.spec import (
    MAX_DISTRACTOR_FILES,
    MAX_DISTRACTOR_WINDOWS,
    MAX_ERRANDS,
    MAX_HINTS,
    STARTS,
    WORDINGS,
)
from rla_envs.osworld.families.topics import TOPICS
from rla_envs.task import Task, TaskEdit, canonical_json

_JOB = EditField("job", int, "number of the job, from 0")
_NUMBER = EditField("number", int, "its number, from 0")

EDIT_OPERATIONS = (
    EditOperation(
        "add_edit",
        (_JOB, EditField("edit", str, "JSON text of an edit in the job's form")),
        "ask a job for one more edit",
    ),
    EditOperation("remove_edit", (_JOB, _NUMBER), "ask a job for one edit less"),
    EditOperation(
        "add_errand",
        (EditField("family", str, ", ".join(FAMILIES)), EditField("job", str, "JSON text of its job")),
        "add a job of another family",
    ),
    EditOperation("remove_errand", (_NUMBER,), "take a job besides the first away"),
    EditOperation(
        "set_vagueness",
        (EditField("value", str, ", ".join(WORDINGS)),),
        "say what is meant by exact places, by names, or by description",
    ),
    EditOperation("set_hints", (EditField("value", int, f"0 to {MAX_HINTS}"),), "give so many hints"),
    EditOperation(
        "set_start",
        (EditField("value", str, ", ".join(STARTS)),),
        "let documents be open, or the file manager at their folder, or at the home folder",
    ),
    EditOperation(
        "add_distractor",
        (EditField("name", str, "name of a .txt or .xlsx file"),),
        "put a useless file beside the documents",
    ),
    EditOperation("remove_distractor", (EditField("name", str, "its name"),), "take a useless file away"),
    EditOperation(
        "set_windows",
        (EditField("value", int, f"0 to {MAX_DISTRACTOR_WINDOWS}"),),
        "let so many useless windows be open",
    ),
    EditOperation(
        "set_step_budget",
        (EditField("value", float, "multiple of the witness's steps"),),
        "change how many steps are allowed",
    ),
)
"""The language as a table for programs: edits are checked by it, prompts are made from it."""

_SETTABLE = ("infeasible", "step_budget")
"""The difficulty parameters that are not measured on the task."""

_Draft = dict[str, Any]
"""A payload as plain JSON, with the step budget under ``"step_budget"``."""


def apply_edit(task: Task, edit: TaskEdit) -> Task:
    """Return the edited task, not yet checked; its difficulty is measured again.

    Raises:
        RefusedEditError: If an operation or a field is unknown, missing or
            malformed, or if nothing changes.
        InputError: If the task or the edited task is not one that can be built.
    """
    stated = parse_difficulty(PARAMETERS, task.difficulty)
    build(task.payload)
    before = {**json.loads(canonical_json(task.payload)), "step_budget": stated["step_budget"]}
    draft = apply_changes(before, edit.changes, EDIT_OPERATIONS, _APPLY)
    payload = {name: value for name, value in draft.items() if name != "step_budget"}
    settable = {"infeasible": stated["infeasible"], "step_budget": draft["step_budget"]}
    difficulty = parse_difficulty(PARAMETERS, {**measured(build(payload)), **settable})
    return task.child(payload, difficulty)


def propose_edits(task: Task, direction: str, rng: np.random.Generator) -> list[TaskEdit]:
    """Return single-operation edits that should move the task in a direction, in random order.

    Harder: one more edit, an errand in another application, vaguer words, a
    hint less, documents to be found, one more useless file or window, less
    budget. Easier: the reverse. Some may be refused when applied.

    Args:
        task: The task.
        direction: ``"harder"`` or ``"easier"``.
        rng: Source of all randomness.
    """
    payload = json.loads(canonical_json(task.payload))
    changes = list(_harder(task, payload, rng) if direction == "harder" else _easier(task, payload, rng))
    return [
        TaskEdit((changes[int(i)],), direction=direction, author="rule", reason=f"one {direction} step")
        for i in rng.permutation(len(changes))
    ]


def _jobs(draft: _Draft) -> list[tuple[str, dict[str, Any]]]:
    spec = draft["spec"]
    return [(draft["family"], spec["job"]), *((e["family"], e["job"]) for e in spec["errands"])]


def _harder(task: Task, payload: _Draft, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    spec, jobs = payload["spec"], _jobs(payload)
    for number, (name, job) in enumerate(jobs):
        longer = [j for j in FAMILIES[name].near_misses(job).values() if len(j["edits"]) > len(job["edits"])]
        for other in longer:
            yield {"op": "add_edit", "job": number, "edit": json.dumps(other["edits"][-1])}
    if len(spec["errands"]) < MAX_ERRANDS:
        used = {application for name, _ in jobs for application in FAMILIES[name].applications}
        others = [f for f in FAMILIES.values() if len(f.applications) == 1 and not used & {*f.applications}]
        if others:
            family, split = others[int(rng.integers(len(others)))], _split(jobs)
            topics = [topic for topic in TOPICS[split] if f'"{topic.about}"' not in json.dumps(spec)]
            job = family.sample(1, topics[int(rng.integers(len(topics)))], rng)
            yield {"op": "add_errand", "family": family.name, "job": json.dumps(job)}
    if spec["wording"] + 1 < len(WORDINGS):
        yield {"op": "set_vagueness", "value": WORDINGS[spec["wording"] + 1]}
    if spec["hints"] > 0:
        yield {"op": "set_hints", "value": spec["hints"] - 1}
    if spec["start"] + 1 < len(STARTS):
        yield {"op": "set_start", "value": STARTS[spec["start"] + 1]}
    if len(spec["distractor_files"]) < MAX_DISTRACTOR_FILES:
        topic = TOPICS[_split(jobs)][int(rng.integers(len(TOPICS[_split(jobs)])))]
        yield {"op": "add_distractor", "name": f"{topic.stem}_old.{('txt', 'xlsx')[int(rng.integers(2))]}"}
    if spec["distractor_windows"] < MAX_DISTRACTOR_WINDOWS:
        yield {"op": "set_windows", "value": spec["distractor_windows"] + 1}
    yield from _budget(task, 0.75)


def _easier(task: Task, payload: _Draft, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    spec, jobs = payload["spec"], _jobs(payload)
    for number, (_, job) in enumerate(jobs):
        if len(job["edits"]) > 1:
            yield {"op": "remove_edit", "job": number, "number": int(rng.integers(len(job["edits"])))}
    if spec["errands"]:
        yield {"op": "remove_errand", "number": int(rng.integers(len(spec["errands"])))}
    if spec["wording"] > 0:
        yield {"op": "set_vagueness", "value": WORDINGS[spec["wording"] - 1]}
    if spec["hints"] < MAX_HINTS:
        yield {"op": "set_hints", "value": spec["hints"] + 1}
    if spec["start"] > 0:
        yield {"op": "set_start", "value": STARTS[spec["start"] - 1]}
    if names := spec["distractor_files"]:
        yield {"op": "remove_distractor", "name": names[int(rng.integers(len(names)))]}
    if spec["distractor_windows"] > 0:
        yield {"op": "set_windows", "value": spec["distractor_windows"] - 1}
    yield from _budget(task, 1.25)


def _budget(task: Task, factor: float) -> Iterator[dict[str, Any]]:
    parameter = next(p for p in PARAMETERS if p.name == "step_budget")
    old = task.difficulty["step_budget"]
    new = min(max(round(old * factor, 6), parameter.low), parameter.high)
    if new != old:
        yield {"op": "set_step_budget", "value": new}


def _split(jobs: list[tuple[str, dict[str, Any]]]) -> str:
    """Return the split whose topics a task's documents are about, so that edits keep to it."""
    text = json.dumps([job for _, job in jobs])
    return "valid" if any(f'"{topic.about}"' in text for topic in TOPICS["valid"]) else "train"


def _member(values: list[Any], number: int, what: str) -> Any:
    if not 0 <= number < len(values):
        raise RefusedEditError(f"{what}: expected a number from 0 to {len(values) - 1}, got {number}")
    return values[number]


def _parsed(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RefusedEditError(f"{what}: expected JSON text, got {reprlib.repr(text)}") from error


def _changing(
    change: Callable[[_Draft, Mapping[str, Any]], None],
) -> Callable[[_Draft, Mapping[str, Any]], _Draft]:
    """Return an operation that changes a copy of a draft in place."""

    def operation(draft: _Draft, values: Mapping[str, Any]) -> _Draft:
        after = copy.deepcopy(draft)
        change(after, values)
        return after

    return operation


def _add_edit(draft: _Draft, values: Mapping[str, Any]) -> None:
    _, job = _member(_jobs(draft), values["job"], "job")
    job["edits"].append(_parsed(values["edit"], "edit"))


def _remove_edit(draft: _Draft, values: Mapping[str, Any]) -> None:
    _, job = _member(_jobs(draft), values["job"], "job")
    _member(job["edits"], values["number"], "number")
    if len(job["edits"]) == 1:
        raise RefusedEditError("remove_edit: expected a job with more than one edit; use remove_errand")
    del job["edits"][values["number"]]


def _add_errand(draft: _Draft, values: Mapping[str, Any]) -> None:
    family = find_family(values["family"]).name
    draft["spec"]["errands"].append({"family": family, "job": _parsed(values["job"], "job")})


def _remove_errand(draft: _Draft, values: Mapping[str, Any]) -> None:
    errands = draft["spec"]["errands"]
    if not errands:
        raise RefusedEditError("remove_errand: expected a task with a job besides the first")
    _member(errands, values["number"], "number")
    del errands[values["number"]]


def _set_name(field: str, names: tuple[str, ...]) -> Callable[[_Draft, Mapping[str, Any]], None]:
    def change(draft: _Draft, values: Mapping[str, Any]) -> None:
        if values["value"] not in names:
            raise RefusedEditError(
                f"{field}: expected one of {', '.join(names)}, got {values['value'][:80]!r}"
            )
        draft["spec"][field] = names.index(values["value"])

    return change


def _set_number(field: str) -> Callable[[_Draft, Mapping[str, Any]], None]:
    def change(draft: _Draft, values: Mapping[str, Any]) -> None:
        draft["spec"][field] = values["value"]

    return change


def _add_distractor(draft: _Draft, values: Mapping[str, Any]) -> None:
    if values["name"] in draft["spec"]["distractor_files"]:
        raise RefusedEditError(f"add_distractor: {values['name'][:80]!r} is there already")
    draft["spec"]["distractor_files"].append(values["name"])


def _remove_distractor(draft: _Draft, values: Mapping[str, Any]) -> None:
    names = draft["spec"]["distractor_files"]
    if values["name"] not in names:
        raise RefusedEditError(f"remove_distractor: expected one of {names}, got {values['name'][:80]!r}")
    names.remove(values["name"])


def _set_step_budget(draft: _Draft, values: Mapping[str, Any]) -> None:
    draft.update(parse_difficulty(PARAMETERS, {"step_budget": values["value"]}))


_APPLY: dict[str, Callable[[_Draft, Mapping[str, Any]], _Draft]] = {
    "add_edit": _changing(_add_edit),
    "remove_edit": _changing(_remove_edit),
    "add_errand": _changing(_add_errand),
    "remove_errand": _changing(_remove_errand),
    "set_vagueness": _changing(_set_name("wording", WORDINGS)),
    "set_hints": _changing(_set_number("hints")),
    "set_start": _changing(_set_name("start", STARTS)),
    "add_distractor": _changing(_add_distractor),
    "remove_distractor": _changing(_remove_distractor),
    "set_windows": _changing(_set_number("distractor_windows")),
    "set_step_budget": _changing(_set_step_budget),
}
