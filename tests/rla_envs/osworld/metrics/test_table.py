"""compare_table and its rules, on workbooks made for them."""

import datetime
import zipfile

import openpyxl
import pytest
from openpyxl.chart import BarChart, LineChart, Reference, ScatterChart, Series
from openpyxl.formatting.rule import CellIsRule, FormulaRule
from openpyxl.pivot.cache import CacheDefinition, CacheField, CacheSource, SharedItems, WorksheetSource
from openpyxl.pivot.fields import Number, Text
from openpyxl.pivot.record import Record, RecordList
from openpyxl.pivot.table import DataField, FieldItem, Location, PivotField, RowColField, TableDefinition
from openpyxl.styles import Font, PatternFill
from openpyxl.worksheet.datavalidation import DataValidation

from rla_envs.errors import InputError
from rla_envs.osworld.metrics import METRICS

ROWS = [["Name", "Rate", "Day"], ["Ann", 0.125, datetime.datetime(2024, 1, 2)], ["Bob", 3, None]]
SHEETS = {"sheet_idx0": 0, "sheet_idx1": "EI0"}
compare_table = METRICS["compare_table"]


@pytest.fixture
def book(tmp_path):
    """Save workbooks: the rows above after a change to the first sheet (and the workbook)."""
    count = iter(range(100))

    def save(change=None, rows=ROWS):
        book = openpyxl.Workbook()
        sheet = book.active
        sheet.title = "Sheet1"
        for row in rows:
            sheet.append(row)
        if change is not None:
            change(sheet)
        path = tmp_path / f"book{next(count)}.xlsx"
        book.save(path)
        return str(path)

    return save


def put(**values):
    def change(sheet):
        for coordinate, value in values.items():
            sheet[coordinate] = value

    return change


def number_for_a_date(sheet):
    sheet["C2"].number_format = "General"
    sheet["C2"] = 45293


def check(rule, result, expected=None):
    return compare_table(result, expected, rules=[rule])


@pytest.mark.parametrize(
    ("change", "score"),
    [
        (None, 1.0),
        (put(B2=0.12503), 1.0),
        (put(B2="0.125"), 1.0),
        (put(B3=3.0, E9=""), 1.0),
        (put(B2=0.1252), 0.0),
        (put(A2="ann"), 0.0),
        (put(A3=None), 0.0),
        (put(C3="N/A"), 0.0),
        (put(C3="#DIV/0!"), 0.0),
        (number_for_a_date, 0.0),
        (put(C2=datetime.datetime(2024, 1, 3)), 0.0),
        (put(B2=True), 0.0),
        (put(D1="New"), 0.0),
        (put(XFD1048576="far away"), 0.0),
        (lambda sheet: sheet.insert_rows(1), 0.0),
    ],
)
def test_sheet_data_compares_values(book, change, score):
    assert check({"type": "sheet_data", **SHEETS}, book(change), book()) == score


def test_texts_and_numbers_differ_in_a_column_that_has_other_texts(book):
    rule = {"type": "sheet_data", **SHEETS}
    assert check(rule, book(rows=[["a"], [1], ["x"]]), book(rows=[["a"], ["1"], ["x"]])) == 0.0
    assert check(rule, book(rows=[["a"], [1], [2]]), book(rows=[["a"], ["1"], ["2.0"]])) == 1.0
    assert check(rule, book(rows=[["a"], ["1_0"]]), book(rows=[["a"], [10]])) == 0.0


def test_the_precision_is_what_the_rule_says(book):
    rule = {"type": "sheet_data", **SHEETS, "precision": 1}
    assert check(rule, book(put(B2=0.14)), book()) == 1.0
    assert check(rule, book(put(B2=0.26)), book()) == 0.0
    # These neighbours round apart to 4 digits.
    near = book(put(B2=0.12345)), book(put(B2=0.12344999999999999))
    assert check({"type": "sheet_data", **SHEETS}, *near) == 1.0


def two_sheets(name, value):
    def change(sheet):
        sheet.parent.create_sheet(name)["A1"] = value

    return change


def test_sheets_are_found_by_index_and_name_on_either_side(book):
    mine, reference = book(two_sheets("Two", 5)), book(two_sheets("Two", 5))
    for first, second in ((1, "EI1"), ("RI1", "ENTwo"), ("RNTwo", 1), ("RNSheet1", "EI0")):
        assert (
            check({"type": "sheet_data", "sheet_idx0": first, "sheet_idx1": second}, mine, reference) == 1.0
        )
    assert check({"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": 1}, mine, reference) == 0.0
    assert check({"type": "sheet_data", "sheet_idx0": "RNThree", "sheet_idx1": "EI0"}, mine, reference) == 0.0
    with pytest.raises(InputError):
        check({"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "ENThree"}, mine, reference)
    with pytest.raises(InputError):
        check({"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "Two"}, mine, reference)
    with pytest.raises(InputError):
        check({"type": "sheet_data", **SHEETS}, mine, None)


def test_sheet_name_compares_the_names_in_order(book):
    rule = {"type": "sheet_name"}
    assert check(rule, book(two_sheets("Two", 1)), book(two_sheets("Two", 2))) == 1.0
    assert check(rule, book(two_sheets("two", 1)), book(two_sheets("Two", 1))) == 0.0
    assert check(rule, book(), book(two_sheets("Two", 1))) == 0.0


def test_sheet_print_compares_exports_beside_the_workbook(book, tmp_path):
    mine, reference = book(), book()
    rule = {"type": "sheet_print", "sheet_idx0": "RNSheet1", "sheet_idx1": "ENSheet1"}
    with pytest.raises(InputError):
        check(rule, mine, reference)
    (tmp_path / "book1-Sheet1.csv").write_text("A,b\n1,2\n\n")
    assert check(rule, mine, reference) == 0.0
    for text, ignore_case, score in (
        ("A,b\n1,2 \n", False, 1.0),
        ("a,B\n1,2", True, 1.0),
        ("a,B\n1,2", False, 0.0),
    ):
        (tmp_path / "book0-Sheet1.csv").write_text(text)
        assert check(rule | {"ignore_case": ignore_case}, mine, reference) == score
    (tmp_path / "book0-Sheet1.csv").write_text("A,b\n1,3")
    assert check(rule, mine, reference) == 0.0


@pytest.mark.parametrize(
    ("part", "mine", "reference", "score"),
    [
        ({"type": "exact_match"}, "x", "x", 1.0),
        ({"type": "exact_match"}, "x", "X", 0.0),
        ({"type": "exact_match", "ignore_case": True}, "x", "X", 1.0),
        ({"type": "exact_match"}, 5, 5.0, 1.0),
        ({"type": "exact_match"}, None, None, 1.0),
        ({"type": "exact_match", "trim_leadings": " ", "trim_trailings": " "}, " x ", "x", 1.0),
        ({"type": "exact_match", "trim_leadings": " "}, " x ", "x", 0.0),
        ({"type": "includes"}, "a long text", "long", 1.0),
        ({"type": "includes"}, "long", "a long text", 0.0),
        ({"type": "included_by"}, "long", "a long text", 1.0),
        ({"type": "includes", "trim_leadings": "+ ", "ignore_chars": " ()-"}, "+1 (234) 5-6", "123456", 1.0),
        ({"type": "includes", "ignore_chars": " ()-"}, "1 (234) 5-7", "123456", 0.0),
        (
            {"type": "fuzzy_match", "threshold": 85, "normalization": [["Rd", "Road"]]},
            "12 Oak Rd",
            "12 Oak Road",
            1.0,
        ),
        ({"type": "fuzzy_match"}, "12 Oak Road", "12 Elm Lane", 0.0),
        ({"type": "fuzzy_match", "threshold": 20}, "12 Oak Road", "12 Elm Lane", 1.0),
    ],
)
def test_sheet_fuzzy_compares_texts_as_its_rules_say(book, part, mine, reference, score):
    rule = {"type": "sheet_fuzzy", **SHEETS, "rules": [{"range": ["A1:A1", "B2:B3"], **part}]}
    for cell in ("A1", "B3"):
        assert check(rule, book(put(**{cell: mine}), []), book(put(**{cell: reference}), [])) == score


def chart(kind=BarChart, title="Sales", direction="col", values=2, sheet="Sheet1"):
    def change(sheet):
        made = kind()
        made.title = title
        if kind is BarChart:
            made.type = direction
        if kind is ScatterChart:
            made.series.append(Series(Reference(sheet, 2, 2, values, 3), Reference(sheet, 1, 2, 1, 3)))
        else:
            made.add_data(Reference(sheet, min_col=values, min_row=2, max_row=3))
            made.set_categories(Reference(sheet, min_col=1, min_row=2, max_row=3))
        sheet.add_chart(made, "E5")

    return change


@pytest.mark.parametrize(
    ("props", "mine", "score"),
    [
        (["type", "title", "direction"], chart(), 1.0),
        (["type"], chart(title="Other", direction="bar"), 1.0),
        (["title"], chart(title="Other"), 0.0),
        (["direction"], chart(direction="bar"), 0.0),
        (["type"], chart(LineChart), 0.0),
        (["type"], chart(values=3), 0.0),
        (["type"], None, 0.0),
        (["legend", "width", "height", "anchor", "xtitle", "ytitle", "ztitle"], chart(), 1.0),
    ],
)
def test_charts_agree_in_sources_and_properties(book, props, mine, score):
    assert check({"type": "chart", **SHEETS, "chart_props": props}, book(mine), book(chart())) == score


def test_scatter_charts_are_told_apart_by_their_ranges(book):
    rule = {"type": "chart", **SHEETS, "chart_props": ["type"]}
    assert check(rule, book(chart(ScatterChart)), book(chart(ScatterChart))) == 1.0
    assert check(rule, book(chart(ScatterChart, values=3)), book(chart(ScatterChart))) == 0.0


def filled(**colors):
    def change(sheet):
        for coordinate, color in colors.items():
            sheet[coordinate].fill = PatternFill("solid", fgColor=color)

    return change


def conditional(rule):
    return lambda sheet: sheet.conditional_formatting.add("B1:B9", rule)


RED = PatternFill(bgColor="FFFF0000")


@pytest.mark.parametrize(
    ("props", "mine", "reference", "score"),
    [
        (["bgcolor"], filled(B3="FFFF0000"), filled(B3="FFFF0000"), 1.0),
        (["bgcolor"], filled(B3="FFFF0000"), filled(B3="FFFF0001"), 0.0),
        (["bgcolor"], filled(B3="FFFF0000"), filled(B2="FFFF0000"), 0.0),
        (["bgcolor"], put(H40=""), None, 1.0),
        (["bgcolor"], conditional(CellIsRule("greaterThan", ["2"], fill=RED)), filled(B3="FFFF0000"), 1.0),
        (["bgcolor"], conditional(CellIsRule("between", ["5", "1"], fill=RED)), filled(B3="FFFF0000"), 1.0),
        (
            ["bgcolor"],
            conditional(CellIsRule("notBetween", ["5", "1"], fill=RED)),
            filled(B3="FFFF0000"),
            0.0,
        ),
        (["bgcolor"], conditional(CellIsRule("lessThan", ["2"], fill=RED)), filled(B3="FFFF0000"), 0.0),
        (["bgcolor"], conditional(FormulaRule(["B1=3"], fill=RED)), filled(B3="FFFF0000"), 0.0),
        (["font_color"], lambda sheet: setattr(sheet["B3"], "font", Font(color="FF00FF00")), None, 0.0),
        (["font_bold"], lambda sheet: setattr(sheet["B3"], "font", Font(bold=True)), None, 0.0),
        (["font_bold"], lambda sheet: setattr(sheet["H9"], "font", Font(bold=True)), None, 1.0),
        (["number_format"], lambda sheet: setattr(sheet["B2"], "number_format", "0.00%"), None, 0.0),
        (["font_name", "font_size", "font_italic", "font_underline", "font_family"], None, None, 1.0),
        (["font_size"], lambda sheet: setattr(sheet["A1"], "font", Font(size=20)), None, 0.0),
        (["merge"], lambda sheet: sheet.merge_cells("E1:F2"), None, 0.0),
        (["hyperlink"], lambda sheet: setattr(sheet["A2"], "hyperlink", "https://a.org"), None, 0.0),
        (["fill_type", "fgcolor"], filled(B3="FFFF0000"), filled(B3="FFFF0000"), 1.0),
    ],
)
def test_styles_agree_cell_by_cell(book, props, mine, reference, score):
    assert check({"type": "style", **SHEETS, "props": props}, book(mine), book(reference)) == score


def test_freeze_and_zoom(book):
    frozen = book(lambda sheet: setattr(sheet, "freeze_panes", "A2"))
    assert check({"type": "freeze", **SHEETS}, frozen, frozen) == 1.0
    assert check({"type": "freeze", **SHEETS}, book(), frozen) == 0.0

    def scrolled(sheet):
        sheet.freeze_panes = "A2"
        sheet.sheet_view.pane.topLeftCell = "A7"

    assert check({"type": "freeze", **SHEETS}, book(scrolled), frozen) == 1.0
    assert (
        check({"type": "freeze", **SHEETS}, book(lambda s: setattr(s, "freeze_panes", "B2")), frozen) == 0.0
    )
    rule = {"type": "zoom", "sheet_idx": 0, "method": "lt", "ref": 260}
    assert check(rule, book()) == 1.0
    assert check(rule, book(lambda sheet: setattr(sheet.sheet_view, "zoomScale", 260))) == 0.0
    assert check(rule, book(lambda sheet: setattr(sheet.sheet_view, "zoomScale", 259))) == 1.0


DROP_DOWN = {
    "ranges": {"method": "spreadsheet_range", "ref": ["D2:D29", "D2:D1048576"]},
    "type": {"method": "eq", "ref": "list"},
    "formula1": {"method": "str_set_eq", "ref": ["Pass", "Fail", "Held"]},
}


def validated(*validations):
    def change(sheet):
        for place, formula in validations:
            validation = DataValidation(type="list", formula1=formula)
            validation.add(place)
            sheet.add_data_validation(validation)

    return change


@pytest.mark.parametrize(
    ("mine", "score"),
    [
        (validated(("D2:D29", '"Fail,Pass,Held"')), 1.0),
        (validated(("D2:D1048576", '"Fail,Pass,Held"')), 1.0),
        (validated(("D1:D1048576", '"Fail,Pass,Held"')), 0.0),
        (validated(("D2:D29", '"Fail,Pass"')), 0.0),
        (validated(("D2:D29", '"Fail,Pass,Held"'), ("E2", '"x"')), 0.0),
        (None, 0.0),
    ],
)
def test_data_validation_is_as_described(book, mine, score):
    assert check({"type": "data_validation", "sheet_idx": 0, "dv_props": [DROP_DOWN]}, book(mine)) == score


def hidden(kind, *numbers):
    def change(sheet):
        for number in numbers:
            getattr(sheet, f"{kind}_dimensions")[number].hidden = True

    return change


def test_rows_and_columns_are_hidden_alike(book):
    rows, columns = ({"type": f"{kind}_props", **SHEETS, "props": ["hidden"]} for kind in ("row", "col"))
    assert check(rows, book(hidden("row", 2)), book(hidden("row", 2))) == 1.0
    assert check(rows, book(hidden("row", 2)), book(hidden("row", 3))) == 0.0
    assert check(rows, book(), book(hidden("row", 3))) == 0.0
    assert check(rows, book(lambda s: setattr(s.row_dimensions[2], "height", 30)), book()) == 1.0

    def grouped(sheet):
        sheet.column_dimensions.group("B", "C", hidden=True)

    assert check(columns, book(hidden("column", "B", "C")), book(grouped)) == 1.0
    assert check(columns, book(hidden("column", "B")), book(grouped)) == 0.0


def filtering(reference="A1:C3", column=0, values=("Ann",)):
    def change(sheet):
        sheet.auto_filter.ref = reference
        sheet.auto_filter.add_filter_column(column, list(values))

    return change


def test_filters_agree(book):
    rule = {"type": "filter", **SHEETS}
    assert check(rule, book(filtering(values=("Bob", "Ann"))), book(filtering(values=("Ann", "Bob")))) == 1.0
    for other in (filtering(values=("Bob",)), filtering(column=1), filtering("A1:B3"), None):
        assert check(rule, book(other), book(filtering())) == 0.0


def pivot(source="A1:B3", row_field=0, data_field=1, subtotal="sum", fields=2):
    """A pivot table that sums B by A; ``fields`` columns belong to the source, the further ones unused."""

    def change(sheet):
        cache = CacheDefinition(
            cacheSource=CacheSource(
                type="worksheet", worksheetSource=WorksheetSource(ref=source, sheet="Sheet1")
            ),
            cacheFields=[
                CacheField(name=f"f{n}", sharedItems=SharedItems(_fields=[Text(v="Ann"), Text(v="Bob")]))
                for n in range(fields)
            ],
            id="rId1",
        )
        cache.records = RecordList(r=[Record(_fields=[Number(v=1)] * fields)])
        table = TableDefinition(
            name="Pivot",
            cacheId=1,
            dataCaption="Values",
            location=Location(ref="E1:F4", firstHeaderRow=1, firstDataRow=1, firstDataCol=1),
            pivotFields=[
                PivotField(items=[FieldItem(x=0), FieldItem(x=1)] if n == row_field else [], showAll=False)
                for n in range(fields)
            ],
            rowFields=[RowColField(x=row_field)],
            dataFields=[DataField(fld=data_field, subtotal=subtotal)],
        )
        table.cache = cache
        sheet.add_pivot(table)

    return change


@pytest.mark.parametrize(
    ("mine", "score"),
    [
        (pivot(), 1.0),
        (pivot("A1:C3", fields=3), 1.0),
        (pivot(subtotal="count"), 0.0),
        (pivot(row_field=1, data_field=0), 0.0),
        (pivot("A1:B9"), 0.0),
        (None, 0.0),
    ],
)
def test_pivot_tables_agree_in_what_they_group_and_sum(book, mine, score):
    props = ["col_fields", "filter", "row_fields", "data_fields"]
    reference = pivot("A1:B3", fields=2)
    assert (
        check({"type": "pivot_table", **SHEETS, "pivot_props": props}, book(mine), book(reference)) == score
    )


@pytest.mark.parametrize(
    ("coordinate", "props", "score"),
    [
        ("A1", {"value": {"method": "eq", "ref": "Name"}}, 1.0),
        ("A1", {"value": {"method": "eq", "ref": "name"}}, 0.0),
        ("B2", {"value": {"method": "approx:0.01", "ref": 0.13}}, 1.0),
        ("B2", {"value": {"method": "approx:0.001", "ref": 0.13}}, 0.0),
        ("C2", {"value": {"method": "eq", "ref": 45293}}, 1.0),
        ("Z99", {"value": {"method": "eq", "ref": "x"}}, 0.0),
        ("B5", {"merge": {"method": "eq", "ref": True}}, 1.0),
        ("A5", {"merge": {"method": "eq", "ref": True}}, 0.0),
        (
            "A1",
            {"bgcolor": {"method": "eq", "ref": "FF0000FF"}, "font_bold": {"method": "eq", "ref": True}},
            1.0,
        ),
        (
            "A1",
            {"bgcolor": {"method": "eq", "ref": "FF0000FF"}, "font_bold": {"method": "eq", "ref": False}},
            0.0,
        ),
        ("A2", {"bgcolor": {"method": "eq", "ref": "00000000"}}, 1.0),
    ],
)
def test_check_cell_looks_at_one_cell(book, coordinate, props, score):
    def change(sheet):
        sheet.merge_cells("A5:B5")
        sheet["A1"].fill = PatternFill("solid", fgColor="FF0000FF")
        sheet["A1"].font = Font(bold=True)

    assert (
        check({"type": "check_cell", "sheet_idx": 0, "coordinate": coordinate, "props": props}, book(change))
        == score
    )


@pytest.mark.parametrize(
    "rules",
    [
        [],
        "sheet_data",
        [{"type": "sheet_dat"}],
        [{"type": "sheet_data", "sheet_idx0": 0}],
        [{"type": "chart", **SHEETS, "chart_props": ["colour"]}],
        [{"type": "style", **SHEETS, "props": ["colour"]}],
        [{"type": "sheet_fuzzy", **SHEETS, "rules": [{"range": ["A1:XFD1048576"], "type": "exact_match"}]}],
        [{"type": "sheet_fuzzy", **SHEETS, "rules": [{"range": ["A1"], "type": "like"}]}],
    ],
)
def test_rules_that_make_no_sense_are_refused(book, rules):
    with pytest.raises(InputError):
        compare_table(book(chart()), book(chart()), rules=rules)


def test_all_rules_must_hold(book):
    data, frozen = {"type": "sheet_data", **SHEETS}, {"type": "freeze", **SHEETS}
    mine, reference = book(lambda sheet: setattr(sheet, "freeze_panes", "A2")), book()
    assert [compare_table(mine, reference, rules=rules) for rules in ([data], [data, frozen])] == [1.0, 0.0]


def test_cities_are_named_in_order(book):
    metric = METRICS["compare_conference_city_in_order"]
    wanted = {"expected": ["Lille", ["New York", "NYC"]]}
    assert metric(book(put(C2="Lille, France", C3="NYC"), []), wanted) == 1.0
    assert metric(book(put(C2="NYC", C3="Lille"), []), wanted) == 0.0
    assert metric(book(put(C2="Lille"), []), wanted) == 0.0
    assert metric(None, wanted) == 0.0


def test_sparklines_agree_in_place_and_source(book, tmp_path):
    main = "http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"
    formulas = "http://schemas.microsoft.com/office/excel/2006/main"
    extension = "{05C60535-1F16-4fd2-B633-F4F36F0B64E0}"

    def lined(place, source):
        path = tmp_path / f"{place}-{source}.xlsx"
        line = f"<x14:sparkline><xm:f>Sheet1!{source}</xm:f><xm:sqref>{place}</xm:sqref></x14:sparkline>"
        xml = f'<extLst><ext uri="{extension}" xmlns:x14="{main}" xmlns:xm="{formulas}"><x14:sparklineGroups>'
        xml += f"<x14:sparklineGroup><x14:sparklines>{line}</x14:sparklines></x14:sparklineGroup>"
        xml += "</x14:sparklineGroups></ext></extLst></worksheet>"
        with zipfile.ZipFile(book()) as plain, zipfile.ZipFile(path, "w") as changed:
            for name in plain.namelist():
                data = plain.read(name)
                is_sheet = name == "xl/worksheets/sheet1.xml"
                changed.writestr(name, data.replace(b"</worksheet>", xml.encode()) if is_sheet else data)
        return str(path)

    rule = {"type": "sparkline", **SHEETS}
    reference = lined("F2", "A2:E2")
    assert check(rule, lined("F2", "A2:E2"), reference) == 1.0
    assert check(rule, lined("F2", "A2:D2"), reference) == 0.0
    assert check(rule, lined("F3", "A2:E2"), reference) == 0.0
    assert check(rule, book(), reference) == 0.0
