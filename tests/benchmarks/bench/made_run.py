"""Run folders made up for tests: any mixture of endings, without playing anything."""

import json
from pathlib import Path

from benchmarks.bench.schema import (
    CONFIG,
    SUMMARY,
    TIMINGS,
    TRACES,
    Config,
    Step,
    Timing,
    Trace,
    dump_config,
    dump_json,
)
from benchmarks.bench.summary import summarise

STOPS = {"w": "solved", "l": "failed", "b": "budget", "a": "agent_error", "i": "infrastructure"}
ERRORS = {"a": "act() raised ValueError: no idea", "i": "the sandbox died"}


def made_trace(position, ending, cells=("easy", "hard"), attempts=1, steps=3, seed=0):
    """One episode: ``ending`` is a letter of STOPS. Tasks alternate between the cells."""
    task = position // attempts
    return Trace(
        position=position,
        cell=cells[task % len(cells)],
        number=task // len(cells),
        attempt=position % attempts,
        seed=seed,
        env_id="RLA/Made-v0",
        task_id=f"Made-v0:{task}",
        task_hash=f"{task:064x}",
        difficulty={"size": task % len(cells), "wind": 0.5},
        success={"w": True, "i": None}.get(ending, False),
        stop=STOPS[ending],
        error=ERRORS.get(ending, ""),
        optimal_length=2,
        reward=float(ending == "w"),
        claim=True,
        prompt_tokens=100,
        completion_tokens=10,
        steps=tuple(Step(f"You see door {i}.", f"open door {i}") for i in range(steps)),
        final="The end.",
    )


def made_run(folder, endings="wwwwwwllia", agent="made:Agent", suite="made", suite_hash="0" * 64, **trace):
    """Write a finished run folder and return its path; ``trace`` are keywords of ``made_trace``."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    traces = [made_trace(i, ending, **trace) for i, ending in enumerate(endings)]
    config = Config(
        suite=suite,
        suite_version=1,
        suite_hash=suite_hash,
        protocol="static",
        agent=agent,
        agent_kind="third-party",
        seed=trace.get("seed", 0),
        episodes=len(endings),
        attempts=trace.get("attempts", 1),
        stamps={"python": "3.11", "git": "0123abc"},
    )
    (folder / CONFIG).write_text(dump_config(config))
    (folder / TRACES).write_text("".join(dump_json(t) + "\n" for t in traces))
    timings = [Timing(t.position, 0.5 + t.position, 0.25) for t in traces]
    (folder / TIMINGS).write_text("".join(dump_json(t) + "\n" for t in timings))
    (folder / SUMMARY).write_text(
        json.dumps(json.loads(dump_json(summarise(config, traces))), indent=1) + "\n"
    )
    return folder
