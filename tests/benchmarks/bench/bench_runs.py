"""Benchmark run folders as the runner leaves them, with outcomes that a test chooses."""

import hashlib
import json

from benchmarks.bench.schema import Config, Step, Timing, Trace, dump_config, dump_json
from benchmarks.bench.summary import summarise

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror=alert(1)>\u2028=1+1|`*_{{7*7}}"
CONFIG = Config(
    suite="doors",
    suite_version=2,
    suite_hash="ab" * 32,
    protocol="static",
    agent="heuristic",
    agent_kind="baseline",
    seed=0,
    episodes=10,
    stamps={"rlanything": "0.1.0", "commit": "0" * 40},
)
ERRORS = {"agent_error": "the agent raised ValueError: no", "infrastructure": "the sandbox died"}


def episode(position, stop="solved", task=None, attempt=0, cell="easy", **values):
    """Return one episode; its task is its own unless named."""
    name = f"task-{position if task is None else task}"
    won = {"solved": True, "infrastructure": None}.get(stop, False)
    steps = (
        Step("Two doors.\nYour task is to: leave the room.", "open red", 0.0, "it is locked"),
        Step(
            "Nothing happens.",
            "def f():\n    return 1",
            float(bool(won)),
            "",
            {"passed": won, "votes": [1, 0, -1]},
        ),
    )
    defaults = {
        "number": position,
        "seed": 0,
        "env_id": "RLA/GridNav-v0",
        "difficulty": {
            "doors": position % 3,
            "width": 0.5 * position,
            "kind": ("wood", "iron")[position % 2],
        },
        "error": ERRORS.get(stop, ""),
        "reward": float(bool(won)),
        "completion_tokens": 12,
        "steps": steps,
        "final": "You are outside." if won else "You are inside.",
    }
    digest = hashlib.sha256(name.encode()).hexdigest()
    return Trace(
        position=position,
        cell=cell,
        attempt=attempt,
        task_id=name,
        task_hash=digest,
        success=won,
        stop=stop,
        **{**defaults, **values},
    )


def ten():
    """Return ten episodes: six won, two lost, one agent error, one broken machinery."""
    stops = ["solved"] * 6 + ["failed", "budget", "agent_error", "infrastructure"]
    return [episode(i, stop, cell="easy" if i < 5 else "hard") for i, stop in enumerate(stops)]


def write_run(folder, traces, config=CONFIG, summary=True):
    """Write a run folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(dump_config(config))
    (folder / "traces.jsonl").write_text("".join(dump_json(trace) + "\n" for trace in traces))
    timings = [Timing(trace.position, 0.25, 0.75) for trace in traces]
    (folder / "timings.jsonl").write_text("".join(dump_json(timing) + "\n" for timing in timings))
    if summary:
        (folder / "summary.json").write_text(
            json.dumps(json.loads(dump_json(summarise(config, traces)))) + "\n"
        )
    return folder
