"""The policy says one of the environment's commands, and what it said stays as it was said."""

import gymnasium as gym
import pytest
import torch

import rla_envs  # registers the environments  # noqa: F401
from rla_agents.llm.base import Sampling
from rla_agents.policy import Policy
from rla_envs.errors import InputError

COMMANDS = ("go to desk 1", "look", "take mug 1 from desk 1")


def policy(model, **options):
    return Policy(model, Sampling(), instructed=False, **options)


@pytest.mark.parametrize(
    ("answer", "command"),
    [
        ("\\boxed{2}", COMMANDS[2]),
        ("first \\boxed{0}, better \\boxed{ 1 }.", COMMANDS[1]),
        ("\\boxed{3}", COMMANDS[0]),
        ("\\boxed{99999999999999999999}", COMMANDS[0]),
        ("\\boxed{-1}", COMMANDS[0]),
        ("\\boxed{look}", COMMANDS[0]),
        ("\\boxed{2", COMMANDS[0]),
        ("2", COMMANDS[0]),
        ("", COMMANDS[0]),
    ],
)
def test_a_numbered_answer_is_its_last_box_and_an_unreadable_one_is_command_0(model, answer, command):
    assert policy(model, constrained=False, numbered=True).command(answer, None, COMMANDS) == command


@pytest.mark.parametrize(
    ("answer", "command"),
    [
        ("look", "look"),
        ("  > go to desk 1 \n", "go to desk 1"),
        ("I need the mug.\n\nlook\n \n", "look"),
        ("open the sesame", "open the sesame"),
        ("", ""),
        (" \n\t", ""),
    ],
)
def test_a_free_answer_is_its_last_line(model, answer, command):
    assert policy(model, constrained=False).command(answer, None, COMMANDS) == command


@pytest.mark.parametrize("numbered", [False, True])
def test_a_constrained_choice_is_the_command_in_its_place_whatever_the_text(model, numbered):
    acting = policy(model, numbered=numbered)
    for choice, command in enumerate(COMMANDS):
        assert acting.command("\\boxed{0} something else", choice, COMMANDS) == command


def test_candidates_are_the_listed_commands_as_the_model_says_them(model):
    candidates = policy(model).candidates(COMMANDS)
    assert [model.chat.text(ids) for ids in candidates] == list(COMMANDS)
    assert {ids[-1] for ids in candidates} == {model.chat.end_id}


def test_numbered_candidates_are_the_boxed_numbers(model):
    candidates = policy(model, numbered=True).candidates(COMMANDS)
    assert [model.chat.text(ids) for ids in candidates] == ["\\boxed{0}", "\\boxed{1}", "\\boxed{2}"]


@pytest.mark.parametrize(("constrained", "commands"), [(False, COMMANDS), (True, ())])
def test_text_is_free_unless_constrained_to_a_list(model, constrained, commands):
    assert policy(model, constrained=constrained).candidates(commands) is None


def test_numbered_commands_are_shown_with_the_numbers_that_choose_them(model):
    acting = policy(model, numbered=True)
    shown = model.chat.text(acting.opening("A room.", COMMANDS))
    assert shown.endswith("A room.\n0) go to desk 1\n1) look\n2) take mug 1 from desk 1")
    with pytest.raises(InputError, match=r"info\['admissible_commands'\]; this one lists none"):
        acting.opening("A room.", ())


@pytest.mark.parametrize("numbered", [False, True])
def test_instructions_come_first_and_say_how_to_answer(model, numbered):
    acting = Policy(model, Sampling(), numbered=numbered, instructed=True)
    text = model.chat.text(acting.opening("A room.", COMMANDS))
    assert text.startswith("You act in a text environment.")
    assert ("\\boxed{number}" in text) is numbered


@pytest.mark.parametrize("constrained", [True, False])
def test_history_only_grows_and_its_spans_are_the_sampled_ids(model, constrained):
    pytest.importorskip("alfworld", reason="needs the 'alfworld' extra")
    env = gym.make("RLA/AlfWorld-v0", difficulty={"receptacles": 5, "objects": 6})
    observation, info = env.reset(seed=4)
    acting = Policy(model, Sampling(max_tokens=5), constrained=constrained, instructed=False)
    session = model.open([acting.opening(observation, info["admissible_commands"])])
    sequence = session.sequence(0)
    generator = torch.Generator().manual_seed(0)
    drawn, prefix = [], []
    for _ in range(4):
        assert sequence.ids[: len(prefix)] == prefix
        options = acting.candidates(info["admissible_commands"])
        constraints = None if options is None else [options]
        (action,) = session.generate([0], acting.sampling, generator, constraints)
        drawn.append(action)
        prefix = list(sequence.ids)
        assert prefix[-len(action.ids) :] == list(action.ids)
        command = acting.command(action.text, action.choice, info["admissible_commands"])
        assert (command in info["admissible_commands"]) or not constrained
        observation, _, _, _, info = env.step(command)
        following = acting.continuation(observation, info["admissible_commands"], sequence.ids[-1])
        session.append(0, following)
        assert observation in model.chat.text(following)
    env.close()
    assert [span.generated for span in sequence.spans] == drawn
    for span in sequence.spans:
        assert tuple(sequence.ids[span.start : span.stop]) == span.generated.ids
    # Exactly one end-of-turn token closes each turn, sampled or not.
    assert sequence.ids.count(model.chat.end_id) == 4
