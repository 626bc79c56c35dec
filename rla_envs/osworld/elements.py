"""What can be clicked on a desktop, as short lines of text, from its accessibility tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from rla_envs.errors import InputError

_STATE = "{https://accessibility.ubuntu.example.org/ns/state}"
_PLACE = "{https://accessibility.ubuntu.example.org/ns/component}"
_CLICKED = frozenset(
    {
        "push-button", "toggle-button", "radio-button", "check-box", "combo-box", "menu", "menu-item",
        "check-menu-item", "radio-menu-item", "page-tab", "link", "list-item", "tree-item", "icon",
        "table-cell", "column-header", "spin-button", "entry", "text", "password-text", "terminal",
        "paragraph", "document-text", "slider",
    }
)  # fmt: skip
"""Roles that a click does something with."""
_WRITTEN = frozenset({"entry", "text", "password-text", "terminal", "paragraph", "table-cell", "spin-button"})
"""Roles whose text is shown."""

_PAIR = re.compile(r"\((-?\d+), (-?\d+)\)")
_SHOWN_TEXT = 120


@dataclass(frozen=True)
class Element:
    """Something on the screen that can be clicked.

    Attributes:
        key: Role, name, and which of those with this role and name it is, from 1.
        line: Role, name, text and state, for people and models: ``menu "File" (focused)``.
        x: Its middle in pixels, from the left.
        y: Its middle in pixels, from the top.
    """

    key: tuple[str, str, int]
    line: str
    x: int
    y: int


def list_elements(tree: str, most: int) -> Iterator[Element]:
    """Yield what is shown and can be clicked, in the order of the tree.

    Args:
        tree: OSWorld's XML form of an accessibility tree.
        most: How many elements are yielded at most.

    Raises:
        InputError: If the tree is no XML.
    """
    try:
        root = ElementTree.fromstring(tree)
    except ElementTree.ParseError as error:
        raise InputError(f"accessibility_tree: expected XML, got {tree[:60]!r}: {error}") from error
    times: dict[tuple[str, str], int] = {}
    left = most
    for node in root.iter():
        element = _read(node, times) if node.tag in _CLICKED else None
        if element is not None and left:
            left -= 1
            yield element


def describe_elements(tree: str, most: int) -> str:
    """Return :func:`list_elements` as text, a line each with its middle: ``(40, 12) menu "File"``."""
    return "\n".join(f"({e.x}, {e.y}) {e.line}" for e in list_elements(tree, most))


def _read(node: ElementTree.Element, times: dict[tuple[str, str], int]) -> Element | None:
    """Return the element that a node stands for; None if there is nothing to be clicked."""
    place = _PAIR.fullmatch(node.get(f"{_PLACE}screencoord", ""))
    size = _PAIR.fullmatch(node.get(f"{_PLACE}size", ""))
    if node.get(f"{_STATE}showing") != "true" or place is None or size is None:
        return None
    (x, y), (width, height) = map(int, place.groups()), map(int, size.groups())
    name = " ".join(node.get("name", "").split())
    text = " ".join("".join(node.itertext()).split()) if node.tag in _WRITTEN else ""
    middle = (x + width // 2, y + height // 2)
    if min(width, height) <= 0 or min(middle) < 0 or not (name or node.tag in _WRITTEN):
        return None
    times[node.tag, name] = occurrence = times.get((node.tag, name), 0) + 1
    line = f'{node.tag} "{name}"' if name else node.tag
    if text and text != name:
        line += f": {text[:_SHOWN_TEXT]}"
    for state in ("focused", "checked", "selected"):
        if node.get(f"{_STATE}{state}") == "true":
            line += f" ({state})"
    return Element((node.tag, name, occurrence), line, *middle)
