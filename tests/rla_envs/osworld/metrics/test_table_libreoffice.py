"""Workbooks that LibreOffice saved equal those they were made from."""

import shutil
import subprocess

import openpyxl
import pytest
from openpyxl.styles import PatternFill

from tests.rla_envs.osworld.metrics.test_table import (
    DROP_DOWN,
    ROWS,
    SHEETS,
    book,  # noqa: F401 (a fixture)
    chart,
    check,
    put,
    validated,
)


@pytest.fixture(scope="module")
def resaved(tmp_path_factory):
    """Return a workbook of openpyxl's and the same one as LibreOffice saves it."""
    if shutil.which("soffice") is None:
        pytest.skip("LibreOffice is not installed: apt-get install libreoffice-calc")
    folder = tmp_path_factory.mktemp("libreoffice")
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    for row in ROWS:
        sheet.append(row)
    sheet["D2"] = "=B2*2"
    sheet["D3"] = 6
    sheet["A1"].fill = PatternFill("solid", fgColor="FF0000FF")
    sheet.row_dimensions[3].hidden = True
    chart()(sheet)
    validated(("D2:D29", '"Fail,Pass,Held"'))(sheet)
    original = folder / "book.xlsx"
    workbook.save(original)
    subprocess.run(
        [
            "soffice",
            f"-env:UserInstallation=file://{folder}/profile",
            "--headless",
            "--convert-to",
            "xlsx",
            "--outdir",
            folder / "saved",
            original,
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    return str(original), str(folder / "saved" / "book.xlsx")


@pytest.mark.parametrize(
    "rule",
    [
        {"type": "sheet_name"},
        {"type": "style", **SHEETS, "props": ["bgcolor"]},
        {"type": "row_props", **SHEETS, "props": ["hidden"]},
        {"type": "chart", **SHEETS, "chart_props": ["type", "title", "direction"]},
        {"type": "filter", **SHEETS},
        {"type": "data_validation", "sheet_idx": 0, "dv_props": [DROP_DOWN]},
    ],
    ids=lambda rule: rule["type"],
)
def test_what_libreoffice_saves_equals_what_it_opened(resaved, rule):
    original, saved = resaved
    assert check(rule, saved, original) == 1.0


def test_libreoffice_computes_what_openpyxl_leaves_open(resaved, book):  # noqa: F811
    _, saved = resaved
    assert check({"type": "sheet_data", **SHEETS}, saved, book(put(D2=0.25, D3=6))) == 1.0
    assert check({"type": "sheet_data", **SHEETS}, saved, book(put(D2=0.5, D3=6))) == 0.0
