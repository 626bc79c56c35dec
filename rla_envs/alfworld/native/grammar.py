"""Read a TextWorld text grammar: which text each action has, and how texts are put together.

The reader takes exactly what TextWorld's takes, its oddities included: white
space and ``//`` comments at the start of a line disappear where a symbol may
begin, and the rest of a text that cannot be read is dropped. The tests compare
it with TextWorld's own on many texts.
"""

from __future__ import annotations

import ast
import functools
import json
import re
import reprlib
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, TypeAlias

from rla_envs.errors import InvalidTaskError

ATTRIBUTES = ("id", "name", "type", "definite", "indefinite")
"""What an expression may ask of a thing."""


class Predicate(NamedTuple):
    """A predicate of a query: its name, and a name and type for each argument."""

    name: str
    arguments: tuple[tuple[str, str], ...]


Query: TypeAlias = tuple[Predicate, ...]
"""Predicates that must all hold."""


class Text(NamedTuple):
    """Text that stands for itself."""

    text: str


class Call(NamedTuple):
    """The text of a rule of the grammar."""

    rule: str


class Word(NamedTuple):
    """``r.name or r.id``, ``o.indefinite + ' ' + o.name``: alternatives, each a sum of parts.

    A part is a text, or a variable and one of :data:`ATTRIBUTES`. Nothing a
    thing has is empty, so the first alternative that is not an empty text counts.
    """

    alternatives: tuple[tuple[str | tuple[str, str], ...], ...]


class Each(NamedTuple):
    """A symbol for each way a query can hold (once, without a query), as a list with separators or not."""

    symbol: Call | Word
    query: Query | None
    listed: bool


Symbol: TypeAlias = Text | Call | Each
Symbols: TypeAlias = tuple[Symbol, ...]


class Rule(NamedTuple):
    """One version of a text, and when it is the one to use."""

    condition: Query | None
    symbols: Symbols


class ActionText(NamedTuple):
    """What an action is called, and what is said when it is done."""

    command: Symbols
    feedback: Symbols


@dataclass(frozen=True)
class Grammar:
    """All texts of a game: versions by rule name, and texts by lower-case action name."""

    rules: dict[str, tuple[Rule, ...]]
    actions: dict[str, ActionText]


def _refuse(where: str, what: str) -> NoReturn:
    raise InvalidTaskError(f"{where}: {what}")


# --- The file format: actions with texts, and blocks of JSON rules. ---

_SPACE = re.compile(r"(?:\s+|#.*?$)*", re.MULTILINE)
_BLOCK = re.compile(r'"""((?:.|\n)*?)"""')
_STRING = re.compile(r'"([^"]*)"')
_NAME = re.compile(r"[\w/-]+")


class _Scanner:
    """Reads the parts of a grammar file one after the other."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def done(self) -> bool:
        self._skip()
        return self._at == len(self._text)

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def token(self, token: str) -> bool:
        self._skip()
        if not self._text.startswith(token, self._at):
            return False
        self._at += len(token)
        return True

    def expect(self, *tokens: str) -> None:
        for token in tokens:
            if not self.token(token):
                line = self._text.count("\n", 0, self._at) + 1
                _refuse("text grammar", f"line {line}: expected {token!r}")

    def match(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        self._skip()
        match = pattern.match(self._text, self._at)
        if match is None:
            line = self._text.count("\n", 0, self._at) + 1
            _refuse("text grammar", f"line {line}: expected {what}")
        self._at = match.end()
        return match


def read_grammar(text: str) -> Grammar:
    """Read a grammar.

    Raises:
        InvalidTaskError: If it is malformed, or has a form that this engine
            does not support; it names the rule or action.
    """
    scanner = _Scanner(text)
    rules: dict[str, Any] = {}
    actions = {}
    while not scanner.done():
        if scanner.token("grammar"):
            scanner.expect("::")
            rules.update(_rules(scanner.match(_BLOCK, 'a block in """')[1], "text grammar"))
            scanner.expect(";")
            continue
        scanner.expect("action")
        name = scanner.match(_NAME, "the name of an action")[0]
        where = f"text of action {name}"
        fields = _fields(scanner, where)
        if "template" not in fields or "feedback" not in fields:
            _refuse(where, "expected a template and a feedback")
        actions[name.lower()] = ActionText(
            read_symbols(fields["template"], where), read_symbols(fields["feedback"], where)
        )
        code = fields.get("grammar", "{}").split("\n")
        rules.update(_rules("\n".join(x for x in code if not x.lstrip().startswith("#")), where))
    return Grammar({name: _versions(name, versions) for name, versions in rules.items()}, actions)


def _fields(scanner: _Scanner, where: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    scanner.expect("{")
    while not scanner.token("}"):
        kind = scanner.match(_NAME, "template, feedback, grammar or pddl")[0]
        if kind not in ("template", "feedback", "grammar", "pddl"):
            _refuse(where, f"unknown field {reprlib.repr(kind)}")
        if kind in fields:
            _refuse(where, f"field {kind} occurs twice")
        scanner.expect("::")
        block = kind in ("grammar", "pddl")
        match = scanner.match(_BLOCK if block else _STRING, "a text in quotation marks")
        fields[kind] = match[1]
        scanner.expect(";")
    return fields


def _rules(code: str, where: str) -> dict[str, Any]:
    try:
        rules = json.loads(code)
    except (ValueError, RecursionError) as error:
        _refuse(where, f"the rules are not JSON ({error})")
    if not isinstance(rules, dict):
        _refuse(where, "expected the rules as a JSON object")
    return rules


def _versions(name: str, versions: Any) -> tuple[Rule, ...]:
    where = f"text rule {name!r}"
    if not isinstance(versions, list) or not versions:
        _refuse(where, "expected a list of versions")
    result = []
    for version in versions:
        rhs = version.get("rhs") if isinstance(version, dict) else None
        condition = version.get("condition", "") if isinstance(version, dict) else None
        if not isinstance(rhs, str) or not isinstance(condition, str):
            _refuse(where, f"expected a 'rhs' and perhaps a 'condition', got {reprlib.repr(version)}")
        query = read_query(condition, where) if condition else None
        result.append(Rule(query, read_symbols(rhs, where)))
    return tuple(result)


# --- Texts: literals, #rules#, {expressions | queries} and [lists]. ---

_GAP = re.compile(r"^(?://.*|\s*)\n?", re.MULTILINE)
_TABS = re.compile(r"\t+")
_TAG = re.compile(r"[\w()/!<>\-\s,.]+")
_GIVEN = re.compile(r"[^;|{}\n\[\]#]+")
_STATEMENT = re.compile(r"[^|\[\]{}\n<>]+")
_LITERAL = re.compile(r'[^;|"<>\[\]#{}]*')
_BAR = re.compile(r"\s*\|\s*")


def read_symbols(text: str, where: str) -> Symbols:
    """Read a text with symbols.

    Raises:
        InvalidTaskError: If an expression or a query in it has a form that this
            engine does not support.
    """
    reader = _TextReader(text, where)
    symbols: list[Symbol] = []
    at: int = reader.skip(0)
    while True:
        symbol, end = reader.symbol(at)
        if end == at and symbols:
            return tuple(symbols)
        symbols.append(symbol)
        at = end


class _TextReader:
    """One method per kind of symbol: each returns the symbol and where it ends, or None."""

    def __init__(self, text: str, where: str) -> None:
        self._text = text
        self._where = where

    def skip(self, at: int) -> int:
        while True:
            start = at
            for pattern in (_GAP, _TABS):
                while (match := pattern.match(self._text, at)) and match.end() > at:
                    at = match.end()
            if at == start:
                return at

    def _token(self, token: str, at: int) -> int | None:
        at = self.skip(at)
        return at + len(token) if self._text.startswith(token, at) else None

    def symbol(self, at: int) -> tuple[Symbol, int]:
        found = self._listed(at) or self._each(at, listed=False) or self._call(at)
        return found or self._literal(at)

    def _listed(self, at: int) -> tuple[Each, int] | None:
        start = self._token("[", self.skip(at))
        found = None if start is None else self._each(start, listed=True)
        end = found and self._token("]", found[1])
        return (found[0], end) if found and end is not None else None

    def _each(self, at: int, listed: bool) -> tuple[Each, int] | None:
        start = self._token("{", self.skip(at))
        if start is None:
            return None
        found = self._call(start) or self._statement(start)
        if found is None:
            return None
        symbol, at = found
        query = None
        given = self._given(at)
        if given:
            query, at = read_query(given[0], self._where), given[1]
        end = self._token("}", at)
        if end is None:
            return None
        return Each(read_word(symbol, self._where) if isinstance(symbol, str) else symbol, query, listed), end

    def _statement(self, at: int) -> tuple[str, int] | None:
        match = _STATEMENT.match(self._text, self.skip(at))
        return (match[0], match.end()) if match else None

    def _given(self, at: int) -> tuple[str, int] | None:
        bar = _BAR.match(self._text, at)
        match = _GIVEN.match(self._text, self.skip(bar.end())) if bar else None
        return (match[0], match.end()) if match else None

    def _call(self, at: int) -> tuple[Call, int] | None:
        start = self._token("#", self.skip(at))
        match = None if start is None else _TAG.match(self._text, self.skip(start))
        end = match and self._token("#", match.end())
        return (Call(match[0]), end) if match and end is not None else None

    def _literal(self, at: int) -> tuple[Text, int]:
        at = self.skip(at)
        if self._text.startswith('"', at):
            match = _LITERAL.match(self._text, at + 1)
            end = match and self._token('"', match.end())
            if match and end is not None:
                return Text(match[0]), end
        match = _LITERAL.match(self._text, at)
        return (Text(match[0]), match.end()) if match else (Text(""), at)


_PREDICATE = re.compile(r"\s*(!?[\w/]+)\s*\(([^()]*)\)\s*")
_PLACEHOLDER = re.compile(r"\s*([\w']+)\s*(?::\s*([\w/-]+)\s*)?")


@functools.lru_cache(maxsize=1024)
def read_query(text: str, where: str) -> Query:
    """Read predicates joined by ``&``, as in ``openable(r:receptacle) & opened(r:receptacle)``."""
    query = []
    for part in text.split("&"):
        match = _PREDICATE.fullmatch(part)
        if match is None:
            _refuse(where, f"expected predicates joined by &, got {reprlib.repr(text)}")
        arguments = []
        for argument in match[2].split(",") if match[2].strip() else ():
            found = _PLACEHOLDER.fullmatch(argument)
            if found is None:
                _refuse(where, f"expected arguments such as r:receptacle, got {reprlib.repr(text)}")
            arguments.append((found[1], found[2] or found[1].rstrip("'")))
        name = match[1].removeprefix("!")
        if name != match[1]:
            name = name.removeprefix("not_") if name.startswith("not_") else f"not_{name}"
        query.append(Predicate(name, tuple(arguments)))
    return tuple(query)


@functools.lru_cache(maxsize=1024)
def read_word(text: str, where: str) -> Word:
    """Read the expression in braces; nothing is ever evaluated as a program."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        _refuse(where, f"cannot read the expression {reprlib.repr(text)}")
    options = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.Or) else [tree]
    return Word(tuple(_sum(option, text, where) for option in options))


def _sum(node: ast.expr, text: str, where: str) -> tuple[str | tuple[str, str], ...]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = (node.left, node.right)
        if not any(isinstance(side, ast.Name) for side in sides):  # a thing itself cannot be added to a text
            return _sum(node.left, text, where) + _sum(node.right, text, where)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        return (node.value,)
    elif isinstance(node, ast.Name):
        return ((node.id, "name"),)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in ATTRIBUTES:
        return ((node.value.id, node.attr),)
    _refuse(where, f"the expression {reprlib.repr(text)} is not supported")
