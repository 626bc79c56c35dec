"""The file descriptors between the supervisor and the processes that run programs."""

from __future__ import annotations

import os
from typing import NamedTuple

JOB, RESULTS, OUT, ERR = 5, 6, 7, 8
"""Where a process has its ends, above those that its program will have."""
MAX_FD = 1 << 16


class Child(NamedTuple):
    """A forked process, confined but for the last step, that waits for its test.

    Attributes:
        pid: Its process id here.
        pidfd: Readable once it has ended.
        job: Where its test is written to.
        results: Where it announces results; see :mod:`program`.
        out: What it prints, or the contents of its results.
        err: What it prints as errors.
    """

    pid: int
    pidfd: int
    job: int
    results: int
    out: int
    err: int

    def close(self) -> None:
        """Close every file descriptor of it."""
        for fd in self[1:]:
            os.close(fd)


class Pipes(NamedTuple):
    """Both ends of everything between the supervisor and one process, before that is forked."""

    job: tuple[int, int]
    results: tuple[int, int]
    out: int
    err: int

    @classmethod
    def make(cls) -> Pipes:
        """Open them."""
        results = os.pipe()
        os.set_blocking(results[0], False)
        return cls(os.pipe(), results, os.memfd_create("out"), os.memfd_create("err"))

    def child(self, pid: int) -> Child:
        """Return the supervisor's view of the process, and close the process's ends."""
        os.close(self.job[0])
        os.close(self.results[1])
        return Child(pid, os.pidfd_open(pid), self.job[1], self.results[0], self.out, self.err)

    def keep_only_the_childs(self) -> None:
        """In the process, put its ends where they belong and close everything else."""
        ends = (
            (self.job[0], JOB),
            (self.results[1], RESULTS),
            (self.out, OUT),
            (self.err, ERR),
        )
        for fd, place in ends:
            os.dup2(fd, place)
        os.closerange(ERR + 1, MAX_FD)
