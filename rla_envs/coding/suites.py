"""Sources of unit tests: which tests they hold, which modules they need, and how they are run."""

from __future__ import annotations

import ast

from rla_envs.coding.imports import insert_first
from rla_envs.errors import InputError

_NOT_MAIN = '__name__ = "__test__"'
"""LiveBench's grader runs program and tests in a module of this name: nothing behind a main guard runs."""


def test_names(source: str) -> tuple[str, ...]:
    """Return the tests of a source as ``Class.method``, in the order of its classes, then by name.

    Raises:
        InputError: If the source is not Python.
    """
    classes = {node.name: node for node in _parsed(source).body if isinstance(node, ast.ClassDef)}
    return tuple(
        f"{name}.{method}"
        for name, node in classes.items()
        if _is_case(node, classes)
        for method in sorted(_methods(node, classes))
    )


test_names.__test__ = False  # type: ignore[attr-defined]  # not one of pytest's


def imported_modules(source: str) -> set[str]:
    """Return the top-level modules that a source imports anywhere."""
    modules = set()
    for node in ast.walk(_parsed(source)):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.partition(".")[0])
    return modules


def as_imported(code: str) -> str:
    """Return a program that runs as an imported module, so that its main guard stays shut."""
    return insert_first(code, [_NOT_MAIN])


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError(f"unittest_source: expected Python source, got something else ({error})") from error


def _is_case(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> bool:
    bases = [ast.unparse(base) for base in node.bases]
    return any(
        base.rpartition(".")[2] in ("TestCase", "IsolatedAsyncioTestCase")
        or (base in classes and base != node.name and _is_case(classes[base], classes))
        for base in bases
    )


def _methods(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> set[str]:
    own = {
        method.name
        for method in node.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and method.name.startswith("test")
    }
    for base in map(ast.unparse, node.bases):
        if base in classes and base != node.name:
            own |= _methods(classes[base], classes)
    return own
