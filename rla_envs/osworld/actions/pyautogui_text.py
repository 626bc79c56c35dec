r"""Read model output in pyautogui's language; it is parsed, never executed.

The grammar is a small part of Python:

* calls of pyautogui's functions (:data:`FUNCTIONS`), with positional and
  keyword arguments, and of ``time.sleep``;
* ``import pyautogui``, ``import time`` (also ``as`` another name, also ``from``);
* arguments that are numbers, strings, ``None``, ``True``, ``False``, lists and
  tuples of them, ``+ - * /`` on numbers, and pyautogui's constants;
* ``name = value``, ``x, y = 1, 2``; ``for name in range(...)``; ``with
  pyautogui.hold(key)``; ``pass``; assignments to ``pyautogui.PAUSE`` and
  ``pyautogui.FAILSAFE``, which change nothing;
* as the last line or the whole text: ``WAIT``, ``DONE`` or ``FAIL``.

If the text has blocks in fences (three backticks at the start of a line), the
program is what they hold, and what is said around them is left out.

Everything else is an :class:`ActionError`, and then nothing of the action is
done. ``duration``, ``tween`` and ``logScreenshot`` are accepted and have no
effect, nor has the ``interval`` of typing: the pointer jumps, a drag takes a
quarter of a second, and text is typed as fast as it is safe. The ``interval``
of clicks and presses and ``sleep`` are waited for. Bounds: see
:mod:`rla_envs.osworld.actions.gestures`, and :data:`MAX_LENGTH` and
:data:`MAX_WORK` here.
"""

from __future__ import annotations

import ast
import operator
import re
import textwrap
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from rla_envs.osworld.actions.action import SPECIALS, Action, ActionError, is_number, shown, unknown
from rla_envs.osworld.actions.calls import CONSTANTS, FUNCTIONS, bind
from rla_envs.osworld.actions.gestures import Gestures

MAX_LENGTH = 65_536
"""Most characters of a text."""
MAX_WORK = 100_000
"""Most statements and values that are gone through, those in loops once for every turn."""

_LARGEST = 1e15
_MODULES = ("pyautogui", "time")
_IGNORED_SETTINGS = ("pyautogui.PAUSE", "pyautogui.FAILSAFE")
_FENCE = re.compile(
    r"^[ \t]*```[ \t]*(?:(?:python3?|py)(?=\s))?(.*?)(?:```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def parse(text: str, screen_size: tuple[int, int], pointer: tuple[int, int] | None = None) -> Action:
    """Return what a text does.

    Args:
        text: The model's output.
        screen_size: Width and height of the screen, in pixels.
        pointer: Where the pointer is, if known; relative movements need it.

    Raises:
        ActionError: If any part of it is not understood, out of range or
            beyond a bound; names the part and its line.
    """
    program, special = split(text)
    if not program.strip() and not special:
        raise ActionError("expected calls of pyautogui, or WAIT, DONE or FAIL; got nothing")
    reader = _Reader(Gestures(screen_size, pointer), program)
    try:
        reader.run(_tree(program).body)
    except (MemoryError, RecursionError) as error:
        raise ActionError("this is nested too deeply to be read") from error
    return Action(tuple(reader.gestures.events), special)


def split(text: object) -> tuple[str, str]:
    """Return the program in a text, without fences, and the special action at its end (or "").

    The lines of the program keep their numbers in the text.

    Raises:
        ActionError: If it is no text, or longer than :data:`MAX_LENGTH`.
    """
    if not isinstance(text, str):
        raise ActionError(f"expected the action as text, got {shown(text)} of type {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise ActionError(f"expected a text of at most {MAX_LENGTH} characters, got {len(text)}")
    text = text.replace("\r\n", "\n")
    blocks, end = [""], 0
    for found in _FENCE.finditer(text):
        gap = text.count("\n", end, found.start(1))
        blocks.append("\n" * gap + textwrap.dedent(found[1]).lstrip(" \t"))
        end = found.end(1)
    if len(blocks) == 1:
        program, last = textwrap.dedent(text), ""
    else:
        program, last = "".join(blocks), text[end:].strip().rpartition("\n")[2].strip(" \t`")
    if last in SPECIALS:
        return program, last
    body, _, last = program.rstrip().rpartition("\n")
    return (body, last.strip()) if last.strip() in SPECIALS else (program, "")


def _tree(program: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            # An unknown escape such as "\d" is only worth a warning, and the text is not ours to correct.
            warnings.simplefilter("ignore")
            return ast.parse(program)
    except SyntaxError as error:
        raise ActionError(f"line {error.lineno or 1}: this is not Python ({error.msg:.80})") from error
    except (ValueError, OverflowError) as error:
        raise ActionError(f"this is not Python ({error})") from error


class _Reader:
    """Goes through a program and collects its events. Nothing in it is looked up but in our own tables."""

    def __init__(self, gestures: Gestures, program: str) -> None:
        self.gestures = gestures
        self._program = program
        self._variables: dict[str, Any] = {}
        self._names = {name: name for name in _MODULES}
        self._work = 0

    def run(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            try:
                self._count_work()
                self._statement(statement)
            except ActionError as error:
                message = str(error)
                place = "" if message.startswith("line ") else f"line {statement.lineno}: "
                raise ActionError(place + message) from error

    def _count_work(self) -> None:
        self._work += 1
        if self._work > MAX_WORK:
            raise ActionError(f"expected at most {MAX_WORK} steps of the program in one action, got more")

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(ast.Call() as call):
                self._call(call)
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(ast.Name(id=name)) if name in SPECIALS:
                raise ActionError(f"expected {name} as the last line, got more after it")
            case ast.Import(names):
                for alias in names:
                    self._names[alias.asname or alias.name] = _module(alias.name)
            case ast.ImportFrom(str(module), names, 0):
                for alias in names:
                    self._names[alias.asname or alias.name] = _member(_module(module), alias.name)
            case ast.Assign([target], value):
                self._assign(target, self._value(value))
            case ast.For(ast.Name(id=name), ast.Call(ast.Name("range"), arguments, []), body, []):
                for number in self._range(arguments):
                    self._variables[name] = number
                    self.run(body)
            case ast.With([ast.withitem(ast.Call() as call, None)], body):
                self._hold(call, body)
            case _:
                raise self._not_understood(node)

    def _call(self, node: ast.Call) -> None:
        name = self._function(node)
        FUNCTIONS[name].act(self.gestures, self._arguments(name, node))

    def _arguments(self, name: str, node: ast.Call) -> dict[str, Any]:
        positional = [self._value(argument) for argument in node.args]
        keywords = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise ActionError("** in the arguments of a call is not understood; name them one by one")
            keywords[keyword.arg] = self._value(keyword.value)
        return bind(name, positional, keywords)

    def _function(self, node: ast.Call) -> str:
        name = self._path(node.func)
        if name is None or not name.startswith(tuple(f"{module}." for module in _MODULES)):
            raise self._not_understood(node)
        if name not in FUNCTIONS:
            raise unknown("function", name, FUNCTIONS)
        return name

    def _hold(self, call: ast.Call, body: Sequence[ast.stmt]) -> None:
        if self._path(call.func) != "pyautogui.hold":
            raise self._not_understood(call)
        keys = self._arguments("pyautogui.hold", call)["keys"]
        held = [keys] if isinstance(keys, str) else keys
        if not isinstance(held, list | tuple):
            raise ActionError(f"expected the name of a key or a list of them, got {shown(keys)}")
        for key in held:
            self.gestures.key(key, True)
        self.run(body)
        for key in held:
            self.gestures.key(key, False)

    def _range(self, arguments: Sequence[ast.expr]) -> range:
        bounds = [self._value(argument) for argument in arguments]
        if not 1 <= len(bounds) <= 3 or not all(type(bound) is int for bound in bounds) or 0 in bounds[2:]:
            raise ActionError("expected range() of one to three whole numbers, the step not 0")
        return range(*bounds)

    def _assign(self, target: ast.expr, value: Any) -> None:
        self._count_work()
        if isinstance(target, ast.Name):
            self._variables[target.id] = value
        elif isinstance(target, ast.Tuple) and isinstance(value, list | tuple):
            if len(target.elts) != len(value):
                raise ActionError(f"expected {len(target.elts)} values to assign, got {len(value)}")
            for part, item in zip(target.elts, value, strict=True):
                self._assign(part, item)
        elif self._path(target) not in _IGNORED_SETTINGS:
            raise self._not_understood(target)

    def _value(self, node: ast.expr) -> Any:
        self._count_work()
        match node:
            case ast.Constant(bool() | int() | float() | str() | None as value):
                return value
            case ast.List(items) | ast.Tuple(items):
                return [self._value(item) for item in items]
            case ast.Name(id=name) if name in self._variables:
                return self._variables[name]
            case ast.Name(id=name) if name not in self._names:
                raise unknown("name", name, self._variables)
            case ast.UnaryOp(ast.USub() | ast.UAdd() as sign, operand):
                number = self._number(operand)
                return -number if isinstance(sign, ast.USub) else number
            case ast.BinOp(left, sign, right) if type(sign) in _OPERATORS:
                return self._calculated(_OPERATORS[type(sign)], self._number(left), self._number(right))
            case ast.Name() | ast.Attribute() if (path := self._path(node)) in CONSTANTS:
                return CONSTANTS[str(path)]
            case _:
                raise self._not_understood(node)

    def _number(self, node: ast.expr) -> int | float:
        value = self._value(node)
        if not isinstance(value, int | float) or not is_number(value):
            raise ActionError(f"expected a number, got {shown(value)}")
        return value

    def _calculated(self, operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
        # Bounded before the operation too: a product of two huge numbers takes long.
        if max(abs(left), abs(right)) > _LARGEST:
            raise ActionError(f"expected numbers up to {_LARGEST:g} in a calculation, got a larger one")
        try:
            return operation(left, right)
        except ZeroDivisionError as error:
            raise ActionError("division by zero") from error

    def _path(self, node: ast.expr) -> str | None:
        """Return the full name, such as ``pyautogui.click``, however it is imported; None if it is none."""
        match node:
            case ast.Name(id=name):
                return self._names.get(name)
            case ast.Attribute(ast.Name(id=name), attribute) if name in self._names:
                return f"{self._names[name]}.{attribute}"
            case _:
                return None

    def _not_understood(self, node: ast.stmt | ast.expr) -> ActionError:
        written = " ".join((ast.get_source_segment(self._program, node) or "this").split())
        cut = written if len(written) <= 60 else written[:57] + "..."
        return ActionError(
            f"line {node.lineno}: {cut!r} is not understood; expected calls of pyautogui, numbers, strings, "
            "simple assignments, loops over range(), or WAIT, DONE or FAIL"
        )


def _module(name: str) -> str:
    if name not in _MODULES:
        raise unknown("module", name, _MODULES)
    return name


def _member(module: str, name: str) -> str:
    path = f"{module}.{name}"
    if path not in FUNCTIONS and path not in CONSTANTS:
        raise unknown("function", path, FUNCTIONS)
    return path
