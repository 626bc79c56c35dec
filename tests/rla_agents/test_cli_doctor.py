"""rla doctor says what is missing, also where nearly everything is."""

import subprocess
import sys

import pytest

from rla_agents import doctor

BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
from rla_agents.cli import main
sys.exit(main({words}))
"""


def run_without(names, words):
    code = BLOCKED.format(names=set(names), words=words)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("names", "remedy"),
    [
        (["textworld"], "pip install 'rlanything[alfworld]'"),
        (["torch"], "pip install 'rlanything[train]'"),
        (["torch", "tyro", "rich", "jinja2", "transformers", "tomli_w"], "pip install 'rlanything[train]'"),
    ],
)
def test_a_missing_module_is_named_with_what_to_type(names, remedy):
    done = run_without(names, ["doctor"])
    assert (done.returncode, done.stderr) == (1, "")
    rows = dict(line.split()[1::-1] for line in done.stdout.splitlines() if line.startswith(" "))
    for name in names:
        assert rows[name.replace("_", "-")] == "MISSING"
    assert rows["numpy"] == "ok"
    assert done.stdout.splitlines()[-1].strip() == remedy


@pytest.mark.parametrize(
    ("name", "words"),
    [("torch", ["train"]), ("tyro", ["envs"]), ("rich", ["envs"]), ("jinja2", ["report", "."])],
)
def test_a_command_whose_packages_are_missing_says_which_extra_to_install(name, words):
    done = run_without([name], words)
    assert done.returncode == 2
    assert done.stderr.startswith("rla: error: ")
    assert done.stderr.count("\n") == 1
    assert "pip install 'rlanything[train]'" in done.stderr
    assert name in done.stderr


def test_a_broken_torch_is_told_from_a_missing_one(monkeypatch):
    # None in sys.modules makes the import fail while the files are there.
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(doctor, "_find", lambda module: doctor.Path("somewhere"))
    finding = doctor._accelerator()
    assert finding.ok is False
    assert "torch does not start" in finding.detail


def test_everything_the_tests_use_is_found_here():
    findings = list(doctor.examine())
    assert [finding for finding in findings if finding.ok is False] == []
    assert any(finding.name == "AlfWorld game data" for finding in findings)


def test_the_doctor_knows_every_package_of_the_extras_in_use():
    import tomllib
    from pathlib import Path

    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    wanted = {("", requirement) for requirement in project["dependencies"]}
    for extra in ("alfworld", "bayes", "coding", "train"):
        wanted |= {(extra, requirement) for requirement in project["optional-dependencies"][extra]}
    names = {(extra, requirement.split(">")[0].split("[")[0].split("=")[0]) for extra, requirement in wanted}
    assert {(extra, distribution) for _, distribution, extra, _ in doctor.MODULES} >= names


def test_a_missing_bubblewrap_is_told_with_what_to_type_and_counts_as_no_fault(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    finding = doctor._bubblewrap()
    assert (finding.ok, finding.remedy) == (None, "")
    assert "apt-get install bubblewrap" in finding.detail
