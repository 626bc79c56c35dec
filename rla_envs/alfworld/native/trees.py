"""Read text in parentheses, as PDDL is written: words in lower case, without comments.

What is well-formed, as nearly everything is, is read many words at a time; the
rest is read again line by line, to tell what is wrong and where.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator
from typing import Any, NoReturn, TypeAlias

from rla_envs.errors import InvalidTaskError

Tree: TypeAlias = Any
"""A word, or a list of trees."""

_TOKEN = re.compile(r"[()]|\?[^\s()?]*|[^\s()?]+")
_COMMENT = re.compile(r";[^\n]*")
_MAX_DEPTH = 60


class PddlError(InvalidTaskError):
    """Something in a text is wrong.

    Attributes:
        words: The words that are, in a row but for parentheses; empty if it is none in particular.
        occurrence: Which place with these words it is, from 1.
    """

    def __init__(self, message: str, words: tuple[str, ...] = (), occurrence: int = 1) -> None:
        """Say what is wrong."""
        super().__init__(message)
        self.words = words
        self.occurrence = occurrence


def refuse(where: str, what: str, tree: Tree = (), occurrence: int = 1) -> NoReturn:
    """Raise an error that names the place and the fault, and the words that are at fault."""
    raise PddlError(f"{where}: {what}", tuple(_flat(tree)), occurrence)


def _flat(tree: Tree) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
        return
    for part in tree:
        yield from _flat(part)


def short(tree: Tree) -> str:
    """Return a tree for a message."""
    return reprlib.repr(tree)


def read_tree(text: str, where: str) -> list[Tree]:
    """Read the one parenthesised expression that a text holds.

    Raises:
        InvalidTaskError: If a parenthesis is missing or too many, or something
            stands outside.
    """
    tree = _sound_tree(text)
    return _checked_tree(text, where) if tree is None else tree


def _sound_tree(text: str) -> list[Tree] | None:
    """Read an expression in which nothing is wrong, many words at a time; None if something is."""
    code = _COMMENT.sub("", text).lower()
    lines = code.split(")\n(")
    facts: list[Tree] = list(map(str.split, lines))  # right where a line is but a fact
    others = [i for i, line in enumerate(lines) if "(" in line or ")" in line or "?" in line]
    if others[:1] != [0]:
        return None
    outside: list[Tree] = []
    stack = [outside]
    for number, following in zip(others, [*others[1:], len(lines)], strict=True):
        if number:
            if len(stack) == 1:
                return None
            stack[-2].append(stack[-1])
            stack[-1] = []
        if not _read_into(stack, lines[number]):
            return None
        if following > number + 1:
            if len(stack) == 1:
                return None
            stack[-2] += [stack[-1], *facts[number + 1 : following - 1]]
            stack[-1] = facts[following - 1]
    whole = len(stack) == 1 and len(outside) == 1 and isinstance(outside[0], list)
    return outside[0] if whole and code.isascii() else None


def _read_into(stack: list[list[Tree]], code: str) -> bool:
    """Read on with some lists open; return whether nothing is wrong."""
    for number, piece in enumerate(code.split("(")):
        if number:
            stack.append([])
        if len(stack) > _MAX_DEPTH:
            return False
        words, *following = piece.split(")")
        stack[-1] += _words(words)
        for words in following:
            if len(stack) == 1:
                return False
            done = stack.pop()
            stack[-1].append(done)
            stack[-1] += _words(words)
    return True


def _words(code: str) -> list[str]:
    return _TOKEN.findall(code) if "?" in code else code.split()  # a word ends before a question mark


def _checked_tree(text: str, where: str) -> list[Tree]:
    """Read an expression line by line, to tell where what is wrong."""
    stack: list[list[Tree]] = [[]]
    for number, line in enumerate(text.split("\n"), start=1):
        code = line.split(";", 1)[0].lower()
        if not code.isascii():
            refuse(where, f"line {number}: expected ASCII outside of comments")
        for token in _TOKEN.findall(code):
            if token == "(":
                stack.append([])
                if len(stack) > _MAX_DEPTH:
                    refuse(where, f"line {number}: parentheses are nested too deeply")
            elif token == ")":
                if len(stack) == 1:
                    refuse(where, f"line {number}: unexpected ')'")
                done = stack.pop()
                stack[-1].append(done)
            else:
                stack[-1].append(token)
        if len(stack) == 1 and len(stack[0]) > 1:
            refuse(where, f"line {number}: expected nothing after the first expression")
    if len(stack) > 1:
        refuse(where, "a ')' is missing at the end")
    if not stack[0] or not isinstance(stack[0][0], list):
        refuse(where, "expected an expression in parentheses")
    tree: list[Tree] = stack[0][0]
    return tree
