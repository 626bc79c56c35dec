"""Task files load, or are refused with the file and the field; never scored by default."""

import copy
import json
from collections import Counter

import pytest

import rla_envs.osworld
from rla_envs.errors import InputError
from rla_envs.osworld.tasks import load_task, parse_task
from tests.rla_envs.osworld.tasks.official import task_file, task_files

URL = "https://huggingface.co/datasets/xlangai/ubuntu_osworld_file_cache/resolve/main/os/1/a%20b.xlsx"
TASK = {
    "id": "1",
    "instruction": "Fill in the table.",
    "config": [
        {"type": "download", "parameters": {"files": [{"url": "data:,x", "path": "/home/user/a.txt"}]}},
        {"type": "sleep", "parameters": {"seconds": 1}},
    ],
    "related_apps": ["libreoffice_calc"],
    "evaluator": {
        "func": ["exact_match", "compare_text_file"],
        "conj": "or",
        "result": [
            {"type": "vm_command_line", "command": "ls", "shell": "true"},
            {"type": "vm_file", "path": "/home/user/a.txt", "dest": "a.txt"},
        ],
        "expected": [
            {"type": "rule", "rules": {"expected": "a.txt\n"}},
            {"type": "cloud_file", "path": "data:,x", "dest": "gold.txt"},
        ],
        "options": [{}, {"ignore_case": True}],
        "postconfig": [{"type": "activate_window", "parameters": {"window_name": "a.txt"}}],
    },
}
REMOVED = object()
SAVING = {"type": "execute", "parameters": {"command": ["ls"], "stdout": "a.txt"}}
SAVED = {"type": "cache_file", "path": "never.txt"}


def changed(place, value):
    """Return the task with one value replaced or removed; ``place`` is a way of keys."""
    task = copy.deepcopy(TASK)
    *way, last = place
    part = task
    for key in way:
        part = part[key]
    if value is REMOVED:
        del part[last]
    else:
        part[last] = value
    return task


@pytest.fixture(scope="module")
def tasks():
    return [load_task(path, files="/nonexistent") for path in task_files()]


def test_all_official_task_files_load(tasks):
    assert len(tasks) == 369
    assert Counter(task.domain for task in tasks) == {
        "chrome": 46,
        "gimp": 26,
        "libreoffice_calc": 47,
        "libreoffice_impress": 47,
        "libreoffice_writer": 23,
        "multi_apps": 101,
        "os": 24,
        "thunderbird": 15,
        "vlc": 17,
        "vs_code": 23,
    }
    assert sum(task.infeasible for task in tasks) == 30
    assert sum(len(task.evaluator.checks) > 1 for task in tasks) == 49
    assert sum(task.evaluator.conj == "or" for task in tasks) == 24


def test_a_loaded_task_returns_the_json_it_came_from(tasks):
    for path, task in zip(task_files(), tasks, strict=True):
        assert task.to_json() == json.loads(path.read_bytes())
        assert parse_task(task.to_json(), str(path), files="/nonexistent") == task


def test_the_package_offers_the_loader():
    assert rla_envs.osworld.load_task is load_task


def test_a_task_of_our_own_loads_with_everything_it_says():
    task = parse_task(TASK, applications=["soffice"])
    assert task.availability == "runnable"
    assert task.missing == ()
    assert [step.type for step in task.config] == ["download", "sleep"]
    first, second = task.evaluator.checks
    assert (first.metric, first.result.parameters["shell"]) == ("exact_match", True)
    assert (second.expected.type, second.options) == ("cloud_file", {"ignore_case": True})
    assert task.evaluator.conj == "or"
    assert [step.field for step in task.evaluator.postconfig] == ["evaluator.postconfig[0]"]


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (["evaluator"], REMOVED, "evaluator: expected an evaluator.*missing"),
        (["evaluator"], {}, "evaluator: .*an empty one scores nothing"),
        (["evaluator"], [], "evaluator: expected an evaluator: an object"),
        (["evaluator", "func"], "", "evaluator.func: expected a text that is not empty, got ''"),
        (["evaluator", "func"], REMOVED, "evaluator.func: .*missing"),
        (["evaluator", "func"], [], "evaluator.func: expected the name of a metric"),
        (["evaluator", "func", 1], "compare_tabel", r"func\[1\]: .*Did you mean 'compare_table'\?"),
        (["evaluator", "func", 1], "infeasible", "'infeasible' alone"),
        (["evaluator", "result"], TASK["evaluator"]["result"][:1], r"result: expected 2 members.*\(1 came\)"),
        (["evaluator", "result"], TASK["evaluator"]["result"][0], "result: expected a list of 2"),
        (
            ["evaluator", "result"],
            REMOVED,
            "evaluator.result: expected a getter, since the metric 'exact_match'",
        ),
        (["evaluator", "expected"], TASK["evaluator"]["expected"][:1], "expected: expected 2 members"),
        (["evaluator", "expected"], REMOVED, "evaluator.expected: expected a getter, .* compares"),
        (
            ["evaluator", "expected", 1],
            {},
            r"expected\[1\]: expected a getter, .*'compare_text_file' compares",
        ),
        (["evaluator", "options"], [{}], "options: expected 2 members"),
        (["evaluator", "options", 1], ["x"], r"options\[1\]: expected an object"),
        (["evaluator", "conj"], "xor", "evaluator.conj: expected 'and' or 'or', got 'xor'"),
        (["evaluator", "results"], [], "evaluator: unknown key 'results'. Did you mean 'result'"),
        (["evaluator", "result", 0, "type"], "vm_fle", r"result\[0\].type: .*Did you mean 'vm_file'"),
        (["evaluator", "result", 0, "type"], REMOVED, r"result\[0\].type: .*missing"),
        (["evaluator", "result", 0, "comand"], "ls", "unknown parameter 'comand'. Did you mean 'command'"),
        (["evaluator", "result", 0, "shell"], "yes", r"result\[0\].shell: expected true or false, got 'yes'"),
        (["evaluator", "result", 1, "dest"], "../a.txt", r"result\[1\].dest: .*no '..'"),
        (["evaluator", "result", 1, "dest"], "/etc/passwd", r"result\[1\].dest: .*inside the folder"),
        (["evaluator", "result", 1, "path"], ["a", "b"], r"result\[1\].path: expected one text"),
        (["evaluator", "result", 1, "multi"], True, r"result\[1\].path: expected a list, as multi is true"),
        (["evaluator", "result", 1, "gives"], [1], r"gives: expected places from 0 to 0"),
        (["evaluator", "expected", 1, "path"], "https://a.org/../../b", "leads out of a folder"),
        (["evaluator", "expected", 1, "path"], "https://a.org/%2e%2e/b", "leads out of a folder"),
        (["evaluator", "expected", 1, "path"], "file:///etc/passwd", r"expected\[1\].path: expected an http"),
        (["evaluator", "expected", 1, "path"], "data:;base64,%%", "expected base64"),
        (
            ["evaluator", "postconfig", 0, "type"],
            "active_window",
            r"postconfig\[0\].type: .*'activate_window'",
        ),
        (["config"], {}, "config: expected a list of setup steps"),
        (["config", 0, "type"], "downlaod", r"config\[0\].type: unknown setup type .*'download'"),
        (["config", 0, "parameters"], REMOVED, r"config\[0\].parameters: expected an object, it is missing"),
        (["config", 0, "parameters", "files", 0, "path"], 3, r"files\[0\].path: expected a text"),
        (["config", 0, "parameters", "files", 0, "path"], "a\0b", r"files\[0\].path: expected a text"),
        (["config", 1, "parameters", "seconds"], -1, r"config\[1\].parameters.seconds: expected seconds"),
        (["config", 1, "parameters", "seconds"], float("nan"), "expected seconds from 0 to 600"),
        (["config", 1, "parameters", "seconds"], True, "expected seconds from 0 to 600"),
        (["config", 1], SAVING, r"config\[1\].parameters.stdout: expected to be saved by a step of"),
        (
            ["evaluator", "result", 0],
            SAVED,
            r"result\[0\].path: expected a name that a step .* saves its output",
        ),
        (["instruction"], REMOVED, "instruction: expected a text that is not empty, it is missing"),
        (["id"], 7, "id: expected a text"),
        (["related_apps"], "os", "related_apps: expected a list of texts"),
    ],
)
def test_a_task_that_could_not_be_scored_is_refused_with_file_and_field(tmp_path, place, value, message):
    path = tmp_path / "task.json"
    path.write_text(json.dumps(changed(place, value)))
    with pytest.raises(InputError, match=message) as refused:
        load_task(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100000, b"[]", b"null"])
def test_what_is_no_task_is_refused(tmp_path, content):
    path = tmp_path / "task.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"task\.json: .*expected"):
        load_task(path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        load_task(tmp_path / "none.json")
    with pytest.raises(InputError, match="Is a directory"):
        load_task(tmp_path)


def with_file(url=URL):
    return changed(["config", 0, "parameters", "files", 0, "url"], url)


@pytest.mark.parametrize(
    "place",
    [
        "os/1/a b.xlsx",
        "os/1/a%20b.xlsx",
        "huggingface.co/datasets/xlangai/ubuntu_osworld_file_cache/resolve/main/os/1/a b.xlsx",
        "huggingface.co/datasets/xlangai/ubuntu_osworld_file_cache/resolve/main/os/1/a%20b.xlsx",
    ],
)
def test_a_file_in_a_snapshot_or_a_mirror_unlocks_the_task(tmp_path, place, monkeypatch):
    absent = parse_task(with_file(), files=tmp_path, applications=["soffice"])
    assert absent.availability == "needs_files"
    assert absent.missing == (f"{URL} (looked for at {tmp_path}/os/1/a b.xlsx)",)
    (tmp_path / place).parent.mkdir(parents=True)
    (tmp_path / place).touch()
    assert parse_task(with_file(), files=tmp_path, applications=["soffice"]).availability == "runnable"
    monkeypatch.setenv("RLA_OSWORLD_CACHE", str(tmp_path))
    assert parse_task(with_file(), applications=["soffice"]).availability == "runnable"


def test_without_a_folder_the_missing_file_names_the_variable(monkeypatch):
    monkeypatch.delenv("RLA_OSWORLD_CACHE", raising=False)
    task = parse_task(with_file(), applications=["soffice"])
    assert task.missing == (f"{URL} (looked for at $RLA_OSWORLD_CACHE/os/1/a b.xlsx)",)


def test_the_network_comes_before_an_application_and_that_before_files():
    task = with_file()
    assert parse_task(task, files="/none", applications=["soffice"]).availability == "needs_files"
    without = parse_task(task, files="/none", applications=[])
    assert without.availability == "needs_application"
    assert without.missing[0] == "the application soffice (Debian package: libreoffice-calc)"
    assert len(without.missing) == 2
    offline = parse_task({**task, "proxy": True}, files="/none", applications=[])
    assert offline.availability == "needs_network"
    assert len(offline.missing) == 3


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        (["gimp", "/home/user/a.png"], "the application gimp (Debian package: gimp)"),
        ("VLC_VERBOSE=-1 vlc --no-audio", "the application vlc (Debian package: vlc)"),
        (["/bin/bash", "-c", "cd /tmp && unzip -q a.zip"], "the application unzip (Debian package: unzip)"),
        (
            "echo {CLIENT_PASSWORD} | sudo -S id",
            "sudo: a local desktop has none; a whole virtual machine has",
        ),
        (
            "gsettings get org.gnome.shell favorite-apps",
            "the settings org.gnome.shell (Debian package: gnome-shell",
        ),
        ("pip install PyMuPDF", "the network: config[1] fetches from the web"),
        (["code", "--install-extension", "ms-python.python"], "the network: config[1] fetches from the web"),
        ("apt-get install -y expect", "the network: config[1] fetches from the web"),
    ],
)
def test_what_a_command_needs_is_missing(command, missing):
    step = {"type": "execute", "parameters": {"command": command, "shell": isinstance(command, str)}}
    task = parse_task(changed(["config", 1], step), applications=["soffice"])
    assert any(line.startswith(missing) for line in task.missing)


@pytest.mark.parametrize(
    "command",
    [["python", "-c", "print('vlc.txt')"], "ls /home/user/gimp.txt", ["pip", "install", "/home/user/a.whl"]],
)
def test_what_a_command_only_mentions_is_not_missing(command):
    step = {"type": "execute", "parameters": {"command": command, "shell": isinstance(command, str)}}
    assert parse_task(changed(["config", 1], step), applications=["soffice"]).missing == ()


def test_every_official_task_that_is_not_runnable_says_why(tasks):
    for task in tasks:
        assert (task.availability == "runnable") == (task.missing == ())
        assert all(line and "\n" not in line for line in task.missing)


def test_official_tasks_on_the_live_web_need_the_network():
    assert load_task(task_file("0c825995")).availability == "needs_network"  # Google Drive
    assert load_task(task_file("06fe7178")).availability == "needs_network"  # tabs of live pages


def test_an_official_task_of_static_files_needs_only_these(tmp_path):
    path = task_file("01b269ae")
    task = load_task(path, files=tmp_path, applications=["soffice"])
    assert task.availability == "needs_files"
    places = [line.partition(" (looked for at ")[2].removesuffix(")") for line in task.missing]
    assert len(places) == 2
    for place in places:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    assert load_task(path, files=tmp_path, applications=["soffice"]).availability == "runnable"
