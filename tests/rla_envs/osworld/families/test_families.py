"""Every family's tasks can be done, are not done at the start, and their near-misses do not count."""

import json

import numpy as np
import pytest

from rla_envs.difficulty import complete_difficulty
from rla_envs.errors import InvalidTaskError, UnknownNameError
from rla_envs.osworld.actions.pyautogui_text import parse
from rla_envs.osworld.difficulty import PARAMETERS, measured
from rla_envs.osworld.families import FAMILIES, build, check, export, find_family, sample_payload
from rla_envs.osworld.families.check import score
from rla_envs.osworld.families.topics import TOPICS
from rla_envs.osworld.tasks import load_task, parse_task
from rla_envs.task import Task

EASY = {"edits": 1, "hints": 2}
HARD = {"edits": 4, "hints": 0, "vagueness": 2, "start": 2, "distractor_files": 6, "distractor_windows": 3}


def drawn(family, seed=0, split="train", **difficulty):
    rng = np.random.default_rng(seed)
    least = 1 if family is None else len(FAMILIES[family].applications)
    full = complete_difficulty(PARAMETERS, {"applications": least, **difficulty}, rng)
    return sample_payload(family, full, split, rng)


def with_job(payload, **changes):
    spec = payload["spec"]
    return {**payload, "spec": {**spec, "job": {**spec["job"], **changes}}}


@pytest.mark.parametrize("difficulty", [EASY, HARD], ids=["easy", "hard"])
@pytest.mark.parametrize("name", FAMILIES)
def test_the_end_counts_the_start_does_not_and_no_near_miss_does(name, difficulty):
    payload = drawn(name, **difficulty)
    verdict = check(payload)
    assert verdict.valid, verdict.reason
    assert verdict.witness[-1] == "DONE"
    job = build(payload).jobs[0]
    misses = find_family(name).near_misses(payload["spec"]["job"])
    assert len(misses) >= 3
    for wrong, other in misses.items():
        end = find_family(name).read(other, payload["spec"]["folder"])
        assert score(job.checks, end.checks) < 1, wrong


@pytest.mark.parametrize("name", FAMILIES)
def test_a_witness_is_made_of_actions_that_the_parser_understands(name):
    for difficulty in (EASY, HARD):
        for step in build(drawn(name, **difficulty)).witness:
            parse(step, (1280, 720))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_task_is_a_task_file_that_can_be_loaded_and_run_here_once_its_applications_are_there(name):
    built = build(drawn(name))
    everything = ("soffice", "xterm", "gsettings", "mousepad", "pcmanfm")
    task = parse_task(built.task_json("x"), applications=everything)
    assert task.availability == "runnable", task.missing
    assert task.instruction == built.instruction


@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_payload_gives_the_same_bytes_on_another_day(name, monkeypatch):
    import time

    from rla_envs.osworld.families.build import _build

    payload = drawn(name)
    first = build(payload).task_json("x")
    _build.cache_clear()
    later = time.time() + 400 * 86400
    monkeypatch.setattr("time.time", lambda: later)
    assert build(payload).task_json("x") == first


@pytest.mark.parametrize("name", FAMILIES)
def test_an_infeasible_task_names_what_is_not_there_and_keeps_the_budget_of_its_twin(name):
    for seed in range(20):
        payload = drawn(name, seed=seed, infeasible=0.5)
        if payload["spec"]["missing"]:
            break
    verdict, built = check(payload), build(payload)
    assert (verdict.valid, verdict.witness) == (True, ("FAIL",))
    document = built.jobs[0].documents[0]
    assert not any(path == document.path or path.startswith(f"{document.path}/") for path in built.uploads)
    assert parse_task(built.task_json("x")).infeasible
    twin = build({**payload, "spec": {**payload["spec"], "missing": False}})
    assert built.plan_length == len(twin.witness)


def test_an_infeasible_task_whose_document_lies_there_after_all_is_refused():
    payload = drawn("text_lines", distractor_files=1)
    spec = {**payload["spec"], "missing": True}
    spec["distractor_files"] = [spec["job"]["file"]]
    assert "expected other names" in check({**payload, "spec": spec}).reason


def test_tasks_of_one_split_are_never_about_topics_of_the_other():
    for split, other in (("train", "valid"), ("valid", "train")):
        text = json.dumps(
            [drawn(None, seed, split, applications=3, distractor_files=8) for seed in range(20)]
        )
        assert not any(f'"{topic.stem}' in text or topic.about in text for topic in TOPICS[other])


def test_what_is_asked_for_is_what_can_be_measured():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        asked = {p.name: p.draw(rng) for p in PARAMETERS} | {"edits": 3 + seed % 3}
        built = build(sample_payload(None, asked, "train", rng))
        assert measured(built) == {name: asked[name] for name in measured(built)}


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda p: p.name)
def test_each_parameter_moves_its_statistic_the_way_it_says(parameter):
    middle = (parameter.low + parameter.high) / 2
    middle = middle if parameter.continuous else round(middle)
    means = []
    for value in (parameter.low, middle, parameter.high):
        tasks = []
        for seed in range(8):
            rng = np.random.default_rng(seed)
            full = complete_difficulty(PARAMETERS, {parameter.name: value}, rng)
            tasks.append(Task("RLA/OSWorld-v0", full, sample_payload(None, full, "train", rng)))
        means.append(parameter.direction * np.mean([parameter.statistic(task) for task in tasks]))
    assert means[0] <= means[1] <= means[2]
    assert means[0] < means[2]


def test_too_few_edits_for_the_applications_are_refused():
    with pytest.raises(InvalidTaskError, match="'applications' 3 and 'edits' 1"):
        drawn("calc_cells", applications=3, edits=1)
    with pytest.raises(InvalidTaskError, match="'notes_to_sheet' with its 2"):
        drawn("notes_to_sheet", applications=1)


def test_an_unknown_family_is_refused_with_the_closest_one():
    with pytest.raises(UnknownNameError, match="Did you mean 'calc_cells'"):
        find_family("calc_cell")
    assert "Did you mean 'text_lines'" in check({**drawn("calc_cells"), "family": "text_line"}).reason


@pytest.mark.parametrize(
    "payload",
    [
        None,
        7,
        "payload",
        [],
        {},
        {"family": "calc_cells"},
        {"family": ["calc_cells"], "spec": {}},
        {"family": "calc_cells", "spec": {"job": b"bytes"}},
        {"family": "calc_cells", "spec": {"job": float("nan")}},
        {"family": "calc_cells", "spec": [[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]},
    ],
    ids=repr,
)
def test_a_payload_of_another_form_is_refused_in_a_line(payload):
    verdict = check(payload)
    assert not verdict.valid
    assert verdict.reason
    assert "\n" not in verdict.reason


def test_a_payload_deeper_than_can_be_read_is_refused():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert "levels" in check({"family": "calc_cells", "spec": deep}).reason


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd.txt",
        "/etc/passwd.txt",
        "a b.txt",
        "a;reboot.txt",
        "$(id).txt",
        "`id`.txt",
        "a'b.txt",
        'a"b.txt',
        "a\nb.txt",
        "-rf.txt",
        ".txt",
        "x" * 99 + ".txt",
        "a.xlsx",
        7,
        None,
    ],
    ids=repr,
)
def test_a_file_name_that_is_more_than_a_name_is_refused(name):
    verdict = check(with_job(drawn("text_lines"), file=name))
    assert not verdict.valid
    assert verdict.reason.startswith("file: expected")


@pytest.mark.parametrize(
    "folder",
    [
        "/etc",
        "/home/user",
        "/home/user/../root",
        "/home/user/a/../../x",
        "home/user/a",
        "/home/user/$HOME",
        "",
        1,
    ],
    ids=repr,
)
def test_a_folder_outside_the_home_is_refused(folder):
    payload = drawn("calc_cells")
    verdict = check({**payload, "spec": {**payload["spec"], "folder": folder}})
    assert not verdict.valid
    assert verdict.reason.startswith("folder: expected")


@pytest.mark.parametrize(
    "value",
    ["=1+1", "'40", "40", "1e9", "a\tb", "x\n", "café`", 10**400, 1e300, float("inf"), 0.001, True, [], {}],
    ids=lambda value: repr(value)[:12],
)
def test_a_cell_value_that_a_spreadsheet_would_change_is_refused(value):
    payload = drawn("calc_cells", edits=1)
    edit = {**payload["spec"]["job"]["edits"][0], "value": value}
    assert not check(with_job(payload, edits=[edit])).valid


@pytest.mark.parametrize(
    ("family", "edits", "reason"),
    [
        ("calc_cells", [{"cell": "A1", "value": 1}], "expected a cell from B2"),
        ("calc_cells", [{"cell": "H39", "value": 1}], "expected a cell from B2"),
        ("calc_cells", [{"cell": "B2", "value": 1}] * 2, "expected each once"),
        ("calc_cells", [], "a list of 1 to 6"),
        ("calc_cells", [{"cell": "B2"}], "expected a field 'value'"),
        ("calc_cells", [{"cell": "B2", "value": 1, "extra": 0}], "unknown field"),
        ("text_lines", [{"line": 10**9, "text": "x"}], "an integer from 1"),
        ("writer_replace", [{"find": "Nobody", "replace": "Ada"}], "stands alone"),
        ("terminal_permissions", [{"name": "passwd.sh", "mode": "600"}], "name:"),
        ("settings_editor", [{"key": "show-rulers"}], "unknown key"),
    ],
)
def test_an_edit_that_asks_for_what_cannot_be_done_is_refused(family, edits, reason):
    verdict = check(with_job(drawn(family), edits=edits))
    assert not verdict.valid
    assert reason in verdict.reason


def test_a_task_that_is_done_before_anything_is_done_is_refused():
    payload = drawn("text_lines", edits=1)
    lines = payload["spec"]["job"]["lines"]
    verdict = check(with_job(payload, edits=[{"line": 1, "text": lines[0]}]))
    assert "expected another text" in verdict.reason


def test_an_exported_task_loads_from_its_file_with_every_file_beside_it(tmp_path):
    task = Task("RLA/OSWorld-v0", {}, drawn("sheet_to_letter"))
    path = export(task, tmp_path)
    loaded = load_task(path, files=tmp_path, applications=("soffice",))
    built = build(task.payload)
    assert loaded.instruction == built.instruction
    written = {
        file.read_bytes() for folder in ("files", "cache") for file in (tmp_path / folder).rglob("*.*")
    }
    assert written == {*built.uploads.values(), *built.references().values()}
    uploads = json.loads(path.read_text())["config"][0]["parameters"]["files"]
    assert {upload["path"] for upload in uploads} == set(built.uploads)
    assert all((tmp_path / upload["local_path"]).is_file() for upload in uploads)
