"""On a real model: sampled ids are trained ids, ends have loss, and a resume changes nothing."""

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from rla_agents.checkpoint import (
    CheckpointStore,
    generator_state,
    load_state,
    restore_generator,
    state_writer,
)
from rla_agents.learner import Learner, LearnerConfig
from rla_agents.llm import Sampling, TrainItem, TransformersModel

torch.set_num_threads(1)

WORDS = ["<|pad|>", "<|end|>", "user", "assistant", *"abcdefgh"]
END = WORDS.index("<|end|>")
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }} {{ m['content'] }} <|end|> {% endfor %}"
    "{% if add_generation_prompt %}assistant {% endif %}"
)


def make_model(pad="<|pad|>"):
    core = Tokenizer(WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<|pad|>"))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token="<|end|>", pad_token=pad, chat_template=TEMPLATE
    )
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=64,
    )
    return TransformersModel(LlamaForCausalLM(config), tokenizer)


def play(model, generator, constraints=None):
    """Sample two turns in four sequences and give each turn an advantage."""
    session = model.open([[4, 5, row + 4] for row in range(4)])
    for turn in range(2):
        session.generate(range(4), Sampling(max_tokens=5), generator, constraints)
        for row in range(4):
            session.append(row, [6 + turn, 4])
    return [session.sequence(row).train_item([1.0, -0.5 * row]) for row in range(4)]


CANDIDATES = [[[4, END], [5, 6, END], [5, 7, END]]] * 4


@pytest.mark.parametrize("constraints", [None, CANDIDATES])
@pytest.mark.parametrize("budget", [20, 16384])
def test_the_ratio_before_an_update_is_one_and_the_gap_says_so(constraints, budget):
    model = make_model()
    items = play(model, torch.Generator().manual_seed(0), constraints)
    learner = Learner(model, LearnerConfig(lr=0.01, token_budget=budget))
    stats = learner.update(items, np.random.default_rng(0))
    assert stats.logprob_gap < 1e-4
    assert stats.kl == pytest.approx(0, abs=1e-7)
    assert stats.clip_fraction == 0
    assert stats.updates == 1


@pytest.mark.parametrize("pad", ["<|pad|>", "<|end|>"])
def test_both_ends_have_loss_and_no_padding_has_even_if_the_end_pads(pad):
    """Two actions of 3 and 9 tokens that end alike, in one padded batch, against each alone."""
    actions = [(5, 6, END), (5, 6, 7, 8, 9, 10, 11, 4, END)]
    items = [
        TrainItem((4, *a), tuple(range(1, len(a) + 1)), (None,) * len(a), (0.0,) * len(a), (1.0,) * len(a))
        for a in actions
    ]
    model = make_model(pad)
    stats = Learner(model, LearnerConfig(lr=0.01)).update(items, np.random.default_rng(0))
    assert stats.tokens == 3 + 9
    # Before the first update the ratio is 1, so the loss is minus the mean advantage.
    assert stats.loss == pytest.approx(-1.0)
    alone = make_model()
    before = [alone.score([item])[0][-1] for item in items]
    one_by_one = Learner(alone, LearnerConfig(lr=0.01, token_budget=1)).update(
        items, np.random.default_rng(0)
    )
    assert one_by_one.grad_norm == pytest.approx(stats.grad_norm, rel=1e-4)
    for own, other in zip(model.parameters(), alone.parameters(), strict=True):
        assert torch.allclose(own, other, atol=1e-5)
    after = [model.score([item])[0][-1] for item in items]
    assert all(new > old for new, old in zip(after, before, strict=True))


CONFIG = LearnerConfig(lr=0.01, epochs=2, minibatch=2, warmup_updates=5, ema=0.9)


class Run:
    """A model that samples, trains on it, and remembers where its randomness stands."""

    def __init__(self):
        self.model = make_model()
        self.learner = Learner(self.model, CONFIG)
        self.sampler, self.shuffler = torch.Generator().manual_seed(1), np.random.default_rng(1)

    def iterate(self):
        return self.learner.update(play(self.model, self.sampler), self.shuffler)

    def parts(self):
        generators = {"torch": generator_state(self.sampler), "numpy": generator_state(self.shuffler)}
        return {
            "policy": self.model.save,
            "learner": state_writer(self.learner.state_dict()),
            "generators": state_writer(generators),
        }

    def resume(self, path):
        self.model.load(path / "policy")
        self.learner.load_state_dict(load_state(path / "learner"))
        state = load_state(path / "generators")
        restore_generator(self.sampler, state["torch"])
        restore_generator(self.shuffler, state["numpy"])


def same_weights(one, other):
    return all(map(torch.equal, one.parameters(), other.parameters()))


def test_a_run_resumed_from_a_checkpoint_equals_one_never_stopped(tmp_path):
    straight = Run()
    expected = [straight.iterate() for _ in range(4)]
    stopped = Run()
    assert [stopped.iterate() for _ in range(2)] == expected[:2]
    CheckpointStore(tmp_path).save(2, stopped.parts())
    resumed = Run()
    resumed.resume(CheckpointStore(tmp_path).latest().checkpoint.path)
    assert [resumed.iterate() for _ in range(2)] == expected[2:]
    assert same_weights(straight.model, resumed.model)
    with straight.learner.averaged(), resumed.learner.averaged():
        assert same_weights(straight.model, resumed.model)
