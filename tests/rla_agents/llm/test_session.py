"""A session samples exactly what the model alone would, however rows differ and whoever leaves."""

import random

import pytest
import torch

from rla_agents.llm import Sampling
from rla_envs.errors import InputError

FAMILIES = ["llama", "qwen2", "gpt2", "gemma2", "mistral"]
GREEDY = Sampling(greedy=True, max_tokens=5)


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


def check_against(model, slow, before, generated):
    """Every sampled id has the probability that a full pass over its past gives."""
    ids = list(before)
    for token, logprob, allowed in zip(generated.ids, generated.logprobs, generated.allowed, strict=True):
        truth = slow(model, ids, generated.sampling.temperature, allowed)
        assert logprob == pytest.approx(truth[token].item(), abs=2e-5)
        if generated.sampling.greedy:
            assert token == truth.argmax().item()
        ids.append(token)


@pytest.mark.parametrize("family", FAMILIES)
def test_ragged_turns_and_leaving_rows_give_what_a_full_pass_gives(make_model, slow, family):
    model, draw = make_model(family), random.Random(family)
    word = lambda n: [draw.randrange(5, len(model.tokenizer)) for _ in range(n)]  # noqa: E731
    session = model.open([word(n) for n in (1, 9, 3, 40)])
    for turn in range(5):
        if turn == 2:
            session.keep([3, 0, 2])
        rows = list(range(len(session)))
        if turn == 3:
            rows = [2, 0]  # row 1 waits and has more to read later
        for row in range(len(session)):
            session.append(row, word(draw.randrange(0, 12)))
        before = [list(session.sequence(row).ids) for row in rows]
        sampling = Sampling(greedy=turn % 2 == 0, max_tokens=4, temperature=0.7)
        for row, past, action in zip(rows, before, session.generate(rows, sampling, rng()), strict=True):
            check_against(model, slow, past, action)
            assert session.sequence(row).ids == past + list(action.ids)


def test_rows_with_equal_prompts_share_reading_and_stay_apart(make_model, slow):
    model = make_model()
    prompts = [[7, 8, 9, 10], [11, 12], [7, 8, 9, 10], [11, 12], [7, 8, 9, 10]]
    session = model.open(prompts)
    sampling = Sampling(max_tokens=6, temperature=2.0)
    actions = session.generate(range(5), sampling, rng())
    assert len({action.ids for action in actions}) == 5
    for prompt, action in zip(prompts, actions, strict=True):
        check_against(model, slow, prompt, action)
    for row in range(5):
        session.append(row, [20 + row])
    before = [list(session.sequence(row).ids) for row in range(5)]
    for past, action in zip(before, session.generate(range(5), sampling, rng()), strict=True):
        check_against(model, slow, past, action)


def test_the_same_generator_state_gives_the_same_ids(make_model):
    model = make_model()
    prompts = [[5, 6], [7, 8, 9], [10]]
    first, again, other = (
        model.open(prompts).generate(range(3), Sampling(max_tokens=8), rng(seed)) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_no_global_randomness_is_used(make_model):
    state = torch.get_rng_state()
    model = make_model()
    torch.set_rng_state(state)
    model.open([[5]]).generate([0], Sampling(max_tokens=4), rng())
    assert torch.equal(torch.get_rng_state(), state)


def test_free_text_stops_at_the_end_of_turn_or_is_marked_as_cut(make_model):
    model = make_model()
    actions = model.open([[5, 6, 7]] * 40).generate(
        range(40), Sampling(max_tokens=60, temperature=9.0), rng()
    )
    assert {action.finished for action in actions} == {True, False}
    for action in actions:
        *inner, last = action.ids
        assert action.finished == (last == model.chat.end_id)
        assert model.chat.end_id not in inner
        assert len(action.ids) == 60 or action.finished


def test_a_context_that_is_full_is_refused_and_one_that_fills_cuts(make_model):
    model = make_model(context=12)
    session = model.open([[5] * 10])
    assert session.room(0) == 2
    (action,) = session.generate([0], Sampling(max_tokens=5, greedy=True))
    assert len(action.ids) == 2
    assert not action.finished
    with pytest.raises(InputError, match="no room for an action of 1"):
        session.generate([0], GREEDY)


def test_padding_of_short_rows_stays_within_the_table_of_positions(make_model, slow):
    model = make_model("gpt2", context=16)
    session = model.open([[5] * 14, [6] * 2])
    session.generate([0, 1], Sampling(greedy=True, max_tokens=1))
    session.append(1, [7, 8, 9, 10, 11, 12])
    before = [list(session.sequence(row).ids) for row in range(2)]
    for past, action in zip(
        before, session.generate([0, 1], Sampling(greedy=True, max_tokens=1)), strict=True
    ):
        check_against(model, slow, past, action)


@pytest.mark.parametrize(("rows", "match"), [([0, 0], "distinct"), ([2], "0 to 1"), ([-1], "0 to 1")])
def test_rows_that_repeat_or_do_not_exist_are_refused(make_model, rows, match):
    with pytest.raises(InputError, match=match):
        make_model().open([[5], [6]]).generate(rows, GREEDY)


def test_an_empty_prompt_and_a_missing_generator_are_refused(make_model):
    model = make_model()
    with pytest.raises(InputError, match="empty prompt"):
        model.open([[5], []])
    with pytest.raises(InputError, match=r"torch\.Generator"):
        model.open([[5]]).generate([0], Sampling())


def test_a_batch_is_cut_into_passes_without_changing_what_comes_out(make_model, slow, monkeypatch):
    monkeypatch.setattr("rla_agents.llm.session._PASS_COST", 1)
    model = make_model()
    session = model.open([[5] * n for n in (30, 2, 17, 2, 9)])
    for _ in range(2):
        before = [list(session.sequence(row).ids) for row in range(5)]
        for past, action in zip(before, session.generate(range(5), GREEDY), strict=True):
            check_against(model, slow, past, action)


# Weights that change while a session is open


def learn(model, optimizer, **options):
    loss = model.module(torch.tensor([[5, 6, 7, 8, 9]]), labels=torch.tensor([[9, 8, 7, 6, 5]])).loss
    loss.backward()
    optimizer(model.parameters(), lr=0.05, **options).step()


def announced(model):
    learn(model, torch.optim.SGD)
    model.weights_version += 1


CHANGES = {
    "announced": announced,
    "adamw": lambda model: learn(model, torch.optim.AdamW),
    "fused adamw": lambda model: learn(model, torch.optim.AdamW, fused=True),
    "data": lambda model: [p.data.add_(0.1 * torch.randn_like(p)) for p in model.parameters()],
}


@pytest.mark.parametrize("change", CHANGES)
def test_after_new_weights_an_open_session_samples_as_a_fresh_model_does(make_model, tmp_path, change):
    model = make_model()
    prompt = [5 + i % 50 for i in range(60)]
    session = model.open([prompt, prompt[:20]])
    old = session.generate([0, 1], GREEDY)
    CHANGES[change](model)
    model.save(tmp_path)
    sequences = [list(session.sequence(row).ids) for row in range(2)]
    new = session.generate([0, 1], GREEDY)
    fresh = type(model).from_folder(tmp_path).open(sequences).generate([0, 1], GREEDY)
    assert [action.ids for action in new] == [action.ids for action in fresh]
    assert [action.logprobs for action in new] == [
        pytest.approx(action.logprobs, abs=1e-5) for action in fresh
    ]
    assert new[0].weights_version > old[0].weights_version


def test_reloading_a_checkpoint_empties_the_caches_too(make_model, tmp_path):
    model, other = make_model(seed=0), make_model(seed=1)
    other.save(tmp_path)
    session = model.open([[5, 6, 7, 8]])
    (cut,) = session.generate([0], GREEDY)
    model.load(tmp_path)
    (after,) = session.generate([0], GREEDY)
    assert after.ids == other.open([[5, 6, 7, 8, *cut.ids]]).generate([0], GREEDY)[0].ids


def test_unchanged_weights_keep_their_version(make_model):
    model = make_model()
    version = model.weights_version
    model.open([[5, 6]]).generate([0], GREEDY)
    assert model.weights_version == version
