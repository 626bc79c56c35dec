"""Generated problems: a plan of steps, tests that tell it from broken plans, and the programs of both."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rla_envs.coding.families.base import EMPTY, Family
from rla_envs.coding.families.operation import Plan, broken_plans, shortened_plans
from rla_envs.coding.families.parameters import IO_KINDS, PARAMETERS
from rla_envs.coding.families.register import FAMILIES
from rla_envs.coding.families.statement import ENTRY_POINT, distractor_sentences, statement
from rla_envs.coding.problem import Problem
from rla_envs.difficulty import DifficultyParameter, Value, complete_difficulty, parse_difficulty
from rla_envs.errors import InvalidTaskError

SOURCE = "generated"

PUBLIC_TESTS = 2
RANDOM_TESTS = 14
"""How many small random tests a problem has, the public ones included."""

_POOL = 48
_RARE_TRIES = 60
_COMMONEST = 0.7
"""Largest share of small inputs that may have the same answer."""

_ATTEMPTS = 60
_TOO_SLOW_SIZE = 5
_FAILED = object()


@dataclass(frozen=True)
class _Input:
    kind: str
    arguments: list[Any]
    answer: Any


def generate(difficulty: Mapping[str, Value], seed: int) -> Problem:
    """Return the problem of a difficulty and a seed; the same in every process.

    The same seed at another difficulty gives a similar problem: the steps it
    has in common, in the same order, with the same constants.

    Args:
        difficulty: A value for every parameter of :data:`PARAMETERS`.
        seed: 0 or more.

    Returns:
        A problem with a reference, wrong programs that its tests are known to
        fail, and ``metadata``: ``seed``, ``difficulty``, ``brute_force`` (a
        slow program that is right), and ``test_kinds``, one for every test.

    Raises:
        InvalidTaskError: If no plan whose steps all matter was found.
    """
    values = {p.name: int(difficulty[p.name]) for p in PARAMETERS}
    family = list(FAMILIES.values())[values["family"]]
    kind = IO_KINDS[values["io_kind"]]
    size, level = values["size"], values["edge_cases"]
    plan = draw_plan(values, seed)
    pool = _small_inputs(family, plan, values, seed)
    unusual = family.edge_inputs(np.random.default_rng((seed, 1)), level, 10**size, plan)
    edges = _inputs(family, plan, unusual)
    pool += _rare_inputs(family, plan, [*edges, *pool], _lengths(family, values), seed)
    broken = [(other, _outcomes(family, other, [*edges, *pool])) for other in broken_plans(plan)]
    broken = [(other, outcomes) for other, outcomes in broken if outcomes]
    chosen = _telling_tests(pool, edges, [outcomes for _, outcomes in broken])
    large = family.draw_input(np.random.default_rng((seed, 2)), 10**size, plan)
    tests = [*chosen, *edges, *_inputs(family, plan, [("large", large)])]
    wrong = [family.program(other, kind) for other, _ in broken]
    brute = family.program(plan, kind, brute=True)
    if size >= _TOO_SLOW_SIZE and plan[-1].operation.heavy:
        wrong.append(brute)
    distractors = distractor_sentences(np.random.default_rng((seed, 3)), values["distractor_text"])
    example = (tests[0].arguments, _shown(tests[0].answer, kind))
    fields: dict[str, Any] = {
        "public": PUBLIC_TESTS,
        "reference_solutions": (family.program(plan, kind),),
        "wrong_solutions": tuple(dict.fromkeys(wrong)),
        "time_limit": _time_limit(len(plan), size),
        "title": family.title,
        "source": SOURCE,
        "task": family.name,
        "metadata": {
            "seed": seed,
            "difficulty": values,
            "brute_force": brute,
            "test_kinds": [test.kind for test in tests],
        },
    }
    text = statement(family, plan, kind, size, level, distractors, example)
    if kind == "functional":
        return Problem.functional(text, ENTRY_POINT, [(t.arguments, t.answer) for t in tests], **fields)
    return Problem.stdin(
        text, [(family.form.write(*t.arguments), _shown(t.answer, kind)) for t in tests], **fields
    )


def draw_plan(difficulty: Mapping[str, Value], seed: int) -> Plan:
    """Return the steps of the problem of a difficulty and a seed.

    Steps are taken in random order, each only if it and the earlier ones all
    change some answer, and put last, or where it does; so a problem with more
    steps has those of the one with fewer, as long as there are enough.

    Raises:
        InvalidTaskError: If there are not enough such steps.
    """
    values = {p.name: int(difficulty[p.name]) for p in PARAMETERS}
    family = list(FAMILIES.values())[values["family"]]
    for attempt in range(_ATTEMPTS):
        steps, final = family.draw_steps((seed, attempt), values["operations"], values["size"])
        plan: Plan = (final,)
        while steps and len(plan) < values["operations"]:
            step = steps.pop(0)
            longer = ((*plan[:place], step, *plan[place:]) for place in range(len(plan) - 1, -1, -1))
            plan = next((p for p in longer if _all_steps_matter(family, p, values, seed)), plan)
        answers = Counter(repr(test.answer) for test in _small_inputs(family, plan, values, seed))
        if len(plan) == values["operations"] and max(answers.values()) <= answers.total() * _COMMONEST:
            return plan
    raise InvalidTaskError(
        f"no {family.name} problem with {values['operations']} steps that all matter in {_ATTEMPTS} draws"
    )


def _all_steps_matter(family: Family, plan: Plan, values: Mapping[str, int], seed: int) -> bool:
    pool = _small_inputs(family, plan, values, seed)
    return all(_outcomes(family, other, pool) for other in shortened_plans(plan))


def _small_inputs(family: Family, plan: Plan, values: Mapping[str, int], seed: int) -> list[_Input]:
    rng = np.random.default_rng((seed, 0))
    drawn = [("random", family.draw_input(rng, length, plan)) for length in _lengths(family, values)]
    return _inputs(family, plan, drawn)


def _lengths(family: Family, values: Mapping[str, int]) -> list[int]:
    """Return the lengths of the small inputs: most are short, a few have up to 40 elements."""
    largest = min(family.short, 10 ** values["size"])
    short = range(max(family.minimum[values["edge_cases"]], 2), largest + 1)
    long = [] if values["size"] == 1 else [20, 30, 40]
    return list(itertools.islice(itertools.cycle(short), _POOL - len(long))) + long


def _inputs(family: Family, plan: Plan, drawn: list[tuple[str, list[Any]]]) -> list[_Input]:
    """Return the inputs with their answers, without duplicates."""
    distinct = {repr(arguments): (kind, arguments) for kind, arguments in drawn}
    return [_Input(kind, arguments, family.solve(plan, arguments)) for kind, arguments in distinct.values()]


def _outcomes(family: Family, plan: Plan, inputs: list[_Input]) -> set[int]:
    """Return the indices of the inputs on which a plan gives a wrong answer or an error."""
    wrong = set()
    for index, test in enumerate(inputs):
        try:
            answer = family.solve(plan, test.arguments)
        except Exception:  # A broken plan may fail in any way; that is a wrong answer too.
            answer = _FAILED
        if answer != test.answer:
            wrong.add(index)
    return wrong


def _rare_inputs(
    family: Family, plan: Plan, inputs: list[_Input], lengths: list[int], seed: int
) -> list[_Input]:
    """Return further inputs that show what no given one does: that some broken plan is wrong."""
    hidden = [other for other in broken_plans(plan) if not _outcomes(family, other, inputs)]
    rng = np.random.default_rng((seed, 4))
    found: list[_Input] = []
    for index in range(_RARE_TRIES if hidden else 0):
        arguments = family.draw_input(rng, lengths[index % len(lengths)], plan)
        test = _Input("random", arguments, family.solve(plan, arguments))
        still = [other for other in hidden if not _outcomes(family, other, [test])]
        if len(still) < len(hidden):
            found.append(test)
            hidden = still
    return found


def _telling_tests(pool: list[_Input], edges: list[_Input], broken: list[set[int]]) -> list[_Input]:
    """Return random inputs that, with the edge cases, tell every broken plan twice where that is possible.

    Chosen one by one, each as the one that tells most; among equals one whose
    answer is new, then the shorter one. The first two, which the solver may
    see, are neither the shortest nor the longest.
    """
    numbered = dict(enumerate([*edges, *pool]))
    taken = list(range(len(edges)))
    needed = [min(2, len(outcomes)) - len(outcomes & set(taken)) for outcomes in broken]
    answers: Counter[str] = Counter()
    found: list[_Input] = []
    while len(found) < RANDOM_TESTS or any(need > 0 for need in needed):
        rest = [index for index in range(len(edges), len(numbered)) if index not in taken]
        if not rest:
            break
        best = max(
            rest,
            key=lambda index: (
                sum(need > 0 and index in outcomes for need, outcomes in zip(needed, broken, strict=True)),
                -answers[repr(numbered[index].answer)],
                -index,
            ),
        )
        taken.append(best)
        found.append(numbered[best])
        answers[repr(numbered[best].answer)] += 1
        needed = [need - (best in outcomes) for need, outcomes in zip(needed, broken, strict=True)]
    found.sort(key=lambda test: len(repr(test.arguments)))
    examples = [found.pop(len(found) * 2 // 3), found.pop(len(found) // 3)]
    return [*reversed(examples), *found]


def _shown(answer: Any, kind: str) -> str:
    if kind == "functional":
        return repr(answer)
    if isinstance(answer, list):
        return " ".join(map(str, answer)) or EMPTY
    return str(answer) or EMPTY


def _time_limit(steps: int, size: int) -> float:
    """Return the seconds a test may take: the reference's own work, with a wide margin.

    Counted as n log2 n elementary operations a step, at 2 million a second,
    where CPython does at least 10 million, and two seconds to start.
    """
    n = 10.0**size
    return round(2.0 + steps * n * math.log2(n) / 2e6, 1)


class GeneratedSource:
    """Problems of the generated families, for the environments; implements ``ProblemSource``."""

    @property
    def difficulty_parameters(self) -> tuple[DifficultyParameter, ...]:
        """The parameters of every generated problem."""
        return PARAMETERS

    def sample(self, difficulty: Mapping[str, Value], rng: np.random.Generator) -> Problem:
        """Return a random problem; see ``ProblemSource``."""
        return generate(difficulty, int(rng.integers(2**31)))


def generated_problems(
    count: int = 100, seed: int = 0, difficulty: Mapping[str, object] | None = None
) -> tuple[Problem, ...]:
    """Return random problems of all families, or of the difficulty that is asked for.

    Args:
        count: How many.
        seed: Seed of all of them; a larger count begins with the same ones.
        difficulty: Values of some or all parameters; the others take their
            defaults, and ``family`` is drawn.

    Raises:
        InputError: On an unknown parameter or a value out of range.
    """
    given = parse_difficulty(PARAMETERS, difficulty)
    problems = []
    for index in range(count):
        rng = np.random.default_rng((seed, index))
        problems.append(GeneratedSource().sample(complete_difficulty(PARAMETERS, given, rng), rng))
    return tuple(problems)
