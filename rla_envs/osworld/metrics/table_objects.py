"""Facts about a sheet that are not in its cells: charts, pivot tables, filters, rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from openpyxl.utils import coordinate_to_tuple
from openpyxl.worksheet.worksheet import Worksheet

from rla_envs.errors import unknown_name

Rule = dict[str, Any]


def charts(sheet: Worksheet, rules: Rule) -> list[tuple[str, list[tuple[str, Any]]]]:
    """Return each chart's source and the properties ``chart_props``, in the order of the sources.

    The source names the ranges of values and categories (or of Y and X) of each series. Properties: those of
    ``_CHART``; ``direction`` is "bar" for horizontal bars and "col" for vertical ones; ``anchor`` is the
    cells at its corners; sizes are centimetres.
    """
    read = _chosen("property of a chart", rules.get("chart_props", []), _CHART)
    found = (
        (";".join(map(_series_source, chart.series)), [(name, each(chart)) for name, each in read])
        for chart in sheet._charts
    )
    return sorted(found, key=repr)


def pivots(sheet: Worksheet, rules: Rule) -> list[tuple[str, list[tuple[str, Any]]]]:
    """Return each pivot table's source and the properties ``pivot_props``, in the order of the sources.

    Columns of the source before the first and after the last one that the table uses for grouping do not
    count, so that a table over a wider range is the same; fields are numbered from the first. ``filter`` and
    ``selection`` are what is shown and hidden of each field, in order with ``ordered`` among the properties;
    with ``data_fields_name`` data fields count their names.
    """
    asked = rules.get("pivot_props", [])
    switches = {"ordered", "data_fields_name"}
    read = _chosen("property of a pivot table", [name for name in asked if name not in switches], _PIVOT)
    found = []
    for pivot in sheet._pivots:
        shape = _PivotShape(pivot, ordered="ordered" in asked, named="data_fields_name" in asked)
        found.append((shape.source, [(name, each(shape)) for name, each in read]))
    return sorted(found, key=repr)


def rows(sheet: Worksheet, rules: Rule) -> dict[int, dict[str, Any]]:
    """Return the properties ``props`` of each row where one differs from the default."""
    read = _chosen("property of a row", rules.get("props", []), _ROW)
    found = {number: {name: each(row) for name, each in read} for number, row in sheet.row_dimensions.items()}
    return {number: values for number, values in found.items() if any(values.values())}


def columns(sheet: Worksheet, rules: Rule) -> dict[int, dict[str, Any]]:
    """Return the properties ``props`` of each column where one differs from the default.

    A file may give neighbouring columns one entry or one each; that makes no difference here.
    """
    read = _chosen("property of a column", rules.get("props", []), _COLUMN)
    found = {
        number: {name: each(group) for name, each in read}
        for group in sheet.column_dimensions.values()
        for number in range(group.min or 0, min(group.max or 0, 16_384) + 1)
    }
    return {number: values for number, values in found.items() if any(values.values())}


def filters(sheet: Worksheet, rules: Rule) -> dict[str, Any]:
    """Return the range of the automatic filter, what it shows of each column, and how it sorts."""
    automatic = sheet.auto_filter
    shown = [
        {
            "column": column.colId,
            "hidden_button": bool(column.hiddenButton),
            "show_button": column.showButton is not False,
            "blank": bool(column.filters and column.filters.blank),
            "values": set(column.filters.filter) if column.filters else set(),
            "both": bool(column.customFilters and column.customFilters._and),
            "conditions": {(each.operator, each.val) for each in column.customFilters.customFilter}
            if column.customFilters
            else set(),
        }
        for column in automatic.filterColumn
    ]
    order = automatic.sortState
    return {
        "range": automatic.ref,
        "columns": sorted(shown, key=lambda column: int(column["column"])),
        "sort": order and (order.ref, bool(order.columnSort), bool(order.caseSensitive), order.sortMethod),
        "conditions": [
            (
                each.ref,
                bool(each.descending),
                each.sortBy,
                each.customList,
                each.dxfId,
                each.iconSet,
                each.iconId,
            )
            for each in (order.sortCondition if order else ())
        ],
    }


def _chosen(kind: str, names: list[str], known: Mapping[str, Callable[[Any], Any]]) -> list[tuple[str, Any]]:
    for name in names:
        if name not in known:
            raise unknown_name(kind, name, known)
    return [(name, known[name]) for name in names]


def _series_source(series: Any) -> str:
    values, categories = series.val or series.yVal, series.cat or series.xVal
    return f"{_range(values)},{_range(categories)}"


def _range(reference: Any) -> str:
    for kind in ("numRef", "strRef", "multiLvlStrRef"):
        found = getattr(reference, kind, None)
        if found is not None:
            # Programs write the same range with and without quotes and dollar signs.
            return str(found.f).replace("'", "").replace("$", "")
    return ""


def _title(owner: Any) -> str | None:
    title = getattr(owner, "title", None)
    rich = title.tx.rich if title is not None and title.tx is not None else None
    if rich is None:
        return None
    return "\n".join("".join(run.t for run in paragraph.r or ()) for paragraph in rich.p)


def _corners(chart: Any) -> list[Any]:
    anchor = chart.anchor
    start, end = getattr(anchor, "_from", None), getattr(anchor, "to", None)
    return [
        getattr(anchor, "editAs", None),
        *((mark.col, mark.row) for mark in (start, end) if mark is not None),
    ]


_CHART: dict[str, Callable[[Any], Any]] = {
    "title": _title,
    "legend": lambda chart: chart.legend.position if chart.legend is not None else None,
    "anchor": _corners,
    "width": lambda chart: chart.width,
    "height": lambda chart: chart.height,
    "type": lambda chart: chart.tagname,
    "direction": lambda chart: getattr(chart, "barDir", None),
    "xtitle": lambda chart: _title(getattr(chart, "x_axis", None)),
    "ytitle": lambda chart: _title(getattr(chart, "y_axis", None)),
    "ztitle": lambda chart: _title(getattr(chart, "z_axis", None)),
}


class _PivotShape:
    """A pivot table with its fields numbered from the first one that it groups by."""

    def __init__(self, table: Any, *, ordered: bool, named: bool) -> None:
        self.table = table
        self.named = named
        items = [
            [(item.h, item.x) for item in field.items if item.x is not None] for field in table.pivotFields
        ]
        used = [number for number, field in enumerate(items) if field]
        self.first = used[0] if used else 0
        last = used[-1] if used else len(items) - 1
        kept = items[self.first : last + 1] if used else []
        self.selection = kept if ordered else [set(field) for field in kept]
        cache = table.cache.cacheSource
        worksheet = cache.worksheetSource
        start, _, end = worksheet.ref.partition(":")
        (top, left), (bottom, right) = coordinate_to_tuple(start), coordinate_to_tuple(end or start)
        unused = len(items) - 1 - last
        self.source = f"{cache.type};{(top, left + self.first)};{(bottom, right - unused)};{worksheet.sheet}"

    def fields(self, fields: Any) -> list[int]:
        # -2 stands for the values themselves, not for a field.
        return [field.x - self.first if field.x >= 0 else field.x for field in fields]

    def data(self) -> list[Any]:
        return [
            (field.fld - self.first, field.name if self.named else "", field.subtotal, field.showDataAs)
            for field in self.table.dataFields
        ]

    def filters(self) -> Any:
        return self.selection, {field.fld - self.first for field in self.table.pageFields}


_PIVOT: dict[str, Callable[[_PivotShape], Any]] = {
    "name": lambda shape: shape.table.name,
    "show_total": lambda shape: shape.table.visualTotals,
    "show_empty_row": lambda shape: shape.table.showEmptyRow,
    "show_empty_col": lambda shape: shape.table.showEmptyCol,
    "show_headers": lambda shape: shape.table.showHeaders,
    "location": lambda shape: shape.table.location.ref,
    "selection": lambda shape: shape.selection,
    "filter": _PivotShape.filters,
    "col_fields": lambda shape: shape.fields(shape.table.colFields),
    "row_fields": lambda shape: shape.fields(shape.table.rowFields),
    "data_fields": _PivotShape.data,
}

_ROW: dict[str, Callable[[Any], Any]] = {
    "hidden": lambda row: bool(row.hidden),
    "collapsed": lambda row: bool(row.collapsed),
    "height": lambda row: row.height,
}

_COLUMN: dict[str, Callable[[Any], Any]] = {
    "hidden": lambda column: bool(column.hidden),
    "collapsed": lambda column: bool(column.collapsed),
    "width": lambda column: column.width if column.customWidth else None,
    "auto_size": lambda column: bool(column.bestFit),
}
