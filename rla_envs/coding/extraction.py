"""Find the program in an answer."""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
import warnings
from collections.abc import Iterator

FENCE = "```"
_LANGUAGE = re.compile(r"[ \t]*(?:(?:python|py)\d*[ \t]+)?", re.IGNORECASE)
_MOST_CANDIDATES = 100
"""Blocks that are looked at; a model that repeats itself writes fences by the thousand."""


def extract_code(answer: str, partial_solution: str = "", rule: str = "strict") -> str | None:
    """Return the program that an answer holds, ready to run.

    LiveBench's rule: without its ``<think>`` blocks, the answer's code is what
    stands between the last two lines that contain three backticks. The strict
    rule starts from it and copes with what it loses: a last block that is not
    Python while an earlier one is, a fence that is never closed (or never
    opened), a program on one line with its fences, an indented block, a program
    that holds fences itself, and an answer that is nothing but a program.
    Either takes time in proportion to the answer, whatever it repeats.

    Args:
        answer: The whole answer.
        partial_solution: Code that the answer continues; put before it unless
            the answer repeats it.
        rule: ``"strict"`` or ``"livebench"``.

    Returns:
        The code, or None if the answer holds none. (LiveBench then runs an
        empty program, which fails.)
    """
    text = _without_thoughts(answer)
    if rule == "livebench":
        code: str | None = _last_block(text.split("\n"))
    else:
        # A thought without its opening mark was opened by the chat template, one without end has no answer.
        text = text.rpartition("</think>")[2].partition("<think>")[0]
        code = _best(_candidates(text.replace("\r\n", "\n"), partial_solution), partial_solution)
    if not code or not code.strip():
        return None
    return join_partial(partial_solution, code)


def join_partial(partial_solution: str, code: str) -> str:
    """Return ``code`` behind the partial solution, unless it already starts with it."""
    if partial_solution and not code.startswith(partial_solution):
        return f"{partial_solution}\n{code}"
    return code


def parses(code: str) -> bool:
    """Return whether a text is a Python program, warnings aside."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _without_thoughts(answer: str) -> str:
    """Return the answer without ``<think>...</think>``; one that never ends stays."""
    kept, start = [], 0
    while (opened := answer.find("<think>", start)) >= 0:
        closed = answer.find("</think>", opened)
        if closed < 0:
            break
        kept.append(answer[start:opened])
        start = closed + len("</think>")
    return "".join([*kept, answer[start:]])


def _last_block(lines: list[str]) -> str | None:
    fences = [i for i, line in enumerate(lines) if FENCE in line]
    return "\n".join(lines[fences[-2] + 1 : fences[-1]]) if len(fences) >= 2 else None


def _candidates(text: str, partial_solution: str) -> Iterator[str]:
    """Yield what may be the program, the likeliest first."""
    lines = text.split("\n")
    fences = [i for i, line in enumerate(lines) if FENCE in line]
    if not fences:
        if _is_program(text):
            yield text
        return
    whole = "\n".join(lines[fences[0] + 1 : fences[-1]])
    # Backticks are no Python: where all between the outer fences is, the inner ones stand in strings of it.
    if len(fences) > 2 and _is_program(join_partial(partial_solution, whole)):
        yield whole
    if (last := _last_block(lines)) is not None:
        yield last
    # Blocks in their proper pairs: an odd number of fences means that the last was never closed.
    pairs = [(first, end) for first, end in zip(fences[::2], [*fences[1::2], len(lines)], strict=False)]
    for first, end in reversed(pairs):
        yield "\n".join(lines[first + 1 : end])
    for i in reversed(fences):
        closed = lines[i].split(FENCE)[1:-1:2]
        yield from (code[_LANGUAGE.match(code).end() :] for code in reversed(closed))  # type: ignore[union-attr]
    if len(fences) == 1:
        yield "\n".join(lines[: fences[0]])


def _best(candidates: Iterator[str], partial_solution: str) -> str | None:
    filled = list(itertools.islice((code for code in candidates if code.strip()), _MOST_CANDIDATES))
    for code in filled:
        for form in (code, textwrap.dedent(code)):
            if _is_program(join_partial(partial_solution, form)):
                return form
    return filled[0] if filled else None


def _is_program(text: str) -> bool:
    """Return whether a text is Python that does something; prose that parses ("yes", "42") does nothing."""
    if not text.strip() or not parses(text):
        return False
    body = ast.parse(text).body
    return not all(isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call) for node in body)
