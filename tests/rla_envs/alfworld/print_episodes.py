"""Print a digest of some episodes and their tasks; run with several hash seeds by the tests."""

import hashlib
import json
import sys

import gymnasium as gym

import rla_envs


def episode(env, **reset):
    """Play 25 commands, the first, last and middle one of the list in turn; return all that was seen."""
    observation, info = env.reset(**reset)
    seen = [env.unwrapped.task.to_json(), observation, info]
    for turn in range(25):
        commands = info["admissible_commands"]
        seen.append(env.step(commands[(0, -1, len(commands) // 2)[turn % 3]]))
        info = seen[-1][-1]
    return seen


def digest(seen):
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


if __name__ == "__main__":
    env = gym.make("RLA/AlfWorld-v0", split="valid_seen", difficulty={"distractors": 1})
    for seed in (5, 6):
        sys.stdout.write(digest(episode(env, seed=seed)) + "\n")
    if sys.argv[1:]:
        with open(sys.argv[1]) as file:
            task = rla_envs.Task.from_json(file.read())
        replay = digest(episode(env, options={"task": task}))
        sys.stdout.write(f"{replay} {hash(task)} {task.content_hash}\n")
