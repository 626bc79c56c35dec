"""With ``verbs="put"`` the game is the one that agents from before alfworld 0.4 know."""

import gymnasium as gym
import pytest

from rla_envs.alfworld.env import AlfWorldEnv
from rla_envs.errors import UnknownNameError
from tests.rla_envs.alfworld.games import ENV_ID, SMALL, draw_task, plays_to_a_win


@pytest.fixture(scope="module", params=["native", "textworld"])
def old(request):
    pytest.importorskip("textworld")
    env = gym.make(ENV_ID, engine=request.param, verbs="put", difficulty=SMALL).unwrapped
    yield env
    env.close()


def at_the_end(env, task):
    """Play to the last command of a shortest plan; return that command and what is possible then."""
    _, info = env.reset(options={"task": task})
    *before, last = env.optimal_plan()
    for command in before:
        info = env.step(command)[-1]
    return last, info["admissible_commands"]


def test_things_are_put_in_or_on_places(old):
    task = draw_task(0, task_type="pick_and_place_simple", **SMALL)
    last, commands = at_the_end(old, task)
    assert last in commands
    assert commands == sorted(commands)
    thing, place = last.removeprefix("put ").split(" in/on ")
    assert not any(command.startswith("move ") for command in commands)
    observation, reward, terminated, _, _ = old.step(last)
    assert observation == f"You put the {thing} in/on the {place}."
    assert (reward, terminated) == (1.0, True)


def test_the_new_phrasing_does_nothing_and_the_old_one_is_named(old):
    task = draw_task(0, task_type="pick_and_place_simple", **SMALL)
    last, _ = at_the_end(old, task)
    new = last.replace("put ", "move ").replace(" in/on ", " to ")
    observation, _, terminated, _, info = old.step(new)
    assert observation == "Nothing happens."
    assert not terminated
    assert info["rla"]["last_action_error"].endswith(f"the accepted form is {last!r}")


def test_plans_and_witnesses_are_in_the_words_of_the_environment(old):
    task = draw_task(1, task_type="pick_two_obj_and_place", **SMALL)
    witness = old.check_task(task).witness
    assert sum(command.startswith("put ") for command in witness) == 2
    assert plays_to_a_win(old, task, witness)


def test_help_names_the_old_phrasing(old):
    old.reset(options={"task": draw_task(0, **SMALL)})
    text = old.step("help")[0]
    assert "  put (object) in/on (receptacle):  place an object in or on a receptacle\n" in text
    assert "move (object)" not in text


def test_all_else_is_as_with_the_new_phrasing():
    task = draw_task(2, task_type="pick_and_place_simple", **SMALL)
    texts = []
    for verbs in ("move", "put"):
        env = AlfWorldEnv(verbs=verbs)
        observation, info = env.reset(options={"task": task})
        texts.append([observation, info["admissible_commands"]])
        for command in env.optimal_plan()[:-1]:
            observation, *_, info = env.step(command)
            texts[-1] += [
                observation,
                [c for c in info["admissible_commands"] if c[:4] not in ("move", "put ")],
            ]
    assert texts[0] == texts[1]


PHRASES = ("move {} to {}", "put {} in/on {}", "put {} in {}", "put {} on {}", "put {} in / on {}")


@pytest.mark.parametrize("phrase", PHRASES)
@pytest.mark.parametrize(("verbs", "accepted"), [("move", PHRASES[0]), ("put", PHRASES[1])])
def test_one_phrase_of_each_mode_works_and_the_others_are_told_it(verbs, accepted, phrase):
    env = AlfWorldEnv(verbs=verbs)
    last, commands = at_the_end(env, draw_task(0, task_type="pick_and_place_simple", **SMALL))
    assert last in commands
    thing, place = last.replace("move ", "").replace("put ", "").replace(" in/on ", " to ").split(" to ")
    assert last == accepted.format(thing, place)
    observation, _, terminated, _, info = env.step(phrase.format(thing, place))
    assert terminated == (phrase == accepted)
    if phrase != accepted:
        assert observation == "Nothing happens."
        assert info["rla"]["last_action_error"].endswith(f"the accepted form is {last!r}")


def test_other_verbs_are_refused():
    with pytest.raises(UnknownNameError, match="unknown verbs 'place'"):
        AlfWorldEnv(verbs="place")
