"""Metrics over text files: lines, CSV, JSON, settings."""

from __future__ import annotations

import csv
import difflib
import io
import json
import re
from pathlib import Path
from typing import Any

from rla_envs.errors import InputError
from rla_envs.osworld.metrics.inputs import (
    paths,
    read_both,
    read_result,
    read_text,
    rule,
)
from rla_envs.osworld.metrics.patterns import found
from rla_envs.osworld.metrics.value_rules import obeys

_BLANKS = re.compile(r"\s+")
_TIME_OF_DAY = re.compile(r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)")
_METADATA = ("#!", "# -*- coding:", "# coding:", "# coding=")


def compare_text_file(
    result: Any, expected: Any, *, ignore_blanks: bool = False, ignore_case: bool = False
) -> float:
    """Return whether two texts are the same.

    Args:
        result: Path of the agent's file.
        expected: Path of the reference.
        ignore_blanks: Whether any run of blanks counts as one, and none at the ends.
        ignore_case: Whether capitals are all the same.
    """
    texts = [
        _BLANKS.sub(" ", text).strip() if ignore_blanks else text
        for text in read_both(read_text, result, expected)
    ]
    return float(len({text.lower() if ignore_case else text for text in texts}) == 1)


def compare_config(result: Any, expected: Any) -> float:
    """Return whether a file's text is ``expected["expected"]``."""
    wanted = rule(expected, "expected")
    return float(read_result(read_text, result) == wanted)


def compare_result_files(result: Any, expected: Any) -> float:
    """Return whether a file gives the reference's number or text.

    A reference that is a number may stand anywhere in the result or equal it within 1e-4.
    """
    text, wanted = (side.strip() for side in read_both(read_text, result, expected))
    try:
        number = float(wanted)
    except ValueError:
        return float(text == wanted)
    if wanted in text:
        return 1.0
    try:
        return float(abs(float(text) - number) < 1e-4)
    except ValueError:
        return 0.0


def diff_text_file(result: Any, expected: Any) -> float:
    """Return the share of lines that two texts have in common and in order (`difflib`'s ratio)."""
    texts = read_both(read_text, result, expected)
    return line_similarity(*(text.splitlines() for text in texts))


def line_similarity(lines: list[str], reference: list[str]) -> float:
    """Return `difflib`'s ratio of two lists of lines."""
    return difflib.SequenceMatcher(a=lines, b=reference).ratio()


def compare_python_pure_text(result: Any, expected: Any) -> float:
    """Return whether two programs are the same but for blank lines, blanks at line ends, and tabs.

    Shebang and encoding lines at the start do not count.
    """
    code, reference = (_code_lines(text) for text in read_both(read_text, result, expected))
    return float(code == reference)


def file_contains(result: Any, expected: Any) -> float:
    """Return whether a file has all the texts ``expected["expected"]``."""
    parts = rule(expected, "expected")
    text = read_result(read_text, result)
    return float(all(part in text for part in parts))


def check_line_number(result: Any, expected: Any) -> float:
    """Return whether as many lines as ``expected["expected"]`` have a time of day (``23:59:59``)."""
    wanted = int(rule(expected, "expected"))
    lines = read_result(read_text, result).splitlines()
    return float(sum(_TIME_OF_DAY.search(line) is not None for line in lines) == wanted)


def check_list(result: Any, expected: Any) -> float:
    """Return whether each pattern ``expect`` is found in some line and no ``unexpect`` in any."""
    expect, unexpect = _both_lists(expected)
    lines = read_result(read_text, result).splitlines()
    return float(
        all(any(found(pattern, line) for line in lines) for pattern in expect)
        and not any(found(pattern, line) for pattern in unexpect for line in lines)
    )


def check_csv(result: Any, expected: Any) -> float:
    """Return whether a table with a header has each record ``expect`` (column: value) and no ``unexpect``."""
    expect, unexpect = _both_lists(expected)
    records = read_result(_records, result)
    return float(
        all(any(_has(record, wanted) for record in records) for wanted in expect)
        and not any(_has(record, unwanted) for record in records for unwanted in unexpect)
    )


def check_json(result: Any, expected: Any, *, is_yaml: bool = False) -> float:
    """Check values of a JSON file.

    Args:
        result: Path of the agent's file.
        expected: ``expect`` and ``unexpect``: lists of value rules (`obeys`), each with ``key``, the path to
            its value. An expected value that is not there fails; an unexpected one passes.
        is_yaml: Whether the file is YAML.
    """
    expect, unexpect = _both_lists(expected)
    document = read_result(_yaml if is_yaml else _json, result)
    if document is None:
        return 0.0
    for wanted in expect:
        present, value = _at(document, rule(wanted, "key"))
        if not present or not obeys(value, wanted):
            return 0.0
    for unwanted in unexpect:
        present, value = _at(document, rule(unwanted, "key"))
        if present and obeys(value, unwanted):
            return 0.0
    return 1.0


def check_json_settings(result: Any, expected: Any) -> float:
    """Return whether a JSON object has all the entries of ``expected["expected"]``."""
    wanted = rule(expected, "expected")
    settings = read_result(_json, result)
    return float(
        isinstance(settings, dict) and all(settings.get(key, _ABSENT) == wanted[key] for key in wanted)
    )


def check_json_keybindings(result: Any, expected: Any) -> float:
    """Return whether key bindings (a list, after a line of comment or none) have ``expected["expected"]``."""
    wanted = rule(expected, "expected")
    bindings = read_result(_after_comment, result)
    return float(isinstance(bindings, list) and wanted in bindings)


_ABSENT = object()


def _code_lines(text: str) -> list[str]:
    lines = text.splitlines()
    start = 0
    while start < min(3, len(lines)) and lines[start].strip().startswith(_METADATA):
        start += 1
    return [line.expandtabs(4).rstrip() for line in lines[start:] if line.strip()]


def _both_lists(expected: Any) -> tuple[list[Any], list[Any]]:
    if not isinstance(expected, dict) or not {"expect", "unexpect"} & expected.keys():
        raise InputError(f"expected rules with 'expect' or 'unexpect', got {expected!r}")
    return paths(expected.get("expect", [])), paths(expected.get("unexpect", []))


def _records(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(read_text(path), newline="")))


def _has(record: dict[str, str], part: dict[str, str]) -> bool:
    return all(record.get(key) == value for key, value in part.items())


def _json(path: Path) -> Any:
    return json.loads(read_text(path))


def _after_comment(path: Path) -> Any:
    text = read_text(path)
    try:
        return json.loads(text)
    except ValueError:
        return json.loads(text.partition("\n")[2])


def _yaml(path: Path) -> Any:
    import yaml

    text = read_text(path)
    # Nested aliases ("a billion laughs") expand without end when their value is compared or printed.
    if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
        raise ValueError("YAML with aliases")
    return yaml.safe_load(text)


def _at(document: Any, keys: list[Any]) -> tuple[bool, Any]:
    value = document
    for key in keys:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return False, None
    return True, value
