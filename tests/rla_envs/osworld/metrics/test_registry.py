"""The metrics have OSWorld's names, load what they need when used, and blame failures on the right side."""

import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

from rla_envs.errors import InputError, UnknownNameError
from rla_envs.osworld.metrics import METRICS
from rla_envs.osworld.metrics.registry import MetricSpec

HEAVY = ["openpyxl", "docx", "pptx", "pypdf", "lxml", "rapidfuzz", "PIL", "numpy", "yaml", "regex"]

OFFICIAL = Path(__file__).parents[5] / "shared" / "data" / "osworld" / "examples"
# What needs more than the packages of the osworld extra.
LEFT_OUT = {
    "check_mp3_meta",  # ID3 tags
    "check_python_file_by_test_suite",  # runs what the agent wrote
    "compare_audios",  # librosa
    "compare_image_text",  # text recognition
    "compare_pdf_images",  # perceptual hashes
}
OTHER_DOMAINS = {"chrome", "thunderbird", "vlc"}


def evaluated():
    """Yield each use of a metric in the official task files: task, name, options, is there a reference."""
    for file in sorted(OFFICIAL.glob("*/*.json")):
        if file.parent.name in OTHER_DOMAINS:
            continue
        evaluator = json.loads(file.read_text())["evaluator"]
        several = isinstance(evaluator["func"], list)
        names = evaluator["func"] if several else [evaluator["func"]]
        for number, name in enumerate(names):
            options, expected = evaluator.get("options") or {}, evaluator.get("expected")
            yield (
                file.stem[:8],
                name,
                (options[number] if several and options else options) or {},
                (expected[number] if several and expected else expected) is not None,
            )


def test_names_are_known_without_importing_any_library_for_files():
    code = f"""
import sys, rla_envs
before = set(sys.modules)
from rla_envs.osworld.metrics import METRICS
assert METRICS["compare_docx_files"].needs_expected and not METRICS["compare_table"].needs_expected
loaded = [name for name in {HEAVY!r} if name in sys.modules and name not in before]
print(loaded)
METRICS["exact_match"](1, {{"expected": 1}})
print([name for name in ("openpyxl", "docx", "pptx", "pypdf") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]


@pytest.mark.parametrize("spec", METRICS.values(), ids=METRICS.keys())
def test_every_metric_exists_and_takes_what_its_entry_says(spec):
    spec.load()
    function = getattr(importlib.import_module(f"rla_envs.osworld.metrics.{spec.module}"), spec.name)
    parameters = list(inspect.signature(function).parameters.values())
    given = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    assert given == (["result", "expected"] if spec.takes_expected else ["result"])
    assert function.__doc__


@pytest.mark.parametrize(
    "spec", [spec for spec in METRICS.values() if spec.needs_expected], ids=lambda spec: spec.name
)
def test_a_missing_reference_is_never_scored(spec):
    with pytest.raises(InputError):
        spec("anything", None)


@pytest.mark.skipif(not OFFICIAL.is_dir(), reason=f"OSWorld's task files are not at {OFFICIAL}")
def test_every_metric_of_the_official_tasks_of_these_domains_is_known():
    used = {name for _, name, _, _ in evaluated()}
    assert len(used) > 60
    assert used - METRICS.keys() == LEFT_OUT


@pytest.mark.skipif(not OFFICIAL.is_dir(), reason=f"OSWorld's task files are not at {OFFICIAL}")
def test_the_options_of_the_official_tasks_are_accepted():
    for task, name, options, has_expected in evaluated():
        if name in METRICS:
            METRICS[name].check_options(options)
            assert has_expected or not METRICS[name].needs_expected, (task, name)


def test_an_unknown_option_is_refused_with_the_closest_name():
    with pytest.raises(UnknownNameError, match="Did you mean 'ignore_case'"):
        METRICS["compare_text_file"]("a", "b", ignore_cse=True)


def test_a_missing_option_is_named():
    with pytest.raises(InputError, match="'rules'"):
        METRICS["compare_table"]("a.xlsx")


def test_options_that_begin_with_an_underscore_are_comments(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("a")
    assert METRICS["compare_text_file"](str(file), str(file), _note="why") == 1.0


def test_failures_are_blamed_on_the_side_that_came_from_the_desktop(tmp_path):
    metric, file = METRICS["compare_text_file"], tmp_path / "a.txt"
    file.write_text("a")
    missing = str(tmp_path / "none.txt")
    assert metric.score(missing, str(file)) == 0.0
    with pytest.raises(InputError, match=r"none\.txt"):
        metric.score(str(file), missing)
    assert metric.score(str(file), missing, from_desktop={"expected"}) == 0.0
    assert metric.score(str(file), None, from_desktop={"expected"}) == 0.0
    with pytest.raises(InputError, match=r"none\.txt"):
        metric.score(missing, str(file), from_desktop={"expected"})


def test_links_are_not_followed_and_folders_are_no_files(tmp_path):
    secret, link = tmp_path / "secret.txt", tmp_path / "link.txt"
    secret.write_text("secret")
    link.symlink_to(secret)
    metric = METRICS["file_contains"]
    assert metric(str(secret), {"expected": ["secret"]}) == 1.0
    assert metric(str(link), {"expected": ["secret"]}) == 0.0
    assert metric(str(tmp_path), {"expected": ["secret"]}) == 0.0


def test_scores_are_cut_to_the_unit_interval():
    assert MetricSpec("infeasible", "general", takes_expected=False, needs_expected=False)(True) == 1.0
    assert METRICS["infeasible"](None) == 0.0
