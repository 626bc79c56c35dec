"""Stack machine: a program for a small machine with the instructions that the statement defines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rla_envs.coding.families.base import Family, integers
from rla_envs.coding.families.formats import LINES
from rla_envs.coding.families.operation import Operation, Plan, Step, whole


def _add(below: int, top: int) -> list[int]:
    return [below + top]


def _add_brute(below: int, top: int) -> list[int]:
    return [sum((top, below))]


def _add_and_keep(below: int, top: int) -> list[int]:
    return [below, below + top]


def _sub(below: int, top: int) -> list[int]:
    return [below - top]


def _sub_brute(below: int, top: int) -> list[int]:
    return [-(top - below)]


def _sub_from_top(below: int, top: int) -> list[int]:
    return [top - below]


def _dup(top: int) -> list[int]:
    return [top, top]


def _dup_brute(top: int) -> list[int]:
    return [top] * 2


def _dup_thrice(top: int) -> list[int]:
    return [top, top, top]


def _swap(below: int, top: int) -> list[int]:
    return [top, below]


def _swap_brute(below: int, top: int) -> list[int]:
    return list(reversed((below, top)))


def _max(below: int, top: int) -> list[int]:
    return [max(below, top)]


def _max_brute(below: int, top: int) -> list[int]:
    return [top if top >= below else below]


def _min(below: int, top: int) -> list[int]:
    return [min(below, top)]


def _drop(top: int) -> list[int]:
    return []


def _drop_to_zero(top: int) -> list[int]:
    return [0]


def _scale(top: int, factor: int) -> list[int]:
    return [top * factor % 1000]


def _scale_brute(top: int, factor: int) -> list[int]:
    return [sum(top for _ in range(factor)) % 1000]


def _scale_without_remainder(top: int, factor: int) -> list[int]:
    return [top * factor]


def _over(below: int, top: int) -> list[int]:
    return [below, top, below]


def _over_brute(below: int, top: int) -> list[int]:
    return [(below, top)[i % 2] for i in range(3)]


def _over_top(below: int, top: int) -> list[int]:
    return [below, top, top]


def _run(program: list[str], actions: dict[str, tuple[int, Callable[..., list[int]]]]) -> Any:
    stack: list[int] = []
    total = 0
    totals = [0]
    for line in program:
        word, *rest = line.split()
        if word == "push":
            stack.append(int(rest[0]))
            total += stack[-1]
        elif word in actions:
            count, action = actions[word]
            if len(stack) >= count:
                taken = stack[len(stack) - count :]
                given = action(*taken)
                stack[len(stack) - count :] = given
                total += sum(given) - sum(taken)
        totals.append(total)
    return stack, totals


def _run_brute(program: list[str], actions: dict[str, tuple[int, Callable[..., list[int]]]]) -> Any:
    stacks: list[tuple[int, ...]] = [()]
    for line in program:
        stack = stacks[-1]
        if line.startswith("push "):
            stacks.append((*stack, int(line[5:])))
            continue
        count, action = actions.get(line, (len(stack) + 1, list))
        cut = len(stack) - count
        stacks.append(stack if cut < 0 else stack[:cut] + tuple(action(*stack[cut:])))
    return list(stacks[-1]), [sum(stack) for stack in stacks]


def _top(stack: list[int], totals: list[int]) -> int:
    return stack[-1] if stack else 0


def _top_brute(stack: list[int], totals: list[int]) -> int:
    return ([0, *stack])[len(stack)]


def _bottom(stack: list[int], totals: list[int]) -> int:
    return stack[0] if stack else 0


def _height(stack: list[int], totals: list[int]) -> int:
    return len(stack)


def _height_brute(stack: list[int], totals: list[int]) -> int:
    return sum(1 for _ in stack)


def _contents(stack: list[int], totals: list[int]) -> list[int]:
    return stack


def _contents_brute(stack: list[int], totals: list[int]) -> list[int]:
    return [stack[i] for i in range(len(stack))]


def _contents_from_top(stack: list[int], totals: list[int]) -> list[int]:
    return stack[::-1]


def _peak(stack: list[int], totals: list[int]) -> int:
    return max(totals)


def _peak_brute(stack: list[int], totals: list[int]) -> int:
    return sorted(totals)[-1]


def _peak_after_start(stack: list[int], totals: list[int]) -> int:
    return max(totals[1:], default=0)


def _last_total(stack: list[int], totals: list[int]) -> int:
    return totals[-1]


def _times_negative(stack: list[int], totals: list[int]) -> int:
    return sum(total < 0 for total in totals)


def _times_negative_brute(stack: list[int], totals: list[int]) -> int:
    return len([total for total in totals if total <= -1])


def _times_not_positive(stack: list[int], totals: list[int]) -> int:
    return sum(total <= 0 for total in totals[1:])


class StackMachine(Family):
    """A machine with up to four instructions beside push; its stack at the end, or its sums on the way."""

    name = "stack_machine"
    title = "Stack machine"
    intro = (
        "A machine has a stack of integers, empty at first, and runs a program of n instructions, one after "
        "the other. push x puts the integer x on top of the stack. The other instructions are defined "
        "below; one that needs more values than the stack holds does nothing."
    )
    heading = "The instructions, and the answer:"
    limits = "Each string is one instruction defined here. For push x, -100 <= x <= 100."
    form = LINES
    operations = (
        Operation(
            "add takes the two top values from the stack and puts their sum on top.",
            _add,
            _add_brute,
            (_add_and_keep,),
            arity=2,
        ),
        Operation(
            "sub takes the two top values from the stack and puts the lower one minus the upper one on top.",
            _sub,
            _sub_brute,
            (_sub_from_top,),
            arity=2,
        ),
        Operation("dup puts a copy of the top value on top.", _dup, _dup_brute, (_dup_thrice,), arity=1),
        Operation(
            "swap exchanges the two top values.",
            _swap,
            _swap_brute,
            (_over,),
            arity=2,
        ),
        Operation(
            "max takes the two top values from the stack and puts the larger one on top.",
            _max,
            _max_brute,
            (_min,),
            arity=2,
        ),
        Operation(
            "over puts a copy of the second value from the top on top.",
            _over,
            _over_brute,
            (_over_top,),
            arity=2,
        ),
        Operation(
            "scale multiplies the top value by {0} and replaces it by the remainder modulo 1000 "
            "(from 0 to 999, also for negative products).",
            _scale,
            _scale_brute,
            (_scale_without_remainder,),
            draw=whole(2, 9),
            arity=1,
        ),
        Operation(
            "The answer is the top value of the stack at the end (0 if it is empty).",
            _top,
            _top_brute,
            (_bottom,),
            final=True,
            easy=True,
        ),
        Operation(
            "The answer is the number of values on the stack at the end.",
            _height,
            _height_brute,
            (_top,),
            final=True,
            easy=True,
        ),
        Operation(
            "The answer is the list of all values on the stack at the end, from the bottom to the top.",
            _contents,
            _contents_brute,
            (_contents_from_top,),
            final=True,
            answer="integers",
        ),
        Operation(
            "The answer is the largest sum of all values on the stack at any time, the beginning (sum 0) "
            "included.",
            _peak,
            _peak_brute,
            (_peak_after_start, _last_total),
            final=True,
            heavy=True,
        ),
        Operation(
            "The answer is the number of instructions after which the sum of all values on the stack is "
            "negative, counting those that did nothing.",
            _times_negative,
            _times_negative_brute,
            (_times_not_positive,),
            final=True,
            heavy=True,
        ),
    )

    def draw_input(self, rng: np.random.Generator, n: int, plan: Plan) -> list[Any]:
        """Return one program of ``n`` instructions, more than half of them push."""
        words = [step.operation.name for step in plan[:-1]]
        bound = 9 if n <= 40 else 100
        pushed = integers(rng, -bound, bound, n)
        chosen = integers(rng, 0, len(words) - 1, n) if words else [0] * n
        pushes = (rng.random(n) < 0.55).tolist() if words else [True] * n
        return [
            [f"push {x}" if push else words[i] for x, push, i in zip(pushed, pushes, chosen, strict=True)]
        ]

    def special_inputs(self, plan: Plan) -> list[list[Any]]:
        """Return programs without any push, with one, with zeros, and with the extremes."""
        words = [step.operation.name for step in plan[:-1]]
        return [
            [[*words, "push -4"]],
            [["push 7", *words, *words]],
            [["push 0", "push 0", *words]],
            [["push -100", "push -100", *words, "push 100", "push 3", *words]],
        ]

    def solve(self, plan: Plan, arguments: list[Any], brute: bool = False) -> Any:
        """Run the program with the functions of the steps as its instructions."""
        (program,) = arguments
        run = _run_brute if brute else _run
        actions = {step.operation.name: (step.operation.arity, _bound(step, brute)) for step in plan[:-1]}
        return plan[-1].function(brute)(*run(program, actions))

    def solve_source(self, plan: Plan, brute: bool = False) -> str:
        """Return the source of ``solve``: a table of instructions, and one run of the machine."""
        rows = []
        for step in plan[:-1]:
            action = step.operation.fast.__name__
            if step.arguments:
                action = f"lambda top: {step.call('top')}"
            rows.append(f'        "{step.operation.name}": ({step.operation.arity}, {action}),\n')
        run = "_run_brute" if brute else "_run"
        return (
            "def solve(lines):\n    actions = {\n" + "".join(rows) + "    }\n"
            f"    stack, totals = {run}(lines, actions)\n    return {plan[-1].call('stack', 'totals')}\n"
        )

    def helpers(self, plan: Plan, brute: bool = False) -> list[Any]:
        """Return the machine itself."""
        return [_run_brute if brute else _run]


def _bound(step: Step, brute: bool) -> Callable[..., list[int]]:
    function = step.function(brute)
    return (lambda *taken: function(*taken, *step.arguments)) if step.arguments else function
