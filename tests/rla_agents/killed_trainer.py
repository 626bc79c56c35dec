"""Train in children that die by SIGKILL at chosen moments, and resume until the run is complete.

Run as ``python killed_trainer.py FOLDER CURRICULUM``. ``FOLDER/whole`` gets a run
that nobody disturbs; every other folder one that was killed as its name says.
"""

import json
import os
import signal
import sys
from pathlib import Path

import torch

from rla_agents import loop
from rla_agents.checkpoint import CheckpointStore
from rla_agents.learner import Learner
from rla_agents.run_files import RunFiles
from tests.rla_agents.small_run import doors_config, save_models

MOMENTS = {
    "rollout": (loop, "rollout"),
    "evaluate": (loop, "evaluate"),
    "update": (Learner, "update"),
    "add": (RunFiles, "add"),
    "write_evaluation": (RunFiles, "write_evaluation"),
    "save": (CheckpointStore, "save"),
    "write_report": (loop, "write_report"),
    "write": (os, "write"),
    "fsync": (os, "fsync"),
    "rename": (os, "rename"),
    "replace": (os, "replace"),
}
"""Functions before a call of which a child may die; a write gets half of its bytes out first."""

FEW = (
    "rollout-1",  # the evaluation before training is written, and no checkpoint is
    "update-3",  # within the second iteration
    "write_report-1",  # everything is there but the report
)
MANY = (
    "evaluate-2",  # within the evaluation before training
    "write_evaluation-1",  # its traces are written, its result is not
    "save-1",  # one iteration is logged, and no checkpoint is
    "write_evaluation-2",  # the evaluation in the middle of training
    "save-2",
    "evaluate-6",  # within the evaluation after training
    "write_evaluation-3",
    "rollout-2+evaluate-4",  # the resumed run is killed as well
)


def watch(counts, name="", fatal=0):
    """Count the calls of every function of MOMENTS; die before one of them."""

    def watched(key, call):
        def run(*args, **kwargs):
            counts[key] = counts.get(key, 0) + 1
            if key == name and counts[key] == fatal:
                if key == "write":
                    write(args[0], args[1][: len(args[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)

        return run

    write = os.write
    for key, (owner, attribute) in MOMENTS.items():
        setattr(owner, attribute, watched(key, getattr(owner, attribute)))


def child(work):
    """Run something in a child; return how it ended."""
    pid = os.fork()
    if pid == 0:
        try:
            torch.set_num_threads(1)
            work()
        except BaseException as error:
            os.write(2, f"{error!r}\n".encode())
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main():
    root, curriculum = Path(sys.argv[1]), sys.argv[2]
    models = save_models(root / "models")

    def train(folder, resume=False, name="", fatal=0):
        def work():
            counts = {}
            watch(counts, name, fatal)
            loop.train(doors_config(models, root / folder, curriculum), resume, quiet=True)
            (root / f"{folder}.json").write_text(json.dumps(counts))

        return child(work)

    if train("whole") != 0:
        sys.exit("the undisturbed run failed")
    counts = json.loads((root / "whole.json").read_text())
    chosen = list(FEW)
    if curriculum == "threshold":
        spread = {"write": (2, 5, 7, 8), "fsync": (6,), "rename": (5,), "add": (4,)}
        chosen += MANY
        chosen += [f"{name}-{counts[name] * tenth // 10}" for name in spread for tenth in spread[name]]
    for deaths in chosen:
        resume = False
        for death in deaths.split("+"):
            name, fatal = death.split("-")
            status = train(deaths, resume, name, int(fatal))
            if status != -signal.SIGKILL:
                sys.exit(f"{deaths}: expected a kill at {death}, got status {status}")
            resume = (root / deaths / "config.toml").exists()
        if train(deaths, resume) != 0:
            sys.exit(f"{deaths}: resuming failed")


if __name__ == "__main__":
    main()
