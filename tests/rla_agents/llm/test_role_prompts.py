"""The prompts of policy and critic open as the model's own chats do, whoever adds the beginning token."""

import pytest
import torch

from rla_agents.critic import LLMCritic
from rla_agents.llm.base import Sampling
from rla_agents.policy import Policy
from rla_envs.task import Task
from tests.rla_agents.llm.test_chat import GEMMA, LLAMA3
from wrappers.protocols import Episode, Step

EPISODE = Episode(
    Task("RLATest/Room-v0", {}, {}),
    tuple(Step("you see a mug", "take mug 1", "a desk", 0.0, "") for _ in range(2)),
    success=False,
    truncated=True,
)


@pytest.mark.parametrize("instructed", [False, True])
@pytest.mark.parametrize("adds_bos", [False, True])
@pytest.mark.parametrize("template", [LLAMA3, GEMMA, "{{ bos_token }}" + LLAMA3])
def test_each_role_opens_with_exactly_one_beginning_token(
    make_model, make_tokenizer, template, adds_bos, instructed
):
    model = make_model(
        tokenizer=make_tokenizer(template=template, bos="<s>", adds_bos=adds_bos), context=2048
    )
    begin = model.tokenizer.bos_token_id
    expected = int(adds_bos or "bos_token" in template)
    policy = Policy(model, Sampling(), instructed=instructed)
    critic = LLMCritic(
        model, Sampling(max_tokens=3), torch.Generator().manual_seed(0), 1, instructed=instructed
    )
    prompts = [policy.opening("you see a mug", ["look"]), critic.opening(EPISODE)]
    for prompt in prompts:
        assert prompt.count(begin) == expected
        assert prompt[:expected] == [begin] * expected
    (judgement,) = critic.judgements([EPISODE])[0]
    assert judgement.sequence.ids[: len(prompts[1])] == prompts[1]
    assert judgement.sequence.ids.count(begin) == expected
    item = judgement.sequence.train_item([1.0] * len(judgement.sequence.spans))
    assert list(item.ids) == judgement.sequence.ids[: len(item.ids)]
