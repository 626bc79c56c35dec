"""Metrics over Thunderbird's files: preferences, filters, folders of messages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from rla_envs.errors import InputError
from rla_envs.osworld.metrics.inputs import paths, read_expected, read_result, read_text
from rla_envs.osworld.metrics.value_rules import obeys

_PREFERENCE = re.compile(r'user_pref\("((?:[^"\\]|\\.)+)", (.+)\);')
_CONDITION = re.compile(r"""\b(?:AND|OR) \([\w ]+,[\w ']+,(?:"[^"]+"|[^)]+)\)|\bALL\b""")
_FILTER_ENTRIES = ("name", "enabled", "type", "action", "actionValue", "condition")
_DELETED = re.compile(r"^X-Mozilla-Status: 000[89]", re.M)


def check_thunderbird_prefs(result: Any, expected: Any) -> float:
    """Return whether preferences obey all rules ``expect`` and none of ``unexpect``.

    Args:
        result: Path of a ``prefs.js``.
        expected: Value rules (`obeys`) by the preferences' names. One that is not set does not obey.
    """
    expect, unexpect = _rules(expected, dict)
    preferences = read_result(_preferences, result)
    return float(
        all(name in preferences and obeys(preferences[name], each) for name, each in expect.items())
        and not any(name in preferences and obeys(preferences[name], each) for name, each in unexpect.items())
    )


def check_thunderbird_filter(result: Any, expected: Any) -> float:
    """Return whether each filter ``expect`` is there and none of ``unexpect``.

    Args:
        result: Path of a ``msgFilterRules.dat``.
        expected: Lists of filters: entries by name; ``condition`` is the list of conditions.
    """
    expect, unexpect = _rules(expected, list)
    found = read_result(_filters, result)

    def is_there(wanted: dict[str, Any]) -> bool:
        return any(all(each.get(name) == value for name, value in wanted.items()) for each in found)

    return float(all(map(is_there, expect)) and not any(map(is_there, unexpect)))


def check_thunderbird_folder(
    result: Any,
    expected: Any,
    *,
    ignore_status: bool = False,
    ignore_keys: bool = False,
    remove_deleted: bool = True,
    remove_duplicate: bool = True,
) -> float:
    """Return whether folders hold the same messages, in any order.

    OSWorld's own function looks for the wrong separator and skips every message, so that any two files are
    the same to it; this is what its options say.

    Args:
        result: Path of the agent's folder (mbox), or one for each reference.
        expected: Path of the reference, or several.
        ignore_status: Whether the status header does not count.
        ignore_keys: Whether the header with the labels does not count.
        remove_deleted: Whether messages marked as deleted do not count.
        remove_duplicate: Whether a message may be there several times.
    """
    ignored = [name for name, asked in (("Status2?", ignore_status), ("Keys", ignore_keys)) if asked]
    header = re.compile(rf"^X-Mozilla-(?:{'|'.join(ignored)}):.*\n", re.M) if ignored else None

    def messages(path: Path) -> list[str]:
        # A message begins with a line "From - " and a date, which is that of its arrival.
        first, *others = re.split(r"^From - .*\n", read_text(path), flags=re.M)
        # What precedes the first such line is a message as programs export single ones (.eml).
        found = [first, *others] if first.strip() else others
        kept = [text for text in found if not (remove_deleted and _DELETED.search(text))]
        texts = [(header.sub("", text) if header else text).strip() for text in kept]
        return sorted(set(texts) if remove_duplicate else texts)

    references = [read_expected(messages, path) for path in paths(expected)]
    return float([read_result(messages, path) for path in paths(result)] == references)


def _rules(expected: Any, kind: type) -> tuple[Any, Any]:
    parts = (
        [expected.get(name, kind()) for name in ("expect", "unexpect")] if isinstance(expected, dict) else []
    )
    if not any(parts) or not all(isinstance(part, kind) for part in parts):
        raise InputError(f"expected rules with 'expect' or 'unexpect' ({kind.__name__}), got {expected!r}")
    return parts[0], parts[1]


def _preferences(path: Path) -> dict[str, Any]:
    found = (_PREFERENCE.fullmatch(line.strip()) for line in read_text(path).splitlines())
    return {match[1]: json.loads(match[2]) for match in found if match}


def _filters(path: Path) -> list[dict[str, Any]]:
    filters: list[dict[str, Any]] = []
    for line in read_text(path).splitlines():
        name, _, quoted = line.partition("=")
        if name not in _FILTER_ENTRIES:
            continue
        value = quoted.strip()[1:-1].replace('\\"', '"').replace("\\\\", "\\")
        if name == "name":
            filters.append({})
        if filters:
            filters[-1][name] = _CONDITION.findall(value) if name == "condition" else value
    return filters
