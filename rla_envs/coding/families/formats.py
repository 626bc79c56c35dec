"""How the inputs of generated problems are written as text and read again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class InputFormat:
    """One form of standard input.

    Attributes:
        names: Names of the arguments of ``solve``, with their JSON types.
        text: The form as the solver reads it.
        read: Returns the list of arguments; its source is part of the programs.
        write: Returns the text of given arguments.
    """

    names: tuple[tuple[str, str], ...]
    text: str
    read: Callable[[str], list[Any]]
    write: Callable[..., str]


def _read_numbers(text: str) -> list[list[int]]:
    return [[int(word) for word in text.split("\n")[1].split()]]


def _read_line(text: str) -> list[str]:
    return [text.split("\n")[0].strip()]


def _read_lines(text: str) -> list[list[str]]:
    lines = text.split("\n")
    return [[line.strip() for line in lines[1 : int(lines[0]) + 1]]]


def _read_pairs(text: str) -> list[list[list[int]]]:
    lines = text.split("\n")
    return [[[int(word) for word in line.split()] for line in lines[1 : int(lines[0]) + 1]]]


def _read_graph(text: str) -> list[int | list[list[int]]]:
    lines = text.split("\n")
    vertices, count = (int(word) for word in lines[0].split())
    return [vertices, [[int(word) for word in line.split()] for line in lines[1 : count + 1]]]


def _rows(rows: list[list[int]]) -> str:
    return "".join(" ".join(map(str, row)) + "\n" for row in rows)


NUMBERS = InputFormat(
    names=(("values", "a list of n integers"),),
    text="The first line holds n. The second line holds n integers separated by spaces.",
    read=_read_numbers,
    write=lambda values: f"{len(values)}\n{' '.join(map(str, values))}\n",
)

LINE = InputFormat(
    names=(("text", "a string of n characters"),),
    text="One line: a string of n characters, without spaces.",
    read=_read_line,
    write=lambda text: f"{text}\n",
)

LINES = InputFormat(
    names=(("lines", "a list of n strings"),),
    text="The first line holds n. Each of the next n lines is one string as described above.",
    read=_read_lines,
    write=lambda lines: "\n".join([str(len(lines)), *lines]) + "\n",
)

PAIRS = InputFormat(
    names=(("pairs", "a list of n pairs [a, b] of integers"),),
    text="The first line holds n. Each of the next n lines holds two integers a and b.",
    read=_read_pairs,
    write=lambda pairs: f"{len(pairs)}\n{_rows(pairs)}",
)

GRAPH = InputFormat(
    names=(
        ("vertices", "the number of vertices, an integer"),
        ("edges", "a list of n edges [u, v, w]: two vertices and a length"),
    ),
    text="The first line holds the number of vertices and n, the number of edges. "
    "Each of the next n lines holds one edge: u, v and w.",
    read=_read_graph,
    write=lambda vertices, edges: f"{vertices} {len(edges)}\n{_rows(edges)}",
)
