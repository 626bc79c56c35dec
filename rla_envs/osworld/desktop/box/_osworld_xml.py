"""The accessibility tree in OSWorld's XML form.

The form is that of the server in OSWorld's Ubuntu machines: a node's tag is
its role with ``-`` for spaces, its name is an attribute, everything else an
attribute in a namespace, its text the element's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.sax.saxutils import quoteattr

from ._walk import Node, drawn_elsewhere

NAMESPACES = {
    prefix: f"https://accessibility.ubuntu.example.org/ns/{name}"
    for prefix, name in (
        ("st", "state"),
        ("attr", "attributes"),
        ("cp", "component"),
        ("doc", "document"),
        ("docattr", "document/attributes"),
        ("txt", "text"),
        ("val", "value"),
        ("act", "action"),
    )
}
"""Prefixes and the namespaces that they stand for."""

MAX_TEXT = 20_000
"""Characters of one node's text or attribute that are kept."""

_STATES = (
    "invalid", "active", "armed", "busy", "checked", "collapsed", "defunct", "editable", "enabled",
    "expandable", "expanded", "focusable", "focused", "has_tooltip", "horizontal", "iconified", "modal",
    "multi_line", "multiselectable", "opaque", "pressed", "resizable", "selectable", "selected",
    "sensitive", "showing", "single_line", "stale", "transient", "vertical", "visible",
    "manages_descendants", "indeterminate", "required", "truncated", "animated", "invalid_entry",
    "supports_autocompletion", "selectable_text", "is_default", "visited", "checkable", "has_popup",
    "read_only",
)  # fmt: skip
_VALUES = (
    ("value", "CurrentValue"),
    ("min", "MinimumValue"),
    ("max", "MaximumValue"),
    ("step", "MinimumIncrement"),
)
# What XML 1.0 cannot carry (section 2.2), and the marks for objects within text, which OSWorld drops as well.
_UNWANTED = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffb\U00010000-\U0010ffff]")
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_FAR_OFF = -(1 << 31)
_state_attributes: dict[int, str] = {}


def desktop(applications: Iterable[str]) -> str:
    """Return the document that holds these applications' elements."""
    declared = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in NAMESPACES.items())
    return f"<desktop-frame {declared}>{''.join(applications)}</desktop-frame>"


def element(node: Node) -> str:
    """Return a node and all below it as an element."""
    parts: list[str] = []
    _write(node, node, (0, 0), parts)
    return "".join(parts)


def clean(text: str) -> str:
    """Return text without what XML cannot carry, cut to :data:`MAX_TEXT` characters."""
    return _UNWANTED.sub("", text[:MAX_TEXT])


def _write(node: Node, parent: Node, shift: tuple[int, int], parts: list[str]) -> None:
    shift = _shift(node, parent, shift)
    tag = _xml_name(node.kind.role.strip() or "unknown")
    parts.append(f"<{tag} name={_quoted(node.name)}{_state_names(node.states)}")
    for name, value in node.kind.attributes.items():
        if name:
            parts.append(f" attr:{_xml_name(name)}={_quoted(value)}")
    if node.showing and node.extents is not None:
        x, y, width, height = node.extents
        parts.append(f' cp:screencoord="({x + shift[0]}, {y + shift[1]})" cp:size="({width}, {height})"')
    for interface in ("Image", "Selection"):
        if interface in node.kind.interfaces:
            parts.append(f' {interface.lower()}="true"')
    for name, key in _VALUES:
        if key in node.value:
            parts.append(f' val:{name}="{node.value[key]}"')
    for name, text in _actions(node).items():
        parts.append(f" act:{name}={_quoted(text)}")
    parts.append(">")
    parts.append(clean(node.text).translate(_ESCAPED))
    for child in node.children:
        if child.kind.role and not drawn_elsewhere(child, node) and not _scrolled_away(child):
            _write(child, node, shift, parts)
    parts.append(f"</{tag}>")


def _shift(node: Node, parent: Node, shift: tuple[int, int]) -> tuple[int, int]:
    """Return what must be added to a node's coordinates to have them on the screen.

    LibreOffice paints its documents and tool bars into one GTK widget, and
    reckons their places from the window's corner without the menu bar that GTK
    puts above. GTK knows where the widget is, and the outermost of
    LibreOffice's own nodes fills it; so the two rectangles show the error,
    whatever caused it. GTK's widgets further in are right as they are.
    """
    if node.kind.native:
        return 0, 0
    if parent.kind.native and node.extents is not None and parent.extents is not None:
        x, y, *size = node.extents
        true_x, true_y, *true_size = parent.extents
        return (true_x - x, true_y - y) if size == true_size else (0, 0)
    return shift


def _scrolled_away(node: Node) -> bool:
    """Whether it is a row that is scrolled out of sight: GTK says that those show, but far off the screen."""
    return node.showing and node.extents is not None and node.extents[1] == _FAR_OFF


def _state_names(states: int) -> str:
    known = _state_attributes.get(states)
    if known is None:
        names = (name for bit, name in enumerate(_STATES) if states >> bit & 1)
        known = _state_attributes[states] = "".join(f' st:{name}="true"' for name in names)
    return known


def _actions(node: Node) -> dict[str, str]:
    found = {}
    for action, description, key in node.kind.actions:
        if not action:
            continue
        name = _xml_name(action)
        found[f"{name}_desc"] = description
        found[f"{name}_kb"] = key
    return found


def _quoted(text: str) -> str:
    return quoteattr(clean(text))


def _xml_name(text: str) -> str:
    name = re.sub(r"[^\w.-]", "-", text, flags=re.ASCII)
    return name if name[0].isalpha() or name[0] == "_" else f"_{name}"
