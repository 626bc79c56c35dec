"""Save checkpoints in children that die by SIGKILL, each before another of their calls to the system.

Run as ``python killed_saver.py FOLDER``. Child k saves into ``FOLDER/k`` and
notes in ``FOLDER/k.done`` which saves have returned; the first child to outlive
its saves ends the series. Writes how many were killed.
"""

import itertools
import os
import signal
import sys
from pathlib import Path

import torch

from rla_agents.checkpoint import CheckpointStore, state_writer
from rla_agents.files import write_atomic

SAVES = 4
CALLS = ("open", "write", "fsync", "rename", "replace", "unlink", "rmdir", "mkdir")


def parts(iteration):
    def folder(path):
        path.mkdir()
        write_atomic(path / "text", f"iteration {iteration}\n" * 50)

    return {"model": folder, "state": state_writer({"tensor": torch.full((20,), iteration), "i": iteration})}


def die_at(fatal):
    """Make the fatal-th call kill this process; a write gets half of its bytes out first."""
    calls = itertools.count(1)

    def doomed(call):
        def run(*args, **kwargs):
            if next(calls) == fatal:
                if call is write:
                    write(args[0], args[1][: len(args[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)

        return run

    write = os.write
    for name in CALLS:
        setattr(os, name, doomed(getattr(os, name)))


def child(root, fatal):
    note = os.open(root / f"{fatal}.done", os.O_WRONLY | os.O_CREAT)
    write = os.write
    die_at(fatal)
    store = CheckpointStore(root / str(fatal), keep=1)
    for iteration in range(SAVES):
        # The last save replaces a damaged checkpoint of the same number, as after a resume.
        if iteration == SAVES - 1:
            damaged = store.folder / f"{iteration:06d}"
            Path.mkdir(damaged)
        store.save(iteration, parts(iteration))
        write(note, b"%d\n" % iteration)


def main():
    root = Path(sys.argv[1])
    for fatal in itertools.count(1):
        pid = os.fork()
        if pid == 0:
            try:
                child(root, fatal)
            except BaseException as error:
                os.write(2, repr(error).encode())
                os._exit(1)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status == 0:
            sys.stdout.write(str(fatal - 1))
            return
        if status != -signal.SIGKILL:
            sys.exit(f"child {fatal} ended with {status}")


if __name__ == "__main__":
    main()
