"""Find the program in an answer."""

from __future__ import annotations

import ast
import re
import warnings

FENCE = "```"
_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
_INLINE = re.compile(r"```[ \t]*(?:(?:python|py)\d*[ \t]+)?(.+?)```", re.IGNORECASE)


def extract_code(answer: str, partial_solution: str = "", rule: str = "strict") -> str | None:
    """Return the program that an answer holds, ready to run.

    LiveBench's rule: without its ``<think>`` blocks, the answer's code is what
    stands between the last two lines that contain three backticks. The strict
    rule starts from it and copes with what it loses: a last block that is not
    Python while an earlier one is, a fence that is never closed (or never
    opened), a program on one line with its fences, and an answer that is
    nothing but a program.

    Args:
        answer: The whole answer.
        partial_solution: Code that the answer continues; put before it unless
            the answer repeats it.
        rule: ``"strict"`` or ``"livebench"``.

    Returns:
        The code, or None if the answer holds none. (LiveBench then runs an
        empty program, which fails.)
    """
    text = _THOUGHT.sub("", answer)
    if rule == "livebench":
        code: str | None = _last_block(text.split("\n"))
    else:
        # A thought without its opening mark was opened by the chat template, one without end has no answer.
        text = text.rpartition("</think>")[2].partition("<think>")[0]
        code = _best(_candidates(text.replace("\r\n", "\n")), partial_solution)
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


def _last_block(lines: list[str]) -> str | None:
    fences = [i for i, line in enumerate(lines) if FENCE in line]
    return "\n".join(lines[fences[-2] + 1 : fences[-1]]) if len(fences) >= 2 else None


def _candidates(text: str) -> list[str]:
    """Return what may be the program, the likeliest first."""
    lines = text.split("\n")
    fences = [i for i, line in enumerate(lines) if FENCE in line]
    if not fences:
        return [text] if _is_program(text) else []
    found = []
    if (last := _last_block(lines)) is not None:
        found.append(last)
    # Blocks in their proper pairs: an odd number of fences means that the last was never closed.
    pairs = [(first, end) for first, end in zip(fences[::2], [*fences[1::2], len(lines)], strict=False)]
    found += ["\n".join(lines[first + 1 : end]) for first, end in reversed(pairs)]
    found += reversed(_INLINE.findall(text))
    if len(fences) == 1:
        found.append("\n".join(lines[: fences[0]]))
    return found


def _best(candidates: list[str], partial_solution: str) -> str | None:
    filled = [code for code in candidates if code.strip()]
    for code in filled:
        if _is_program(join_partial(partial_solution, code)):
            return code
    return filled[0] if filled else None


def _is_program(text: str) -> bool:
    """Return whether a text is Python that does something; prose that parses ("yes", "42") does nothing."""
    if not text.strip() or not parses(text):
        return False
    body = ast.parse(text).body
    return not all(isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call) for node in body)
