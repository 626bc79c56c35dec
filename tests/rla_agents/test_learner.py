"""An update is what the formulas say, however the data is cut; a restart does not change the next one."""

import copy
import math

import numpy as np
import pytest
import torch
from torch import nn

from rla_agents.checkpoint import load_state, save_state
from rla_agents.learner import Learner, LearnerConfig
from rla_agents.llm.base import TrainItem
from rla_envs.errors import InputError

torch.set_num_threads(1)

VOCABULARY = 11


class RunningMean(nn.Module):
    """A causal model small enough to follow: the next token depends on the mean of the past embeddings."""

    def __init__(self, seed=0):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.embedding = nn.Parameter(torch.randn(VOCABULARY, 6, generator=generator, dtype=torch.float64))
        self.head = nn.Parameter(torch.randn(6, VOCABULARY, generator=generator, dtype=torch.float64))
        self.weights_version = 0
        self.batches = []

    def logprobs(self, items, temperature=1.0):
        self.batches.append(list(items))
        return torch.cat([self._one(item, temperature) for item in items])

    def score(self, items, temperature=1.0):
        with torch.no_grad():
            return [self._one(item, temperature).tolist() for item in items]

    def _one(self, item, temperature):
        values = []
        for position, allowed in zip(item.positions, item.allowed, strict=True):
            past = torch.stack([self.embedding[i] for i in item.ids[:position]]).mean(0)
            logits = torch.tanh(past) @ self.head / temperature
            chosen = list(allowed) if allowed is not None else list(range(VOCABULARY))
            values.append(logits[item.ids[position]] - torch.logsumexp(logits[chosen], 0))
        return torch.stack(values)


def make_items(count, seed=0, model=None, shift=0.0):
    """Random sequences of different lengths, with the model's log-probabilities plus a shift."""
    rng = np.random.default_rng(seed)
    items = []
    for _ in range(count):
        length = int(rng.integers(4, 30))
        ids = tuple(int(i) for i in rng.integers(0, VOCABULARY, length))
        size = int(rng.integers(1, length - 1))
        positions = tuple(sorted(int(p) for p in rng.choice(np.arange(1, length), size, replace=False)))
        allowed = tuple(
            None if rng.random() < 0.5 else (ids[p], (ids[p] + 1) % VOCABULARY) for p in positions
        )
        advantages = tuple(float(a) for a in rng.normal(size=size))
        items.append(TrainItem(ids, positions, allowed, (0.0,) * size, advantages))
    scores = (model or RunningMean()).score(items)
    return [
        TrainItem(i.ids, i.positions, i.allowed, tuple(s + shift for s in scored), i.advantages)
        for i, scored in zip(items, scores, strict=True)
    ]


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).clone()


def trained(items, model=None, rng=0, calls=1, **config):
    """Return a model after updates on the items, its learner, and the figures of the last call."""
    model = model or RunningMean()
    learner = Learner(model, LearnerConfig(**{"lr": 0.01, **config}))
    for call in range(calls):
        stats = learner.update(items, np.random.default_rng([rng, call]))
    return model, learner, stats


def slow_loss(model, items, old, clip=0.2, beta=0.01):
    total = 0.0
    for item, before in zip(items, old, strict=True):
        for value, o, a in zip(model._one(item, 1.0), before, item.advantages, strict=True):
            ratio = (value - o).exp()
            gain = torch.min(ratio * a, ratio.clamp(1 - clip, 1 + clip) * a)
            total = total + (-gain + beta * ((o - value).exp() - 1 + value - o)) / len(item.positions) / len(
                items
            )
    return total


def test_one_update_is_adamw_on_the_clipped_gradient_of_the_loss():
    items, lr, decay, largest = make_items(5), 0.01, 0.1, 0.05
    by_hand = RunningMean()
    loss = slow_loss(by_hand, items, by_hand.score(items))
    gradients = torch.autograd.grad(loss, list(by_hand.parameters()))
    norm = math.sqrt(sum(float((g**2).sum()) for g in gradients))
    assert norm > largest
    expected = []
    for parameter, gradient in zip(by_hand.parameters(), gradients, strict=True):
        clipped = gradient * largest / norm
        expected.append(parameter - lr * decay * parameter - lr * clipped / (clipped.abs() + 1e-8))
    model, learner, stats = trained(items, lr=lr, weight_decay=decay, max_grad_norm=largest)
    for parameter, value in zip(model.parameters(), expected, strict=True):
        assert torch.allclose(parameter, value, atol=1e-6)
    assert stats.loss == pytest.approx(loss.item())
    assert stats.grad_norm == pytest.approx(norm)
    assert (stats.updates, stats.skipped, stats.sequences, stats.lr) == (1, 0, 5, lr)
    assert stats.tokens == sum(len(item.positions) for item in items)
    # AdamW hides the scale of the gradient in its step, not in its moments.
    moments = [entry["exp_avg"] / 0.1 for entry in learner.state_dict()["optimizer"].values()]
    assert math.sqrt(sum(float((m**2).sum()) for m in moments)) == pytest.approx(largest, rel=1e-4)


@pytest.mark.parametrize("budget", [1, 40, 70, 200])
def test_cutting_a_minibatch_into_parts_does_not_change_the_update(budget):
    items = make_items(9)
    whole, _, whole_stats = trained(items, token_budget=10_000)
    model, _, stats = trained(items, token_budget=budget)
    assert torch.allclose(weights(model), weights(whole), atol=1e-9)
    for name in ("loss", "kl", "clip_fraction", "grad_norm", "logprob_gap"):
        assert getattr(stats, name) == pytest.approx(getattr(whole_stats, name), abs=1e-12)
    assert len(model.batches) > len(whole.batches) == 1
    for batch in model.batches:
        assert len(batch) == 1 or len(batch) * max(len(item.ids) for item in batch) <= budget


def test_each_epoch_trains_every_sequence_once_in_equal_minibatches():
    items = make_items(33)
    model, _, stats = trained(items, epochs=2, minibatch=32)
    assert stats.updates == 4
    assert sorted(map(len, model.batches)) == [16, 16, 17, 17]
    for epoch in (model.batches[:2], model.batches[2:]):
        assert sorted(i.ids for batch in epoch for i in batch) == sorted(i.ids for i in items)


def test_sequences_of_like_length_share_minibatches_and_their_order_is_random():
    short = [TrainItem((1,) * 10, (9,), (None,), (0.0,), (float(i),)) for i in range(6)]
    long = [TrainItem((1,) * 200, (9,), (None,), (0.0,), (float(i),)) for i in range(6)]
    items = [item for pair in zip(short, long, strict=True) for item in pair]
    orders, first_lengths = set(), set()
    for seed in range(5):
        batches = trained(items, minibatch=3, rng=seed)[0].batches
        assert all(len({len(item.ids) for item in batch}) == 1 for batch in batches)
        orders.add(tuple(item.advantages for batch in batches for item in batch))
        first_lengths.add(len(batches[0][0].ids))
    assert len(orders) == 5
    assert first_lengths == {10, 200}


def test_equal_seeds_give_equal_weights_bit_for_bit():
    items = make_items(12)
    first = trained(items, epochs=2, minibatch=4, rng=1, token_budget=60)[0]
    again = trained(items, epochs=2, minibatch=4, rng=1, token_budget=60)[0]
    other = trained(items, epochs=2, minibatch=4, rng=2, token_budget=60)[0]
    assert torch.equal(weights(first), weights(again))
    assert not torch.equal(weights(first), weights(other))


def test_later_epochs_measure_ratios_against_the_policy_before_the_first():
    items = make_items(6)
    model, _, stats = trained(items, epochs=5, lr=0.05)
    assert stats.kl > 0
    fresh = RunningMean()
    learner = Learner(fresh, LearnerConfig(lr=0.05))
    for _ in range(5):
        single = learner.update(items, np.random.default_rng(0))
        assert single.kl == pytest.approx(0.0, abs=1e-12)
    assert not torch.allclose(weights(fresh), weights(model), atol=1e-4)


def test_the_gap_between_sampler_and_trainer_is_measured_and_does_not_enter_the_loss():
    exact, _, exact_stats = trained(make_items(4))
    shifted, _, stats = trained(make_items(4, shift=0.5))
    assert exact_stats.logprob_gap == pytest.approx(0.0, abs=1e-12)
    assert stats.logprob_gap == pytest.approx(0.5)
    assert torch.equal(weights(exact), weights(shifted))


def test_without_recomputing_the_samplers_log_probabilities_are_the_old_ones():
    model, _, stats = trained(make_items(4, shift=-0.5), recompute_old=False, epochs=3)
    assert stats.logprob_gap == pytest.approx(0.5)
    assert stats.clip_fraction > 0.9
    exact = trained(make_items(4), recompute_old=True)[0]
    assert not torch.allclose(weights(model), weights(exact), atol=1e-6)


def test_stale_sequences_weigh_less_up_to_the_cap():
    def moment(shift, cap):
        learner = trained(make_items(4, shift=shift), importance_cap=cap, max_grad_norm=1e9)[1]
        return torch.cat([e["exp_avg"].flatten() for e in learner.state_dict()["optimizer"].values()])

    plain = moment(0.0, None)
    assert torch.allclose(moment(math.log(2), 4.0), plain / 2)
    assert torch.allclose(moment(-math.log(2), 4.0), plain * 2)
    assert torch.allclose(moment(-math.log(9), 4.0), plain * 4)


def test_the_learning_rate_warms_up_by_updates_and_decays_with_the_run():
    items = make_items(2)
    learner = Learner(RunningMean(), LearnerConfig(lr=1.0, warmup_updates=4, final_lr=0.2))
    rates = [
        learner.update(items, np.random.default_rng(0), progress=p).lr for p in (0, 0, 0, 0, 0, 0.5, 1, 2)
    ]
    assert rates == pytest.approx([0.25, 0.5, 0.75, 1, 1, 0.6, 0.2, 0.2])


def test_an_update_that_is_not_finite_is_left_out_and_counted():
    items = make_items(3)
    poison = TrainItem((1, 2, 3), (2,), (None,), (0.0,), (math.inf,))
    model, learner, stats = trained([poison])
    assert torch.equal(weights(model), weights(RunningMean()))
    assert (stats.updates, stats.skipped, stats.loss, stats.kl, stats.lr) == (0, 1, None, None, None)
    assert (learner.updates, model.weights_version) == (0, 0)
    learner.update(items, np.random.default_rng([0, 0]))
    assert torch.equal(weights(model), weights(trained(items)[0]))


def test_nothing_to_train_on_changes_nothing():
    context = TrainItem((1, 2), (), (), (), ())
    for items in ([], [context]):
        model, learner, stats = trained(items)
        assert stats == (None, None, None, None, None, 0, 0, 0, 0, None)
        assert torch.equal(weights(model), weights(RunningMean()))
    with_context = trained([*make_items(3), context])[0]
    assert torch.equal(weights(with_context), weights(trained(make_items(3))[0]))


def test_each_update_raises_the_weights_version():
    model, _, stats = trained(make_items(8), minibatch=2, epochs=2)
    assert model.weights_version == stats.updates == 8


def test_a_rewarded_token_becomes_likelier_and_a_punished_one_less():
    ids, positions = (1, 2, 3), (2,)
    for advantage in (1.0, -1.0):
        item = TrainItem(ids, positions, (None,), (0.0,), (advantage,))
        before = RunningMean().score([item])[0][0]
        after = trained([item], calls=3)[0].score([item])[0][0]
        assert (after - before) * advantage > 0


@pytest.mark.parametrize("ema", [None, 0.9])
def test_a_restart_from_saved_state_continues_bit_for_bit(tmp_path, ema):
    items = make_items(8)
    config = LearnerConfig(lr=0.01, minibatch=4, epochs=2, warmup_updates=10, ema=ema)
    straight = Learner(RunningMean(), config)
    for call in range(4):
        straight.update(items, np.random.default_rng(call))
    first = Learner(RunningMean(), config)
    for call in range(2):
        first.update(items, np.random.default_rng(call))
    save_state(tmp_path / "learner", first.state_dict())
    model = copy.deepcopy(first.model)
    second = Learner(model, config)
    second.load_state_dict(load_state(tmp_path / "learner"))
    for call in range(2, 4):
        second.update(items, np.random.default_rng(call))
    assert second.updates == straight.updates == 16
    assert torch.equal(weights(second.model), weights(straight.model))
    with second.averaged(), straight.averaged():
        assert torch.equal(weights(second.model), weights(straight.model))


def test_a_restart_with_the_optimizer_forgotten_would_be_noticed():
    items = make_items(8)
    kept = trained(items, calls=2)[0]
    model = trained(items)[0]
    Learner(model, LearnerConfig(lr=0.01)).update(items, np.random.default_rng([0, 1]))
    assert not torch.allclose(weights(model), weights(kept), atol=1e-6)


def test_rates_of_the_config_win_over_those_of_the_saved_state():
    learner = trained(make_items(2), lr=0.01)[1]
    other = Learner(RunningMean(), LearnerConfig(lr=0.5, weight_decay=0.0, betas=(0.5, 0.5)))
    other.load_state_dict(learner.state_dict())
    assert other.update(make_items(2), np.random.default_rng(0)).lr == 0.5
    group = other._optimizer.param_groups[0]
    assert (group["weight_decay"], tuple(group["betas"])) == (0.0, (0.5, 0.5))


def test_the_state_of_another_model_is_refused():
    class Wider(RunningMean):
        def __init__(self):
            super().__init__()
            self.head = nn.Parameter(torch.zeros(6, VOCABULARY + 1, dtype=torch.float64))

    state = trained(make_items(2))[1].state_dict()
    with pytest.raises(InputError, match="model of another shape"):
        Learner(Wider(), LearnerConfig(lr=1.0)).load_state_dict(state)
    averaged = trained(make_items(2), ema=0.9)[1].state_dict()
    with pytest.raises(InputError, match="model of another shape"):
        Learner(Wider(), LearnerConfig(lr=1.0, ema=0.9)).load_state_dict(averaged | {"optimizer": {}})
    with pytest.raises(InputError, match="set ema as it was"):
        Learner(RunningMean(), LearnerConfig(lr=1.0, ema=0.9)).load_state_dict(state)


def test_averaged_weights_follow_the_trained_ones():
    items = make_items(4)
    model = RunningMean()
    learner = Learner(model, LearnerConfig(lr=0.05, ema=0.15))
    average = weights(model).float()
    for update in range(1, 4):
        learner.update(items, np.random.default_rng(update))
        decay = min(0.15, update / (update + 10))  # 1/11, then 0.15
        average = decay * average + (1 - decay) * weights(model).float()
    with learner.averaged():
        assert torch.allclose(weights(model).float(), average, atol=1e-6)


def test_the_trained_weights_come_back_bit_for_bit_even_after_an_error():
    model, learner, _ = trained(make_items(4), ema=0.9)
    before, version = weights(model), model.weights_version

    def evaluate():
        assert not torch.equal(weights(model), before)
        assert model.weights_version == version + 1
        raise KeyError

    with pytest.raises(KeyError), learner.averaged():
        evaluate()
    assert torch.equal(weights(model), before)
    assert model.weights_version == version + 2


def test_training_the_averaged_weights_by_mistake_is_refused():
    _, learner, _ = trained(make_items(4), ema=0.9)
    with learner.averaged():
        with pytest.raises(RuntimeError, match="update"):
            learner.update(make_items(4), np.random.default_rng(0))
        with pytest.raises(RuntimeError, match="averaged"), learner.averaged():
            pass


def test_without_averaging_the_block_shows_the_trained_weights():
    model, learner, _ = trained(make_items(4))
    with learner.averaged():
        assert torch.equal(weights(model), weights(trained(make_items(4))[0]))
    assert model.weights_version == 1


@pytest.mark.parametrize(
    "bad",
    [
        {"lr": 0.0},
        {"lr": math.nan},
        {"lr": math.inf},
        {"betas": (2.0, 0.99)},
        {"weight_decay": -0.1},
        {"epochs": 0},
        {"minibatch": 0},
        {"warmup_updates": -1},
        {"final_lr": 2.0},
        {"max_grad_norm": 0.0},
        {"clip": 0.0},
        {"kl_weight": -1.0},
        {"temperature": 0.0},
        {"token_budget": 0},
        {"ema": 1.0},
        {"importance_cap": 0.0},
        {"importance_cap": 2.0, "recompute_old": False},
    ],
)
def test_settings_that_cannot_train_are_refused_by_name(bad):
    name = next(iter(bad))
    with pytest.raises(InputError, match=rf"learner\.{name}: expected .*, got "):
        LearnerConfig(**{"lr": 1.0, **bad})
