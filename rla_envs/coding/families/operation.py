"""The parts that generated problems are put together from, and how programs are written from them."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

Arguments: TypeAlias = tuple[int | str, ...]
"""The constants of one step, such as the bound in "greater than 3"."""


def no_arguments(rng: np.random.Generator) -> Arguments:
    """Return no constants: the draw of an operation that takes none."""
    return ()


def whole(low: int, high: int) -> Callable[[np.random.Generator], Arguments]:
    """Return a draw of one integer from ``low`` to ``high``, both included."""
    return lambda rng: (int(rng.integers(low, high + 1)),)


def one_of(*choices: int | str) -> Callable[[np.random.Generator], Arguments]:
    """Return a draw of one of the given constants."""
    return lambda rng: (choices[int(rng.integers(len(choices)))],)


@dataclass(frozen=True)
class Operation:
    """One kind of step of a family: what it says, what it does, and how it is got wrong.

    The functions are ordinary functions of the family's module. They run here
    to work out expected outputs, and their source text becomes part of the
    programs that a problem carries, so the two cannot disagree.

    Attributes:
        text: The step as the solver reads it; ``{0}``, ``{1}`` are its constants.
        fast: The reference; pure, total, and linear or nearly so.
        brute: An independent way to the same result, as slow as it likes.
        wrong: Mistakes that are made in it; each terminates.
        draw: Draws the constants.
        final: Whether it gives the answer; every problem has one such step.
        easy: Whether it may stand alone in the smallest problems (final steps).
        heavy: Whether the brute force is too slow at 100 000 elements.
        answer: What a final step gives: ``"integer"``, ``"integers"`` or ``"text"``.
        arity: How many values an instruction takes (stack machine).
    """

    text: str
    fast: Callable[..., Any]
    brute: Callable[..., Any]
    wrong: tuple[Callable[..., Any], ...] = ()
    draw: Callable[[np.random.Generator], Arguments] = no_arguments
    final: bool = False
    easy: bool = False
    heavy: bool = False
    answer: str = "integer"
    arity: int = 0

    @property
    def name(self) -> str:
        """The operation's name, unique in its family."""
        return self.fast.__name__.lstrip("_")


@dataclass(frozen=True)
class Step:
    """An operation with its constants, as one problem uses it.

    Attributes:
        operation: What kind of step it is.
        arguments: Its constants.
        mistake: Index into ``operation.wrong`` of the function to use instead
            of the reference; None is the right one.
    """

    operation: Operation
    arguments: Arguments = ()
    mistake: int | None = None

    def function(self, brute: bool = False) -> Callable[..., Any]:
        """The function that does this step."""
        if self.mistake is not None:
            return self.operation.wrong[self.mistake]
        return self.operation.brute if brute else self.operation.fast

    def call(self, *values: str) -> str:
        """Return the source of a call of this step's function."""
        return f"{self.operation.fast.__name__}({', '.join((*values, *map(repr, self.arguments)))})"


Plan: TypeAlias = tuple[Step, ...]
"""The steps of one problem, in order; the last one is final."""


def broken_plans(plan: Plan) -> Iterator[Plan]:
    """Return every plan that one small mistake makes of a plan.

    The mistakes: a known wrong version of a step, a stated constant off by one, a
    step left out, two neighbouring steps in the wrong order. Some may happen
    to be right; the caller tells by running them.
    """
    for index, step in enumerate(plan):
        for mistake in range(len(step.operation.wrong)):
            yield _with(plan, index, replace(step, mistake=mistake))
        for place, value in enumerate(step.arguments):
            stated = f"{{{place}}}" in step.operation.text
            for nearby in (value + 1, value - 1) if stated and isinstance(value, int) else ():
                arguments = (*step.arguments[:place], nearby, *step.arguments[place + 1 :])
                yield _with(plan, index, replace(step, arguments=arguments))
    yield from shortened_plans(plan)
    for index in range(len(plan) - 2):
        yield (*plan[:index], plan[index + 1], plan[index], *plan[index + 2 :])


def shortened_plans(plan: Plan) -> Iterator[Plan]:
    """Return the plan without each one of its steps but the final one."""
    for index in range(len(plan) - 1):
        yield plan[:index] + plan[index + 1 :]


def _with(plan: Plan, index: int, step: Step) -> Plan:
    return (*plan[:index], step, *plan[index + 1 :])


def definitions(
    steps: Iterable[tuple[str, Callable[..., Any]]], helpers: Iterable[Callable[..., Any]]
) -> tuple[list[str], list[str]]:
    """Return the import lines and the definitions of a program.

    Args:
        steps: Each step's name in the program, and the function that it stands
            for; a wrong function goes by the name of the right one.
        helpers: Further functions, under their own names.

    Returns:
        The imports, and the texts of the helpers, of everything that a
        function names (other functions of this package, constants of its
        module), and of the steps.
    """
    named = dict(steps)
    needed: dict[str, Any] = {}
    for function in named.values():
        _collect(function, needed)
    for helper in helpers:
        needed[helper.__name__] = helper
        _collect(helper, needed)
    imports = {text for text, value in needed.items() if value is _IMPORT}
    others = {n: v for n, v in needed.items() if v is not _IMPORT and named.get(n) is not v}
    # A right function that a wrong one calls must not go by the name that the wrong one has taken.
    moved = {name: f"{name}_base" for name in others if name in named}
    texts = [_renamed(_text(name, value), moved) for name, value in others.items()]
    texts += [_renamed(_bare_source(f), {**moved, f.__name__: name}) for name, f in named.items()]
    return sorted(imports), texts


_IMPORT = object()


def _collect(function: Callable[..., Any], needed: dict[str, Any]) -> None:
    """Add what a function names, and what that names in turn; an import is known by its own text."""
    for name in sorted(_global_names(function.__code__)):
        value = function.__globals__.get(name)
        if isinstance(value, types.ModuleType):
            needed[f"import {name}"] = _IMPORT
        elif isinstance(value, int | str | tuple):
            needed[name] = value
        elif isinstance(value, types.FunctionType) and value.__module__.startswith(__package__):
            if value is not function and name not in needed:
                needed[name] = value
                _collect(value, needed)
        elif value is not None:
            needed[f"from {value.__module__} import {name}"] = _IMPORT


def _text(name: str, value: Any) -> str:
    return _bare_source(value) if callable(value) else f"{name} = {value!r}\n"


@functools.cache
def _bare_source(function: Callable[..., Any]) -> str:
    """Return a function's source without type annotations, which would need imports of their own."""
    tree = ast.parse(inspect.getsource(function))
    return ast.unparse(_Bare().visit(tree)) + "\n"


class _Bare(ast.NodeTransformer):
    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            raise TypeError("an annotation without a value says nothing in a program")
        return ast.copy_location(ast.Assign([node.target], node.value), node)


def _global_names(code: types.CodeType) -> set[str]:
    nested = (const for const in code.co_consts if isinstance(const, types.CodeType))
    return set(code.co_names).union(*map(_global_names, nested))


def _renamed(text: str, table: Mapping[str, str]) -> str:
    """Return program text with whole identifiers replaced, so that no name tells that it is wrong."""
    if not table:
        return text
    return re.sub(rf"\b({'|'.join(map(re.escape, table))})\b", lambda found: table[found[1]], text)
