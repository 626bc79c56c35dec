"""Metrics over text documents: their content and how they look."""

import io
import zipfile

import numpy as np
import pytest
from docx import Document
from docx.enum.text import WD_BREAK, WD_PARAGRAPH_ALIGNMENT, WD_TAB_ALIGNMENT
from docx.oxml import OxmlElement
from docx.shared import Cm, Pt, RGBColor
from PIL import Image

from rla_envs.errors import InputError
from rla_envs.osworld.metrics import METRICS
from rla_envs.osworld.metrics.colors import lab_difference

TEXTS = ["A title", "", "Some text  here.", "The end"]


@pytest.fixture
def docx(tmp_path):
    """Save documents with the given paragraphs, after a change."""
    count = iter(range(100))

    def save(texts=TEXTS, change=None):
        document = Document()
        for text in texts:
            document.add_paragraph(text)
        if change is not None:
            change(document)
        path = tmp_path / f"document{next(count)}.docx"
        document.save(path)
        return str(path)

    return save


@pytest.fixture
def odt(tmp_path):
    """Save odt files with the given paragraphs (XML); a span of the style T1 has the colour behind it."""
    count = iter(range(100))

    def save(*paragraphs, color="#ffff00"):
        path = tmp_path / f"document{next(count)}.odt"
        namespaces = " ".join(
            f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
            for prefix, name in (
                ("office", "office"),
                ("text", "text"),
                ("style", "style"),
                ("fo", "xsl-fo-compatible"),
            )
        )
        style = (
            '<style:style style:name="T1" style:family="text">'
            f'<style:text-properties fo:background-color="{color}"/></style:style>'
        )
        body = "".join(f"<text:p>{text}</text:p>" for text in paragraphs)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
            archive.writestr(
                "content.xml",
                f"<office:document-content {namespaces}>"
                f"<office:automatic-styles>{style}</office:automatic-styles>"
                f"<office:body><office:text>{body}</office:text></office:body></office:document-content>",
            )
        return str(path)

    return save


@pytest.mark.parametrize(
    ("options", "mine", "score"),
    [
        ({}, TEXTS, 1.0),
        ({}, ["A title", "Some text here.", "The", "end "], 1.0),
        ({}, ["A title", "Some text here", "The end"], 0.0),
        ({}, ["a title", "Some text here.", "The end"], 0.0),
        ({}, [], 0.0),
        ({"ignore_case": True}, ["a title", "Some TEXT here.", "The end"], 1.0),
        ({"ignore_order": True}, ["The end", "Some text here.", "A title"], 1.0),
        ({"ignore_order": True}, ["The end", "Some text.", "A title"], 0.0),
        ({"ignore_blanks": False}, TEXTS, 1.0),
        ({"ignore_blanks": False}, ["A title", "", "Some text here.", "The end"], 0.0),
        ({"ignore_blanks": False}, ["A title", "Some text  here.", "The end"], 0.0),
        (
            {"ignore_blanks": False, "delete_empty_lines": True},
            ["A title", "Some text  here.", " ", "The end"],
            1.0,
        ),
        ({"content_only": True}, TEXTS, 1.0),
        ({"content_only": True, "ignore_case": True}, ["A TITLE some text here. the end"], 1.0),
        ({"fuzzy_match": True}, TEXTS, 1.0),
    ],
)
def test_compare_docx_files_compares_paragraphs(docx, odt, options, mine, score):
    metric = METRICS["compare_docx_files"]
    assert metric(docx(mine), docx(), **options) == score
    assert metric(odt(*mine), odt(*TEXTS), **options) == pytest.approx(score)
    assert metric(odt(*mine), docx(), **options) == 0.0


def test_similarities_are_shares_of_common_letters(docx):
    metric = METRICS["compare_docx_files"]
    mine, reference = docx(["abcd", "x"]), docx(["abce", "x"])
    whole = 2 * 5 / 12  # "abcd x" and "abce x"
    assert metric(mine, reference, content_only=True) == pytest.approx(whole)
    assert metric(mine, reference, fuzzy_match=True) == pytest.approx(whole)
    assert metric(mine, reference, fuzzy_match=True, ignore_blanks=False) == pytest.approx((0.75 + 1) / 2)
    assert metric(docx(["abcd"]), reference, fuzzy_match=True, ignore_blanks=False) == 0.0


def test_odt_text_keeps_its_spaces_tabs_and_spans(odt):
    metric = METRICS["compare_docx_files"]
    mine = odt(
        'a<text:s text:c="2"/>b<text:tab/>'
        '<text:span text:style-name="T1">c<text:span>d</text:span>e</text:span>'
    )
    assert metric(mine, odt("a  b\tcde"), ignore_blanks=False) == 1.0
    assert metric(mine, odt("a b\tcde"), ignore_blanks=False) == 0.0


@pytest.mark.parametrize(
    ("name", "options", "right", "wrong"),
    [
        (
            "compare_docx_files_and_ignore_new_lines",
            {},
            [["A title", "Some text here. The end"]],
            [["A title"], []],
        ),
        (
            "compare_docx_files_and_ignore_new_lines",
            {"ignore_blanks": False},
            [
                ["A title", "Some text  here.", "", "", "The end"],
            ],
            [["A title", "Some text here.", "The end"], ["A title", "Some text  here. The end"]],
        ),
        (
            "compare_docx_lines",
            {},
            [["The end ", "A title", "A title", "Some text  here."]],
            [
                ["The end", "A title"],
                ["The end", "A title", "Some text here."],
                [],
            ],
        ),
        (
            "compare_init_lines",
            {},
            [TEXTS, [*TEXTS, "More"], TEXTS[:2]],
            [["A  title"], ["A title", "Some"], []],
        ),
    ],
)
def test_paragraphs_compared_otherwise(docx, name, options, right, wrong):
    assert [METRICS[name](docx(texts), docx(), **options) for texts in right] == [1.0] * len(right)
    assert [METRICS[name](docx(texts), docx(), **options) for texts in wrong] == [0.0] * len(wrong)


def table(rows, merged=False):
    def change(document):
        made = document.add_table(len(rows), len(rows[0]))
        for number, row in enumerate(rows):
            for column, text in enumerate(row):
                made.cell(number, column).text = text
        if merged:
            made.cell(0, 0).merge(made.cell(0, 1))

    return change


def test_tables_have_the_same_cells(docx):
    metric, reference = METRICS["compare_docx_tables"], docx(change=table([["a", "b"], ["1", "2"]]))
    assert metric(docx([], table([["a ", "b"], ["1", "2"]])), reference) == 1.0
    for rows in ([["a", "b"], ["1", "3"]], [["a", "b"]], [["a", "b", "c"], ["1", "2", "3"]]):
        assert metric(docx([], table(rows)), reference) == 0.0
    assert metric(docx(), reference) == 0.0
    assert metric(docx([], table([["a", "b"], ["1", "2"]], merged=True)), reference) == 0.0


def picture(color, size=(9, 8)):
    data = io.BytesIO()
    Image.new("RGB", size, color).save(data, "PNG")
    return lambda document: document.add_picture(io.BytesIO(data.getvalue()))


def test_pictures_are_the_same_to_the_pixel(docx):
    metric, reference = METRICS["compare_docx_images"], docx(change=picture("red"))
    assert metric(docx([], picture("red")), reference) == 1.0
    assert metric(docx([], picture((254, 0, 0))), reference) == 0.0
    assert metric(docx([], picture("red", (8, 9))), reference) == 0.0
    assert metric(docx(), reference) == 0.0
    drawn = METRICS["compare_contains_image"]
    assert drawn(docx(TEXTS, picture("blue")), docx(TEXTS, picture("red"))) == 1.0
    assert drawn(docx(), reference) == 0.0
    assert drawn(reference, docx()) == 0.0


def test_references_are_scored_above_the_base(docx):
    metric = METRICS["compare_references"]
    reference = docx(["Text", "References", "abcd", "", "efgh"])
    options = {"reference_base_result": 0.5, "content_only": True}
    assert metric(docx(["Other text", "References", "abcd", "efgh"]), reference, **options) == 1.0
    # One of four letters is wrong in one of two entries: (0.75 + 1) / 2 = 0.875.
    assert metric(docx(["References", "abcx", "efgh"]), reference, **options) == pytest.approx(
        (0.875 - 0.5) / 0.5
    )
    assert metric(docx(["References", "abxx", "xxxx"]), reference, **options) == 0.0
    assert metric(docx(["References", "abcd"]), reference, **options) == 0.0
    assert metric(docx(["Text", "abcd", "efgh"]), reference, **options) == 0.0
    with pytest.raises(InputError):
        metric(docx(), reference, reference_base_result=1)


def test_one_record_of_each_train_is_kept(docx):
    metric = METRICS["compare_unique_train_records"]
    before = ["10:00, T1, S1, 1", "10:05, T1, S2, 2", "10:07, T2, S1, 1"]
    references = [docx([before[0], before[2]]), docx(before)]
    assert metric(docx([before[0], before[2]]), references) == 1.0
    assert metric(docx([before[2], before[1]]), references) == 1.0
    for lines in (before, [before[0]], ["10:01, T1, S1, 1", before[2]], []):
        assert metric(docx(lines), references) == 0.0
    with pytest.raises(InputError):
        metric(docx(before), references[0])


def test_three_places_are_named(docx):
    metric, wanted = METRICS["fuzzy_place_math"], {"expected": ["Lille", "Lyon", "Nice", "Brest"]}
    assert metric(docx(["Lyon", "", "Lille  ", "Nice"]), wanted) == 1.0
    assert metric(docx(["Lyon", "Lille"]), wanted) == 0.0
    assert metric(docx(["Lyon", "Lille", "Nice", "Brest"]), wanted) == 0.0
    assert 0.6 < metric(docx(["Lyon", "Lille", "zzzz"]), wanted) < 0.7


def each_run(**formats):
    """Return a change that sets properties of the font of every run."""

    def change(document):
        for paragraph in document.paragraphs:
            for run in paragraph.runs:
                for name, value in formats.items():
                    setattr(run.font, name, value)

    return change


def first_paragraph(**formats):
    def change(document):
        for name, value in formats.items():
            setattr(document.paragraphs[0].paragraph_format, name, value)

    return change


def page_breaks(count):
    def change(document):
        for _ in range(count):
            document.add_paragraph().add_run("x").add_break(WD_BREAK.PAGE)
        document.add_paragraph().add_run().add_break(WD_BREAK.LINE)

    return change


@pytest.mark.parametrize(
    ("name", "expected", "right", "wrong"),
    [
        (
            "contains_page_break",
            {"page_break_count": 2},
            [page_breaks(2)],
            [page_breaks(1), page_breaks(3), None],
        ),
        ("contains_page_break", {}, [page_breaks(1)], [page_breaks(0), None]),
        (
            "compare_font_names",
            {"font_name": "Arial"},
            [each_run(name="Arial")],
            [
                None,
                each_run(name="Arial Black"),
                lambda document: setattr(document.paragraphs[0].runs[0].font, "name", "Arial"),
            ],
        ),
    ],
)
def test_looks_of_a_document_obey_rules(docx, name, expected, right, wrong):
    assert [METRICS[name](docx(change=change), expected) for change in right] == [1.0] * len(right)
    assert [METRICS[name](docx(change=change), expected) for change in wrong] == [0.0] * len(wrong)


def subscript(document):
    document.paragraphs[3].runs[0].font.subscript = True


def last_struck(document):
    document.paragraphs[-1].runs[0].font.strike = True
    document.paragraphs[-1].add_run(" ")


def partly_struck(document):
    document.paragraphs[-1].text = "The "
    document.paragraphs[-1].runs[0].font.strike = True
    document.paragraphs[-1].add_run("end")


def italic(size):
    def change(document):
        run = document.paragraphs[0].runs[0]
        run.italic = True
        run.font.size = Pt(size) if size else None

    return change


@pytest.mark.parametrize(
    ("name", "reference", "right", "wrong"),
    [
        (
            "compare_line_spacing",
            first_paragraph(line_spacing=2.0),
            [first_paragraph(line_spacing=2.0)],
            [
                None,
                first_paragraph(line_spacing=1.5),
                first_paragraph(line_spacing=Pt(24)),
            ],
        ),
        (
            "compare_subscript_contains",
            subscript,
            [subscript],
            [
                None,
                lambda document: setattr(document.paragraphs[0].runs[0].font, "subscript", True),
                lambda document: setattr(document.paragraphs[3].runs[0].font, "superscript", True),
            ],
        ),
        ("evaluate_strike_through_last_paragraph", None, [last_struck], [None, partly_struck]),
        ("check_italic_font_size_14", None, [italic(14), None], [italic(12), italic(None)]),
    ],
)
def test_looks_of_a_document_agree_with_the_reference(docx, name, reference, right, wrong):
    kept = docx(change=reference)
    assert [METRICS[name](docx(change=change), kept) for change in right] == [1.0] * len(right)
    assert [METRICS[name](docx(change=change), kept) for change in wrong] == [0.0] * len(wrong)
    assert METRICS[name](docx([*TEXTS[:3], "Another end"], right[0]), kept) == float(
        name.startswith("compare_sub")
    )


def footer(text=None, field=None):
    def change(document):
        paragraph = document.sections[0].footer.paragraphs[0]
        paragraph.text = text or ""
        if field:
            element = OxmlElement("w:instrText")
            element.text = field
            paragraph.add_run()._r.append(element)

    return change


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        (
            "has_page_numbers_in_footers",
            [footer("Page 1"), footer(field=" PAGE ")],
            [
                None,
                footer("Page"),
                footer(field="DATE"),
            ],
        ),
        (
            "is_first_line_centered",
            [first_paragraph(alignment=WD_PARAGRAPH_ALIGNMENT.CENTER)],
            [
                None,
                first_paragraph(alignment=WD_PARAGRAPH_ALIGNMENT.RIGHT),
            ],
        ),
    ],
)
def test_looks_of_the_result_alone(docx, name, right, wrong):
    assert [METRICS[name](docx(change=change)) for change in right] == [1.0] * len(right)
    assert [METRICS[name](docx(change=change)) for change in wrong] == [0.0] * len(wrong)
    assert METRICS[name](docx([])) == 0.0
    assert METRICS[name](None) == 0.0


def tabs(*stops, alignment=WD_TAB_ALIGNMENT.RIGHT):
    def change(document):
        for paragraph in document.paragraphs:
            for stop in stops:
                paragraph.paragraph_format.tab_stops.add_tab_stop(Cm(stop), alignment)

    return change


def test_tab_stops_are_scored_by_their_distance(docx):
    metric, texts = METRICS["check_tabstops"], ["one two three\tfour", "", "five six seven\teight nine"]
    options = {"word_number_split_by_tabstop": 3, "index": 0}
    reference = docx(texts, tabs(10))
    assert metric(docx(texts, tabs(10)), reference, **options) == 1.0
    # The text of python-docx's page is 6 inches wide.
    assert metric(docx(texts, tabs(9)), reference, **options) == pytest.approx(1 - 1 / (6 * 2.54), abs=1e-3)
    assert metric(docx(texts), reference, **options) == 0.0
    assert metric(docx(texts, tabs(10, 12)), reference, **options) == 0.0
    assert metric(docx(texts, tabs(10, alignment=WD_TAB_ALIGNMENT.CENTER)), reference, **options) == 0.0
    assert metric(docx(["one two\tthree four", "", texts[2]], tabs(10)), reference, **options) == 0.0
    assert metric(docx(texts[:2], tabs(10)), reference, **options) == 0.0


def test_nothing_is_highlighted_in_yellow(odt):
    metric = METRICS["check_highlighted_words"]
    marked = '<text:span text:style-name="T1">word</text:span>'
    assert metric(odt("A word"), odt("A word")) == 1.0
    assert metric(odt(f"A {marked}", color="transparent"), odt("A word")) == 1.0
    assert metric(odt(f"A {marked}"), odt("A word")) == 0.0
    assert metric(odt("A wort"), odt("A word")) == 0.0


def colored_table(**colors):
    def change(document):
        for cell, (word, color) in zip(
            document.add_table(1, len(colors)).rows[0].cells, colors.items(), strict=True
        ):
            run = cell.paragraphs[0].add_run(word)
            if color is not None:
                run.font.color.rgb = RGBColor(*color)

    return change


def test_words_in_tables_are_red_or_blue_by_their_first_letter(docx):
    metric, red, blue = METRICS["evaluate_colored_words_in_tables"], (255, 0, 0), (0, 0, 255)
    reference = docx(change=colored_table(Apple=red, pear=blue))
    assert metric(reference, reference) == 1.0
    assert metric(docx(change=colored_table(Apple=(253, 2, 1), pear=blue)), reference) == 1.0
    assert metric(docx(change=colored_table(Apple=(255, 90, 0), pear=blue)), reference) == 0.0
    assert metric(docx(change=colored_table(Apple=blue, pear=blue)), reference) == 0.0
    assert metric(docx(change=colored_table(Apple=red, pear=None)), reference) == 0.0


@pytest.mark.parametrize(
    ("first", "second", "difference"),
    # Of the test data of Sharma, Wu and Dalal (2005).
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, -1, 2), (50, 0, 0), 2.3669),
        ((50, 2.5, 0), (50, 0, -2.5), 4.3065),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
        ((50, 2.4900, -0.0010), (50, -2.4900, 0.0011), 7.2195),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_colour_differences_are_those_published(first, second, difference):
    assert lab_difference(first, second) == pytest.approx(difference, abs=1e-4)
    assert lab_difference(second, first) == pytest.approx(difference, abs=1e-4)


@pytest.mark.parametrize(
    "name", sorted(name for name, spec in METRICS.items() if spec.module in ("documents", "document_format"))
)
def test_what_is_no_document_scores_zero_and_a_bad_reference_is_an_error(docx, tmp_path, name):
    spec, junk = METRICS[name], tmp_path / "junk.docx"
    junk.write_bytes(np.random.default_rng(0).bytes(500))
    expected = {"font_name": "Arial", "page_break_count": 1, "expected": ["a"]}
    if spec.takes_expected and name not in ("compare_font_names", "contains_page_break", "fuzzy_place_math"):
        expected = [docx(), docx()] if name == "compare_unique_train_records" else docx()
        with pytest.raises(InputError):
            spec(docx(), str(junk))
    assert spec(str(junk), expected) == 0.0
    assert spec(str(tmp_path / "missing.docx"), expected) == 0.0
    assert spec(None, expected) == 0.0
