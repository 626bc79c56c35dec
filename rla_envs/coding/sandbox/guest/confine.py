"""How a forked process becomes one that may run an untrusted program."""

from __future__ import annotations

import os
import resource
from typing import Any, NamedTuple

from . import linux

_OPEN_FILES = 64
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


def isolate(config: Config) -> None:
    """Enter fresh namespaces with an empty working folder, and give up every privilege.

    The new PID namespace has been entered by being forked into it.
    """
    if config.namespaces:
        linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWIPC)
        owner = os.getuid() if config.uid is None else config.uid
        size = f"size={config.tmp_mb}m,nr_inodes={_TMP_FILES},mode=0700,uid={owner},gid={owner}"
        linux.mount_tmpfs(config.workdir, size)
    else:
        linux.set_process_option(linux.PR_SET_PDEATHSIG, 9)
    if config.uid is not None:
        os.setgroups([])
        os.setresgid(config.uid, config.uid, config.uid)
        os.setresuid(config.uid, config.uid, config.uid)
    os.chdir(config.workdir)
    linux.drop_capabilities()


def limit(config: Config, limits: dict[str, Any], baseline: int) -> None:
    """Set the resource limits of one test, and the filter of system calls: after this, nothing is trusted.

    Args:
        config: How this box confines.
        limits: ``time_limit`` in seconds of processor time for the whole process
            (a backstop: the supervisor's own clock is finer), ``memory_mb``, ``output_bytes``.
        baseline: Bytes of address space that the interpreter has already.
    """
    seconds = int(limits["time_limit"]) + 2
    pairs = {
        resource.RLIMIT_AS: (baseline + (limits["memory_mb"] << 20),) * 2,
        resource.RLIMIT_CPU: (seconds, seconds),
        resource.RLIMIT_FSIZE: (limits["output_bytes"] + 1,) * 2,
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_MEMLOCK: (0, 0),
        resource.RLIMIT_MSGQUEUE: (0, 0),
        resource.RLIMIT_NOFILE: (_OPEN_FILES, _OPEN_FILES),
    }
    if config.threads is not None:
        pairs[resource.RLIMIT_NPROC] = (config.threads, config.threads)
    for kind, pair in pairs.items():
        resource.setrlimit(kind, pair)
    # Programs that recurse deeply raise the soft limit themselves; what counts is the address space.
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    soft = _STACK if hard == resource.RLIM_INFINITY else min(_STACK, hard)
    resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))
    stands_for_it, own = (number.to_bytes(4, "little") for number in (config.own_pid, os.getpid()))
    linux.install_filter(config.filter.replace(stands_for_it, own))
