"""Finds the visible part of a table that is too large to list.

A sheet has 2**34 cells and a long list of files thousands. Which of them are
visible is found by asking what is at the table's corners. Of a spreadsheet's
visible cells, those that hold something or have the focus are reported; an
empty cell says nothing that its neighbours' places do not.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from . import _atspi
from ._atspi import pack_strings
from ._wire import Reference

if TYPE_CHECKING:
    from ._walk import Node, Walk

MAX_CELLS = 5000
"""Cells of one table that are looked at, row by row from the top."""
LISTED_WHOLE = 100
"""A table with at most this many children is listed like any other node."""
MAX_LISTED = 1024
"""What manages its descendants, is no table, and has more than so many is read without them."""

_NAME = pack_strings("org.a11y.atspi.Accessible", "Name")
_CHILD_COUNT = pack_strings("org.a11y.atspi.Accessible", "ChildCount")
_SCREEN = struct.pack("<I", 0)
_WHOLE_TEXT = struct.pack("<ii", 0, -1)
_FOCUSED = 1 << 12
_INSETS = (3, 28, 54)  # pixels from the upper edge to probes, clear of borders, and of a heading or two
_INSET = _INSETS[0]  # the same for the other edges
_HEADED_ROWS = 2  # rows that may lie between a heading and the probe below it
_LARGEST = (1 << 31) - 1  # of AT-SPI's numbers for rows, columns and children; what is above was negative

Place = tuple[int, int]
"""Row and column, from 0."""


def visible_cells(walk: Walk, table: Node, depth: int) -> None:
    """Add the visible children of a node that manages its descendants.

    Args:
        walk: The reading under way; it has asked for everything about ``table``.
        table: The node.
        depth: The depth of its children below the desktop's root.
    """

    def decide(count: int | None) -> None:
        # An application answers in order, so the node's interfaces and extents are known by now.
        is_table = "Table" in table.kind.interfaces
        if count is not None and 0 <= count <= (LISTED_WHOLE if is_table else MAX_LISTED):
            walk.ask(
                table.reference, _atspi.GET_CHILDREN, b"", lambda found: walk.descend(table, found, depth)
            )
        elif is_table and table.extents is not None:
            _Probes(walk, table, depth)

    walk.ask(table.reference, _atspi.GET, _CHILD_COUNT, decide)


def cell_name(row: int, column: int) -> str:
    """Return a spreadsheet's name for a cell: B3 is in row 2 and column 1."""
    letters = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return f"{letters}{row + 1}"


def cell_place(name: str) -> Place | None:
    """Return where a spreadsheet's cell of this name is; None if it is no such name."""
    match = re.fullmatch(r"([A-Z]{1,3})([1-9][0-9]{0,6})", name)
    if match is None:
        return None
    column = 0
    for letter in match[1]:
        column = column * 26 + ord(letter) - ord("A") + 1
    return int(match[2]) - 1, column - 1


class _Probes:
    """What is at the corners of a table, and so its visible rows and columns."""

    def __init__(self, walk: Walk, table: Node, depth: int) -> None:
        self.walk = walk
        self.table = table
        self.depth = depth
        self.places: list[Place] = []
        self.spreadsheet = False
        x, y, width, height = table.extents or (0, 0, 0, 0)
        bottom = y + height - 1 - _INSET
        points = [
            (at_x, at_y)
            for at_x in (x + _INSET, x + width - 1 - _INSET)
            for at_y in (*(min(y + inset, bottom) for inset in _INSETS), bottom)
        ]
        self.open = len(points)
        for point in points:
            walk.ask(table.reference, _atspi.AT_POINT, struct.pack("<iiI", *point, 0), self._hit)

    def _hit(self, cell: Reference | None) -> None:
        if cell is None or cell == self.table.reference:
            self._close(None, None)
            return

        def by_name(name: str | None) -> None:
            place = cell_place(name or "")
            if place is None:
                self.walk.ask(cell, _atspi.GET_INDEX, b"", self._locate)
                return
            # The index of a sheet's cell would not fit in AT-SPI's 32 bits.
            self.spreadsheet = True
            self._close(*place)

        self.walk.ask(cell, _atspi.GET, _NAME, by_name)

    def _locate(self, index: int | None) -> None:
        if index is None or index > _LARGEST:
            self._close(None, None)
            return
        rows: list[int | None] = []
        body = struct.pack("<i", index)
        self.walk.ask(self.table.reference, _atspi.ROW_AT, body, rows.append)
        self.walk.ask(
            self.table.reference, _atspi.COLUMN_AT, body, lambda column: self._close(rows[0], column)
        )

    def _close(self, row: int | None, column: int | None) -> None:
        if row is not None and column is not None and max(row, column) <= _LARGEST:
            self.places.append((row, column))
        self.open -= 1
        if not self.open and self.places:
            self._ask_for_cells()

    def _ask_for_cells(self) -> None:
        rows, columns = zip(*self.places, strict=True)
        first, last = min(rows), max(rows)
        if not self.spreadsheet:
            first, last = max(first - _HEADED_ROWS, 0), last + 1
        across = range(min(columns), max(columns) + 1)
        places = ((row, column) for row in range(first, last + 1) for column in across)
        visible = list(islice(places, MAX_CELLS))
        found: list[Reference] = []
        for place in visible:
            if self.spreadsheet:
                done = partial(self._read, place)
            else:
                done = partial(self._collect, found, visible[-1:] == [place])
            self.walk.ask(self.table.reference, _atspi.AT_CELL, struct.pack("<ii", *place), done)

    def _collect(self, found: list[Reference], last: bool, cell: Reference | None) -> None:
        if cell is not None:
            found.append(cell)
        if last:
            self.walk.descend(self.table, found, self.depth)

    def _read(self, place: Place, cell: Reference | None) -> None:
        if cell is None:
            return
        texts: list[str | None] = []
        self.walk.ask(cell, _atspi.GET_TEXT, _WHOLE_TEXT, texts.append)
        self.walk.ask(cell, _atspi.GET_STATE, b"", partial(self._keep_or_drop, place, cell, texts))

    def _keep_or_drop(
        self, place: Place, cell: Reference, texts: Sequence[str | None], states: int | None
    ) -> None:
        text = texts[0] or ""
        if states is None or not (text or states & _FOCUSED):
            return
        node = self.walk.add(self.table, cell)
        if node is None:
            return
        node.kind.role = "table cell"
        node.name, node.text, node.states = cell_name(*place), text, states
        self.walk.ask(cell, _atspi.GET_EXTENTS, _SCREEN, partial(setattr, node, "extents"))
        self.walk.ask(
            cell, _atspi.GET_ATTRIBUTES, b"", lambda found: node.kind.attributes.update(found or {})
        )
