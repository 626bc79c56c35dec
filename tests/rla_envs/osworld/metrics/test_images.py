"""Metrics over pictures."""

import itertools
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps
from scipy.ndimage import uniform_filter

from rla_envs.errors import InputError
from rla_envs.osworld.metrics import METRICS
from rla_envs.osworld.metrics.pictures import structural_similarity


def scene(width=48, height=36, seed=0):
    """Return a picture with structure at several scales: a gradient, blocks of colour and a little noise."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:height, :width]
    blocks = (
        rng.integers(40, 200, (height // 6 + 1, width // 6 + 1, 3)).repeat(6, 0).repeat(6, 1)[:height, :width]
    )
    pixels = blocks * 0.7 + (rows + columns)[..., None] * 0.5 + rng.normal(0, 2, (height, width, 3))
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


SCENE = scene()


@pytest.fixture
def saved(tmp_path):
    count = iter(range(100))

    def save(picture, kind="png"):
        path = tmp_path / f"picture{next(count)}.{kind}"
        picture.save(path)
        return str(path)

    return save


def similarity_by_definition(first, second):
    """Return the SSIM of two grey pictures, window by window, as the paper's formula reads."""
    scores = []
    for row, column in itertools.product(range(first.shape[0] - 6), range(first.shape[1] - 6)):
        x, y = (side[row : row + 7, column : column + 7].astype(float).ravel() for side in (first, second))
        covariance = np.cov(x, y)
        c1, c2 = 2.55**2, 7.65**2
        scores.append(
            (2 * x.mean() * y.mean() + c1)
            * (2 * covariance[0, 1] + c2)
            / ((x.mean() ** 2 + y.mean() ** 2 + c1) * (covariance[0, 0] + covariance[1, 1] + c2))
        )
    return np.mean(scores)


def test_similarity_is_that_of_the_definition():
    first, second = (np.asarray(scene(20, 14, seed).convert("L")) for seed in (1, 2))
    assert structural_similarity(first, second) == pytest.approx(
        similarity_by_definition(first, second), abs=1e-9
    )
    assert structural_similarity(first, first) == pytest.approx(1.0)


def test_similarity_of_large_pictures_keeps_its_precision():
    rng = np.random.default_rng(3)
    first = rng.integers(0, 256, (900, 700)).astype(np.uint8)
    second = np.clip(first.astype(int) + rng.integers(-30, 30, first.shape), 0, 255).astype(np.uint8)
    x, y = first.astype(float), second.astype(float)
    mean = {name: uniform_filter(value, 7) for name, value in {"x": x, "y": y}.items()}
    xx, yy, xy = (uniform_filter(a * b, 7) for a, b in ((x, x), (y, y), (x, y)))
    spread = 49 / 48 * (xx - mean["x"] ** 2 + yy - mean["y"] ** 2)
    shared = 49 / 48 * (xy - mean["x"] * mean["y"])
    c1, c2 = 2.55**2, 7.65**2
    each = (2 * mean["x"] * mean["y"] + c1) * (2 * shared + c2)
    each /= (mean["x"] ** 2 + mean["y"] ** 2 + c1) * (spread + c2)
    assert structural_similarity(first, second) == pytest.approx(each[3:-3, 3:-3].mean(), abs=1e-9)


def test_a_picture_in_colour_has_the_mean_similarity_of_its_channels():
    first, second = np.asarray(scene(seed=1)), np.asarray(scene(seed=2))
    channels = [structural_similarity(first[..., n], second[..., n]) for n in range(3)]
    assert structural_similarity(first, second) == pytest.approx(np.mean(channels))


def darker(picture, factor=0.6):
    return ImageEnhance.Brightness(picture).enhance(factor)


def contrast(picture, factor):
    return ImageEnhance.Contrast(picture).enhance(factor)


def saturated(picture, factor):
    hue, saturation, value = picture.convert("HSV").split()
    more = saturation.point([min(255, int(level * factor)) for level in range(256)])
    return Image.merge("HSV", (hue, more, value)).convert("RGB")


def padded(picture, left=5, top=3):
    canvas = Image.new("RGBA", (picture.width + 20, picture.height + 10), (0, 0, 0, 0))
    canvas.paste(picture, (left, top))
    return canvas


def one_pixel_off(picture):
    changed = picture.copy()
    red, *others = changed.getpixel((0, 0))
    changed.putpixel((0, 0), (red ^ 1, *others))
    return changed


def green_where(picture, color=(10, 200, 30)):
    """Return the picture with its pixels that are not black in a colour."""
    pixels = np.asarray(picture).copy()
    pixels[pixels.any(axis=2)] = color
    return Image.fromarray(pixels)


# An object in black before a background, higher than wide.
OBJECT = Image.fromarray(
    np.where(np.arange(40)[:, None, None] < 25, 90, 0).repeat(20, 1).repeat(3, 2).astype(np.uint8)
)
OTHER = scene(seed=9)


@pytest.mark.parametrize(
    ("name", "reference", "options", "right", "wrong"),
    [
        (
            "check_structure_sim",
            SCENE,
            {},
            [SCENE, one_pixel_off(SCENE), SCENE.convert("RGBA")],
            [
                OTHER,
                SCENE.resize((47, 36)),
                ImageOps.flip(SCENE),
            ],
        ),
        ("check_file_exists_and_structure_sim", SCENE, {}, [SCENE], [OTHER, SCENE.resize((47, 36))]),
        (
            "check_structure_sim_resized",
            SCENE,
            {},
            [SCENE, padded(SCENE), scene(96, 72).resize((48, 36)).resize((96, 72))][:2],
            [
                padded(OTHER),
                ImageOps.mirror(SCENE),
                Image.new("RGBA", (30, 30), (0, 0, 0, 0)),
            ],
        ),
        ("check_image_mirror", SCENE, {}, [ImageOps.mirror(SCENE)], [SCENE, ImageOps.flip(SCENE), OTHER]),
        ("check_palette_and_structure_sim", SCENE, {}, [SCENE.quantize(256)], [SCENE, OTHER.quantize(256)]),
        (
            "check_brightness_decrease_and_structure_sim",
            SCENE,
            {},
            [darker(SCENE), darker(SCENE, 0.9)],
            [
                SCENE,
                darker(SCENE, 1.3),
                Image.new("RGB", SCENE.size, "black"),
            ],
        ),
        (
            "check_brightness_decrease_and_structure_sim",
            SCENE,
            {"threshold": 0.001},
            [darker(SCENE)],
            [darker(OTHER)],
        ),
        (
            "check_saturation_increase_and_structure_sim",
            SCENE,
            {},
            [saturated(SCENE, 1.15)],
            [
                saturated(SCENE, 0.8),
                SCENE,
                saturated(OTHER, 1.2),
            ],
        ),
        (
            "check_contrast_increase_and_structure_sim",
            SCENE,
            {},
            [contrast(SCENE, 1.3)],
            [
                contrast(SCENE, 0.8),
                SCENE,
                contrast(OTHER, 1.5),
            ],
        ),
        (
            "check_green_background",
            OBJECT,
            {},
            [green_where(OBJECT)],
            [
                green_where(OBJECT, (200, 200, 30)),
                one_pixel_off(OBJECT),
                green_where(OBJECT).resize((20, 39)),
            ],
        ),
        ("compare_image_list", SCENE, {}, [SCENE, SCENE.convert("RGBA")], [one_pixel_off(SCENE), OTHER]),
        ("compare_images", SCENE, {}, [SCENE], []),
    ],
)
def test_pictures_are_compared_with_the_reference(saved, name, reference, options, right, wrong):
    metric, kept = METRICS[name], saved(reference)
    assert [metric(saved(picture), kept, **options) for picture in right] == pytest.approx([1.0] * len(right))
    assert [metric(saved(picture), kept, **options) for picture in wrong] == [0.0] * len(wrong)
    assert metric(None, kept, **options) == 0.0


def test_compare_images_is_the_similarity_above_a_base(saved):
    metric = METRICS["compare_images"]
    mine, reference = saved(one_pixel_off(scene(seed=4))), saved(SCENE)
    grey = [np.asarray(Image.open(path).convert("L")) for path in (mine, reference)]
    similarity = structural_similarity(*grey)
    assert metric(mine, reference) == pytest.approx(max(similarity, 0))
    assert metric(reference, reference, reference_base_result=0.54) == pytest.approx(1.0)
    assert metric(mine, reference, reference_base_result=0.54) == 0.0
    assert metric(mine, reference, reference_base_result=similarity - 0.1) == pytest.approx(
        0.1 / (1 - similarity + 0.1)
    )
    assert metric(saved(SCENE.resize((96, 72))), reference) > 0.8
    with pytest.raises(InputError):
        metric(mine, reference, reference_base_result=1.0)


def test_all_pictures_of_a_list_must_be_the_same(saved):
    metric, first, second = METRICS["compare_image_list"], saved(SCENE), saved(OTHER)
    assert metric([first, second], [first, second]) == 1.0
    assert metric([first, first], [first, second]) == 0.0
    assert metric([first], [first, second]) == 0.0
    assert metric([first, None], [first, second]) == 0.0


def triangle(left, top):
    pixels = np.full((60, 80, 3), 255, np.uint8)
    for row in range(20):
        pixels[top + row, left - row // 2 : left + row // 2 + 1] = (255, 220, 0)
    return Image.fromarray(pixels)


def text_at(column):
    pixels = np.full((30, 100, 3), 250, np.uint8)
    pixels[10:20, column : column + 20] = 20
    return Image.fromarray(pixels)


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        (
            "check_triangle_position",
            [triangle(40, 18), triangle(42, 19)],
            [
                triangle(46, 18),
                triangle(40, 30),
                Image.new("RGB", (9, 9)),
            ],
        ),
        (
            "check_textbox_on_leftside",
            [text_at(0), text_at(4)],
            [text_at(5), text_at(60), Image.new("L", (9, 9), 255)],
        ),
    ],
)
def test_pictures_are_judged_alone(saved, name, right, wrong):
    assert [METRICS[name](saved(picture)) for picture in right] == [1.0] * len(right)
    assert [METRICS[name](saved(picture)) for picture in wrong] == [0.0] * len(wrong)
    assert METRICS[name](None) == 0.0


@pytest.mark.parametrize(
    ("rule", "right", "wrong"),
    [
        ({"height": 36, "width": 48}, [SCENE], [SCENE.resize((48, 37)), SCENE.resize((47, 36))]),
        ({"height": 36}, [SCENE, SCENE.resize((10, 36))], [SCENE.resize((48, 35))]),
        (
            {"height": 36, "ignore_transparent": True},
            [SCENE, padded(SCENE)],
            [padded(SCENE.resize((48, 35)))],
        ),
        ({"height": 36}, [], [padded(SCENE)]),
    ],
)
def test_pictures_have_the_size_asked_for(saved, rule, right, wrong):
    metric = METRICS["check_image_size"]
    assert [metric(saved(picture), rule) for picture in right] == [1.0] * len(right)
    assert [metric(saved(picture), rule) for picture in wrong] == [0.0] * len(wrong)
    with pytest.raises(InputError):
        metric(saved(SCENE), {"size": 3})


def test_files_are_smaller_than_asked_for(saved, tmp_path):
    metric, file = METRICS["check_image_file_size"], saved(SCENE)
    size = (tmp_path / file).stat().st_size
    assert metric(file, {"max_size": size + 1}) == 1.0
    assert metric(file, {"max_size": size}) == 0.0
    (tmp_path / "empty.png").touch()
    assert metric(str(tmp_path / "empty.png"), {"max_size": size}) == 0.0


def png_chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def test_bombs_and_pictures_of_other_programs_score_zero(saved, tmp_path):
    reference, metric = saved(SCENE), METRICS["check_structure_sim"]
    bomb = tmp_path / "bomb.png"
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
    bomb.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + header
        + png_chunk(b"IDAT", zlib.compress(bytes(1000)))
        + png_chunk(b"IEND", b"")
    )
    assert metric(str(bomb), reference) == 0.0
    cut = tmp_path / "cut.png"
    cut.write_bytes((tmp_path / reference).read_bytes()[:500])
    assert metric(str(cut), reference) == 0.0
    # Pillow would start Ghostscript for it.
    postscript = tmp_path / "a.eps"
    postscript.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 48 36\n%%EndComments\n")
    assert metric(str(postscript), reference) == 0.0
    with pytest.raises(InputError):
        metric(reference, str(cut))
