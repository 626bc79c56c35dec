"""Metrics over pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from rla_envs.errors import InputError
from rla_envs.osworld.metrics.inputs import paths, read_both, read_expected, read_result, rule
from rla_envs.osworld.metrics.pictures import open_picture, structural_similarity

_SIMILAR = 0.9
"""Structural similarity from which OSWorld takes two pictures for the same but for what was to be changed."""


def compare_images(result: Any, expected: Any, *, reference_base_result: float | None = None) -> float:
    """Return the structural similarity of two pictures in grey, scaled to the smaller one's size.

    Args:
        result: Path of the agent's picture.
        expected: Path of the reference.
        reference_base_result: Similarity of the untouched picture: it scores 0, as does whatever is not at
            least 0.01 better; 1 is the reference itself.
    """
    mine, reference = (picture.convert("L") for picture in read_both(open_picture, result, expected))
    # The size that is first in (width, height) order, as OSWorld has it.
    size = min(mine.size, reference.size)
    grey = [_array(picture.resize(size, Image.Resampling.LANCZOS)) for picture in (mine, reference)]
    similarity = structural_similarity(*grey) if min(size) >= 7 else 0.0
    if reference_base_result is None:
        return similarity
    if not 0 <= reference_base_result < 1:
        raise InputError(f"expected reference_base_result in [0, 1), got {reference_base_result!r}")
    if similarity < reference_base_result + 0.01:
        return 0.0
    return (similarity - reference_base_result) / (1 - reference_base_result)


def compare_image_list(result: Any, expected: Any) -> float:
    """Return whether pictures, scaled to the references' sizes, are the same to the pixel.

    Args:
        result: Path of the agent's picture, or one for each reference.
        expected: Path of the reference, or several.
    """
    references = [read_expected(open_picture, path) for path in paths(expected)]
    pictures = [read_result(open_picture, path) for path in paths(result)]
    if len(pictures) != len(references):
        return 0.0
    return float(all(_same_pixels(*pair) for pair in zip(pictures, references, strict=True)))


def check_structure_sim(result: Any, expected: Any) -> float:
    """Return whether two pictures of one size are alike in structure."""
    return float(_alike(*read_both(open_picture, result, expected)))


def check_file_exists_and_structure_sim(result: Any, expected: Any) -> float:
    """Return whether a picture was saved that is like the reference in structure."""
    return check_structure_sim(result, expected)


def check_structure_sim_resized(result: Any, expected: Any) -> float:
    """Return whether a picture, cut to what is opaque and scaled to the reference's size, is like it."""
    mine, reference = read_both(open_picture, result, expected)
    box = _opaque_box(mine)
    if box is None:
        return 0.0
    return float(_alike(mine.crop(box).convert("RGB").resize(reference.size), reference))


def check_image_mirror(result: Any, expected: Any) -> float:
    """Return whether a picture is the reference's mirror image, left to right (similarity of 0.99)."""
    mine, reference = read_both(open_picture, result, expected)
    return float(_alike(mine.transpose(Image.Transpose.FLIP_LEFT_RIGHT), reference, 0.99))


def check_palette_and_structure_sim(result: Any, expected: Any) -> float:
    """Return whether a picture is one with a palette and like the reference in structure."""
    mine, reference = read_both(open_picture, result, expected)
    return float(mine.mode == "P" and _alike(mine, reference))


def check_brightness_decrease_and_structure_sim(
    result: Any, expected: Any, *, threshold: float = 0.03
) -> float:
    """Return whether a picture is darker than the reference and else the same.

    Args:
        result: Path of the agent's picture.
        expected: Path of the reference.
        threshold: Mean square difference (of channels in [0, 1]) below which two pictures brought to the same
            mean brightness are the same.
    """
    pictures = [picture.convert("RGB") for picture in read_both(open_picture, result, expected)]
    brightness = [_array(picture.convert("L")).mean() for picture in pictures]
    if not 0 < brightness[0] < brightness[1]:
        return 0.0
    levelled = [
        picture.point([min(255, int(level * 128 / mean)) for level in range(256)] * 3)
        for picture, mean in zip(pictures, brightness, strict=True)
    ]
    mine, reference = levelled
    mine = mine if mine.size == reference.size else mine.resize(reference.size, Image.Resampling.LANCZOS)
    difference = _array(mine).astype(np.float32) - _array(reference).astype(np.float32)
    return float(np.mean((difference / 255) ** 2) < threshold)


def check_saturation_increase_and_structure_sim(result: Any, expected: Any) -> float:
    """Return whether a picture is more saturated than the reference and alike in hue and brightness."""
    mine, reference = (
        picture.convert("RGB").convert("HSV").split() for picture in read_both(open_picture, result, expected)
    )
    return float(
        _array(mine[1]).mean() > _array(reference[1]).mean()
        and _alike(mine[0], reference[0])
        and _alike(mine[2], reference[2])
    )


def check_contrast_increase_and_structure_sim(result: Any, expected: Any) -> float:
    """Return whether a picture has more contrast than the reference and is like it (similarity of 0.65).

    Contrast is the standard deviation of all levels.
    """
    mine, reference = (picture.convert("RGB") for picture in read_both(open_picture, result, expected))
    return float(_array(mine).std() > _array(reference).std() and _alike(mine, reference, 0.65))


def check_green_background(result: Any, expected: Any) -> float:
    """Return whether a picture is green (more so than red and blue) wherever the reference is not black.

    (OSWorld exchanges width and height, so that only square pictures are compared whole there.)
    """
    mine, reference = (
        _array(picture.convert("RGB")) for picture in read_both(open_picture, result, expected)
    )
    if mine.shape != reference.shape:
        return 0.0
    red, green, blue = np.moveaxis(mine[reference.any(axis=2)], 1, 0)
    return float(bool(np.all((green > red) & (green > blue))))


def check_triangle_position(result: Any) -> float:
    """Return whether the second commonest colour of a picture, the triangle's, lies in its middle.

    Its centre may be off by 5 % of the picture's height and width. (OSWorld takes the second rarest colour,
    which is the same in a picture of two and an edge's shade in others.)
    """
    picture = _array(read_result(open_picture, result).convert("RGB")).astype(np.uint32)
    codes = (picture[..., 0] << 16) | (picture[..., 1] << 8) | picture[..., 2]
    colors, counts = np.unique(codes, return_counts=True)
    if len(colors) < 2:
        return 0.0
    size = np.array(codes.shape)
    centre = np.argwhere(codes == colors[np.argsort(counts)[-2]]).mean(axis=0)
    return float(bool(np.all(np.abs(centre - size / 2) < 0.05 * size)))


def check_textbox_on_leftside(result: Any) -> float:
    """Return whether dark pixels (grey level below 128) begin in the left 5 % of a picture."""
    grey = _array(read_result(open_picture, result).convert("L"))
    dark = np.flatnonzero((grey < 128).any(axis=0))
    return float(dark.size > 0 and dark[0] < grey.shape[1] * 0.05)


def check_image_size(result: Any, expected: Any) -> float:
    """Return whether a picture has the ``height`` and ``width`` given, in pixels.

    With ``ignore_transparent``, of the smallest box around what is not transparent.
    """
    if not isinstance(expected, dict) or not {"height", "width"} & expected.keys():
        raise InputError(f"expected rules with 'height' or 'width', got {expected!r}")
    picture = read_result(open_picture, result)
    width, height = picture.size
    if expected.get("ignore_transparent", False):
        left, top, right, bottom = _opaque_box(picture) or (0, 0, 0, 0)
        width, height = right - left, bottom - top
    return float(expected.get("height") in (None, height) and expected.get("width") in (None, width))


def check_image_file_size(result: Any, expected: Any) -> float:
    """Return whether a picture's file has fewer than ``max_size`` bytes."""
    limit = rule(expected, "max_size")
    return float(read_result(_file_size, result) < limit)


def _file_size(path: Path) -> int:
    open_picture(path)
    return path.stat().st_size


def _array(picture: Image.Image) -> npt.NDArray[np.uint8]:
    return np.asarray(picture, dtype=np.uint8)


def _alike(first: Image.Image, second: Image.Image, threshold: float = _SIMILAR) -> bool:
    if first.size != second.size or min(first.size) < 7:
        return False
    return structural_similarity(*(_array(side.convert("RGB")) for side in (first, second))) >= threshold


def _same_pixels(mine: Image.Image, reference: Image.Image) -> bool:
    if mine.size != reference.size:
        mine = mine.resize(reference.size, Image.Resampling.LANCZOS)
    return mine.convert("RGBA").tobytes() == reference.convert("RGBA").tobytes()


def _opaque_box(picture: Image.Image) -> tuple[int, int, int, int] | None:
    if "A" not in picture.mode and "transparency" not in picture.info:
        return (0, 0, *picture.size)
    return picture.convert("RGBA").getchannel("A").getbbox()
