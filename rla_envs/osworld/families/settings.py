"""Work on settings: of the text editor, and of the resources that X programs read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rla_envs.errors import InvalidTaskError
from rla_envs.osworld.families import reading
from rla_envs.osworld.families.base import TERMINAL, Check, Document, Family, Job, Request
from rla_envs.osworld.families.terminal import run
from rla_envs.osworld.families.text import as_text, file_check
from rla_envs.osworld.families.topics import Topic

_SCHEMA = "org.xfce.mousepad.preferences.view"
_SETTINGS = {
    "auto-indent": "indent new lines like the line above",
    "highlight-current-line": "highlight the line with the cursor",
    "match-braces": "show matching brackets",
    "show-line-endings": "show the ends of lines",
    "show-line-numbers": "show line numbers",
    "show-right-margin": "show a margin on the right",
    "show-whitespace": "show spaces and tabs",
    "word-wrap": "wrap long lines",
}
"""Switches of Mousepad that are off by default, with what each does (its GSettings schema)."""

_NO_SETTING = "show-page-breaks"

_RESOURCES = {
    "XTerm.faceSize": ("the size of the terminal's letters", ("9", "11", "13", "15")),
    "XTerm.saveLines": ("the lines that the terminal keeps", ("200", "500", "2000", "9000")),
    "XTerm.scrollBar": ("whether the terminal has a scroll bar", ("true", "false")),
    "XTerm.background": ("the colour behind the terminal's text", ("black", "white", "navy", "ivory")),
    "XTerm.cursorColor": ("the colour of the terminal's cursor", ("red", "green", "orange", "blue")),
    "Xcursor.size": ("the size of the pointer", ("16", "24", "32", "48")),
}


class SettingsEditor(Family):
    """Switch on settings of the text editor."""

    name = "settings_editor"
    applications = (TERMINAL,)
    summary = "switch on settings of the text editor"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw settings."""
        keys = [str(key) for key in rng.permutation(list(_SETTINGS))[:edits]]
        return {"edits": [{"key": key} for key in keys]}

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("edits",))
        entries = [reading.fields(e, "edit", ("key",)) for e in reading.items(job["edits"], "edits", 1, 6)]
        keys = [reading.choice(entry["key"], "key", list(_SETTINGS)) for entry in entries]
        reading.distinct(keys, "edits")
        requests = [
            Request(
                f"set {_SCHEMA} {key} to true",
                f"switch on {key}",
                f"let it {_SETTINGS[key]}",
                f"{_SCHEMA} {key}",
            )
            for key in keys
        ]
        steps = [run(f"gsettings set {_SCHEMA} {key} true") for key in keys]
        command = f"for key in {' '.join(_SETTINGS)}; do echo $key $(gsettings get {_SCHEMA} $key); done"
        check = Check(
            "exact_match",
            {"type": "vm_command_line", "command": ["sh", "-c", command]},
            _state(()),
            _state(keys),
            rule={"expected": _state(keys)},
        )
        settings = Document("", None, TERMINAL, "", called="the settings of the text editor Mousepad")
        hints = (
            "The text editor's menus change them too.",
            "`gsettings set SCHEMA KEY VALUE` changes a setting.",
        )
        return Job((settings,), tuple(requests), "", hints, (check,), tuple(steps))

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Another setting instead of the last, or besides; or another one still."""
        keys = [edit["key"] for edit in job["edits"]]
        free = [key for key in _SETTINGS if key not in keys]
        misses = {
            "wrong setting": [*keys[:-1], free[0]],
            "one setting too many": [*keys, free[-1]],
            "another setting": [*keys[:-1], free[-1]],
        }
        return {wrong: {"edits": [{"key": key} for key in found]} for wrong, found in misses.items()}

    def impossible(self, job: Mapping[str, Any]) -> Request:
        """Return the request for a setting that the editor does not have."""
        return Request(
            f"set {_SCHEMA} {_NO_SETTING} to true",
            f"switch on {_NO_SETTING}",
            "let it show where pages would break",
            f"{_SCHEMA} {_NO_SETTING}",
        )


def _state(on: tuple[str, ...] | list[str]) -> str:
    return "".join(f"{key} {'true' if key in on else 'false'}\n" for key in _SETTINGS)


class SettingsResources(Family):
    """Change X resources in a file, and put them in force."""

    name = "settings_resources"
    applications = (TERMINAL,)
    summary = "change X resources and put them in force"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw values for all resources, and others for some."""
        values = {key: [str(v) for v in rng.permutation(values)] for key, (_, values) in _RESOURCES.items()}
        chosen = [str(key) for key in rng.permutation(list(_RESOURCES))[:edits]]
        return {
            "file": f"{topic.stem}.txt",
            "about": topic.about,
            "values": {key: value[0] for key, value in values.items()},
            "edits": [{"key": key, "value": values[key][1]} for key in chosen],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("file", "about", "values", "edits"))
        values = reading.fields(job["values"], "values", list(_RESOURCES))
        start = {key: _value(key, values[key]) for key in _RESOURCES}
        name = reading.file_name(job["file"], "file", ".txt")
        document = Document(f"{folder}/{name}", _file(start), TERMINAL, reading.text(job["about"], "about"))
        end, requests, steps, done = dict(start), [], [run(f"cd {folder}")], []
        for entry in reading.items(job["edits"], "edits", 1, 6):
            edit = reading.fields(entry, "edit", ("key", "value"))
            key = reading.choice(edit["key"], "key", list(_RESOURCES))
            value = _value(key, edit["value"])
            if value == start[key]:
                raise InvalidTaskError(f"edit of {key}: expected another value than {value}")
            end[key] = value
            done.append(key)
            meaning = _RESOURCES[key][0]
            requests.append(
                Request(
                    f"set {key} to {value}",
                    f"set {key.split('.')[1]} to {value}",
                    f"let {meaning} be {value}",
                    key,
                )
            )
            steps.append(run(f"sed -i 's/^{key}:.*/{key}: {value}/' {name}"))
        reading.distinct(done, "edits")
        steps.append(run(f"xrdb -nocpp -merge {name}"))
        listing = "xrdb -query | grep -E '^(XTerm|Xcursor)[.]' | tr -d ' \\t' | LC_ALL=C sort"
        result = {"type": "vm_command_line", "command": ["sh", "-c", listing]}
        in_force = Check("exact_match", result, _query(start), _query(end), rule={"expected": _query(end)})
        checks = (file_check(document, _file(end)), in_force)
        closing = "Then load the file with `xrdb -merge`, so that it is in force."
        hints = ("xrdb -query shows what is in force.", "`sed -i 's/old/new/' file` changes a file.")
        prepare = ("xrdb", "-nocpp", "-load", document.path)
        return Job((document,), tuple(requests), closing, hints, checks, tuple(steps), prepare=(prepare,))

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The last value another, or of another resource; one resource too many."""
        *others, last = job["edits"]
        taken = {edit["key"] for edit in job["edits"]}
        free = [
            {"key": key, "value": _other(key, job["values"][key])} for key in _RESOURCES if key not in taken
        ]
        misses: dict[str, list[Any]] = {
            "wrong resource": [*others, free[0]],
            "one resource too many": [*job["edits"], free[-1]],
        }
        wrong = [
            v for v in _RESOURCES[last["key"]][1] if v not in (last["value"], job["values"][last["key"]])
        ]
        misses["wrong value"] = [*others, {**last, "value": wrong[0]}] if wrong else [*others, free[-1]]
        return {name: {**job, "edits": edits} for name, edits in misses.items()}


def _value(key: str, value: object) -> str:
    return reading.choice(value, f"value of {key}", _RESOURCES[key][1])


def _other(key: str, value: str) -> str:
    return next(other for other in _RESOURCES[key][1] if other != value)


def _file(values: Mapping[str, str]) -> bytes:
    return as_text([f"{key}: {value}" for key, value in values.items()])


def _query(values: Mapping[str, str]) -> str:
    return "".join(sorted(f"{key}:{value}\n" for key, value in values.items()))
