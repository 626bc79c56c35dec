"""Small changes of a program's text, and a child process that finds out which of them are noticed."""

import ast
import copy
import json
import subprocess
import sys
from pathlib import Path

SWAPS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mod,
    ast.Mod: ast.FloorDiv,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
CHILD = Path(__file__).with_name("mutant_runner.py")


def mutants(source):
    """Every program that differs from ``source`` in one operator, constant, name, condition or statement."""
    tree = ast.parse(source)
    texts = {}
    for index, node in enumerate(ast.walk(tree)):
        for change in _changes(node):
            changed = copy.deepcopy(tree)
            twin = next(n for i, n in enumerate(ast.walk(changed)) if i == index)
            change(twin)
            texts[ast.unparse(ast.fix_missing_locations(changed))] = None
    texts.pop(ast.unparse(tree), None)
    return list(texts)


def _changes(node):
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            if type(operator) in SWAPS:
                yield lambda n, p=place: n.ops.__setitem__(p, SWAPS[type(n.ops[p])]())
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPS:
        yield lambda n: setattr(n, "op", SWAPS[type(n.op)]())
    if isinstance(node, ast.Constant) and type(node.value) is int:
        for step in (1, -1):
            yield lambda n, s=step: setattr(n, "value", n.value + s)
    if isinstance(node, ast.Name) and node.id in NAMES:
        yield lambda n: setattr(n, "id", NAMES[n.id])
    if isinstance(node, ast.If | ast.IfExp):
        for value in (True, False):
            yield lambda n, v=value: setattr(n, "test", ast.Constant(v))
    body = getattr(node, "body", None)
    if isinstance(body, list) and not isinstance(node, ast.Module):
        for place, statement in enumerate(body):
            if isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr | ast.Continue):
                yield lambda n, p=place: n.body.__setitem__(p, ast.Pass())


def verdicts(programs, kind, tests, seconds=0.5, stop=True):
    """For each program, the indices of the tests it passes, up to the first one failed if ``stop``."""
    job = {"programs": programs, "kind": kind, "tests": tests, "seconds": seconds, "stop": stop}
    command = [sys.executable, "-I", str(CHILD)]
    done = subprocess.run(command, input=json.dumps(job), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)
