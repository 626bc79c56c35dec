"""What was sampled is what is trained, with the probability it was sampled with."""

import itertools
import math

import pytest
import torch

from rla_agents.llm import Generated, Sampling, Span, TokenSequence, TrainItem
from rla_agents.llm.constrained import CandidateWalk, ChoiceTable, _invert
from rla_envs.errors import InputError


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


def play(model, sampling, constraints=None, turns=3, rows=3):
    """Sample a few turns side by side; return the trajectories."""
    session = model.open([[5 + row] * (3 + 4 * row) for row in range(rows)])
    for turn in range(turns):
        session.generate(range(rows), sampling, rng(turn), constraints and [constraints] * rows)
        for row in range(rows):
            session.append(row, [40 + turn] * (row + 1))
    return [session.sequence(row) for row in range(rows)]


def items_of(sequences):
    return [sequence.train_item([1.0] * len(sequence.spans)) for sequence in sequences]


# Ratio 1 before any update


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma2", "mistral"])
@pytest.mark.parametrize("temperature", [0.6, 1.0, 1.3])
@pytest.mark.parametrize("constrained", [False, True])
def test_scoring_gives_the_probabilities_that_were_sampled(make_model, family, temperature, constrained):
    model = make_model(family)
    end = model.chat.end_id
    constraints = [[20, 21, end], [20, 22, end], [20, 22, 23, end], [24, end]] if constrained else None
    items = items_of(play(model, Sampling(temperature=temperature, max_tokens=6), constraints))
    for item, scores in zip(items, model.score(items, temperature), strict=True):
        assert len(item.positions) >= 3
        assert scores == pytest.approx(list(item.old_logprobs), abs=1e-4)
    flat = [logprob for item in items for logprob in item.old_logprobs]
    assert model.logprobs(items, temperature).tolist() == pytest.approx(flat, abs=1e-4)


def test_scoring_at_another_temperature_would_show(make_model):
    model = make_model()
    items = items_of(play(model, Sampling(temperature=0.6, max_tokens=6)))
    gaps = [
        abs(a - b)
        for i, s in zip(items, model.score(items, 1.0), strict=True)
        for a, b in zip(i.old_logprobs, s, strict=True)
    ]
    assert max(gaps) > 0.1


def test_scoring_in_parts_keeps_the_order_of_the_items(make_model, monkeypatch):
    monkeypatch.setattr("rla_agents.llm.transformers_backend._SCORE_TOKENS", 30)
    model = make_model()
    items = items_of(play(model, Sampling(max_tokens=4)))
    for item, scores in zip(items, model.score(items), strict=True):
        assert scores == pytest.approx(list(item.old_logprobs), abs=1e-4)


def test_gradients_are_those_of_the_slow_sum_of_log_probabilities(make_model):
    model = make_model()
    end = model.chat.end_id
    (item,) = items_of(play(model, Sampling(), [[20, 21, end], [20, 22, end], [23, end]], rows=1))
    model.logprobs([item]).sum().backward()
    fast = [weights.grad.clone() for weights in model.parameters()]
    model.module.zero_grad()
    total = 0.0
    for position, allowed in zip(item.positions, item.allowed, strict=True):
        logits = model.module(torch.tensor([item.ids[:position]])).logits[0, -1]
        total = total + logits[item.ids[position]] - logits[list(allowed)].logsumexp(0)
    total.backward()
    for quick, weights in zip(fast, model.parameters(), strict=True):
        assert torch.allclose(quick, weights.grad, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize(
    ("sampling", "reason"),
    [
        (Sampling(top_p=0.9), "top_p=0.9 cannot be used for training"),
        (Sampling(top_k=20), "top_k=20 cannot be used for training"),
        (Sampling(greedy=True), "greedy decoding cannot be used for training"),
    ],
)
def test_settings_that_sample_from_another_distribution_generate_but_do_not_train(
    make_model, sampling, reason
):
    sequences = play(make_model(), sampling, turns=1)
    assert all(sequence.spans[0].generated.ids for sequence in sequences)
    with pytest.raises(InputError, match=reason):
        sampling.require_trainable()
    with pytest.raises(InputError, match=reason):
        items_of(sequences)


# Ids are never made again from text


def test_ids_that_merge_when_tokenised_again_reach_the_loss_as_they_were_sampled(make_model, make_tokenizer):
    tokenizer = make_tokenizer()
    merged = tokenizer("mug", add_special_tokens=False)["input_ids"]
    splits = [tokenizer.convert_tokens_to_ids(parts) for parts in (["mu", "g"], ["m", "u", "g"])]
    assert len(merged) == 1
    assert None not in itertools.chain(*splits)
    model = make_model(tokenizer=tokenizer)
    spellings = [[*split, model.chat.end_id] for split in splits]
    session = model.open([model.chat.first([{"role": "user", "content": "mug"}])])
    for _ in range(3):
        (action,) = session.generate([0], Sampling(), rng(), [spellings])
        assert action.text == "mug"
        assert list(action.ids) in spellings
        session.append(0, model.chat.next({"role": "user", "content": "mug"}, action.ids[-1]))
    sequence = session.sequence(0)
    item = sequence.train_item([1.0] * 3)
    for span, position in zip(sequence.spans, item.positions, strict=True):
        assert tuple(sequence.ids[span.start : span.stop]) == span.generated.ids
        assert item.ids[position] == span.generated.ids[0]


def test_a_character_that_is_complete_only_with_the_next_token_keeps_its_ids(make_model):
    model = make_model()
    halves = model.chat.encode("é")
    assert len(halves) == 2
    session = model.open([[5, 6]])
    (cut,) = session.generate([0], Sampling(), rng(), [[[halves[0], model.chat.end_id]]])
    assert cut.ids[0] == halves[0]
    assert cut.text == "\N{REPLACEMENT CHARACTER}"
    assert session.sequence(0).ids[2] == halves[0]


@pytest.mark.parametrize("pad", ["<|pad|>", "<|im_end|>"])
def test_end_tokens_have_loss_and_padding_has_none_even_if_they_share_an_id(make_model, make_tokenizer, pad):
    model = make_model(tokenizer=make_tokenizer(pad=pad))
    end = model.chat.end_id
    sequences = []
    for length in (3, 9):
        sequence = TokenSequence([7, 8])
        ids = (*range(20, 19 + length), end)
        sequence.add(Generated(ids, (-1.0,) * length, (None,) * length, "", finished=True))
        sequences.append(sequence)
    items = items_of(sequences)
    assert [len(item.positions) for item in items] == [3, 9]
    assert [item.ids[item.positions[-1]] for item in items] == [end, end]
    together = model.logprobs(items).tolist()
    alone = [value for item in items for value in model.logprobs([item]).tolist()]
    assert together == pytest.approx(alone, abs=1e-5)
    assert len(together) == 12


def test_loss_is_the_same_whatever_pads(make_model, make_tokenizer):
    values = []
    for pad in ("<|pad|>", "<|im_end|>"):
        model = make_model(tokenizer=make_tokenizer(pad=pad), seed=3)
        items = items_of(play(model, Sampling(max_tokens=6)))
        values.append(model.logprobs(items).tolist())
    assert values[0] == values[1]


# Which tokens become training items


def test_forced_tokens_and_dropped_spans_have_no_loss_and_the_rest_is_cut():
    drawn = Generated((11, 12, 13), (-0.5, 0.0, -0.7), ((11, 14), (12,), None), "", finished=True)
    sequence = TokenSequence([1, 2])
    for _ in range(3):
        sequence.add(drawn)
        sequence.ids += [3, 4]
    item = sequence.train_item([2.0, -1.0, None])
    assert item == TrainItem(
        ids=(1, 2, 11, 12, 13, 3, 4, 11, 12, 13),
        positions=(2, 4, 7, 9),
        allowed=((11, 14), None, (11, 14), None),
        old_logprobs=(-0.5, -0.7, -0.5, -0.7),
        advantages=(2.0, 2.0, -1.0, -1.0),
    )
    assert sequence.train_item([None] * 3) is None
    with pytest.raises(InputError, match="one advantage per span, 3, got 1"):
        sequence.train_item([1.0])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"positions": (0,)}, "within 1 to 2"),
        ({"positions": (3,)}, "within 1 to 2"),
        ({"advantages": (1.0, 1.0)}, "one value per position"),
        ({"allowed": ((5, 6),)}, "not among the 2 ids"),
    ],
)
def test_a_training_item_that_does_not_fit_its_ids_is_refused(change, match):
    good = {
        "ids": (1, 2, 3),
        "positions": (2,),
        "allowed": (None,),
        "old_logprobs": (-1.0,),
        "advantages": (1.0,),
    }
    TrainItem(**good)
    with pytest.raises(InputError, match=match):
        TrainItem(**good | change)


def test_a_generated_action_with_a_missing_log_probability_is_refused():
    with pytest.raises(InputError, match="one log-probability"):
        Generated((1, 2), (-1.0,), (None, None), "", finished=True)


def test_a_span_knows_where_it_ends():
    assert Span(4, Generated((1, 2), (0.0, 0.0), ((1,), (2,)), "", finished=True)).stop == 6


# Constrained decoding


def test_constrained_decoding_draws_from_the_exact_distribution_over_candidates(make_model, slow):
    model = make_model()
    end, prompt = model.chat.end_id, [7, 8, 9]
    candidates = [
        [20, end],
        [20, 21, end],
        [20, 21, 22, end],
        [23, 24, 25, end],
        [23, 24, 26, end],
        [27, end],
    ]
    exact = []
    for candidate in candidates:
        total = 0.0
        for depth, token in enumerate(candidate):
            begin = candidate[:depth]
            allowed = {other[depth] for other in candidates if other[:depth] == begin}
            total += slow(model, prompt + begin, 0.9, allowed)[token].item()
        exact.append(math.exp(total))
    assert sum(exact) == pytest.approx(1, abs=1e-5)

    count = 4000
    session = model.open([prompt] * count)
    actions = session.generate(range(count), Sampling(temperature=0.9), rng(), [candidates] * count)
    drawn = [0] * len(candidates)
    for action in actions:
        assert list(action.ids) == candidates[action.choice]
        assert math.exp(sum(action.logprobs)) == pytest.approx(exact[action.choice], rel=1e-3)
        assert action.finished
        drawn[action.choice] += 1
    chi_square = sum((n - count * p) ** 2 / (count * p) for n, p in zip(drawn, exact, strict=True))
    assert chi_square < 20.5  # 99.9% quantile for 5 degrees of freedom


def test_forced_tokens_are_certain_and_no_decisions(make_model):
    model = make_model()
    end = model.chat.end_id
    (action,) = model.open([[5]]).generate([0], Sampling(), rng(), [[[20, 21, 22, end], [20, 21, 23, end]]])
    assert action.allowed == ((20,), (21,), (22, 23), (end,))
    assert [logprob == 0 for logprob in action.logprobs] == [True, True, False, True]
    assert list(action.decisions()) == [2]
    (only,) = model.open([[5]]).generate([0], Sampling(), rng(), [[[20, 21, end]]])
    assert (only.ids, only.logprobs, only.choice) == ((20, 21, end), (0.0, 0.0, 0.0), 0)


def test_a_command_is_never_cut_by_the_token_limit(make_model):
    model = make_model()
    candidates = [[20, 21, 22, last, 25, model.chat.end_id] for last in (23, 24)]
    (action,) = model.open([[5]]).generate([0], Sampling(max_tokens=1), rng(), [candidates])
    assert action.finished
    assert list(action.ids) == candidates[action.choice]


def test_a_command_longer_than_the_room_is_refused_before_anything_is_appended(make_model):
    model = make_model(context=8)
    session = model.open([[5] * 6])
    with pytest.raises(InputError, match="no room for an action of 3"):
        session.generate([0], Sampling(), rng(), [[[20, 21, 22], [23]]])
    assert session.sequence(0).ids == [5] * 6


@pytest.mark.parametrize(
    ("candidates", "match"),
    [
        ([], "at least one"),
        ([[1], []], "candidate 1 is empty"),
        ([[1, 2], [1, 2, 3]], "beginning of another"),
    ],
)
def test_candidates_that_cannot_be_told_apart_are_refused(candidates, match):
    with pytest.raises(InputError, match=match):
        CandidateWalk(candidates).forced()


def test_equal_candidates_count_once_under_the_first_index():
    walk = CandidateWalk([[1, 9], [2, 9], [1, 9]])
    assert walk.allowed() == (1, 2)
    walk.take(1)
    assert walk.forced() == [9]
    assert walk.choice == 0


# Drawing tokens


def table_of(probabilities, rows=1):
    return torch.tensor([probabilities], dtype=torch.float32).log().expand(rows, -1), [None] * rows


@pytest.mark.parametrize(
    ("sampling", "kept"),
    [
        (Sampling(), [0.5, 0.25, 0.15, 0.1]),
        (Sampling(top_k=2), [2 / 3, 1 / 3, 0, 0]),
        (Sampling(top_p=0.6), [2 / 3, 1 / 3, 0, 0]),
        (Sampling(top_p=0.5), [1, 0, 0, 0]),
        (Sampling(top_k=3, top_p=0.9), [0.5 / 0.9, 0.25 / 0.9, 0.15 / 0.9, 0]),
    ],
)
def test_top_k_and_top_p_keep_what_they_should_and_report_what_they_drew_from(sampling, kept):
    logits, allowed = table_of([0.5, 0.25, 0.15, 0.1], rows=4000)
    table = ChoiceTable(allowed, torch.device("cpu"))
    tokens, logprobs = table.sample(logits, sampling, rng())
    for token, logprob in zip(tokens, logprobs, strict=True):
        assert math.exp(logprob) == pytest.approx(kept[token], abs=1e-5)
    for token, probability in enumerate(kept):
        spread = math.sqrt(probability * (1 - probability) / len(tokens))
        assert abs(tokens.count(token) / len(tokens) - probability) <= 4 * spread


def test_what_has_no_probability_is_not_drawn_at_either_end_of_the_range():
    table = torch.tensor([[0.0, 0.5, 0.0, 0.5, 0.0]], dtype=torch.float64).log()
    assert _invert(table, torch.zeros(1, dtype=torch.float64)).item() == 1
    assert _invert(table, torch.full((1,), 0.4999, dtype=torch.float64)).item() == 1
    assert _invert(table, torch.full((1,), 0.5001, dtype=torch.float64)).item() == 3
    assert _invert(table, torch.ones(1, dtype=torch.float64)).item() == 3


def test_free_and_constrained_rows_in_one_batch_keep_their_places():
    logits = torch.randn(6, 10, generator=rng())
    allowed = [None, (1, 4), (2,), None, (0, 3, 9), (4, 5)]
    tokens = torch.tensor([7, 4, 2, 0, 9, 4])
    found = ChoiceTable(allowed, torch.device("cpu")).logprobs(logits, tokens, 0.7)
    for row, (ids, token) in enumerate(zip(allowed, tokens.tolist(), strict=True)):
        scaled = (logits[row] / 0.7).tolist()
        among = scaled if ids is None else [scaled[i] for i in ids]
        expected = scaled[token] - math.log(sum(map(math.exp, among)))
        assert found[row].item() == pytest.approx(expected, abs=1e-5)


def test_a_generator_gives_one_number_per_row_whatever_is_chosen_among():
    after = []
    for width, allowed in itertools.product((10, 300), (None, (1, 2))):
        generator = rng()
        ChoiceTable([allowed] * 3, torch.device("cpu")).sample(torch.zeros(3, width), Sampling(), generator)
        after.append(torch.rand(1, generator=generator).item())
    assert len(set(after)) == 1


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"temperature": 0.0}, "temperature must be a number above 0"),
        ({"temperature": math.nan}, "temperature must be a number above 0"),
        ({"top_p": 0.0}, "top_p must be above 0"),
        ({"top_k": -1}, "top_k must be 0"),
        ({"max_tokens": 0}, "max_tokens must be at least 1"),
    ],
)
def test_sampling_values_that_name_no_distribution_are_refused(values, match):
    with pytest.raises(InputError, match=match):
        Sampling(**values)
