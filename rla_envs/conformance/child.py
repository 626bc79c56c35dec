"""Sample tasks in a process of its own, so that hashes can be compared across processes.

Reads ``{"spec": EnvSpec JSON, "count": n, "seed": s}`` from standard input and
writes a JSON list of ``[task JSON, content hash, hash()]`` to standard output.
"""

from __future__ import annotations

import json
import os
import sys

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from rla_envs.conformance.subject import adaptive, sample_tasks


def main() -> None:
    """Answer the request on standard input."""
    answer_to = os.dup(1)
    os.dup2(2, 1)  # What the environment prints must not mix with the answer.
    request = json.load(sys.stdin)
    env = gym.make(EnvSpec.from_json(request["spec"]))
    tasks = sample_tasks(adaptive(env), request["count"], request["seed"])
    env.close()
    with os.fdopen(answer_to, "w") as stream:
        json.dump([[task.to_json(), task.content_hash, hash(task)] for task in tasks], stream)


if __name__ == "__main__":
    main()
