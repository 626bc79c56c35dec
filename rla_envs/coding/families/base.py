"""What a family of generated problems is: operations to compose, inputs to draw, programs to write."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import numpy as np

from rla_envs.coding.families.formats import InputFormat
from rla_envs.coding.families.operation import Operation, Plan, Step, definitions

HEAVY_SIZE = 4
"""From this size on the final step is one whose brute force is too slow."""


EMPTY = "empty"
"""What is printed for an empty list or string, so that every test has an output."""

_SHOWN = {
    "integer": "answer",
    "integers": f'" ".join(map(str, answer)) or "{EMPTY}"',
    "text": f'answer or "{EMPTY}"',
}


def integers(rng: np.random.Generator, low: int, high: int, count: int) -> list[int]:
    """Return ``count`` integers from ``low`` to ``high``, both included."""
    drawn: list[int] = rng.integers(low, high + 1, count).tolist()
    return drawn


class Family(abc.ABC):
    """One family of problems, whose steps are applied to the input one after the other.

    A family sets the class attributes and draws inputs. Where its steps are
    not a pipeline (instructions of a machine, operators of a grammar) it also
    overrides :meth:`solve` and :meth:`solve_source`.

    Attributes:
        name: Name in the ``family`` difficulty parameter.
        title: The problem's title.
        intro: What is given, before the steps.
        heading: The line above the steps.
        limits: Bounds on the values, the last line of the constraints; never
            about n.
        form: How the input is written.
        operations: The steps to choose from: at least four that are not final
            and one that is final and easy, one that is final and heavy.
        minimum: Smallest n for each value of ``edge_cases``.
        short: Largest n of most tests.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    intro: ClassVar[str]
    heading: ClassVar[str] = "Do the following, in this order:"
    limits: ClassVar[str]
    form: ClassVar[InputFormat]
    operations: ClassVar[tuple[Operation, ...]]
    minimum: ClassVar[tuple[int, int, int, int]] = (2, 1, 1, 0)
    short: ClassVar[int] = 10

    @abc.abstractmethod
    def draw_input(self, rng: np.random.Generator, n: int, plan: Plan) -> list[Any]:
        """Return the arguments of a random input with ``n`` elements.

        Small ones (n up to 40) hold small values, so that ties and boundaries
        are common; larger ones use the full range.
        """

    @abc.abstractmethod
    def special_inputs(self, plan: Plan) -> list[list[Any]]:
        """Return the inputs that ``edge_cases`` of 2 or more adds: ties, extremes; none is empty."""

    def rarest_inputs(self, rng: np.random.Generator, plan: Plan) -> list[list[Any]]:
        """Return the inputs that ``edge_cases`` of 3 adds: the empty one, where there is one."""
        return [self.draw_input(rng, 0, plan)]

    def length(self, arguments: list[Any]) -> int:
        """Return n, the length of an input."""
        return len(arguments[-1])

    def edge_inputs(
        self, rng: np.random.Generator, level: int, longest: int, plan: Plan
    ) -> list[tuple[str, list[Any]]]:
        """Return the edge cases of a level that are not longer than allowed, each with its kind.

        Level 1 adds the smallest inputs, 2 the special ones, 3 the rarest.
        """
        found: list[tuple[str, list[Any]]] = []
        if level >= 1:
            found += [("smallest", self.draw_input(rng, self.minimum[1], plan)) for _ in range(2)]
        if level >= 2:
            found += [("special", arguments) for arguments in self.special_inputs(plan)]
        if level >= 3:
            found += [("rarest", arguments) for arguments in self.rarest_inputs(rng, plan)]
        return [(kind, arguments) for kind, arguments in found if self.length(arguments) <= longest]

    def draw_steps(self, key: tuple[int, ...], count: int, size: int) -> tuple[list[Step], Step]:
        """Return all steps that are not final in random order, and a final one.

        Args:
            key: Seed of the draw: order and constants depend on nothing else,
                and the final step, where several fit, is the first that does.
            count: Number of steps that the problem is to have, the final one included.
            size: Power of ten that bounds the input's length.
        """
        order = [int(i) for i in np.random.default_rng((*key, 0)).permutation(len(self.operations))]
        steps = []
        for index in order:
            operation = self.operations[index]
            steps.append(Step(operation, operation.draw(np.random.default_rng((*key, 1, index)))))
        final = [s for s in steps if s.operation.final and self._fits(s.operation, count, size)]
        return [s for s in steps if not s.operation.final], final[0]

    def _fits(self, operation: Operation, count: int, size: int) -> bool:
        if size >= HEAVY_SIZE:
            return operation.heavy
        return operation.easy or count > 1 or size > 2

    def constraints(self, size: int, edge_cases: int) -> list[str]:
        """Return the bounds on the length of the input, a line each."""
        return [f"{self.minimum[edge_cases]} <= n <= {10**size}"]

    def describe(self, plan: Plan) -> list[str]:
        """Return the steps in words, in order."""
        return [step.operation.text.format(*step.arguments) for step in plan]

    def prepare(self, *arguments: Any) -> Any:
        """Return the value that the first step gets; the only argument unless overridden."""
        (value,) = arguments
        return value

    def solve(self, plan: Plan, arguments: list[Any], brute: bool = False) -> Any:
        """Return the answer to one input, by the reference or by the brute force."""
        value = self.prepare(*arguments)
        for step in plan:
            value = step.function(brute)(value, *step.arguments)
        return value

    def solve_source(self, plan: Plan, brute: bool = False) -> str:
        """Return the source of ``solve``, which calls the operations by their names."""
        name = self.form.names[0][0]
        calls = [f"    {name} = {step.call(name)}\n" for step in plan[:-1]]
        return f"def solve({name}):\n{''.join(calls)}    return {plan[-1].call(name)}\n"

    def helpers(self, plan: Plan, brute: bool = False) -> list[Any]:
        """Return further functions that the source of ``solve`` calls."""
        return []

    def program(self, plan: Plan, kind: str, brute: bool = False) -> str:
        """Return the text of a program that solves the problem as a plan says.

        Args:
            plan: The problem's own plan, or a broken one for a wrong program.
            kind: ``"stdin"`` or ``"functional"``.
            brute: Whether to use the brute force of each step.
        """
        helpers = self.helpers(plan, brute)
        if kind == "stdin":
            helpers.append(self.form.read)
        steps = [(step.operation.fast.__name__, step.function(brute)) for step in plan]
        imports, parts = definitions(steps, helpers)
        parts.append(self.solve_source(plan, brute))
        if kind == "stdin":
            imports = sorted({*imports, "import sys"})
            read = f"solve(*{self.form.read.__name__}(sys.stdin.read()))"
            parts.append(f"answer = {read}\nprint({_SHOWN[plan[-1].operation.answer]})\n")
        head = "".join(f"{line}\n" for line in imports)
        return "\n\n".join([head, *parts] if head else parts)
