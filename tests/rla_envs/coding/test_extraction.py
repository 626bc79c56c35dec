"""The program is found in an answer by LiveBench's rule, and where that rule loses it."""

import pytest

from rla_envs.coding.extraction import extract_code, join_partial

ONE = "```python\nprint(1)\n```"
BOTH = ("strict", "livebench")


@pytest.mark.parametrize("rule", BOTH)
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (ONE, "print(1)"),
        (f"Here it is:\n\n{ONE}\nIt prints one.", "print(1)"),
        ("```\nprint(1)\nprint(2)\n```", "print(1)\nprint(2)"),
        (f"First\n```python\nprint(0)\n```\nbetter\n{ONE}", "print(1)"),
        (f"<think>\n```python\nprint(0)\n```\n</think>\n{ONE}", "print(1)"),
        ("~~~\nx\n~~~\n   ```py\nprint(1)\n   ```", "print(1)"),
    ],
)
def test_the_code_lies_between_the_last_two_lines_with_backticks(answer, code, rule):
    assert extract_code(answer, rule=rule) == code


@pytest.mark.parametrize(
    ("answer", "code", "livebench"),
    [
        ("```python\nprint(1)", "print(1)", None),
        ("print(1)\n```", "print(1)", None),
        ("x = 1\nprint(x)", "x = 1\nprint(x)", None),
        ("```python print(1)```", "print(1)", None),
        (f"{ONE}\nIt gives\n```\n1 is the output\n```", "print(1)", "1 is the output"),
        ("```python\nprint(0)\n```\nbetter\n```python\nprint(1)", "print(1)", "better"),
        ("1. So:\n   ```python\n   x = 1\n   print(x)\n   ```", "x = 1\nprint(x)", "   x = 1\n   print(x)"),
        ('```\nprint("""\n```""")\nprint(1)\n```', 'print("""\n```""")\nprint(1)', "print(1)"),
        (f"thinking...\n```\nx +\n```</think>\n{ONE}", "print(1)", "print(1)"),
        ("```python\r\nprint(1)\r\n```\r\n", "print(1)", "print(1)\r"),
    ],
)
def test_the_strict_rule_finds_what_livebenchs_loses(answer, code, livebench):
    assert extract_code(answer) == code
    assert extract_code(answer, rule="livebench") == livebench


@pytest.mark.parametrize("rule", BOTH)
@pytest.mark.parametrize(
    "answer",
    [
        "",
        "42",
        "yes",
        "I do not know.",
        "```python\n```",
        "```\n   \n```",
        "<think>```\nprint(1)\n```</think>",
    ],
)
def test_an_answer_without_a_program_has_none(answer, rule):
    assert extract_code(answer, rule=rule) is None


def test_a_thought_that_never_ends_has_no_answer():
    assert extract_code("<think>```python\nprint(1)\n```") is None


def test_a_program_with_an_error_is_still_the_program():
    assert extract_code("```python\nprint(1\n```") == "print(1"


@pytest.mark.parametrize("rule", BOTH)
def test_the_partial_solution_is_put_before_an_answer_that_does_not_repeat_it(rule):
    partial = "def f(x):\n    y = x"
    rest = "    return y"
    assert extract_code(f"```python\n{rest}\n```", partial, rule) == f"{partial}\n{rest}"
    assert extract_code(f"```python\n{partial}\n{rest}\n```", partial, rule) == f"{partial}\n{rest}"
    assert join_partial("", "x") == "x"


def test_a_block_that_only_parses_behind_the_partial_solution_is_the_one_taken():
    answer = "```python\n    return y\n```\nwhich gives\n```\nf(1) is 1 here\n```"
    assert extract_code(answer, "def f(y):") == "def f(y):\n    return y"


@pytest.mark.parametrize("rule", BOTH)
@pytest.mark.parametrize(
    "repeated",
    [
        "<think>",
        "<think></think>",
        "```",
        "``` ",
        "```\n",
        "```\nx\n",
        "``` a",
        "```python ",
        " ",
        "(",
        "-",
        "\n",
    ],
)
def test_an_answer_that_repeats_itself_is_read_in_time_proportional_to_its_length(repeated, rule):
    opened = "```" + repeated * (300_000 // len(repeated))
    for answer in (opened, f"{opened}\n{ONE}"):
        code = extract_code(answer, rule=rule)
        assert code is None or len(code) <= len(answer)


def test_a_completion_stays_indented_as_its_partial_solution_wants_it():
    assert extract_code("```\n    return 1\n```", "def f():") == "def f():\n    return 1"
