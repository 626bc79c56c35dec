"""Metrics over presentations."""

import io

import pytest
from PIL import Image
from pptx import Presentation
from pptx.dml.color import RGBColor
from pptx.enum.dml import MSO_THEME_COLOR
from pptx.enum.text import PP_ALIGN
from pptx.oxml import parse_xml
from pptx.util import Emu, Inches, Pt

from rla_envs.errors import InputError
from rla_envs.osworld.metrics import METRICS

A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
compare_pptx_files = METRICS["compare_pptx_files"]


def png(color="red", size=(40, 30)):
    data = io.BytesIO()
    Image.new("RGB", size, color).save(data, "PNG")
    return io.BytesIO(data.getvalue())


@pytest.fixture
def pptx(tmp_path):
    """Save a presentation of three slides after a change.

    1: a title and a text of two paragraphs. 2: a text box, a picture. 3: a table, a group with a text box.
    """
    count = iter(range(100))

    def save(change=None):
        file = Presentation()
        first = file.slides.add_slide(file.slide_layouts[1])
        first.shapes.title.text = "Product Comparison"
        first.placeholders[1].text = "One point\nAnother point"
        second = file.slides.add_slide(file.slide_layouts[6])
        box = second.shapes.add_textbox(Inches(1), Inches(1), Inches(2), Inches(1))
        box.text_frame.text = "Boxed words"
        second.shapes.add_picture(png(), Inches(1), Inches(3), Inches(2), Inches(2))
        third = file.slides.add_slide(file.slide_layouts[6])
        frame = third.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1))
        for number in range(4):
            frame.table.cell(*divmod(number, 2)).text = f"cell {number}"
        group = third.shapes.add_group_shape()
        group.shapes.add_textbox(Inches(1), Inches(5), Inches(2), Inches(1)).text_frame.text = "Grouped words"
        if change is not None:
            change(file)
        path = tmp_path / f"slides{next(count)}.pptx"
        file.save(path)
        return str(path)

    return save


def title(file):
    return file.slides[0].shapes.title


def box(file):
    return file.slides[1].shapes[0]


def image(file):
    return file.slides[1].shapes[1]


def table(file):
    return file.slides[2].shapes[0]


def run(file):
    return box(file).text_frame.paragraphs[0].runs[0]


def cell_run(file):
    return table(file).table.cell(0, 0).text_frame.paragraphs[0].runs[0]


def at(pick, **values):
    """Return a change that sets attributes of what ``pick`` finds, dots as double underscores."""

    def change(file):
        for name, value in values.items():
            owner = pick(file)
            *path, last = name.split("__")
            for part in path:
                owner = getattr(owner, part)
            setattr(owner, last, value)

    return change


def background(color):
    def change(file):
        fill = file.slides[0].background.fill
        fill.solid()
        fill.fore_color.rgb = RGBColor.from_string(color)

    return change


def master_background(color):
    def change(file):
        fill = file.slide_master.background.fill
        fill.solid()
        fill.fore_color.rgb = RGBColor.from_string(color)

    return change


def bullet(mark):
    def change(file):
        properties = box(file).text_frame.paragraphs[0]._p.get_or_add_pPr()
        properties.append(parse_xml(f'<a:{mark} xmlns:a="{A}"/>'))

    return change


def theme_color(file):
    run(file).font.color.theme_color = MSO_THEME_COLOR.ACCENT_1


def strike(file):
    run(file)._r.get_or_add_rPr().set("strike", "sngStrike")


def cut_runs(file):
    paragraph = box(file).text_frame.paragraphs[0]
    paragraph.runs[0].text = "Boxed "
    paragraph.add_run().text = "words"


def half_bold(file):
    cut_runs(file)
    box(file).text_frame.paragraphs[0].runs[1].font.bold = True


RED = RGBColor(255, 0, 0)


@pytest.mark.parametrize(
    ("option", "change"),
    [
        ("examine_number_of_slides", lambda file: file.slides.add_slide(file.slide_layouts[6])),
        ("examine_shape", at(image, left=Inches(1.1))),
        ("examine_shape", at(box, height=Inches(1.1))),
        ("examine_text", at(run, text="Boxes words")),
        ("examine_text", at(cell_run, text="cell x")),
        ("examine_indent", at(lambda file: box(file).text_frame.paragraphs[0], level=1)),
        ("examine_font_name", at(run, font__name="Arial")),
        ("examine_font_size", at(run, font__size=Pt(40))),
        ("examine_font_bold", at(run, font__bold=True)),
        ("examine_font_bold", at(cell_run, font__bold=True)),
        ("examine_font_bold", half_bold),
        ("examine_font_italic", at(run, font__italic=True)),
        ("examine_font_italic", at(cell_run, font__italic=True)),
        ("examine_color_rgb", at(cell_run, font__color__rgb=RED)),
        ("examine_color_rgb", at(run, font__color__rgb=RED)),
        ("examine_font_underline", at(run, font__underline=True)),
        ("examine_strike_through", strike),
        ("examine_alignment", at(lambda file: box(file).text_frame.paragraphs[0], alignment=PP_ALIGN.CENTER)),
        ("examine_bullets", bullet('buChar char="-"')),
        ("examine_bullets", bullet('buAutoNum type="arabicPeriod"')),
        ("examine_background_color", background("00FF00")),
        ("examine_background_color", master_background("00FF00")),
        ("examine_note", lambda file: setattr(file.slides[0].notes_slide.notes_text_frame, "text", "Note")),
    ],
)
def test_each_option_switches_off_what_it_examines(pptx, option, change):
    options = {option: False}
    if option == "examine_indent":
        # The level of a paragraph is a bullet's too.
        options["examine_bullets"] = False
        assert compare_pptx_files(pptx(change), pptx(), examine_bullets=False) == 0.0
    else:
        assert compare_pptx_files(pptx(change), pptx()) == 0.0
    assert compare_pptx_files(pptx(change), pptx(), **options) == 1.0
    assert compare_pptx_files(pptx(change), pptx(change)) == 1.0


@pytest.mark.parametrize(
    "change",
    [
        None,
        cut_runs,
        theme_color,
        at(cell_run, font__size=Pt(40), font__name="Arial"),
        at(image, left=Inches(1.004)),
        at(run, font__bold=False, font__italic=False, font__underline=False),
        at(lambda file: box(file).text_frame.paragraphs[0], alignment=PP_ALIGN.LEFT),
        lambda file: setattr(file.slides[0].notes_slide.notes_text_frame, "text", " "),
    ],
)
def test_what_looks_the_same_is_the_same(pptx, change):
    assert compare_pptx_files(pptx(change), pptx()) == 1.0


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.slides[1].shapes.add_textbox(0, 0, 1, 1),
        lambda file: box(file).text_frame.add_paragraph(),
        lambda file: setattr(file.slides[2].shapes[1].shapes[0].text_frame, "text", "Other words"),
        lambda file: table(file).table._tbl.remove(table(file).table._tbl.tr_lst[1]),
    ],
)
def test_shapes_paragraphs_and_cells_must_be_as_many(pptx, change):
    assert compare_pptx_files(pptx(change), pptx()) == 0.0


# Of what OSWorld's tasks want moved: heights of 3.6 and 1.98 million EMU, 4.32 million from the left.
@pytest.mark.parametrize(
    ("option", "change", "score"),
    [
        ("examine_title_bottom_position", at(title, top=Emu(5_000_000)), 1.0),
        ("examine_title_bottom_position", at(title, top=Emu(3_500_000)), 0.0),
        ("examine_title_bottom_position", None, 0.0),
        ("examine_table_bottom_position", at(table, top=Emu(4_000_000)), 1.0),
        ("examine_table_bottom_position", at(table, top=Emu(3_500_000)), 0.0),
        ("examine_right_position", at(image, left=Emu(5_000_000)), 1.0),
        ("examine_right_position", at(image, left=Emu(4_000_000)), 0.0),
        ("examine_top_position", at(image, top=Emu(100_000)), 1.0),
        ("examine_top_position", at(image, top=Emu(2_000_000)), 0.0),
        ("examine_top_position", None, 0.0),
        ("examine_image_size", at(image, top=Emu(100_000)), 1.0),
        ("examine_image_size", at(image, height=Inches(2.1)), 0.0),
        ("examine_image_size", at(box, left=Inches(2)), 0.0),
        ("examine_modify_height", at(image, left=Inches(3)), 1.0),
        ("examine_modify_height", at(image, height=Inches(3)), 0.0),
        ("examine_modify_height", at(box, left=Inches(2)), 0.0),
        ("examine_shape_for_shift_size", None, 1.0),
        ("examine_shape_for_shift_size", at(image, left=Inches(3)), 0.0),
    ],
)
def test_shapes_moved_as_asked(pptx, option, change, score):
    assert compare_pptx_files(pptx(change), pptx(), examine_shape=False, **{option: True}) == score


def test_the_tolerance_of_places_is_relative(pptx):
    moved = pptx(at(image, left=Inches(1.009)))
    assert compare_pptx_files(moved, pptx()) == 0.0
    assert compare_pptx_files(moved, pptx(), approximately_tolerance=0.01) == 1.0


def transition(kind):
    def change(file):
        xml = f'<p:transition xmlns:p="{P}"><p:{kind}/></p:transition>'
        file.slides[0].element.append(parse_xml(xml))

    return change


def turned(file):
    file.slide_width, file.slide_height = file.slide_height, file.slide_width


def number_color(color):
    """Give the master two plain fills of this colour and a third."""

    def change(file):
        number = file.slide_master.placeholders[0].text_frame.paragraphs[0]
        for value in ("112233", color, "445566"):
            part = number.add_run()
            part.text = "x"
            part.font.color.rgb = RGBColor.from_string(value)

    return change


@pytest.mark.parametrize(
    ("name", "expected", "right", "wrong"),
    [
        (
            "check_transition",
            {"slide_idx": 0, "transition_type": "dissolve"},
            [transition("dissolve")],
            [transition("fade"), None],
        ),
        ("check_transition", {"slide_idx": 7, "transition_type": "dissolve"}, [], [transition("dissolve")]),
        (
            "check_page_number_colors",
            {"color": "red"},
            [number_color("FF3020")],
            [
                number_color("FF30E0"),
                number_color("00FF00"),
                None,
            ],
        ),
        ("check_page_number_colors", {"color": "black"}, [number_color("102030")], [number_color("104030")]),
        ("check_page_number_colors", {"color": "blue"}, [number_color("1020A0")], [number_color("102040")]),
        ("check_page_number_colors", {"color": "green"}, [number_color("10A030")], [number_color("104030")]),
    ],
)
def test_presentations_obey_rules(pptx, name, expected, right, wrong):
    assert [METRICS[name](pptx(change), expected) for change in right] == [1.0] * len(right)
    assert [METRICS[name](pptx(change), expected) for change in wrong] == [0.0] * len(wrong)
    assert METRICS[name](None, expected) == 0.0


def test_portrait_slides_are_higher_than_wide(pptx):
    metric = METRICS["check_slide_orientation_Portrait"]
    assert metric(pptx(turned)) == 1.0
    assert metric(pptx()) == 0.0
    assert metric(None) == 0.0


def test_backgrounds_are_scored_by_their_distance_to_the_colour(pptx):
    metric = METRICS["evaluate_presentation_fill_to_rgb_distance"]
    rule = {"rgb": [0, 0, 255], "original_rgb": [255, 255, 255]}
    assert metric(pptx(master_background("0000FF")), rule) == 1.0
    assert metric(pptx(master_background("FFFFFF")), rule) == 0.0
    assert metric(pptx(), rule) == 0.0
    # One slide of three is blue, at no distance; the others have no plain background.
    assert metric(pptx(background("0000FF")), rule) == pytest.approx(1 / 3)
    # 51 of sqrt(3) x 255 away.
    assert metric(pptx(master_background("0000CC")), rule) == pytest.approx(1 - 51 / (3**0.5 * 255))


def slide_picture(left, top, width, height, color="blue"):
    def change(file):
        place = (int(left * file.slide_width), int(top * file.slide_height))
        size = (int(width * file.slide_width), int(height * file.slide_height))
        file.slides[0].shapes.add_picture(png(color), *place, *size)

    return change


def test_a_picture_is_stretched_over_the_slide(pptx):
    metric = METRICS["check_image_stretch_and_center"]
    reference = pptx(slide_picture(0.1, 0.1, 0.2, 0.2))
    assert metric(pptx(slide_picture(0, 0, 1, 1)), reference) == 1.0
    assert metric(pptx(slide_picture(0.01, 0.01, 0.98, 0.98)), reference) == 1.0
    assert metric(pptx(slide_picture(0, 0, 1, 0.9)), reference) == 0.0
    assert metric(pptx(slide_picture(0.1, 0, 1, 1)), reference) == 0.0
    assert metric(pptx(slide_picture(0, 0, 1, 1, "green")), reference) == 0.0
    assert metric(pptx(), reference) == 0.0
    with pytest.raises(InputError, match="with a picture"):
        metric(reference, pptx())


def test_what_is_no_presentation_scores_zero_and_a_bad_reference_is_an_error(pptx, tmp_path):
    junk = tmp_path / "junk.pptx"
    junk.write_bytes(b"PK\x03\x04 not really")
    assert compare_pptx_files(str(junk), pptx()) == 0.0
    assert compare_pptx_files(None, pptx()) == 0.0
    assert METRICS["check_slide_orientation_Portrait"](str(junk)) == 0.0
    with pytest.raises(InputError):
        compare_pptx_files(pptx(), str(junk))
    with pytest.raises(InputError):
        METRICS["check_page_number_colors"](pptx(), {"color": "pink"})
