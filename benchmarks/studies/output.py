"""What studies leave behind: figures with the same bytes every time, and parts of a page."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rla_envs.errors import InputError, missing_extra
from rla_envs.files import write_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLE: dict[Any, Any] = {  # matplotlib types its keys one by one
    "svg.hashsalt": "rla",  # element ids are hashes of it; a random one changes every byte
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
}


def panels(count: int, width: float = 4.2, height: float = 3.2) -> tuple[Figure, list[Axes]]:
    """Return a figure with that many panels side by side, each of a size in inches.

    Raises:
        MissingExtraError: If matplotlib is not installed (extra ``bench``).
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_extra("figures of a study", "bench", error) from error
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width * count, height), layout="constrained")
        return figure, list(figure.subplots(1, count, squeeze=False)[0])


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure as SVG, the same bytes for the same figure."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    # matplotlib leaves blanks at the ends of lines.
    lines = (line.rstrip() for line in buffer.getvalue().splitlines())
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, "\n".join(lines) + "\n")


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file, whole or not at all; entries of its top level stand on lines of their own."""
    lines = (f"{json.dumps(key)}: {_value(value)}" for key, value in content.items())
    write_atomic(path, "{\n" + ",\n".join(lines) + "\n}\n")


def _value(value: object) -> str:
    if not isinstance(value, list):
        return json.dumps(value, allow_nan=False)
    return "[\n" + ",\n".join(json.dumps(item, allow_nan=False) for item in value) + "\n]"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def replace_part(page: Path, name: str, text: str) -> None:
    """Replace what stands between ``<!-- name -->`` and ``<!-- end of name -->`` in a page.

    Raises:
        InputError: If the page does not have these two lines exactly once.
    """
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    old = page.read_text(encoding="utf-8")
    pattern = re.compile(f"{re.escape(begin)}\n.*?{re.escape(end)}\n", re.DOTALL)
    if len(pattern.findall(old)) != 1:
        raise InputError(f"{page}: expected the lines {begin} and {end} once, in this order")
    write_atomic(page, pattern.sub(lambda _: f"{begin}\n{text.strip()}\n{end}\n", old))
