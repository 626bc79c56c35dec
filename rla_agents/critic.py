"""The judging role: a generative reward model that votes on every step of an episode.

A judgement is a conversation too: the user's messages show, step by step, what
the agent saw, did and saw then; the critic answers each with a verdict. One
episode judged once is one token sequence, each verdict a span with its own
advantage, as for the policy.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from rla_agents.llm.base import LanguageModel, Sampling, TokenSequence
from rla_agents.llm.chat import Message
from wrappers.protocols import Episode, Verdict

INSTRUCTIONS = (
    "You judge, step by step, an agent that acts in a text environment. Each message shows one action and "
    "what happened. Answer +1 if the step helps to reach the goal and -1 if it does not."
)
REASONING = " Reason briefly first; end with the verdict alone on the last line."
VERDICTS = ("+1", "-1")
_SIGN = re.compile(r"(?<![\w./+\-−])([+\-−])\s?1(?!\w|\.\d|\s*/)")


def parse_verdict(text: str) -> int:
    r"""Return the vote that a critic's answer states: +1, -1, or 0 if it is malformed.

    The grammar: a verdict is ``+1`` or ``-1`` with its sign (a true minus sign
    counts), as a word of its own or in ``\boxed{}``, on the last line that is not
    empty. If that line states several, those after its last sentence break or
    "but" count. The answer is malformed if what counts states no verdict,
    states both, or negates one (``not +1``).
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return 0
    line = lines[-1]
    # "At first +1, but ... -1": only what follows the last sentence break or contrast is the verdict.
    clause = re.split(r"(?:[.;:!?]\s+|\bbut\b)", line.strip())[-1] if len(_SIGN.findall(line)) > 1 else line
    signs = {1 if sign == "+" else -1 for sign in _SIGN.findall(clause)}
    if len(signs) != 1 or re.search(r"\bnot\s+[+\-−]\s?1", clause):
        return 0
    return signs.pop()


@dataclass
class Judgement:
    """One pass of the critic over one episode.

    Attributes:
        sequence: Its token sequence; span i is the verdict on step i.
        votes: The verdicts: +1, -1, or 0 if malformed or not given for lack of context.
    """

    sequence: TokenSequence = field(default_factory=TokenSequence)
    votes: list[int] = field(default_factory=list)


class LLMCritic:
    """A language model that judges the steps of episodes.

    Args:
        model: The language model.
        sampling: How verdicts are drawn.
        votes: Number of independent judgements of every episode (m in arXiv
            2602.02488, which uses 3).
        reason: Let it reason in free text before each verdict; otherwise it
            may only say ``+1`` or ``-1``.
        instructed: Open with instructions. The embedded ``tiny`` model was
            warmed up without.
        generator: Where its randomness comes from.
    """

    def __init__(
        self,
        model: LanguageModel,
        sampling: Sampling,
        generator: torch.Generator,
        votes: int = 3,
        reason: bool = False,
        instructed: bool = True,
    ) -> None:
        """Set up; see the class for the arguments."""
        self.model = model
        self.sampling = sampling
        self.generator = generator
        self.votes = votes
        self.reason = reason
        self.instructed = instructed

    def judge(self, episodes: Sequence[Episode]) -> list[Verdict]:
        """Return the votes on every step of every episode, and a summary of what went wrong."""
        return [self.verdict(e, j) for e, j in zip(episodes, self.judgements(episodes), strict=True)]

    def verdict(self, episode: Episode, judgements: Sequence[Judgement]) -> Verdict:
        """Return judgements of one episode as votes per step, with the steps all of them reject in words."""
        votes = tuple(zip(*(j.votes for j in judgements), strict=True)) if episode.steps else ()
        return Verdict(votes, "" if episode.success else summarise(episode, votes))

    def judgements(self, episodes: Sequence[Episode]) -> list[list[Judgement]]:
        """Return ``votes`` judgements of every episode, each with its token sequence."""
        rows = [(e, k) for e, episode in enumerate(episodes) if episode.steps for k in range(self.votes)]
        made = [[Judgement() for _ in range(self.votes)] for _ in episodes]
        if not rows:
            return made
        session = self.model.open([self.opening(episodes[e]) for e, _ in rows])
        for row, (e, k) in enumerate(rows):
            made[e][k].sequence = session.sequence(row)
        live = list(rows)
        step = 0
        while live:
            drawn = session.generate(
                range(len(live)), self.sampling, self.generator, self._constraints(len(live))
            )
            going, kept = [], []
            for row, (e, k) in enumerate(live):
                made[e][k].votes.append(self._vote(drawn[row].text, drawn[row].finished))
                if step + 1 < len(episodes[e].steps):
                    ids = self.continuation(episodes[e], step + 1, drawn[row].ids[-1])
                    if session.room(row) >= len(ids) + self.sampling.max_tokens:
                        session.append(row, ids)
                        going.append((e, k))
                        kept.append(row)
            session.keep(kept)
            live = going
            step += 1
        for e, episode in enumerate(episodes):
            for judgement in made[e]:
                judgement.votes += [0] * (len(episode.steps) - len(judgement.votes))
        return made

    def opening(self, episode: Episode) -> list[int]:
        """Return the ids that open a judgement: the task and the first step."""
        messages: list[Message] = []
        if self.instructed:
            text = INSTRUCTIONS + (REASONING if self.reason else "")
            messages.append({"role": "system", "content": text})
        text = f"{episode.steps[0].observation}\n{_step_text(episode, 0)}"
        messages.append({"role": "user", "content": text})
        return self.model.chat.first(messages)

    def continuation(self, episode: Episode, step: int, last: int) -> list[int]:
        """Return the ids that follow the verdict on the step before, whose last id is ``last``."""
        return self.model.chat.next({"role": "user", "content": _step_text(episode, step)}, last)

    def candidates(self) -> list[tuple[int, ...]]:
        """Return the two verdicts as ids."""
        return [self.model.chat.command(verdict) for verdict in VERDICTS]

    def _constraints(self, rows: int) -> list[list[tuple[int, ...]]] | None:
        return None if self.reason else [self.candidates()] * rows

    def _vote(self, text: str, finished: bool) -> int:
        return parse_verdict(text) if finished else 0


def _step_text(episode: Episode, step: int) -> str:
    return f"> {episode.steps[step].action}\n{episode.steps[step].next_observation}"


def summarise(episode: Episode, votes: Sequence[Sequence[int]]) -> str:
    """Return in at most two sentences where a failed episode went wrong.

    Names the high-risk steps (arXiv 2602.02488): those that every vote rejects.
    """
    risky = [i for i, step in enumerate(votes) if step and all(vote < 0 for vote in step)]
    ending = "The step budget ran out." if episode.truncated else "The goal was not reached."
    if not risky:
        return f"{ending} No step was rejected by every vote."
    actions = ", ".join(f"{i + 1} ({episode.steps[i].action[:60]})" for i in risky[:3])
    more = f" and {len(risky) - 3} more" if len(risky) > 3 else ""
    return f"{ending} Every vote rejects step {actions}{more}."
