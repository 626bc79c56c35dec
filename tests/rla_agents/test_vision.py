"""A policy that sees: pictures in its sequences, which leave them whole, and the loop on screenshots."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch

from rla_agents.batches import Group, policy_items
from rla_agents.config import CriticConfig, CurriculumConfig, EnvConfig, EvalConfig, PolicyConfig
from rla_agents.env_pool import EnvPool
from rla_agents.files import read_jsonl
from rla_agents.learner import Learner, LearnerConfig
from rla_agents.llm import Sampling, load_model
from rla_agents.llm.base import Picture
from rla_agents.llm.vision import VisionModel
from rla_agents.loop import train
from rla_agents.policy import Policy
from rla_agents.rollout import rollout
from rla_envs.errors import InputError
from tests.rla_agents.small_run import doors_config
from tests.rla_agents.vision import tiny_vision_model

SCREEN = "tests.rla_agents.vision:RLATest/Screen-v0"
FEATURES = 6
"""Of a 128 x 72 screen under the test model's limits: 2 rows and 3 columns of merged patches."""


@pytest.fixture(params=["qwen2_5_vl", "qwen2_vl"])
def seeing(request):
    return tiny_vision_model(request.param)


@pytest.fixture
def fed(monkeypatch):
    """Return how many placeholders and how many features each forward pass got, as they come."""
    counts = []
    logits = VisionModel.logits

    def watched(self, ids, select, positions=None, cache=None, **inputs):
        merged = self.image_processor.merge_size**2
        rows = inputs["pixel_values"].shape[0] if "pixel_values" in inputs else 0
        counts.append((int((ids == self.module.config.image_token_id).sum()), rows // merged))
        return logits(self, ids, select, positions, cache, **inputs)

    monkeypatch.setattr(VisionModel, "logits", watched)
    return counts


def play(model, count=2, length=3, max_context=None, sampling=None, instructed=True):
    policy = Policy(model, sampling or Sampling(max_tokens=6), instructed=instructed, desktop=True)
    with EnvPool(SCREEN, {}, sees=model.sees) as pool:
        tasks = pool.sample([({"length": length}, (5,))]) * count
        return rollout(policy, pool, tasks, 0, torch.Generator().manual_seed(1), max_context=max_context)


def screens(trajectory):
    """Return the screens of an episode, seen by playing it again."""
    with EnvPool(SCREEN, {}, sees=True) as pool:
        seen = pool.reset([trajectory.task], 0)
        for turn in trajectory.turns:
            seen += pool.step({0: turn.action})
    return [Picture(one.picture) for one in seen]


def test_sampled_and_trained_log_probabilities_agree(seeing):
    items = [t.sequence.train_item([1.0] * 3) for t in play(seeing)]
    assert [len(item.pictures) for item in items] == [3, 3]
    for item, scored in zip(items, seeing.score(items), strict=True):
        assert scored == pytest.approx(item.old_logprobs, abs=1e-4)


def test_a_batch_is_scored_as_the_familys_own_forward_pass_does(seeing):
    for trajectory in play(seeing, count=2):
        item = trajectory.sequence.train_item([1.0] * 3)
        ids = torch.tensor([item.ids])
        made = seeing.image_processor([p.picture.pixels for p in item.pictures], return_tensors="pt")
        kinds = (ids == seeing.module.config.image_token_id).int()
        with torch.no_grad():
            # No positions are given: the module works them out by itself.
            logits = seeing.module(input_ids=ids, mm_token_type_ids=kinds, **made).logits[0]
        config = seeing.module.config
        logits[:, [config.image_token_id, config.video_token_id]] = -torch.inf
        table = logits.log_softmax(-1)
        truth = [table[p - 1, item.ids[p]].item() for p in item.positions]
        assert seeing.score([item])[0] == pytest.approx(truth, abs=1e-4)


def test_what_is_seen_matters_and_is_the_screen(seeing):
    (trajectory,) = play(seeing, count=1)
    item = trajectory.sequence.train_item([1.0] * 3)
    # The screen after the last action is never read.
    assert [p.picture for p in item.pictures] == screens(trajectory)[:-1]
    black = [dataclasses.replace(p, picture=Picture(np.zeros_like(p.picture.pixels))) for p in item.pictures]
    blind = dataclasses.replace(item, pictures=tuple(black))
    assert seeing.score([blind])[0] != pytest.approx(seeing.score([item])[0], abs=1e-3)


def test_text_cannot_forge_a_picture_and_the_native_size_is_told():
    model = tiny_vision_model()
    (trajectory,) = play(model, count=1)
    ids, pad = trajectory.sequence.ids, model.module.config.image_token_id
    # The instruction of this environment spells a placeholder.
    assert "image_pad" in trajectory.turns[0].observation
    assert ids.count(pad) == FEATURES * len(trajectory.sequence.pictures)
    assert "The screen is 128 x 72 pixels." in model.chat.text(ids)
    assert all(model.features(p.picture) == FEATURES for p in trajectory.sequence.pictures)
    # The picture stands in front of the message's text, as the family's own template writes it.
    before = model.chat.encode("user\n")
    for placed in trajectory.sequence.pictures:
        assert ids[placed.start - len(before) : placed.start] == before


def test_actions_reach_the_environment_as_they_were_said():
    policy = Policy(tiny_vision_model(), Sampling(), desktop=True)
    said = "```python\npyautogui.click(1279, 719)\n```"
    assert policy.command(said, None, ()) == said


def test_a_model_that_sees_nothing_reads_the_tree():
    with EnvPool(SCREEN, {}, sees=False) as pool:
        (seen,) = pool.reset(pool.sample([(None, (1,))]), 0)
        assert seen.picture is None
        assert seen.observation.endswith("<desktop step='0'/>")
        (after,) = pool.step({0: "odd"})
        assert after.observation == "an odd length\n<desktop step='1'/>"
    with EnvPool(SCREEN, {}, sees=True) as pool:
        pool.reset(pool.sample([(None, (1,))]), 0)
        (after,) = pool.step({0: "odd"})
        assert after.observation == "an odd length"
        assert after.picture.shape == (72, 128, 3)


def test_workers_send_the_same_screens():
    def shown(workers):
        with EnvPool(SCREEN, {}, workers, sees=True) as pool:
            seen = pool.reset(pool.sample([(None, (1,))]), 0) + pool.step({0: "odd"})
        return [(one.observation, Picture(one.picture)) for one in seen]

    assert shown(1) == shown(0)


def half_a_picture_short():
    """Return a context that holds an episode's texts, the longest action, and two and a half pictures."""
    model = tiny_vision_model()
    (whole,) = play(model, count=1, length=8, instructed=False)
    texts = len(whole.sequence.ids) - 8 * (FEATURES + 2)
    return texts + 6 + 5 * (FEATURES + 2) // 2


def test_pictures_leave_a_full_context_whole_and_the_oldest_first(fed):
    model, limit = tiny_vision_model(), half_a_picture_short()
    fed.clear()
    (trajectory,) = play(model, count=1, length=8, max_context=limit, instructed=False)
    assert (trajectory.stop in ("solved", "budget"), len(trajectory.turns)) == (True, 8)
    assert fed
    assert all(placeholders == features for placeholders, features in fed)
    shown = screens(trajectory)
    number = itertools.count()
    pad = model.module.config.image_token_id
    assert trajectory.earlier
    for sequence in trajectory.sequences:
        for span in sequence.spans:
            newest = next(number)
            before = [p.picture for p in sequence.pictures if p.stop <= span.start]
            # The newest screen is always seen, and those before it without a gap.
            assert before == shown[newest + 1 - len(before) : newest + 1]
            assert len(before) >= 1
            assert span.stop <= limit
            assert sequence.ids[: span.start].count(pad) == FEATURES * len(before)
        for placed in sequence.pictures:
            frame = sequence.ids[placed.start : placed.stop]
            assert [token == pad for token in frame] == [False, *[True] * FEATURES, False]
    assert next(number) == 8
    for shorter in trajectory.sequences[1:]:
        # No more was left out than had to be: with one picture more the action had no room.
        assert shorter.spans[0].start + 6 + FEATURES + 2 > limit


def test_each_action_trains_once_with_its_own_advantage_where_it_was_sampled(fed):
    model, limit = tiny_vision_model(), half_a_picture_short()
    played = play(model, count=2, length=8, max_context=limit, instructed=False)
    advantages = [[float(8 * row + step + 1) for step in range(8)] for row in range(2)]
    advantages[1][3] = None
    items = policy_items([Group(played, [[], []], advantages=advantages)])
    assert len(items) > 2
    trained = [value for item in items for value, _ in itertools.groupby(item.advantages)]
    assert trained == [value for row in advantages for value in row if value is not None]
    values = [item.old_logprobs for item in items]
    sampled = [
        span.generated.logprobs
        for t, row in zip(played, advantages, strict=True)
        for span, value in zip(t.spans, row, strict=True)
        if value is not None
    ]
    assert list(itertools.chain(*values)) == list(itertools.chain(*sampled))
    fed.clear()
    learner = Learner(model, LearnerConfig(lr=1e-3, minibatch=4))
    stats = learner.update(items, np.random.default_rng(0))
    # What is recomputed is what was sampled: the ratio before the update is 1.
    assert stats.logprob_gap < 1e-4
    assert (stats.updates > 0, stats.skipped) == (True, 0)
    assert all(placeholders == features > 0 for placeholders, features in fed)


def test_the_vision_part_learns_too():
    model = tiny_vision_model()
    items = [t.sequence.train_item([1.0, -1.0, 0.5]) for t in play(model)]
    before = {name: value.clone() for name, value in model.module.named_parameters()}
    Learner(model, LearnerConfig(lr=1e-3)).update(items, np.random.default_rng(0))
    moved = {name for name, value in model.module.named_parameters() if not torch.equal(value, before[name])}
    assert any("visual" in name for name in moved)
    assert any("language_model" in name for name in moved)


def test_without_room_for_one_picture_the_episode_ends():
    (whole,) = play(tiny_vision_model(), count=1)
    opening = whole.sequence.spans[0].start
    # Blind there would be room, but the newest picture is never left out.
    (trajectory,) = play(tiny_vision_model(), count=1, max_context=opening + 5)
    assert (trajectory.stop, trajectory.turns, trajectory.earlier) == ("context", [], [])
    (trajectory,) = play(tiny_vision_model(), count=1, max_context=opening + 6)
    assert len(trajectory.turns) == 1


def test_a_model_reads_all_again_after_its_weights_changed(seeing):
    (trajectory,) = play(seeing, count=1)
    sequence = trajectory.sequence
    prompt = sequence.ids[: sequence.spans[0].start]
    first = sequence.pictures[0]
    squeezed = [*prompt[: first.start + 1], *prompt[first.start + FEATURES :]]
    session = seeing.open([squeezed], [[first.picture]])
    assert session.sequence(0).ids == prompt
    greedy = Sampling(greedy=True, max_tokens=3)
    session.generate([0], greedy)
    with torch.no_grad():
        for weights in seeing.parameters():
            weights.mul_(1.1)
    (again,) = session.generate([0], greedy)
    item = session.sequence(0).train_item
    with pytest.raises(InputError, match="greedy"):
        item([1.0, 1.0])
    fresh = seeing.open([squeezed], [[first.picture]])
    fresh.append(0, session.sequence(0).ids[len(prompt) : -3])
    assert fresh.generate([0], greedy)[0].logprobs == pytest.approx(again.logprobs, abs=1e-4)


def test_saved_and_loaded_it_is_the_same(seeing, tmp_path):
    seeing.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model", "cpu")
    assert isinstance(loaded, VisionModel)
    items = [t.sequence.train_item([1.0] * 3) for t in play(seeing)]
    assert loaded.score(items) == seeing.score(items)
    other = tiny_vision_model(seeing.module.config.model_type, seed=1)
    assert other.score(items) != seeing.score(items)
    other.load(tmp_path / "model")
    assert other.score(items) == seeing.clone().score(items) == seeing.score(items)


def test_a_picture_needs_its_placeholder():
    model = tiny_vision_model()
    picture = Picture(np.zeros((72, 128, 3), np.uint8))
    with pytest.raises(InputError, match="one picture per placeholder"):
        model.open([[1, 2, 3]], [[picture]])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_loop_runs_on_screenshots(tmp_path):
    tiny_vision_model().save(tmp_path / "model")
    config = dataclasses.replace(
        doors_config(tmp_path, tmp_path / "run", "thompson", 1),
        env=EnvConfig(id=SCREEN),
        policy=PolicyConfig(str(tmp_path / "model"), "cpu", max_tokens=6),
        critic=CriticConfig(votes=1),
        curriculum=CurriculumConfig("thompson", {"grid": {"length": [2, 3]}}),
        evaluation=EvalConfig(games=0),
    )
    train(config, quiet=True)
    (row,) = read_jsonl(tmp_path / "run" / "metrics.jsonl")
    assert row["policy/updates"] > 0
    assert row["policy/logprob_gap"] < 1e-4
    saved = next((tmp_path / "run" / "checkpoints").glob("*/policy"))
    assert isinstance(load_model(saved, "cpu"), VisionModel)
