"""Load task files of OSWorld, refusing those that could not be set up or scored."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal

from rla_envs.errors import InputError
from rla_envs.osworld.metrics import METRICS
from rla_envs.osworld.tasks import fields as f
from rla_envs.osworld.tasks.availability import addresses, judge
from rla_envs.osworld.tasks.fields import Field
from rla_envs.osworld.tasks.files import cache_folder, candidates, embedded
from rla_envs.osworld.tasks.forms import (
    GETTERS,
    GETTERS_NOT_OFFERED,
    METRICS_NOT_OFFERED,
    SETUP_STEPS,
    WEB_GETTERS,
)
from rla_envs.osworld.tasks.task_file import Check, Evaluator, Getter, Step, TaskFile

DOMAINS = (
    "chrome",
    "gimp",
    "libreoffice_calc",
    "libreoffice_impress",
    "libreoffice_writer",
    "multi_apps",
    "os",
    "thunderbird",
    "vlc",
    "vs_code",
)
"""OSWorld's domains; its task files lie in folders of these names."""

_EVALUATOR_KEYS = ("func", "result", "expected", "options", "conj", "postconfig")


def load_task(
    path: str | os.PathLike[str],
    files: str | os.PathLike[str] | None = None,
    applications: Collection[str] | None = None,
) -> TaskFile:
    """Load a task file of OSWorld and tell whether it can run here.

    Args:
        path: The file.
        files: The folder with the files that tasks point to on the web; by
            default the environment variable ``RLA_OSWORLD_CACHE``. See
            :func:`rla_envs.osworld.tasks.files.candidates` for its layout.
        applications: Names of the programs that the desktop has
            (``"soffice"``, ``"gimp"``); by default those installed here.

    Raises:
        InputError: If the file cannot be read, or a task in it could not be
            set up or scored as it stands. The message names file and field.
    """
    try:
        data = json.loads(Path(path).read_bytes())
    except OSError as cause:
        reason = cause.strerror or cause
        raise InputError(f"{os.fspath(path)}: expected a readable task file ({reason})") from None
    except (ValueError, RecursionError) as cause:
        raise InputError(f"{os.fspath(path)}: expected JSON, got something else ({cause})") from None
    return parse_task(data, os.fspath(path), files, applications)


def parse_task(
    data: object,
    source: str = "task",
    files: str | os.PathLike[str] | None = None,
    applications: Collection[str] | None = None,
) -> TaskFile:
    """Return the task in a JSON object of OSWorld's format.

    Args:
        data: What a JSON reader returned.
        source: What messages call it; a path gives the task its domain.
        files: As for :func:`load_task`.
        applications: As for :func:`load_task`.

    Raises:
        InputError: As for :func:`load_task`.
    """
    task = Field(data, source)
    content = task.object("a task: an object with id, instruction, config and evaluator")
    folder = cache_folder(files)
    identifier, instruction = f.text(task["id"]), f.text(task["instruction"])
    apps = f.texts(task["related_apps"]) if "related_apps" in content else ()
    config = _steps(task["config"]) if content.get("config") is not None else ()
    evaluator = _evaluator(task["evaluator"])
    _check_addresses(config, evaluator, source)
    _check_saved(task, config, evaluator)
    availability, missing = judge(content, config, evaluator, folder, applications)
    return TaskFile(
        id=identifier,
        instruction=instruction,
        domain=_domain(source, apps),
        related_apps=apps,
        config=config,
        evaluator=evaluator,
        availability=availability,
        missing=missing,
        files=folder,
        _json=content,
    )


def _domain(source: str, apps: tuple[str, ...]) -> str:
    folder = Path(source).parent.name
    if folder in DOMAINS:
        return folder
    return apps[0] if len(apps) == 1 and apps[0] in DOMAINS else "multi_apps"


def _steps(field: Field) -> tuple[Step, ...]:
    steps = []
    for member in field.items("a list of setup steps"):
        member.object("a setup step: an object with type and parameters")
        member.only("key", ("type", "parameters"))
        kind = f.text(member["type"])
        if kind not in SETUP_STEPS:
            raise member["type"].unknown("setup type", SETUP_STEPS)
        steps.append(Step(kind, SETUP_STEPS[kind].read(member["parameters"]), member.name))
    return tuple(steps)


def _evaluator(field: Field) -> Evaluator:
    content = field.object("an evaluator: an object with func, result and expected")
    if not content:
        raise field.error("an evaluator with func, result and expected; an empty one scores nothing")
    field.only("key", _EVALUATOR_KEYS)
    metrics = [_metric(member) for member in field["func"].one_or_more()]
    if not metrics:
        raise field["func"].error("the name of a metric, or a list of them")
    several = isinstance(content["func"], list)
    postconfig = _steps(field["postconfig"]) if content.get("postconfig") is not None else ()
    if "infeasible" in metrics:
        if several:
            raise field["func"].error("the metric 'infeasible' alone, as a text")
        check = Check("infeasible", None, None, {})
        return Evaluator((check,), "and", postconfig)
    results, expecteds, options = (
        _matching(field, key, len(metrics), several) for key in ("result", "expected", "options")
    )
    checks = tuple(map(_check, metrics, results, expecteds, options))
    return Evaluator(checks, _conj(field["conj"]), postconfig)


def _metric(field: Field) -> str:
    name = f.text(field)
    if name not in METRICS and name not in METRICS_NOT_OFFERED:
        raise field.unknown("metric", METRICS)
    return name


def _conj(field: Field) -> Literal["and", "or"]:
    if field.value is None or field.value == "and":
        return "and"
    if field.value == "or":
        return "or"
    raise field.error("'and' or 'or'")


def _matching(field: Field, key: str, count: int, several: bool) -> list[Field]:
    """Return what stands under ``key`` for each metric."""
    part = field[key]
    if not several or part.value in (None, {}, []):
        if isinstance(part.value, list) and part.value:
            raise part.error("an object, since evaluator.func is one metric")
        return [part] * count
    members = part.items(f"a list of {count}, one for each metric of evaluator.func")
    if len(members) != count:
        raise part.error(f"{count} members, one for each metric of evaluator.func ({len(members)} came)")
    return members


def _check(metric: str, result: Field, expected: Field, options: Field) -> Check:
    if not result.value:
        raise result.error(f"a getter, since the metric {metric!r} looks at a result")
    if not expected.value and metric in METRICS and METRICS[metric].needs_expected:
        raise expected.error(f"a getter, since the metric {metric!r} compares with something")
    return Check(
        metric,
        _getter(result),
        _getter(expected) if expected.value else None,
        options.object("an object with the metric's options") if options.value else {},
    )


def _getter(field: Field) -> Getter:
    content = field.object("a getter: an object with a type")
    kind = f.text(field["type"])
    if kind in WEB_GETTERS or kind in GETTERS_NOT_OFFERED:
        return Getter(kind, {key: value for key, value in content.items() if key != "type"}, field.name)
    if kind not in GETTERS:
        raise field["type"].unknown("getter", [*GETTERS, *WEB_GETTERS, *GETTERS_NOT_OFFERED])
    parameters = GETTERS[kind].read(field, besides=("type",))
    if kind in ("vm_file", "cloud_file"):
        _check_files(field, parameters)
    elif kind == "content_from_vm_file" and (parameters["file_type"], parameters["file_content"]) != (
        "xlsx",
        "last_row",
    ):
        raise field.error("file_type 'xlsx' and file_content 'last_row', the only ones that OSWorld has")
    return Getter(kind, parameters, field.name)


def _check_files(field: Field, parameters: Mapping[str, Any]) -> None:
    """Refuse a getter of files whose lists do not go together."""
    multi, count = parameters.get("multi", False), len(parameters["path"])
    for key in ("path", "dest"):
        if isinstance(field[key].value, list) != multi:
            raise field[key].error("a list, as multi is true" if multi else "one text, as multi is not true")
        if len(parameters[key]) != count:
            raise field[key].error(f"{count} members, one for each of path")
    if any(n >= count for n in parameters.get("gives", ())):
        raise field["gives"].error(f"places from 0 to {count - 1} in the list path")


def _check_addresses(config: tuple[Step, ...], evaluator: Evaluator, source: str) -> None:
    """Refuse addresses that lead out of the folder of files, or hold a file that cannot be read."""
    getters = [g for check in evaluator.checks for g in (check.result, check.expected) if g is not None]
    for url in addresses((*config, *evaluator.postconfig), getters):
        try:
            if embedded(url) is None:
                candidates(url)
        except InputError as cause:
            raise InputError(f"{source}: {cause}") from None


def _check_saved(task: Field, config: tuple[Step, ...], evaluator: Evaluator) -> None:
    """Refuse a getter of a command's output that no command saves, and a command that saves it too early."""
    for number, step in enumerate(config):
        for stream in ("stdout", "stderr"):
            if stream in step.parameters:
                field = task["config"][number]["parameters"][stream]
                raise field.error("to be saved by a step of evaluator.postconfig, where it is looked at")
    saved = {step.parameters.get(stream) for step in evaluator.postconfig for stream in ("stdout", "stderr")}
    for check in evaluator.checks:
        for getter in (check.result, check.expected):
            if getter and getter.type == "cache_file" and getter.parameters["path"] not in saved:
                field = Field(getter.parameters["path"], task.file, f"{getter.field}.path")
                raise field.error("a name that a step of evaluator.postconfig saves its output under")
