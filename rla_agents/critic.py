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
_VOTES = {"+": 1, "-": -1, "−": -1}
_CLAUSE_BREAK = re.compile(r"[.,;:!?]\s+|\s[-–—]+\s|\b(?:but|so|thus|hence|therefore)\b", re.IGNORECASE)
_VERDICT = re.compile(r"(?<![\w./+\-−])([+\-−])1(?![\w/]|\.\d)")
_CLOSING = re.compile(r"[\s.!*_`'\")\]}$]*")
_DOUBT = re.compile(
    r"\b(?:not|never|cannot|nor|neither|either|or|versus|vs|than|instead|without|if|unless|maybe|perhaps)\b"
    r"|n['’]t\b|\bno\s+\W*$",
    re.IGNORECASE,
)


def parse_verdict(text: str) -> int:
    r"""Return the vote that a critic's answer states: +1, -1, or 0 if it is malformed.

    The grammar: the last line that is not empty ends with the verdict, ``+1`` or
    ``-1`` with its sign (a true minus sign counts), as a word of its own; only
    closing marks such as a full stop, asterisks or the brace of ``\boxed{}`` may
    follow. Of that line only the last clause counts, the part behind its last
    comma, colon, dash, sentence end, "but" or "so". The answer is malformed if
    that clause does not end with a verdict, states two, has a word that negates
    it or leaves it open (``not +1``, ``+1 or -1``), or follows a clause that is
    nothing but the opposite verdict (``+1, -1``).
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    *earlier, clause = _CLAUSE_BREAK.split(lines[-1]) if lines else [""]
    verdicts = list(_VERDICT.finditer(clause))
    if len(verdicts) != 1:
        return 0
    before, after = clause[: verdicts[0].start()], clause[verdicts[0].end() :]
    if _DOUBT.search(before) or not _CLOSING.fullmatch(after):
        return 0
    vote = _VOTES[verdicts[0].group(1)]
    bare = [_VERDICT.fullmatch(part.strip()) for part in earlier]
    return 0 if any(match and _VOTES[match.group(1)] != vote for match in bare) else vote


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
        """Return ``votes`` judgements of every episode, each with its token sequence.

        A judgement that outgrows the model's context ends there: the remaining
        votes are 0 and have no span.
        """
        rows = [(e, k) for e, episode in enumerate(episodes) if episode.steps for k in range(self.votes)]
        made = [[Judgement() for _ in range(self.votes)] for _ in episodes]
        if not rows:
            return made
        session = self.model.open([self.opening(episodes[e]) for e, _ in rows])
        for row, (e, k) in enumerate(rows):
            made[e][k].sequence = session.sequence(row)
        options = None if self.reason else self.candidates()
        longest = self.sampling.max_tokens if options is None else max(map(len, options))
        step = 0
        while True:
            kept = [row for row in range(len(rows)) if session.room(row) >= longest]
            session.keep(kept)
            rows = [rows[row] for row in kept]
            if not rows:
                break
            constraints = None if options is None else [options] * len(rows)
            drawn = session.generate(range(len(rows)), self.sampling, self.generator, constraints)
            step += 1
            kept = []
            for row, (e, k) in enumerate(rows):
                made[e][k].votes.append(parse_verdict(drawn[row].text) if drawn[row].finished else 0)
                if step < len(episodes[e].steps):
                    session.append(row, self.continuation(episodes[e], step, drawn[row].ids[-1]))
                    kept.append(row)
            session.keep(kept)
            rows = [rows[row] for row in kept]
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
    actions = ", ".join(f"{i + 1} ({_short(str(episode.steps[i].action))})" for i in risky[:3])
    more = f" and {len(risky) - 3} more" if len(risky) > 3 else ""
    return f"{ending} Every vote rejects step {actions}{more}."


def _short(action: str) -> str:
    """Return an action in one short line that ends no sentence."""
    line = re.sub(r"[.!?]+(?=\s|$)", "", " ".join(action.split()))
    return line if len(line) <= 60 else f"{line[:59]}…"
