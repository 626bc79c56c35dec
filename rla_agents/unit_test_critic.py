"""The judging role for code: a language model that writes unit tests from a problem's statement alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from rla_agents.critic import Judgement
from rla_agents.llm.base import LanguageModel, Sampling
from rla_agents.llm.chat import Message
from rla_envs.coding.extraction import extract_code
from rla_envs.coding.grade import Grader
from rla_envs.coding.problem import Case, Problem
from rla_envs.coding.values import dump_value
from rla_envs.errors import InputError
from wrappers.protocols import Episode, Verdict

INSTRUCTIONS = """\
You write one test for a programming problem: an input that a wrong program is likely to get wrong, and the \
output that a right program gives. {form} End your answer with exactly this:
Input:
```
the input
```
Output:
```
the output
```"""
_FORMS = {
    "stdin": "The input is what the program reads, the output what it prints.",
    "functional": "The input is the arguments of `{name}`, one JSON value a line, and the output what it "
    "returns, as one JSON value.",
}
_ANSWER = re.compile(
    r"^Input:[ \t]*\n```\w*[ \t]*\n(?P<input>(?:(?!```).)*?)\n?```[ \t]*\n+"
    r"Output:[ \t]*\n```\w*[ \t]*\n(?P<output>(?:(?!```).)*?)\n?```\s*\Z",
    re.MULTILINE | re.DOTALL,
)
_LONGEST = 10_000


def parse_test(text: str, kind: str) -> Case | None:
    r"""Return the test that an answer states; None if it is malformed.

    The answer ends with the lines ``Input:`` and ``Output:``, each followed by a
    fenced block; anything may stand before. Neither block may hold a fence, the
    output may not be blank, and both together not longer than 10,000 characters.
    For a function, the input is one JSON value a line and the output one JSON
    value; both are returned as :func:`~rla_envs.coding.values.dump_value` writes them.

    Args:
        text: The answer.
        kind: ``"stdin"`` or ``"functional"``.

    Example:
        >>> parse_test("Input:\n```\n1 2\n```\nOutput:\n```\n3\n```", "stdin")
        Case(input='1 2\n', output='3')
    """
    match = _ANSWER.search(text)
    if match is None or len(match.group(0)) > _LONGEST or not match["output"].strip():
        return None
    if kind == "stdin":
        return Case(match["input"] + "\n", match["output"])
    case = Case(match["input"], match["output"])
    try:
        return Case("\n".join(map(dump_value, case.arguments)), dump_value(case.expected))
    except InputError:
        return None


@dataclass
class UnitTestJudgement(Judgement):
    """What one written test says about one episode.

    Attributes:
        test: The test, or None if the answer was malformed. Episodes of one
            task share tests and sequences.
    """

    test: Case | None = None

    @property
    def key(self) -> tuple[str, str] | None:
        """What the test has in common with those that differ from it in blanks only; None if malformed."""
        return None if self.test is None else (_layout_free(self.test.input), _layout_free(self.test.output))


class UnitTestCritic:
    """A language model that judges programs by tests that it writes itself.

    For every task it reads the statement, never a program or the problem's own
    tests, and writes tests; each test is run on the program of every answer. Its
    votes are +1 for a test that passes, -1 for one that fails, and 0 for a
    malformed one. Problems that come as unit tests, and statements that leave no
    room for an answer in the model's context, get no votes.

    Args:
        model: The language model.
        sampling: How tests are drawn.
        generator: Where its randomness comes from.
        grader: Runs the tests; closed with :meth:`close`.
        tests: Tests written for every task (m in arXiv 2602.02488, which uses 16).
    """

    def __init__(
        self,
        model: LanguageModel,
        sampling: Sampling,
        generator: torch.Generator | None,
        grader: Grader,
        tests: int = 16,
    ) -> None:
        """Set up; see the class for the arguments."""
        self.model = model
        self.sampling = sampling
        self.generator = generator
        self.grader = grader
        self.tests = tests

    def judge(self, episodes: Sequence[Episode]) -> list[Verdict]:
        """Return the votes on every answer of every episode, and a summary of what went wrong."""
        return [self.verdict(e, j) for e, j in zip(episodes, self.judgements(episodes), strict=True)]

    def verdict(self, episode: Episode, judgements: Sequence[Judgement]) -> Verdict:
        """Return judgements of one episode as votes per answer, with a failed test in words."""
        votes = tuple(zip(*(j.votes for j in judgements), strict=True)) if episode.steps else ()
        return Verdict(votes, "" if episode.success else _summary(judgements))

    def judgements(self, episodes: Sequence[Episode]) -> list[list[Judgement]]:
        """Return one judgement a test for every episode."""
        problems = {e.task.id: Problem.from_dict(e.task.payload["problem"]) for e in episodes}
        written = dict(zip(problems, self.write(list(problems.values())), strict=True))
        return [
            self._judged(episode, problems[episode.task.id], written[episode.task.id]) for episode in episodes
        ]

    def write(self, problems: Sequence[Problem]) -> list[list[UnitTestJudgement]]:
        """Return the tests written for each problem, as judgements without votes."""
        prompts = {i: self.opening(problem) for i, problem in enumerate(problems) if problem.kind in _FORMS}
        room = self.model.context_length - self.sampling.max_tokens
        rows = [i for i, prompt in prompts.items() if len(prompt) <= room for _ in range(self.tests)]
        made: list[list[UnitTestJudgement]] = [[] for _ in problems]
        if not rows:
            return made
        session = self.model.open([prompts[i] for i in rows])
        drawn = session.generate(range(len(rows)), self.sampling, self.generator)
        for row, (i, answer) in enumerate(zip(rows, drawn, strict=True)):
            test = parse_test(answer.text, problems[i].kind) if answer.finished else None
            made[i].append(UnitTestJudgement(session.sequence(row), test=test))
        return made

    def opening(self, problem: Problem) -> list[int]:
        """Return the ids that ask for a test: instructions and the statement."""
        form = _FORMS[problem.kind].format(name=problem.entry_point)
        messages: list[Message] = [
            {"role": "system", "content": INSTRUCTIONS.format(form=form)},
            {"role": "user", "content": problem.statement},
        ]
        return self.model.chat.first(messages)

    def close(self) -> None:
        """End the sandbox."""
        self.grader.close()

    def _judged(
        self, episode: Episode, problem: Problem, written: Sequence[UnitTestJudgement]
    ) -> list[Judgement]:
        columns = [self._votes(str(step.action), problem, written) for step in episode.steps]
        return [
            UnitTestJudgement(one.sequence, [column[k] for column in columns], one.test)
            for k, one in enumerate(written)
        ]

    def _votes(self, answer: str, problem: Problem, written: Sequence[UnitTestJudgement]) -> list[int]:
        tests = list(dict.fromkeys(one.test for one in written if one.test is not None))
        passed: set[Case] = set()
        code = extract_code(answer, problem.partial_solution)
        if code is not None and tests:
            asked = problem.replace(public_tests=(), private_tests=tuple(tests))
            verdict = self.grader.grade_code(asked, code, stop_at="timeout")
            passed = {test for test, result in zip(tests, verdict.tests, strict=False) if result.passed}
        return [0 if one.test is None else 1 if one.test in passed else -1 for one in written]


def _layout_free(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.strip().split("\n"))


def _summary(judgements: Sequence[Judgement]) -> str:
    """Return in at most two sentences which written tests the last answer fails."""
    read = [j for j in judgements if isinstance(j, UnitTestJudgement) and j.test is not None and j.votes]
    failed = [j.test for j in read if j.votes[-1] < 0]
    if not failed:
        return "The program is wrong, but passes every test that was written for it." if read else ""
    first = failed[0]
    assert first is not None
    return (
        f"The program fails {len(failed)} of {len(read)} written tests. "
        f"One gives {_short(first.input)} and expects {_short(first.output)}."
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 60 else f"{line[:59]}…")
