"""Trajectories and judgements made by hand: small numbers that one can check on paper."""

from rla_agents.batches import Group
from rla_agents.critic import Judgement
from rla_agents.llm.base import Generated, TokenSequence
from rla_agents.trajectory import Trajectory, Turn
from rla_envs.task import Task

TASK = Task("RLATest/Doors-v0", {"doors": 2, "colours": 4}, {"order": ["red", "blue"]})


def sequence(spans, first=100):
    """Return a sequence of one-token spans, each after two ids that nobody sampled."""
    made = TokenSequence()
    for index in range(spans):
        made.ids += [1, 2]
        made.add(Generated((first + index,), (-0.5 * (index + 1),), (None,), f"word {index}", True))
    return made


def trajectory(won, votes=(), oracles=(), steps=None, task=TASK, **values):
    """Return an episode; ``votes`` has a row per step."""
    count = len(votes) if steps is None else steps
    oracles = oracles or (None,) * count
    turns = [Turn(f"room {i}", f"go {i}", f"room {i + 1}", 0.0, "", oracles[i]) for i in range(count)]
    values = {"stop": "solved" if won else "budget", "optimal_length": 2, **values}
    rows = tuple(map(tuple, votes))
    return Trajectory(task, 7, turns, sequence(count), votes=rows, **values)


def group(*trajectories):
    """Return the group of these episodes, with the judgements that their votes come from."""
    judgements = []
    for t in trajectories:
        passes = len(t.votes[0]) if t.votes else 0
        judgements.append(
            [Judgement(sequence(len(t.votes), 200), [step[j] for step in t.votes]) for j in range(passes)]
        )
    return Group(list(trajectories), judgements)
