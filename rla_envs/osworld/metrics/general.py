"""Metrics over text and JSON values: command output, lists, what a getter parsed.

Where a rule's text must be found in a result, a result that is no text or list scores 0.
"""

from __future__ import annotations

import ast
import json
from typing import Any

from rapidfuzz import fuzz

from rla_envs.errors import InfrastructureError, InputError, unknown_name
from rla_envs.osworld.metrics.inputs import RejectedResult, result_text, rule

_FAILED_REFERENCE = "__EVALUATION_FAILED__"
"""What OSWorld's relative-time rules put where a reference could not be worked out."""


def infeasible(result: Any) -> float:
    """Return whether the agent declared the task infeasible.

    Args:
        result: True where the agent's last action was FAIL.
    """
    return float(result is True)


def exact_match(result: Any, expected: Any) -> float:
    """Return whether a value equals ``expected["expected"]``."""
    return float(result == rule(expected, "expected"))


def compare_answer(result: Any, expected: Any) -> float:
    """Return whether an answer in words equals ``expected["expected"]``; an empty one never does."""
    return float(bool(result) and result == rule(expected, "expected"))


def match_in_list(result: Any, expected: Any) -> float:
    """Return whether a value is one of ``expected["expected"]``."""
    return float(result in rule(expected, "expected"))


def is_in_list(result: Any, expected: Any) -> float:
    """Return whether a list has the item, or a text the part, ``expected["expected"]``."""
    return float(_contains(result, rule(expected, "expected")))


def literal_match(result: Any, expected: Any, *, type: str = "str", ignore_case: bool = False) -> float:
    """Return whether two values, or two lists of them, read the same.

    Args:
        result: The agent's value.
        expected: The reference.
        type: ``"str"`` compares the values as text, ``"list"`` item by item in order.
        ignore_case: Whether capitals are all the same.
    """
    if type not in ("str", "list"):
        raise unknown_name("type of literal_match", type, ("str", "list"))
    if type == "list":
        if not isinstance(expected, (list, tuple)):
            raise InputError(f"literal_match of type 'list' expects a list, got {expected!r}")
        if not isinstance(result, (list, tuple)):
            return 0.0
    sides = [[side] if type == "str" else list(side) for side in (result, expected)]
    texts = [[str(item).lower() if ignore_case else str(item) for item in side] for side in sides]
    return float(texts[0] == texts[1])


def fuzzy_match(result: Any, expected: Any) -> float:
    """Return the similarity (in [0, 1]) of a text to ``expected["expected"]``."""
    return fuzz.ratio(result_text(result), rule(expected, "expected")) / 100


def check_include_exclude(result: Any, expected: Any) -> float:
    """Return whether a text has every ``include`` of the rules and no ``exclude``."""
    if not isinstance(expected, dict) or not {"include", "exclude"} & expected.keys():
        raise InputError(f"expected rules with 'include' or 'exclude', got {expected!r}")
    text = result_text(result)
    return float(
        all(part in text for part in expected.get("include", []))
        and not any(part in text for part in expected.get("exclude", []))
    )


def is_extension_installed(result: Any, expected: Any) -> float:
    """Return whether a listing has (type ``contain``) or lacks (``not_contain``) a text."""
    kind, part = rule(expected, "type"), rule(expected, "expected")
    if kind not in ("contain", "not_contain"):
        raise unknown_name("type of is_extension_installed", kind, ("contain", "not_contain"))
    return float((part in result_text(result)) == (kind == "contain"))


def is_in_vm_clickboard(result: Any, expected: Any) -> float:
    """Return whether the clipboard has all the texts looked for.

    The one task that uses it names the rule (``{"expected": text or list}``) as the result and the clipboard
    as the reference; the order here is OSWorld's.
    """
    parts = rule(result, "expected")
    if not isinstance(expected, str):
        return 0.0
    return float(all(part in expected for part in (parts if isinstance(parts, list) else [parts])))


def check_direct_json_object(result: Any, expected: Any) -> float:
    """Compare the entries of an object with those of ``expected["expected"]``; further entries do not count.

    Text is parsed as JSON; where that fails, as JSON with single quotes. With ``expect_in_result`` a
    reference list is a choice: one item must equal the value or be in it; a reference text must be part of
    the value.
    ``ignore_list_order`` is taken from the rules, where task files have it (OSWorld looks for it among the
    values, so that it never has an effect there).
    """
    references = rule(expected, "expected")
    if not isinstance(references, dict):
        raise InputError(f"expected an object under 'expected', got {references!r}")
    if _FAILED_REFERENCE in references.values():
        raise InfrastructureError("the reference of check_direct_json_object could not be worked out")
    value = _json_object(result)
    if expected.get("expect_in_result", False):
        same = _one_of
    else:
        same = _same_items if expected.get("ignore_list_order", False) else _equal
    return float(all(same(value.get(key), reference) for key, reference in references.items()))


def check_gnome_favorite_apps(result: Any, expected: Any) -> float:
    """Return whether a printed list (``['a.desktop', ...]``) has just the apps of the rules, in any order."""
    apps = _literal(result)
    wanted = rule(expected, "expected")
    return float(isinstance(apps, list) and _same_items(apps, wanted))


def check_moved_jpgs(result: Any, expected: Any) -> float:
    """Return whether a listed folder (``{"children": [{"name": ...}]}``) has just the files of the rules."""
    wanted = rule(expected, "expected")
    children = result.get("children") if isinstance(result, dict) else None
    if not isinstance(children, list):
        return 0.0
    return float(_same_items([child.get("name") for child in children if isinstance(child, dict)], wanted))


def is_utc_0(result: Any) -> float:
    """Return whether ``timedatectl`` names a time zone without offset to UTC.

    The line is found by its label; OSWorld takes the fourth one.
    """
    zones = [line for line in result_text(result).splitlines() if line.strip().startswith("Time zone:")]
    return float(any(line.rstrip().endswith("+0000)") for line in zones))


def check_text_enlarged(result: Any) -> float:
    """Return whether a text scaling factor is more than 1."""
    try:
        return float(float(result) > 1.0)
    except (TypeError, ValueError):
        return 0.0


def _contains(whole: Any, part: Any) -> bool:
    if isinstance(whole, str):
        return isinstance(part, str) and part in whole
    return isinstance(whole, (list, tuple)) and part in whole


def _json_object(result: Any) -> dict[str, Any]:
    value = result
    if isinstance(result, str):
        try:
            value = json.loads(result.strip())
        except ValueError:
            try:
                value = json.loads(result.strip().replace("'", '"'))
            except ValueError:
                raise RejectedResult("the result is no JSON") from None
    if not isinstance(value, dict):
        raise RejectedResult(f"expected an object, got {type(value).__name__}")
    return value


def _equal(value: Any, reference: Any) -> bool:
    return bool(value == reference)


def _same_items(value: Any, reference: Any) -> bool:
    if not isinstance(reference, list) or not isinstance(value, list):
        return bool(value == reference)
    return sorted(map(repr, value)) == sorted(map(repr, reference))


def _one_of(value: Any, reference: Any) -> bool:
    if isinstance(reference, list):
        return any(choice == value or (isinstance(value, list) and choice in value) for choice in reference)
    if not isinstance(reference, str):
        raise InputError(f"expect_in_result compares texts and lists, got the reference {reference!r}")
    return _contains(value, reference)


def _literal(result: Any) -> Any:
    text = result_text(result)
    try:
        return ast.literal_eval(text.strip()) if len(text) <= 100_000 else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
