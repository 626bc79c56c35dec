"""Charts as inline SVG: lines over iterations, and rates with their intervals.

Colours come from the page's style sheet (classes ``s0`` to ``s3``), so that one
drawing serves light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 12, 34


class Series(NamedTuple):
    """A line of a chart.

    Attributes:
        name: Its name in the legend.
        values: Its values, one per x; None leaves a gap.
        style: Class names: a colour ``s0`` to ``s3``, and ``faint`` for a line in the background.
    """

    name: str
    values: Sequence[float | None]
    style: str = "s0"


class Bar(NamedTuple):
    """A rate of a bar chart.

    Attributes:
        label: What was measured.
        rate: The rate, from 0 to 1.
        low: Lower end of its interval.
        high: Upper end of its interval.
        note: Text behind the bar.
        style: Colour class.
    """

    label: str
    rate: float
    low: float
    high: float
    note: str
    style: str = "s0"


def line_chart(
    title: str,
    xs: Sequence[float],
    series: Sequence[Series],
    *,
    size: tuple[int, int] = (860, 240),
    bounds: tuple[float, float] | None = None,
    percent: bool = False,
    over: str = "iteration",
) -> Markup:
    """Return a chart of values over iterations, or nothing where there is no value.

    Args:
        title: What it shows; read out by screen readers.
        xs: Iterations, or what ``over`` names, rising.
        series: Lines; at most four colours.
        size: Width and height in pixels.
        bounds: Lowest and highest value of the axis; the data's own if None.
        percent: Whether values are shares, shown in percent.
        over: What the values are over, in one word.
    """
    # A diverged model leaves infinities or NaN in the log; a drawing has no place for them.
    lines = [line._replace(values=[_finite(value) for value in line.values]) for line in series]
    present = [value for line in lines for value in line.values if value is not None]
    if not present:
        return Markup()
    ticks = _ticks(*(bounds or (min(present), max(present))))
    plot = _Plot(size, (min(xs), max(xs)), (ticks[0], ticks[-1]))
    parts = [_axis(plot, ticks, percent), _x_axis(plot, xs, over)]
    for line in lines:
        parts.append(_line(plot, xs, line, percent, over))
    names = [line for line in lines if any(value is not None for value in line.values)]
    picture = _picture(title, size, parts)
    return picture + _legend(names) if len(names) > 1 else picture


def rate_chart(title: str, bars: Sequence[Bar], *, width: int = 860, label_width: int = 150) -> Markup:
    """Return horizontal bars from 0 to 100% with the interval of each drawn over it."""
    row, right = 26, 150
    height = row * len(bars) + 26
    scale = width - label_width - right
    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = label_width + tick * scale
        parts.append(_tag("line", class_="grid", x1=x, x2=x, y1=2, y2=height - 22))
        parts.append(_text(f"{100 * tick:.0f}%", x, height - 6, "middle", "tick"))
    for index, bar in enumerate(bars):
        y = 4 + index * row
        low, high = (f"{label_width + end * scale:.1f}" for end in (bar.low, bar.high))
        whisker = f"M{low} {y + 5}v9M{high} {y + 5}v9M{low} {y + 9.5}H{high}"
        parts += [
            _text(_cut(bar.label, label_width // 7), label_width - 8, y + 15, "end", "label"),
            _tag(
                "rect",
                class_=f"bar {bar.style}",
                x=label_width,
                y=y + 1,
                width=bar.rate * scale,
                height=17,
                rx=2,
            ),
            _tag("path", class_="whisker", d=whisker),
            _text(bar.note, width - right + 10, y + 15, "start", "note"),
        ]
    return _picture(title, (width, height), parts)


class _Plot(NamedTuple):
    """Maps values to pixels."""

    size: tuple[int, int]
    x_range: tuple[float, float]
    y_range: tuple[float, float]

    def x(self, value: float) -> float:
        low, high = self.x_range
        share = 0.5 if high == low else (value - low) / (high - low)
        return _LEFT + share * (self.size[0] - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        low, high = self.y_range
        share = (min(max(value, low), high) - low) / (high - low)
        return _TOP + (1 - share) * (self.size[1] - _TOP - _BOTTOM)


def _line(plot: _Plot, xs: Sequence[float], line: Series, percent: bool, over: str) -> Markup:
    runs: list[list[str]] = [[]]
    marks = []
    for x, value in zip(xs, line.values, strict=True):
        if value is None:
            runs.append([])
            continue
        left, top = plot.x(x), plot.y(value)
        runs[-1].append(f"{left:.1f},{top:.1f}")
        if "faint" not in line.style:
            tip = _tag("title", f"{line.name}, {over} {x:g}: {_number(value, percent)}")
            radius = 3 if len(xs) <= 40 else 2
            marks.append(_tag("circle", tip, class_=f"dot {line.style}", cx=left, cy=top, r=radius))
    paths = [_tag("polyline", class_=f"line {line.style}", points=" ".join(run)) for run in runs if run]
    return Markup("").join([*paths, *marks])


def _axis(plot: _Plot, ticks: Sequence[float], percent: bool) -> Markup:
    parts = []
    for tick in ticks:
        y = plot.y(tick)
        parts.append(_tag("line", class_="grid", x1=_LEFT, x2=plot.size[0] - _RIGHT, y1=y, y2=y))
        parts.append(_text(_number(tick, percent), _LEFT - 6, y + 4, "end", "tick"))
    return Markup("").join(parts)


def _x_axis(plot: _Plot, xs: Sequence[float], over: str) -> Markup:
    first, last = plot.x_range
    shown: Sequence[float] = xs
    if first < last:
        room = max(2, (plot.size[0] - _LEFT - _RIGHT) // 50)
        shown = [tick for tick in _ticks(first, last, room) if first <= tick <= last and tick == int(tick)]
    y = plot.size[1] - _BOTTOM + 16
    ticks = [_text(f"{tick:g}", plot.x(tick), y, "middle", "tick") for tick in shown]
    middle = (_LEFT + plot.size[0] - _RIGHT) / 2
    return Markup("").join([*ticks, _text(over, middle, plot.size[1] - 4, "middle", "tick")])


def _legend(series: Sequence[Series]) -> Markup:
    items = [_tag("li", _tag("span", class_=f"key {line.style}") + line.name) for line in series]
    return _tag("ul", Markup("").join(items), class_="legend")


def _picture(title: str, size: tuple[int, int], parts: Sequence[Markup]) -> Markup:
    box, style = f"0 0 {size[0]} {size[1]}", f"max-width:{size[0]}px"
    return _tag("svg", Markup("").join(parts), viewBox=box, style=style, role="img", aria_label=title)


def _text(text: str, x: float, y: float, anchor: str, class_: str) -> Markup:
    return _tag("text", text, class_=class_, x=x, y=y, text_anchor=anchor)


def _tag(name: str, content: str = "", **attributes: str | float) -> Markup:
    """Return an element; text and attributes are escaped, markup as content is kept."""
    listed = Markup("").join(
        Markup(' {}="{}"').format(
            key.rstrip("_").replace("_", "-"), round(value, 1) if isinstance(value, float) else value
        )
        for key, value in attributes.items()
    )
    return Markup("<{0}{1}>{2}</{0}>").format(name, listed, content)


def _ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return round values, evenly spaced, from at most ``low`` to at least ``high``."""
    if low == high:
        spread = abs(low) or 1.0
        low, high = (low - spread / 2, high + spread / 2) if low else (0.0, 1.0)
    rough = (high - low) / max(1, count - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(index * step, 12) for index in range(first, last + 1)]


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def _number(value: float, percent: bool) -> str:
    if percent:
        return f"{100 * value:.4g}%"
    return f"{value:.3g}"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
