"""Somebody else's curriculum plugs in by entry point or path, with five methods and no more."""

import sys

import gymnasium as gym
import numpy as np
import pytest

from rla_envs.errors import InputError, UnknownNameError
from tests.rla_envs.toy_env import ToyEnv
from tests.wrappers.players import ADAPTIVE_ID, play
from wrappers import CriticFeedback, curriculum_names, propose_task
from wrappers.curricula import make
from wrappers.curricula.registry import check_arguments, drain_events

PLUGIN = '''
class Ladder:
    """One step up after each success."""

    def __init__(self, difficulty_space, start=1):
        self.space, self.doors = difficulty_space, start

    def propose(self, rng):
        return {"doors": self.doors, "colours": 2}

    def observe(self, difficulty, success, **feedback):
        self.doors = min(5, self.doors + 1) if success else 1

    def state_dict(self):
        return {"doors": self.doors}

    def load_state_dict(self, state):
        self.doors = state["doors"]

    def explain(self):
        return f"{self.doors} doors"
'''


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package with the plug-in, as pip would have installed it."""
    (tmp_path / "ladder_plugin.py").write_text(PLUGIN)
    info = tmp_path / "ladder_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ladder-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rla.curricula]\nladder = ladder_plugin:Ladder\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("ladder_plugin", None)


@pytest.mark.parametrize("name", ["ladder", "ladder_plugin:Ladder"])
def test_it_is_made_with_the_difficulty_space_and_its_keywords(installed, name):
    env = ToyEnv()
    curriculum = make(name, env.difficulty_space, tasks=env, start=2)
    assert curriculum.propose(np.random.default_rng(0)) == {"doors": 2, "colours": 2}
    assert curriculum.space == env.difficulty_space
    task, proposal = propose_task(curriculum, env, np.random.default_rng(0))
    assert task.difficulty["doors"] == 2
    assert proposal.reason == "proposed by Ladder"
    assert drain_events(curriculum) == []


@pytest.mark.parametrize("name", ["ladder", "ladder_plugin:Ladder"])
def test_it_runs_an_adaptive_environment(installed, name):
    env = gym.make(ADAPTIVE_ID, curriculum=name, curriculum_kwargs={"start": 3})
    log = play(env, 4, win_if=lambda doors: True, seed=0)
    assert [info["rla"]["difficulty"]["doors"] for _, info in log[::2]] == [3, 4, 5, 5]
    state = env.get_wrapper_attr("state_dict")()
    again = CriticFeedback(ToyEnv(), name)
    again.load_state_dict(state)
    assert again.curriculum.doors == 5


def test_installed_names_are_listed_and_suggested(installed):
    assert "ladder" in curriculum_names()
    with pytest.raises(UnknownNameError, match="Did you mean 'ladder'"):
        make("lader", ToyEnv().difficulty_space)
    with pytest.raises(
        UnknownNameError, match="argument of curriculum 'ladder': 'strat'. Did you mean 'start'"
    ):
        check_arguments("ladder", {"strat": 1})


@pytest.mark.parametrize("key", ["tasks", "difficulty_space"])
def test_arguments_that_are_not_the_users_to_give_are_refused(key):
    with pytest.raises(InputError, match=f"unknown argument of curriculum 'threshold': '{key}'"):
        CriticFeedback(ToyEnv(), "threshold", curriculum_kwargs={key: []})


def test_without_the_package_the_name_is_unknown():
    assert "ladder" not in curriculum_names()
    with pytest.raises(UnknownNameError, match="unknown curriculum 'ladder'"):
        make("ladder", ToyEnv().difficulty_space)


@pytest.mark.parametrize("missing", ["propose", "observe", "state_dict", "load_state_dict", "explain"])
def test_a_class_that_lacks_a_method_is_refused_by_its_name(installed, missing, monkeypatch):
    import ladder_plugin

    monkeypatch.delattr(ladder_plugin.Ladder, missing)
    with pytest.raises(InputError, match=f"has no {missing}"):
        make("ladder", ToyEnv().difficulty_space)


def test_a_curriculum_for_other_parameters_is_refused():
    class OneParameter(ToyEnv):
        difficulty_parameters = ToyEnv.difficulty_parameters[:1]

    curriculum = make("uniform", OneParameter().difficulty_space)
    with pytest.raises(
        InputError, match="expected one over the free parameters colours, doors, got one over doors"
    ):
        CriticFeedback(ToyEnv(), curriculum)
