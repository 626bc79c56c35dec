"""Programs of CodeI/O (arXiv 2502.07316), read from the reasoning-gym package and turned into problems.

The package ships descriptions, reference programs and generators of inputs. The
tests are made here: the generator and the reference run in the sandbox.
"""

from __future__ import annotations

import ast
import functools
import gzip
import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rla_envs.coding.problem import Problem
from rla_envs.coding.sandbox import Limits, Sandbox, Status
from rla_envs.coding.values import dump_value
from rla_envs.errors import InfrastructureError, InputError, missing_extra

_FILES = ("codeio.jsonl.gz", "codeio-hq.jsonl.gz")
_ENTRY_POINT = "main_solution"
_TESTS = 12
_LEAST_OUTPUTS = 4
"""Tests with fewer different results than this can be passed by guessing."""

_IMPURE = frozenset(
    ("asyncio", "datetime", "os", "random", "secrets", "socket", "subprocess", "sys", "tempfile",
     "threading", "time", "uuid")
)  # fmt: skip
"""Modules whose use may make the result depend on more than the arguments."""

_LIMITS = Limits(time_limit=5.0)

_STATEMENT = """\
{task}

Write a Python function `{name}({arguments})`.

{spec}"""

_MAKE_TESTS = """

def rla_make_tests(seed, count):
    import copy, json
    from random import Random
    space = dict(globals(), Random=Random)
    exec(rla_generator, space)
    rng, tests = Random(seed), []
    for _ in range(count):
        given = json.loads(json.dumps(space["generate_inputs"](rng), allow_nan=False))
        first = main_solution(**copy.deepcopy(given))
        tests.append([given, first, first == main_solution(**copy.deepcopy(given))])
    return tests
"""


@functools.cache
def codeio_rows() -> tuple[Mapping[str, Any], ...]:
    """Return the rows of both files that the package ships, 5752 of them.

    Raises:
        MissingExtraError: If reasoning-gym is not installed.
    """
    # The package itself is not imported: that would load every one of its data sets.
    spec = importlib.util.find_spec("reasoning_gym")
    if spec is None or not spec.submodule_search_locations:
        cause = ImportError("no module named reasoning_gym", name="reasoning_gym")
        raise missing_extra("the problem source 'codeio'", "coding", cause)
    rows: list[Mapping[str, Any]] = []
    for name in _FILES:
        text = gzip.decompress(Path(spec.submodule_search_locations[0], "data", name).read_bytes()).decode()
        if text.lstrip().startswith("["):
            rows += json.loads(text)
        else:
            rows += [json.loads(line) for line in text.split("\n") if line.strip()]
    return tuple(rows)


def codeio_problem(number: int, sandbox: Sandbox) -> Problem | None:
    """Turn one row into a problem.

    Args:
        number: Index into :func:`codeio_rows`; also the seed of its inputs.
        sandbox: Where its generator and reference run.

    Returns:
        The problem, or None if the row makes none: its reference needs more than
        the standard library and its arguments, fails, or gives two results for
        one input; or the results hold a float, are no JSON values or hardly differ.

    Raises:
        InfrastructureError: If the sandbox failed.
    """
    row = codeio_rows()[number]
    names = _parameters(row["code_sample"]) if _is_pure(row["code_sample"]) else None
    if names is None:
        return None
    source = f"{row['code_sample']}\nrla_generator = {row['input_generator']!r}\n{_MAKE_TESTS}"
    (run,) = sandbox.run_functional(source, "rla_make_tests", [[number, _TESTS]], _LIMITS)
    if run.status is Status.INFRASTRUCTURE:
        raise InfrastructureError(f"the sandbox failed while making a codeio problem: {run.error}")
    if run.status is not Status.OK or not isinstance(run.value, list):
        return None
    tests = []
    for given, result, again in run.value:
        if again is not True or set(given) != set(names) or _has_float(result):
            return None
        tests.append(([given[name] for name in names], result))
    try:
        if len({dump_value(result) for _, result in tests}) < _LEAST_OUTPUTS:
            return None
        return Problem.functional(
            _STATEMENT.format(
                task=row["task_description"].strip(),
                name=_ENTRY_POINT,
                arguments=", ".join(names),
                spec=row["input_output_spec"].strip(),
            ),
            _ENTRY_POINT,
            tests,
            public=3,
            reference_solutions=(row["code_sample"],),
            id=f"codeio-{number}",
            source="codeio",
            metadata={"difficulty": row["difficulty"]} if row.get("difficulty") is not None else {},
        )
    except InputError:
        return None  # a result that JSON does not have


def _is_pure(code: str) -> bool:
    """Return whether a program is a function of its arguments alone, as far as its text tells."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return False
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""])
    }
    called = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return imported <= set(sys.stdlib_module_names) - _IMPURE and not called & {"id", "hash", "open", "input"}


def _parameters(code: str) -> list[str] | None:
    """Return the names of the reference's positional parameters; None if it has others."""
    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef) and node.name == _ENTRY_POINT:
            spec = node.args
            if spec.vararg or spec.kwarg or spec.kwonlyargs:
                return None
            return [argument.arg for argument in (*spec.posonlyargs, *spec.args)]
    return None


def _has_float(value: Any) -> bool:
    if isinstance(value, float):
        return True
    if isinstance(value, list | tuple):
        return any(map(_has_float, value))
    return isinstance(value, Mapping) and any(map(_has_float, value.values()))
