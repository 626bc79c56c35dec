"""Reads one application's part of the tree: what shows, from its windows down."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

from . import _atspi
from ._atspi import Bus, Callback, Conversation, pack_strings
from ._table import visible_cells
from ._wire import Method, Reference

MAX_DEPTH = 50
"""Levels below the desktop that are read (OSWorld's limit)."""
MAX_CHILDREN = 1024
"""Children of one node that are read (OSWorld's limit)."""

SELECTED, SHOWING, VISIBLE, MANAGES_DESCENDANTS = 1 << 23, 1 << 25, 1 << 30, 1 << 31
"""Bits of a set of states (AT-SPI's ``AtspiStateType``)."""

_SCREEN = struct.pack("<I", 0)
_WHOLE_TEXT = struct.pack("<ii", 0, -1)
_NAME = pack_strings("org.a11y.atspi.Accessible", "Name")
_VALUE = pack_strings("org.a11y.atspi.Value")
_NOWHERE = "/org/a11y/atspi/null"


@dataclass(slots=True)
class Kind:
    """What does not change about an object while it lives."""

    role: str = ""
    interfaces: frozenset[str] = frozenset()
    attributes: dict[str, str] = field(default_factory=dict)
    actions: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def native(self) -> bool:
        """Whether GTK draws it. GTK knows where its widgets are, and their attributes never change."""
        return self.attributes.get("toolkit") == "gtk"


@dataclass(slots=True)
class Node:
    """An accessible object, with what was read of it.

    Attributes:
        extents: x, y, width and height on the screen, as the application gives them.
    """

    reference: Reference
    kind: Kind = field(default_factory=Kind)
    name: str = ""
    states: int = 0
    extents: tuple[int, int, int, int] | None = None
    text: str = ""
    value: dict[str, float] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)

    @property
    def showing(self) -> bool:
        """Whether it is on the screen, as far as the application knows."""
        return self.states & (SHOWING | VISIBLE) == SHOWING | VISIBLE


class Walk:
    """One reading of an application.

    What shows is followed from the application's windows down; an object that
    does not show is left out with all below it (the items of closed menus),
    apart from the windows themselves. All questions that can be asked are in
    flight at once.

    Args:
        bus: The bus to ask on.
        application: The application's root.
        known: What is known of its objects from earlier readings.
        max_nodes: Nodes to read at most; those beyond are left out.

    Attributes:
        kinds: What is known of its objects after this reading, for the next.
        answered: Whether the application named its windows; False if it ended.
    """

    def __init__(
        self, bus: Bus, application: Reference, known: dict[Reference, Kind], max_nodes: int
    ) -> None:
        """Ask the first questions; see the class for the arguments."""
        self.bus = bus
        self.conversation = Conversation()
        self.root = Node(application, Kind(role="application"))
        self.kinds: dict[Reference, Kind] = {}
        self.answered = False
        self._known = known
        self._seen = {application}
        self._left = max_nodes
        self.ask(application, _atspi.GET_STATE, b"", into(self.root, "states"))
        self.ask(application, _atspi.GET, _NAME, into(self.root, "name"))
        self.ask(application, _atspi.GET_CHILDREN, b"", self._start)

    @property
    def size(self) -> int:
        """How many nodes were found to show."""
        return len(self.kinds)

    def ask(self, target: Reference, method: Method, body: bytes, done: Callback) -> None:
        """Queue a question to the application."""
        self.bus.call(self.conversation, target, method, body, done)

    def add(self, parent: Node, target: Reference) -> Node | None:
        """Add a node to the tree; None if it is there already or the tree is full."""
        if self._left <= 0 or target in self._seen or target[1] == _NOWHERE:
            return None
        self._left -= 1
        self._seen.add(target)
        node = Node(target)
        parent.children.append(node)
        return node

    def descend(self, node: Node, found: list[Reference] | None, depth: int) -> None:
        """Go on with these children of a node, which are at this depth below the desktop's root."""
        if depth > MAX_DEPTH:
            return
        for target in (found or ())[:MAX_CHILDREN]:
            child = self.add(node, target)
            if child is not None:
                self._visit(child, node, depth)

    def _start(self, windows: list[Reference] | None) -> None:
        self.answered = windows is not None
        self.descend(self.root, windows, 2)

    def _visit(self, node: Node, parent: Node, depth: int) -> None:
        def look(states: int | None) -> None:
            node.states = states or 0
            if node.showing or parent is self.root:
                self._describe(node)
            if not node.showing or _closed(node, parent):
                return
            if node.states & MANAGES_DESCENDANTS:
                visible_cells(self, node, depth + 1)
            else:
                self.ask(
                    node.reference,
                    _atspi.GET_CHILDREN,
                    b"",
                    lambda found: self.descend(node, found, depth + 1),
                )

        self.ask(node.reference, _atspi.GET_STATE, b"", look)

    def _describe(self, node: Node) -> None:
        """Ask for everything about a node but its states and children."""
        target = node.reference
        self.ask(target, _atspi.GET, _NAME, into(node, "name"))
        self.ask(target, _atspi.GET_EXTENTS, _SCREEN, into(node, "extents"))
        known = self._known.get(target)
        if known is None:
            self._learn(node)
            return
        node.kind = self.kinds[target] = known
        self._ask_by_interface(node)
        if not known.native:
            self.ask(target, _atspi.GET_ATTRIBUTES, b"", into(known, "attributes"))

    def _learn(self, node: Node) -> None:
        kind = node.kind
        target = node.reference

        def learn(interfaces: list[str] | None) -> None:
            if interfaces is None:
                return
            kind.interfaces = frozenset(name.rpartition(".")[2] for name in interfaces)
            self.kinds[target] = kind
            self._ask_by_interface(node)
            if "Action" in kind.interfaces:
                self.ask(target, _atspi.GET_ACTIONS, b"", into(kind, "actions"))

        self.ask(target, _atspi.GET_ROLE_NAME, b"", into(kind, "role"))
        self.ask(target, _atspi.GET_ATTRIBUTES, b"", into(kind, "attributes"))
        self.ask(target, _atspi.GET_INTERFACES, b"", learn)

    def _ask_by_interface(self, node: Node) -> None:
        if "Text" in node.kind.interfaces:
            self.ask(node.reference, _atspi.GET_TEXT, _WHOLE_TEXT, into(node, "text"))
        if "Value" in node.kind.interfaces:
            self.ask(node.reference, _atspi.GET_ALL, _VALUE, into(node, "value"))


def into(owner: object, name: str) -> Callback:
    """Return a callback that puts an answer into an attribute; without an answer, the attribute stays."""

    def put(answer: Any) -> None:
        if answer is not None:
            setattr(owner, name, answer)

    return put


def drawn_elsewhere(node: Node, parent: Node) -> bool:
    """Whether this is LibreOffice's own menu bar, which it does not draw where GTK has one."""
    return node.kind.role == "menu bar" and not node.kind.native and parent.kind.role == "root pane"


def _closed(node: Node, parent: Node) -> bool:
    """Whether nothing below the node can show: GTK marks a menu in a menu as selected while it is open.

    It only saves questions, and only about objects that are known from before.
    """
    if drawn_elsewhere(node, parent):
        return True
    in_menu = node.kind.role == "menu" and parent.kind.role in ("menu", "menu bar")
    return in_menu and node.kind.native and not node.states & SELECTED
