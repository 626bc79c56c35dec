"""The critic votes on every step, and only what it plainly says counts."""

import gymnasium as gym
import pytest
import torch

import rla_envs  # registers the environments  # noqa: F401
from rla_agents.critic import LLMCritic, parse_verdict, summarise
from rla_agents.llm.base import Sampling
from rla_envs.task import Task
from wrappers import CriticFeedback
from wrappers.protocols import Episode, Step

TASK = Task("RLATest/Room-v0", {}, {})


def episode(steps, success=False, truncated=True):
    made = [
        Step(f"You are at desk {i}.", f"go to desk {i + 1}", f"You are at desk {i + 1}.", 0.0, "")
        for i in range(steps)
    ]
    return Episode(TASK, tuple(made), success, truncated)


def critic(model, max_tokens=8, **options):
    generator = torch.Generator().manual_seed(0)
    return LLMCritic(model, Sampling(max_tokens=max_tokens), generator, instructed=False, **options)


@pytest.mark.parametrize(
    ("answer", "vote"),
    [
        ("+1", 1),
        ("-1", -1),
        ("−1", -1),
        ("-1.", -1),
        (" **-1** ", -1),
        ("Verdict: +1", 1),
        ("**Verdict:** +1.", 1),
        ("(-1)", -1),
        ("So the verdict is \\boxed{+1}.", 1),
        ("$\\boxed{-1}$", -1),
        ("It opens the fridge, which is not needed.\n\n-1\n", -1),
        ("At first this looks like +1, but the mug is not needed. -1", -1),
        ("The mug is not needed, so -1", -1),
        ("Not a +1 at first sight; it does help: +1", 1),
        ("It is +1 - no doubt: +1", 1),
        ("-1\nOn second thought\n+1", 1),
    ],
)
def test_the_final_stated_verdict_counts(answer, vote):
    assert parse_verdict(answer) == vote


@pytest.mark.parametrize(
    "answer",
    [
        "",
        " \n ",
        "not +1",
        "This is not a +1.",
        "I would never say +1",
        "It isn't +1",
        "It isn’t quite -1",
        "no +1",
        "+1/-1",
        "+1 / -1",
        "-1/1",
        "+1 or -1",
        "either +1, or -1",
        "+1, -1",
        "\\boxed{+1}\\boxed{-1}",
        "rather -1 than +1",
        "+1 instead of -1",
        "+1 if the mug is in the fridge",
        "+1\n-1\nunsure",
        "+1, maybe",
        "+1?",
        "The score is 1",
        "1",
        "- 1",
        "+ 1",
        "+10",
        "-11",
        "-1.5",
        "+1.0",
        "3-1",
        "x=-1x",
        "--1",
        "+-1",
        "+1%",
        "correct",
        "incorrect",
    ],
)
def test_an_ambiguous_verdict_is_malformed(answer):
    assert parse_verdict(answer) == 0


def test_every_step_gets_m_votes_and_each_vote_is_what_its_span_says(model):
    episodes = [episode(3), episode(1), episode(5)]
    judging = critic(model, votes=4)
    judgements = judging.judgements(episodes)
    verdicts = [judging.verdict(e, j) for e, j in zip(episodes, judgements, strict=True)]
    assert [len(v.votes) for v in verdicts] == [3, 1, 5]
    assert {len(step) for v in verdicts for step in v.votes} == {4}
    assert {vote for v in verdicts for step in v.votes for vote in step} == {-1, 1}
    for verdict, passes in zip(verdicts, judgements, strict=True):
        for j, judgement in enumerate(passes):
            said = [span.generated.text for span in judgement.sequence.spans]
            assert [int(text) for text in said] == [step[j] for step in verdict.votes]
            item = judgement.sequence.train_item([0.5] * len(said))
            sampled = [
                token
                for span in judgement.sequence.spans
                for token, allowed in zip(span.generated.ids, span.generated.allowed, strict=True)
                if len(allowed) > 1
            ]
            assert [item.ids[position] for position in item.positions] == sampled
            assert len(sampled) == len(said)


def test_a_judgement_shows_the_task_and_each_step_in_order_and_nothing_privileged(model):
    shown = episode(3)
    (judgement,) = critic(model, votes=1).judgements([shown])[0]
    said = [span.generated.text for span in judgement.sequence.spans]
    expected = shown.steps[0].observation + "\n"
    for step, verdict in zip(shown.steps, said, strict=True):
        expected += f"> {step.action}\n{step.next_observation}{verdict}"
    assert model.chat.text(judgement.sequence.ids) == expected


def test_votes_are_drawn_independently_and_repeat_with_the_generator(model):
    first = critic(model, votes=8).judge([episode(6)])
    assert len(set(first[0].votes[0])) == 2
    assert critic(model, votes=8).judge([episode(6)]) == first


@pytest.mark.parametrize("reason", [False, True])
def test_a_judgement_that_outgrows_the_context_leaves_the_remaining_votes_0(model, reason, monkeypatch):
    monkeypatch.setattr(type(model), "context_length", property(lambda self: 100))
    judging = critic(model, votes=2, reason=reason)
    judgements = judging.judgements([episode(40), episode(1)])
    verdict = judging.verdict(episode(40), judgements[0])
    assert [len(step) for step in verdict.votes] == [2] * 40
    for j, judgement in enumerate(judgements[0]):
        spans = len(judgement.sequence.spans)
        assert 0 < spans < 40
        assert judgement.sequence.spans[-1].stop <= 100
        assert [step[j] for step in verdict.votes[spans:]] == [0] * (40 - spans)
    assert len(judgements[1][0].sequence.spans) == 1


def test_a_task_longer_than_the_context_gets_votes_of_0(model, monkeypatch):
    monkeypatch.setattr(type(model), "context_length", property(lambda self: 10))
    (verdict,) = critic(model, votes=3).judge([episode(2)])
    assert verdict.votes == ((0, 0, 0), (0, 0, 0))


def test_episodes_without_steps_get_no_votes(model):
    empty = episode(0)
    judging = critic(model, votes=3)
    verdicts = judging.judge([empty, episode(2), empty])
    assert [verdict.votes == () for verdict in verdicts] == [True, False, True]
    assert judging.judge([]) == []


def test_a_reasoning_critic_speaks_freely_and_a_cut_answer_is_malformed(model):
    judging = critic(model, votes=3, reason=True, max_tokens=3)
    judgements = judging.judgements([episode(4)])[0]
    drawn = [span.generated for j in judgements for span in j.sequence.spans]
    assert all(allowed is None for generated in drawn for allowed in generated.allowed)
    assert not all(generated.finished for generated in drawn)
    for judgement in judgements:
        for span, vote in zip(judgement.sequence.spans, judgement.votes, strict=True):
            assert vote == (parse_verdict(span.generated.text) if span.generated.finished else 0)


def test_a_cut_answer_is_malformed_even_if_it_ends_like_a_verdict(model):
    class Cut:
        """A session whose answers all say +1 and are cut off there."""

        def __init__(self, session):
            self._session = session

        def __len__(self):
            return len(self._session)

        def __getattr__(self, name):
            return getattr(self._session, name)

        def generate(self, rows, sampling, generator, constraints):
            from dataclasses import replace

            drawn = self._session.generate(rows, sampling, generator, constraints)
            return [replace(generated, text="It helps: +1", finished=False) for generated in drawn]

    class Model:
        def __getattr__(self, name):
            return getattr(model, name)

        def open(self, prompts):
            return Cut(model.open(prompts))

    (verdict,) = critic(Model(), votes=2, reason=True).judge([episode(2)])
    assert verdict.votes == ((0, 0), (0, 0))


def test_a_summary_names_the_steps_that_every_vote_rejects():
    votes = [(-1, -1), (-1, 1), (-1, 0), (-1, -1)]
    assert summarise(episode(4), votes) == (
        "The step budget ran out. Every vote rejects step 1 (go to desk 1), 4 (go to desk 4)."
    )
    lost = summarise(episode(2, truncated=False), [(1,), (0,)])
    assert lost == "The goal was not reached. No step was rejected by every vote."


@pytest.mark.parametrize("action", ["Stop. Look! Go?\nNow.", 7, "x" * 500])
def test_a_summary_is_at_most_two_short_sentences_whatever_the_actions(action):
    steps = tuple(step._replace(action=action) for step in episode(9).steps)
    text = summarise(Episode(TASK, steps, False, True), [(-1,)] * 9)
    assert text.count(". ") == 1
    assert text.endswith(" and 6 more.")
    assert "\n" not in text
    assert not set(text) & set("!?")
    assert len(text) < 350


def test_a_solved_episode_has_no_summary(model):
    (verdict,) = critic(model).judge([episode(2, success=True, truncated=False)])
    assert verdict.summary == ""


def test_it_judges_episodes_of_the_critic_feedback_wrapper(model):
    pytest.importorskip("alfworld", reason="needs the 'alfworld' extra")
    difficulty = {"receptacles": 5, "objects": 6, "step_budget": 1.0}
    base = gym.make("RLA/AlfWorld-v0", difficulty=difficulty)
    env = CriticFeedback(base, curriculum="fixed", critic=critic(model, votes=3), step_weight=0.5)
    env.reset(seed=2)
    steps, done = 0, False
    while not done:
        _, _, terminated, truncated, info = env.step("look")
        steps, done = steps + 1, terminated or truncated
    env.close()
    votes = info["rla"]["votes"]
    assert [len(step) for step in votes] == [3] * steps
    assert {vote for step in votes for vote in step} <= {-1, 1}
    assert info["rla"]["vote_summary"].startswith("The step budget ran out. ")
    rewards = [-1 + 0.5 * sum(step) / 3 for step in votes]
    assert info["rla"]["step_rewards"] == pytest.approx(rewards)
