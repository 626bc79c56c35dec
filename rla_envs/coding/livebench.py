"""LiveBench's coding questions, read from its own files."""

from __future__ import annotations

import base64
import binascii
import io
import json
import pickle
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from rla_envs.coding.extraction import parses
from rla_envs.coding.problem import Case, Problem
from rla_envs.errors import InputError, unknown_name

LCB_TASKS = ("LCB_generation", "coding_completion")
"""Tasks that are graded by inputs and outputs."""

UNITTEST_TASKS = ("code_generation", "code_completion")
"""Tasks that are graded by unit tests."""

TASKS = (*LCB_TASKS, *UNITTEST_TASKS)

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_EXTRA_SECONDS = 3.0
"""What LiveBench adds to ``expected_time``; without that field a suite gets ``_SUITE_SECONDS``."""
_SUITE_SECONDS = 20.0
_MOST_BYTES = 1 << 30
"""Private tests that unpack to more are refused: the largest real ones take some tens of megabytes."""


def load_livebench(
    path: str | Path = "data", *, release: str | None = None, tasks: Sequence[str] | None = None
) -> list[Problem]:
    """Read the coding questions of a LiveBench data folder.

    Args:
        path: The ``data`` folder, any folder above the
            ``live_bench/coding/TASK/question.jsonl`` files, a task's folder, or
            one such file. ``test_cases_*.jsonl`` beside a question file are
            merged into it by ``question_id``.
        release: ``YYYY-MM-DD``: only questions released by then and not removed
            by then, as LiveBench's option of that name; None takes all that
            are not removed.
        tasks: Only these of :data:`TASKS`; None takes all four.

    Returns:
        The problems, by task and then in the order of the files.

    Raises:
        InputError: If there is no question file, or one is malformed; names
            file, line and field.
    """
    if release is not None and not (isinstance(release, str) and _DATE.fullmatch(release)):
        raise InputError(f"release: expected a date such as '2024-11-25', got {release!r}")
    if not isinstance(path, str | Path):
        raise InputError(f"path: expected a path of LiveBench's files, got {path!r}")
    if isinstance(tasks, str):
        raise InputError(f"tasks: expected a list of tasks, got {tasks!r}; write [{tasks!r}]")
    for task in tasks or ():
        if task not in TASKS:
            raise unknown_name("LiveBench coding task", task, TASKS)
    problems: dict[str, Problem] = {}
    for file in _question_files(Path(path)):
        for where, row in _rows(file):
            problem = _problem(where, row)
            if problem.id in problems:
                raise InputError(f"{where}: question_id {problem.id!r} occurs twice")
            if (tasks is None or problem.task in tasks) and is_active(problem, release):
                problems[problem.id] = problem
    return sorted(problems.values(), key=lambda problem: TASKS.index(problem.task))


def is_active(problem: Problem, release: str | None = None) -> bool:
    """Return whether a question counts in a LiveBench release; None is the time after all of them."""
    if release is None:
        return not problem.removal_date
    removed_later = not problem.removal_date or problem.removal_date > release
    return problem.release_date <= release and removed_later


def decode_tests(encoded: str) -> Any:
    """Return the tests in a ``private_test_cases`` field: JSON, or pickled JSON that is packed in base64.

    The pickle may hold nothing but text: it is read without any globals, so it
    cannot run code.

    Raises:
        InputError: If it is neither.
    """
    try:
        return json.loads(encoded)
    except (ValueError, RecursionError):
        pass
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(encoded.encode(), validate=True), _MOST_BYTES)
        if unpacker.unconsumed_tail:
            raise InputError(f"unpacks to more than {_MOST_BYTES >> 20} MiB")
        text = _TextUnpickler(io.BytesIO(data)).load()
        if not isinstance(text, str | bytes):
            raise InputError(f"the pickle holds a {type(text).__name__}, expected text")
        return json.loads(text)
    except (ValueError, binascii.Error, zlib.error, pickle.UnpicklingError, EOFError) as error:
        raise InputError(f"expected JSON, or base64 of a packed pickle of JSON text ({error})") from error
    except RecursionError as error:
        raise InputError("expected a list of tests, got JSON nested too deeply") from error
    except (AttributeError, IndexError, KeyError, TypeError, MemoryError, OverflowError) as error:
        raise InputError(f"the pickle is damaged ({type(error).__name__}: {error})") from error


class _TextUnpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"a pickle of tests may name no globals, this one names {global_name!r}")


def _question_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    files = [
        file
        for file in sorted(path.glob("**/question.jsonl"))
        if file.parent.name in TASKS or file.parent == path
    ]
    if not files:
        raise InputError(
            f"LiveBench questions: expected live_bench/coding/TASK/question.jsonl in or under {path}, found "
            "none; download LiveBench's data and pass its folder as path="
        )
    return files


def _rows(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    extra: dict[str, dict[str, Any]] = {}
    for cases in sorted(file.parent.glob("test_cases_*.jsonl")):
        extra.update((_text(where, row, "question_id"), row) for where, row in json_lines(cases))
    for where, row in json_lines(file):
        yield where, {**extra.get(str(row.get("question_id")), {}), **row}


def json_lines(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a file of JSON lines, each with where it stands; raises InputError naming that."""
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read ({error})") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{file}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where}: expected a JSON object ({error})") from error
        if not isinstance(row, dict):
            raise InputError(f"{where}: expected a JSON object, got {type(row).__name__}")
        yield where, row


def _problem(where: str, row: Mapping[str, Any]) -> Problem:
    task = _text(where, row, "task")
    if task not in TASKS:
        raise InputError(f"{where}: {unknown_name('task', task, TASKS)}")
    turns = row.get("turns")
    if not (isinstance(turns, list) and turns and isinstance(turns[0], str)):
        raise InputError(f"{where}: turns: expected a list with the prompt, got {turns!r}")
    common = {
        "id": _text(where, row, "question_id"),
        "title": _text(where, row, "question_title", ""),
        "source": "livebench",
        "task": task,
        "release_date": _date(where, row, "livebench_release_date"),
        "removal_date": _date(where, row, "livebench_removal_date"),
        "partial_solution": _text(where, row, "partial_solution", ""),
    }
    try:
        if task in LCB_TASKS:
            return _lcb_problem(row, turns[0], common)
        return _unittest_problem(row, turns[0], common)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _lcb_problem(row: Mapping[str, Any], statement: str, common: dict[str, Any]) -> Problem:
    original = row.get("original_json") or {}
    if not isinstance(original, Mapping):
        raise InputError(f"original_json: expected an object, got {original!r}")
    metadata = _metadata(original.get("metadata"))
    function = metadata.get("func_name")
    kind = "stdin" if function is None else "functional"
    public = _cases("public_test_cases", row.get("public_test_cases"), kind)
    private = _cases("private_test_cases", row.get("private_test_cases"), kind)
    if not public + private:
        raise InputError("public_test_cases and private_test_cases: expected at least one test, got none")
    known = {key: original[key] for key in ("difficulty", "contest_date", "platform") if key in original}
    return Problem(
        statement,
        kind,
        public,
        private,
        entry_point=function or "",
        starter_code=str(original.get("starter_code") or row.get("starter_code") or ""),
        reference_solutions=_completions(row, common["partial_solution"]),
        metadata={key: str(value) for key, value in known.items()},
        **common,
    )


def _unittest_problem(row: Mapping[str, Any], statement: str, common: dict[str, Any]) -> Problem:
    where = "question"
    tests = _text(where, row, "tests")
    if "class TestCases" not in tests:
        raise InputError("tests: expected Python source with a class TestCases")
    expected_time = row.get("expected_time")
    if expected_time is not None and not (
        isinstance(expected_time, int | float) and 0 <= expected_time < float("inf")
    ):
        raise InputError(f"expected_time: expected seconds, got {expected_time!r}")
    prompt, truth = _text(where, row, "code_prompt", ""), _text(where, row, "ground_truth", "")
    candidates = [truth, f"{prompt}\n{truth}", *_completions(row, common["partial_solution"])]
    entry_point = _text(where, row, "entry_point")
    references = [code for code in candidates if _defines(code, entry_point)]
    return Problem(
        statement,
        "unittest",
        entry_point=entry_point,
        unittest_source=tests,
        starter_code=prompt,
        reference_solutions=tuple(references[:1]),
        time_limit=_SUITE_SECONDS if expected_time is None else expected_time + _EXTRA_SECONDS,
        **common,
    )


def _completions(row: Mapping[str, Any], partial: str) -> tuple[str, ...]:
    """Return the solution that a completion question carries, if it is a whole program."""
    solution = row.get("solution") or row.get("remainder") or ""
    if not isinstance(solution, str) or not solution.strip():
        return ()
    joined = solution if solution.startswith(partial) else f"{partial}\n{solution}"
    return next(((code,) for code in (joined, solution) if parses(code)), ())


def _defines(code: str, name: str) -> bool:
    return bool(re.search(rf"^\s*(?:async\s+def|def|class)\s+{re.escape(name)}\b", code, re.M)) and parses(
        code
    )


def _metadata(text: object) -> Mapping[str, Any]:
    try:
        value = json.loads(text) if isinstance(text, str) else text
    except ValueError as error:
        raise InputError(f"original_json.metadata: expected JSON ({error})") from error
    if value is not None and not isinstance(value, Mapping):
        raise InputError(f"original_json.metadata: expected a JSON object, got {value!r}")
    return value or {}


def _cases(name: str, field: object, kind: str) -> tuple[Case, ...]:
    try:
        rows = decode_tests(field) if isinstance(field, str) else field
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    if rows is None:
        rows = []
    if not isinstance(rows, list):
        raise InputError(f"{name}: expected a list of tests, got {type(rows).__name__}")
    cases = []
    for number, test in enumerate(rows):
        where = f"{name}[{number}]"
        if not isinstance(test, Mapping):
            raise InputError(f"{where}: expected an object, got {test!r}")
        if test.get("testtype", kind) != kind:
            raise InputError(f"{where}.testtype: expected {kind!r}, got {test['testtype']!r}")
        cases.append(Case(_text(where, test, "input"), _text(where, test, "output")))
    return tuple(cases)


_REQUIRED = object()


def _text(where: str, row: Mapping[str, Any], name: str, default: object = _REQUIRED) -> str:
    value = row.get(name)
    if value is None and default is not _REQUIRED:
        return str(default)
    if not isinstance(value, str):
        came = "nothing" if value is None else repr(value)
        raise InputError(f"{where}: {name}: expected a string, got {came}")
    return value


def _date(where: str, row: Mapping[str, Any], name: str) -> str:
    value = _text(where, row, name, "")[:10]
    if value and not _DATE.fullmatch(value):
        raise InputError(f"{where}: {name}: expected a date such as '2024-11-25', got {value!r}")
    return value
