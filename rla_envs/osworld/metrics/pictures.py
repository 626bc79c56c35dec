"""Opening pictures, and how alike two of them are."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

MAX_PIXELS = 25_000_000
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
"""What is opened at all; among Pillow's others are some that start other programs."""

_WINDOW = 7
# The constants of the paper (Wang et al. 2004) for pictures of 256 levels.
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2


def open_picture(source: Path | bytes) -> Image.Image:
    """Decode a picture, a file or its content.

    Raises:
        ValueError: It has more than `MAX_PIXELS` pixels.
        OSError: It is no picture of a known format, or truncated.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        data = source if isinstance(source, bytes) else source.read_bytes()
        picture = Image.open(io.BytesIO(data), formats=_FORMATS)
    if picture.width * picture.height > MAX_PIXELS:
        raise ValueError(f"a picture of {picture.width} x {picture.height} pixels, more than {MAX_PIXELS}")
    picture.load()
    return picture


def structural_similarity(first: npt.NDArray[np.uint8], second: npt.NDArray[np.uint8]) -> float:
    """Return the mean structural similarity (SSIM) of two pictures, in [-1, 1].

    As scikit-image computes it by default: windows of 7 by 7 pixels of equal weight, sample covariance, and
    the mean over all windows and channels.

    Args:
        first: Shape (height, width) or (height, width, channels), each side at least 7.
        second: Of the same shape.

    Raises:
        ValueError: The shapes differ or are too small.
    """
    if first.shape != second.shape or min(first.shape[:2]) < _WINDOW:
        raise ValueError(f"expected two equal shapes of at least 7 x 7, got {first.shape} and {second.shape}")
    layers = first.reshape(*first.shape[:2], -1), second.reshape(*second.shape[:2], -1)
    # One channel at a time: a large picture's sums take hundreds of megabytes.
    return float(
        np.mean(
            [_channel_similarity(layers[0][..., n], layers[1][..., n]) for n in range(layers[0].shape[2])]
        )
    )


def _channel_similarity(first: npt.NDArray[np.uint8], second: npt.NDArray[np.uint8]) -> float:
    x, y = first.astype(np.float64), second.astype(np.float64)
    mean_x, mean_y = _window_means(x), _window_means(y)
    sample = _WINDOW**2 / (_WINDOW**2 - 1)
    variance_x = sample * (_window_means(x * x) - mean_x * mean_x)
    variance_y = sample * (_window_means(y * y) - mean_y * mean_y)
    covariance = sample * (_window_means(x * y) - mean_x * mean_y)
    similarity = (2 * mean_x * mean_y + _C1) * (2 * covariance + _C2)
    similarity /= (mean_x**2 + mean_y**2 + _C1) * (variance_x + variance_y + _C2)
    return float(similarity.mean())


def _window_means(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the mean of each whole window, by sums over rows and then columns."""
    for axis in (0, 1):
        zero = np.zeros_like(values.take([0], axis=axis))
        sums = np.concatenate([zero, values.cumsum(axis=axis)], axis=axis)
        length = sums.shape[axis]
        values = sums.take(range(_WINDOW, length), axis=axis) - sums.take(range(length - _WINDOW), axis=axis)
    return values / _WINDOW**2
