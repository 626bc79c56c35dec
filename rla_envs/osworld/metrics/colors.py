"""How different two colours look."""

from __future__ import annotations

import math

RGB = tuple[int, int, int]
_WHITE = (0.95047, 1.0, 1.08883)
"""Daylight (D65, 2 degrees), the white of sRGB."""


def color_difference(first: RGB, second: RGB) -> float:
    """Return the difference of two sRGB colours by CIEDE2000; about 1 is just noticeable."""
    return lab_difference(_lab(first), _lab(second))


def lab_difference(first: tuple[float, float, float], second: tuple[float, float, float]) -> float:
    """Return the CIEDE2000 difference of two CIELAB colours (Sharma, Wu and Dalal 2005, all weights 1)."""
    (light1, a1, b1), (light2, a2, b2) = first, second
    chroma = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    stretch = 1 + (1 - math.sqrt(chroma**7 / (chroma**7 + 25**7))) / 2
    chroma1, chroma2 = math.hypot(a1 * stretch, b1), math.hypot(a2 * stretch, b2)
    hue1, hue2 = (math.degrees(math.atan2(b, a * stretch)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = hue2 - hue1
    if chroma1 * chroma2 == 0:
        turn, mean_hue = 0.0, hue1 + hue2
    elif abs(turn) <= 180:
        mean_hue = (hue1 + hue2) / 2
    else:
        turn += 360 if turn < 0 else -360
        mean_hue = (hue1 + hue2 + (360 if hue1 + hue2 < 360 else -360)) / 2
    delta_light, delta_chroma = light2 - light1, chroma2 - chroma1
    delta_hue = 2 * math.sqrt(chroma1 * chroma2) * math.sin(math.radians(turn / 2))
    light, chroma = (light1 + light2) / 2, (chroma1 + chroma2) / 2
    tone = (
        1
        - 0.17 * math.cos(math.radians(mean_hue - 30))
        + 0.24 * math.cos(math.radians(2 * mean_hue))
        + 0.32 * math.cos(math.radians(3 * mean_hue + 6))
        - 0.20 * math.cos(math.radians(4 * mean_hue - 63))
    )
    scale_light = 1 + 0.015 * (light - 50) ** 2 / math.sqrt(20 + (light - 50) ** 2)
    scale_chroma, scale_hue = 1 + 0.045 * chroma, 1 + 0.015 * chroma * tone
    angle = 30 * math.exp(-(((mean_hue - 275) / 25) ** 2))
    rotation = -2 * math.sqrt(chroma**7 / (chroma**7 + 25**7)) * math.sin(math.radians(2 * angle))
    parts = delta_light / scale_light, delta_chroma / scale_chroma, delta_hue / scale_hue
    return math.sqrt(sum(part**2 for part in parts) + rotation * parts[1] * parts[2])


def _lab(color: RGB) -> tuple[float, float, float]:
    red, green, blue = (_linear(channel / 255) for channel in color)
    xyz = (
        0.412453 * red + 0.357580 * green + 0.180423 * blue,
        0.212671 * red + 0.715160 * green + 0.072169 * blue,
        0.019334 * red + 0.119193 * green + 0.950227 * blue,
    )
    x, y, z = (_root(part / white) for part, white in zip(xyz, _WHITE, strict=True))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def _root(part: float) -> float:
    return math.cbrt(part) if part > 0.008856 else 7.787 * part + 16 / 116
