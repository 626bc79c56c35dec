"""Files made to exhaust or mislead the machine that scores them: they score 0, soon."""

import zipfile

import openpyxl
import pytest
from docx import Document
from pptx import Presentation

from rla_envs.osworld.metrics import METRICS
from rla_envs.osworld.metrics.packages import MAX_XML_BYTES

LAUGHS = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;</x>'
OUTSIDE = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]><x>&a;</x>'
DATA_RULE = {"rules": [{"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"}]}
KINDS = {
    "xlsx": ("compare_table", DATA_RULE, "xl/worksheets/sheet1.xml"),
    "docx": ("compare_docx_files", {}, "word/document.xml"),
    "pptx": ("compare_pptx_files", {}, "ppt/slides/slide1.xml"),
}


@pytest.fixture(params=KINDS)
def office(request, tmp_path):
    """Return a good file, its metric with options, and a function that saves it with one part replaced."""
    kind = request.param
    name, options, part = KINDS[kind]
    path = tmp_path / f"good.{kind}"
    if kind == "xlsx":
        book = openpyxl.Workbook()
        book.active.append(["a", 1])
        book.save(path)
    elif kind == "docx":
        document = Document()
        document.add_paragraph("text")
        document.save(path)
    else:
        slides = Presentation()
        slides.slides.add_slide(slides.slide_layouts[5]).shapes.title.text = "text"
        slides.save(path)

    def save(change, compression=zipfile.ZIP_DEFLATED):
        bad = tmp_path / f"bad.{kind}"
        with zipfile.ZipFile(path) as archive, zipfile.ZipFile(bad, "w", compression) as changed:
            for member in archive.namelist():
                data = archive.read(member)
                changed.writestr(member, change(data) if member == part else data)
        return str(bad)

    return METRICS[name], str(path), options, save


@pytest.mark.parametrize(
    "change",
    [
        lambda data: LAUGHS,
        lambda data: OUTSIDE,
        lambda data: data[:-20],
        lambda data: b"",
        lambda data: b" " * (MAX_XML_BYTES + 1 - len(data)) + data,
        lambda data: data.decode().encode("utf-16"),
        lambda data: b"\xfe\xff" + f" {data.decode()}".encode("utf-16-be"),
        lambda data: data.decode().encode("utf-16-be"),
        lambda data: data.decode().encode("utf-32-be"),
        lambda data: b'<?xml version="1.0" encoding="UTF-7"?>' + data.partition(b"?>")[2],
        lambda data: (b'<?xml version="1.0" encoding="cp037"?>' + data).decode().encode("cp037"),
    ],
    ids=[
        "entities",
        "external entity",
        "cut",
        "empty",
        "bomb",
        "utf-16",
        "marked",
        "utf-16-be",
        "utf-32-be",
        "utf-7",
        "ebcdic",
    ],
)
def test_hostile_parts_of_office_documents_score_zero(office, change):
    metric, good, options, save = office
    assert metric(save(lambda data: data), good, **options) == 1.0
    assert metric(save(change), good, **options) == 0.0


def test_pictures_and_films_in_a_document_are_no_xml(tmp_path):
    document = Document()
    document.add_paragraph("text")
    good, more = tmp_path / "good.docx", tmp_path / "more.docx"
    document.save(good)
    with zipfile.ZipFile(good) as archive, zipfile.ZipFile(more, "w") as copy:
        for member in archive.namelist():
            copy.writestr(member, archive.read(member))
        for number, start in enumerate(
            (b"\0\0\0 ftypmp42", b"\0\0\0<ftypmp42", b"\xff\xd8\xff", b"\xff\xfe\0")
        ):
            copy.writestr(f"word/media/{number}.bin", start + bytes(300))
    assert METRICS["compare_docx_files"](str(more), str(good)) == 1.0


def sheet(tmp_path, inside):
    """Save a workbook with XML put behind its rows."""
    path, changed = tmp_path / "good.xlsx", tmp_path / "bad.xlsx"
    book = openpyxl.Workbook()
    book.active.append(["a", 1])
    book.save(path)
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(changed, "w") as bad:
        for member in archive.namelist():
            data = archive.read(member)
            if member == "xl/worksheets/sheet1.xml":
                data = data.replace(b"</sheetData>", b"</sheetData>" + inside)
            bad.writestr(member, data)
    return str(path), str(changed)


@pytest.mark.parametrize(
    ("inside", "score"),
    [
        (b'<mergeCells count="1"><mergeCell ref="A2:B3"/></mergeCells>', 1.0),
        (b'<mergeCells count="1"><mergeCell ref="A2:XFD1048576"/></mergeCells>', 0.0),
        (b'<mergeCells count="1"><mergeCell x=">" ref="A2&#58;XFD1048576"/></mergeCells>', 0.0),
        (b'<hyperlinks><hyperlink ref="A1:XFD1048576" location="x"/></hyperlinks>', 0.0),
    ],
)
def test_ranges_over_a_whole_sheet_are_not_spread_out(tmp_path, inside, score):
    good, bad = sheet(tmp_path, inside)
    assert METRICS["compare_table"](bad, good, **DATA_RULE) == score


def test_a_zip_that_unpacks_to_too_much_scores_zero(tmp_path):
    bomb, good = tmp_path / "bomb.zip", tmp_path / "good.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("zeros", "w") as member:
        for _ in range(513):
            member.write(bytes(2**20))
    with zipfile.ZipFile(good, "w") as archive:
        archive.writestr("zeros", b"0")
    for name in ("compare_zip_files", "compare_archive", "compare_epub"):
        if name == "compare_epub":
            with zipfile.ZipFile(good, "w") as archive:
                archive.writestr("a.html", "<p>a</p>")
        assert METRICS[name](str(bomb), str(good)) == 0.0


def test_a_zip_with_too_many_members_scores_zero(tmp_path):
    many, good = tmp_path / "many.zip", tmp_path / "good.zip"
    with zipfile.ZipFile(many, "w") as archive:
        for number in range(20_001):
            archive.writestr(str(number), b"")
    with zipfile.ZipFile(good, "w") as archive:
        archive.writestr("0", b"")
    assert METRICS["compare_zip_files"](str(many), str(good)) == 0.0


def test_a_declared_size_is_never_exceeded(tmp_path):
    """A member that lies about its size fails, whatever it would unpack to."""
    path, good = tmp_path / "liar.zip", tmp_path / "good.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(10**6))
    data = path.read_bytes()
    path.write_bytes(data.replace((10**6).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    with zipfile.ZipFile(good, "w") as archive:
        archive.writestr("a", bytes(10))
    assert METRICS["compare_zip_files"](str(path), str(good)) == 0.0


def test_spans_of_table_cells_are_not_spread_out(tmp_path):
    document = Document()
    document.add_table(1, 1).cell(0, 0).text = "a"
    document.save(tmp_path / "good.docx")
    span = document.tables[0].cell(0, 0)._tc.get_or_add_tcPr()
    span.get_or_add_gridSpan().val = 10**9
    document.save(tmp_path / "bad.docx")
    assert METRICS["compare_docx_tables"](str(tmp_path / "bad.docx"), str(tmp_path / "good.docx")) in (
        0.0,
        1.0,
    )


def test_settings_with_entities_score_zero(tmp_path):
    file = tmp_path / "registrymodifications.xcu"
    for data in (LAUGHS, OUTSIDE):
        file.write_bytes(data)
        assert METRICS["find_default_font"](str(file), {"font_name": "Arial"}) == 0.0
    assert METRICS["check_left_panel"](LAUGHS.decode()) == 0.0
