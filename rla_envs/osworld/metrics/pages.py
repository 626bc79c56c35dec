"""Metrics over trees of marks: HTML pages, accessibility trees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lxml import etree, html
from lxml.cssselect import CSSSelector
from rapidfuzz import fuzz

from rla_envs.errors import InputError
from rla_envs.osworld.metrics.inputs import RejectedResult, read_both, result_text, rule
from rla_envs.osworld.metrics.packages import MAX_XML_BYTES, parse_xml

_NAMESPACE = "https://accessibility.ubuntu.example.org/ns/"
_PREFIXES = {
    "st": "state",
    "attr": "attributes",
    "cp": "component",
    "doc": "document",
    "docattr": "document/attributes",
    "txt": "text",
    "val": "value",
    "act": "action",
}
NAMESPACES = {prefix: _NAMESPACE + name for prefix, name in _PREFIXES.items()}
"""The prefixes of OSWorld's accessibility trees on Linux."""

_MAX_SELECTOR_CHARS = 2_000


def compare_htmls(result: Any, expected: Any, *, ignore_sdnum: bool = False) -> float:
    """Return whether two pages have the same elements, attributes and texts, blanks around texts aside.

    (OSWorld stops at the end of the shorter page.)

    Args:
        result: Path of the agent's page.
        expected: Path of the reference.
        ignore_sdnum: Whether the attribute ``sdnum``, LibreOffice's number format, does not count.
    """

    def elements(path: Path) -> list[Any]:
        data = path.read_bytes()
        if len(data) > MAX_XML_BYTES:
            raise ValueError(f"a page of more than {MAX_XML_BYTES} bytes")
        parser = html.HTMLParser(remove_comments=True, no_network=True)
        ignored = {"sdnum"} if ignore_sdnum else set()
        return [
            (each.tag, (each.text or "").strip(), (each.tail or "").strip(), _attributes(each, ignored))
            for each in html.document_fromstring(data, parser=parser).iter(etree.Element)
        ]

    mine, reference = read_both(elements, result, expected)
    return float(mine == reference)


def check_accessibility_tree(result: Any, expected: Any) -> float:
    """Return whether an accessibility tree has the elements of all rules, or how alike their texts are.

    Args:
        result: The tree's XML.
        expected: A list of rules with ``xpath``, or ``selectors`` (CSS, any of which may match), and perhaps
            the ``text`` one of the elements must have, equal (``exact``, the default) or alike.
    """
    rules = expected if isinstance(expected, list) else [expected]
    find = [_finder(each) for each in rules]
    try:
        tree = parse_xml(result_text(result).encode())
    except (ValueError, etree.XMLSyntaxError) as error:
        raise RejectedResult(f"no accessibility tree: {error}") from error
    score = 1.0
    for each, select in zip(rules, find, strict=True):
        elements = select(tree)
        if not elements:
            return 0.0
        if "text" in each:
            score *= max(_text_score(element.text or "", each) for element in elements)
    return score


def check_left_panel(result: Any) -> float:
    """Return whether the accessibility tree shows Impress's panel of slides."""
    try:
        tree = parse_xml(result_text(result).encode())
    except (ValueError, etree.XMLSyntaxError) as error:
        raise RejectedResult(f"no accessibility tree: {error}") from error
    return float(any(frame.get("name") == "Slides View" for frame in tree.iter("document-frame")))


def _attributes(element: Any, ignored: set[str]) -> dict[str, str]:
    return {name: value for name, value in element.attrib.items() if name not in ignored}


def _finder(each: Any) -> Any:
    if isinstance(each, dict) and "xpath" in each:
        text, make = each["xpath"], etree.XPath
    else:
        text, make = ", ".join(rule(each, "selectors")), CSSSelector
    if len(text) > _MAX_SELECTOR_CHARS:
        raise InputError(f"expected a selector of at most {_MAX_SELECTOR_CHARS} characters, got {len(text)}")
    try:
        return make(text, namespaces=NAMESPACES)
    except Exception as error:
        raise InputError(f"the task's selector {text[:60]!r} cannot be used: {error}") from error


def _text_score(text: str, each: dict[str, Any]) -> float:
    exact = each.get("exact", True)
    return float(text == each["text"]) if exact else fuzz.ratio(text, each["text"]) / 100
