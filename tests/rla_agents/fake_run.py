"""Make a run folder as a training run leaves it, with figures drawn from a seed."""

import json
from pathlib import Path

import numpy as np

TYPES = ("pick_and_place", "look_at_obj_in_light", "pick_clean_then_place", "pick_two_obj_and_place")
HOSTILE = "</script><script>alert('x')</script><img src=http://evil.example/a.png onerror=alert(1)>"


def fake_run(folder: Path, iterations: int = 40, episodes: int = 8, seed: int = 0) -> Path:
    """Fill ``folder`` with the files of a run and return it."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(CONFIG.format(iterations=iterations, seed=seed))
    (folder / "versions.json").write_text(json.dumps({"rlanything": "0.1.0", "torch": "2.13.0"}))
    _write_rows(folder / "metrics.jsonl", (_metrics(i, iterations, rng) for i in range(iterations)))
    _write_rows(folder / "events.jsonl", _events(iterations, rng))
    traces = [_trace("eval_before", -1, 0.4, rng) for _ in range(60)]
    for i in range(iterations):
        traces += [_trace("train", i, 0.4 + 0.2 * i / max(1, iterations), rng) for _ in range(episodes)]
    traces += [_trace("eval_after", iterations, 0.55, rng) for _ in range(60)]
    _write_rows(folder / "traces.jsonl", traces)
    (folder / "evaluation.json").write_text(json.dumps(_evaluation(rng)))
    return folder


def _write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _metrics(i, iterations, rng):
    share = i / max(1, iterations - 1)
    noise = lambda size: float(rng.normal(0, size))  # noqa: E731
    return {
        "iteration": i,
        "policy/success": float(np.clip(0.42 + 0.12 * share + noise(0.06), 0, 1)),
        "policy/reward": noise(0.2),
        "policy/loss": noise(0.02),
        "policy/kl": abs(noise(0.004)),
        "policy/clip_fraction": abs(noise(0.03)),
        "policy/grad_norm": 0.6 + abs(noise(0.3)),
        "policy/logprob_gap": abs(noise(2e-6)),
        "policy/groups_used": int(rng.integers(9, 16)),
        "policy/groups": 16,
        "policy/episode_length": 9 + noise(0.6),
        "critic/vote_mean": 0.1 + noise(0.05),
        "critic/malformed": max(0.0, 0.08 - 0.07 * share + noise(0.01)),
        "critic/oracle_accuracy": 0.58 + 0.15 * share + noise(0.02),
        "critic/outcome_accuracy": 0.55 + 0.1 * share + noise(0.03),
        "critic/loss": noise(0.03),
        "critic/kl": abs(noise(0.003)),
        "critic/grad_norm": 0.4 + abs(noise(0.2)) if i % 2 == 0 else None,
        "difficulty/receptacles": 4 + 5 * share + noise(0.3),
        "difficulty/objects": 6 + 4 * share + noise(0.4),
        "difficulty/closed_share": 0.2 + 0.4 * share + noise(0.02),
        "difficulty/step_budget": 3.0 - share + noise(0.05),
        "infrastructure_errors": int(i == 7),
        "env_steps": 1400 * (i + 1),
        "tokens": 9100 * (i + 1),
    }


def _events(iterations, rng):
    for number in range(iterations // 2):
        pending = f"pending-{number}"
        direction = "harder" if rng.random() < 0.6 else "easier"
        yield {
            "event": "edit_proposed",
            "iteration": 2 * number,
            "slot": number % 16,
            "task_id": f"AlfWorld-v0:{number:016x}",
            "pending_id": pending,
            "direction": direction,
            "changes": [{"op": "hide_target", "object": "apple 1", "receptacle": "fridge 1"}],
            "reason": "The agent always looks on the counter first.",
        }
        if number == iterations // 2 - 1:
            return
        accepted = rng.random() < 0.5
        yield {
            "event": "edit_accepted" if accepted else "edit_rejected",
            "iteration": 2 * number + 1,
            "slot": number % 16,
            "pending_id": pending,
            "success_before": float(rng.uniform(0.7, 1)),
            "success_after": float(rng.uniform(0.2, 0.7)) if accepted else 0.0,
        }


def _trace(phase, iteration, rate, rng):
    success = bool(rng.random() < rate)
    kind = int(rng.integers(4))
    length = int(rng.integers(4, 14))
    train = phase == "train"
    prompt = (
        "You are in the middle of a room. Looking quickly around you, you see a countertop 1, a drawer 2, "
        "a drawer 1, a fridge 1, a microwave 1, and a sinkbasin 1.\n\n"
        "Your task is to: put a clean apple in fridge."
    )
    return {
        "schema": 1,
        "iteration": iteration,
        "phase": phase,
        "env_id": "RLA/AlfWorld-v0",
        "task": {"env_id": "RLA/AlfWorld-v0", "difficulty": {}, "payload": {}},
        "task_id": f"AlfWorld-v0:{rng.integers(1 << 60):016x}",
        "task_hash": "0" * 64,
        "difficulty": {"task_type": TYPES[kind], "receptacles": int(rng.integers(3, 9)), "rarity": 0.25},
        "seed": int(rng.integers(1 << 30)),
        "attempt": 0,
        "success": success,
        "outcome": 1 if success else -1,
        "stop": "solved" if success else "budget",
        "error": "",
        "retries": 0,
        "optimal_length": 4,
        "token_count": 30 * length,
        "prompt": prompt,
        "steps": [_step(j, length, success, train, rng) for j in range(length)],
    }


def _step(j, length, success, train, rng):
    action = (
        "go to countertop 1",
        "take apple 1 from countertop 1",
        "open fridge 1",
        "clean apple 1 with sinkbasin 1",
    )
    last = j == length - 1
    missed = not last and rng.random() < 0.1
    return {
        "observation": "…",
        "action": "move apple 1 to fridge 1" if last and success else action[int(rng.integers(4))],
        "next_observation": "Nothing happens."
        if missed
        else "You arrive at countertop 1. On it, you see an apple 1.",
        "error": "not an admissible command" if missed else "",
        "votes": [int(vote) for vote in rng.choice([-1, 0, 1], 3, p=[0.35, 0.1, 0.55])],
        "oracle": int(rng.choice([-1, 1])),
        "reward": float(rng.normal()) if train else None,
        "advantage": float(rng.normal()) if train and rng.random() < 0.9 else None,
        "logprob": -1.2,
    }


def _evaluation(rng):
    def side(rate):
        by_type = {kind: [int(rng.binomial(126, rate)), 126] for kind in TYPES}
        wins = sum(won for won, _ in by_type.values())
        return {"success": wins / 504, "n": 504, "by_type": by_type}

    return {
        "grid": {"games": 504, "split": "valid_unseen", "seed": 0},
        "before": {"sampled": side(0.37), "greedy": side(0.39)},
        "after": {"sampled": side(0.5), "greedy": side(0.51)},
    }


CONFIG = """iterations = {iterations}
seed = {seed}

[env]
id = "RLA/AlfWorld-v0"
engine = "textworld"

[policy]
model = "tiny"

[critic]
model = "none"
votes = 3

[curriculum]
name = "threshold"

[rollout]
tasks = 16
rollouts = 8
"""
