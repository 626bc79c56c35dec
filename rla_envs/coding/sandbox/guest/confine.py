"""How a forked process becomes one that may run an untrusted program."""

from __future__ import annotations

import os
import resource
from typing import Any, NamedTuple

from . import linux

_OPEN_FILES = (64, 64)
_TMP_FILES = 1024
_STACK = 112 << 20
"""Bytes the main thread's stack may grow to; a process started with the usual 8 MiB has room for 128."""


class Config(NamedTuple):
    """How a box confines its programs; sent by the parent when the box starts.

    Attributes:
        filter: Seccomp program.
        own_pid: Number that stands in it for the program's own process id.
        namespaces: Whether each test gets its own PID, mount and IPC namespace and ``/tmp``.
        uid: User to become before running a program; None to stay.
        threads: Most threads; None for no limit of their number.
        workdir: Folder that each test starts in, empty.
        tmp_mb: Size of that folder in MiB, where it is the test's own.
    """

    filter: bytes
    own_pid: int
    namespaces: bool
    uid: int | None
    threads: int | None
    workdir: str
    tmp_mb: int


class Confinement:
    """A configuration made ready for use, so that a forked process has little left to do."""

    def __init__(self, config: Config, baseline: int) -> None:
        """Prepare.

        Args:
            config: How this box confines.
            baseline: Bytes of address space that the interpreter has already.
        """
        self.config, self._baseline = config, baseline
        owner = os.getuid() if config.uid is None else config.uid
        self._tmpfs = f"size={config.tmp_mb}m,nr_inodes={_TMP_FILES},mode=0700,uid={owner},gid={owner}"
        self._filter = self._filter_for(1)
        hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
        # Programs that recurse deeply raise the soft limit themselves; what counts is the address space.
        self._stack = (_STACK if hard == resource.RLIM_INFINITY else min(_STACK, hard), hard)

    def _filter_for(self, pid: int) -> linux.Filter:
        stands_for_it, own = (number.to_bytes(4, "little") for number in (self.config.own_pid, pid))
        return linux.Filter(self.config.filter.replace(stands_for_it, own))

    def isolate(self) -> None:
        """Enter fresh namespaces with an empty working folder, and give up every privilege.

        The new PID namespace has been entered by being forked into it.
        """
        config = self.config
        if config.namespaces:
            linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWIPC)
            linux.mount_tmpfs(config.workdir, self._tmpfs)
        else:
            linux.set_process_option(linux.PR_SET_PDEATHSIG, 9)
            self._filter = self._filter_for(os.getpid())
        if config.uid is not None:
            os.setgroups([])
            os.setresgid(config.uid, config.uid, config.uid)
            os.setresuid(config.uid, config.uid, config.uid)
        os.chdir(config.workdir)
        linux.drop_capabilities()

    def limit(self, limits: dict[str, Any]) -> None:
        """Set the resource limits of one test, and the filter of system calls.

        After this, nothing that the process does is trusted.

        Args:
            limits: ``time_limit`` in seconds of processor time for the whole process
                (a backstop: the supervisor's own clock is finer), ``memory_mb``, ``output_bytes``.
        """
        space = self._baseline + (limits["memory_mb"] << 20)
        seconds = int(limits["time_limit"]) + 2
        size = limits["output_bytes"] + 1
        set_limit = resource.setrlimit
        set_limit(resource.RLIMIT_AS, (space, space))
        set_limit(resource.RLIMIT_CPU, (seconds, seconds))
        set_limit(resource.RLIMIT_FSIZE, (size, size))
        set_limit(resource.RLIMIT_STACK, self._stack)
        set_limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
        for kind in (resource.RLIMIT_CORE, resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE):
            set_limit(kind, (0, 0))
        if self.config.threads is not None:
            set_limit(resource.RLIMIT_NPROC, (self.config.threads, self.config.threads))
        self._filter.install()
