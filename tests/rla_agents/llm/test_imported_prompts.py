"""An episode that was exported and imported opens and ends its turns as one that is generated."""

import pytest

from rla_agents.dataset import train_item
from rla_agents.llm.base import Sampling
from rla_agents.policy import Policy
from rla_agents.trajectory import Trajectory, Turn
from rla_envs.task import Task
from tests.rla_agents.llm.test_chat import GEMMA, LLAMA3


@pytest.mark.parametrize("adds_bos", [False, True])
@pytest.mark.parametrize("template", [LLAMA3, GEMMA, "{{ bos_token }}" + LLAMA3])
def test_an_imported_episode_has_one_beginning_and_the_ids_of_generation(
    make_model, make_tokenizer, template, adds_bos
):
    tokenizer = make_tokenizer(template=template, bos="<s>", adds_bos=adds_bos)
    policy = Policy(make_model(tokenizer=tokenizer, context=2048), Sampling())
    # A command that spells a control token must not end its own turn.
    actions = ("take mug 1", f"say {tokenizer.eos_token} {tokenizer.bos_token}")
    turns = [Turn("you see a mug", action, "you see a mug", 0.0) for action in actions]
    item = train_item(policy, Trajectory(Task("RLATest/Room-v0", {}, {}), 0, turns, stop="solved"))
    opening, chat = policy.opening("you see a mug", ()), policy.model.chat
    session = policy.model.open([opening])
    session.generate([0], Sampling(greedy=True), None, [[chat.command(actions[0])]])
    session.append(0, policy.continuation("you see a mug", (), session.sequence(0).ids[-1]))
    session.generate([0], Sampling(greedy=True), None, [[chat.command(actions[1])]])
    assert list(item.ids) == session.sequence(0).ids
    assert list(item.ids).count(tokenizer.bos_token_id) == int(adds_bos or "bos_token" in template)
    assert sum(item.ids[place] == chat.end_id for place in item.positions) == len(actions)
