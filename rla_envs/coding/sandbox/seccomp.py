"""The filter of system calls that untrusted programs run under, for x86-64 and aarch64.

It is a list of what Python needs to compute, read and write files and run
threads; every other call fails with "operation not permitted", so that a call
the kernel learns tomorrow is refused too. Numbers are those of Linux's
``arch/x86/entry/syscalls/syscall_64.tbl`` and ``include/uapi/asm-generic/unistd.h``.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator
from typing import NamedTuple

from rla_envs.errors import InfrastructureError

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""Machines that there is a filter for, with their ``AUDIT_ARCH`` numbers."""

OWN_PID = 0x7A6B5C4D
"""Stands in the filter for the process id that a program may signal; replaced in the box by its own."""

_COLUMNS = tuple(ARCHITECTURES)

# name: number on x86-64, number on aarch64 (None: there is no such call)
_ALLOWED: dict[str, tuple[int | None, int | None]] = {
    # files
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66), "pread64": (17, 67),
    "pwrite64": (18, 68), "preadv": (295, 69), "pwritev": (296, 70), "preadv2": (327, 286),
    "pwritev2": (328, 287), "sendfile": (40, 71), "copy_file_range": (326, 285), "lseek": (8, 62),
    "open": (2, None), "openat": (257, 56), "close": (3, 57), "close_range": (436, 436), "creat": (85, None),
    "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24), "fcntl": (72, 25), "flock": (73, 32),
    "stat": (4, None), "fstat": (5, 80), "lstat": (6, None), "newfstatat": (262, 79), "statx": (332, 291),
    "statfs": (137, 43), "fstatfs": (138, 44), "access": (21, None), "faccessat": (269, 48),
    "faccessat2": (439, 439), "readlink": (89, None), "readlinkat": (267, 78), "getcwd": (79, 17),
    "chdir": (80, 49), "fchdir": (81, 50), "getdents64": (217, 61), "mkdir": (83, None), "mkdirat": (258, 34),
    "rmdir": (84, None), "unlink": (87, None), "unlinkat": (263, 35), "rename": (82, None),
    "renameat": (264, 38), "renameat2": (316, 276), "chmod": (90, None), "fchmod": (91, 52),
    "fchmodat": (268, 53), "truncate": (76, 45), "ftruncate": (77, 46), "fallocate": (285, 47),
    "fsync": (74, 82), "fdatasync": (75, 83), "fadvise64": (221, 223), "umask": (95, 166),
    "utimensat": (280, 88), "pipe": (22, None), "pipe2": (293, 59), "eventfd2": (290, 19),
    "poll": (7, None), "ppoll": (271, 73), "select": (23, None), "pselect6": (270, 72),
    "epoll_create": (213, None), "epoll_create1": (291, 20), "epoll_ctl": (233, 21),
    "epoll_wait": (232, None), "epoll_pwait": (281, 22),
    # both ends of a socketpair, which an event loop wakes itself with
    "sendto": (44, 206), "recvfrom": (45, 207), "shutdown": (48, 210), "getsockopt": (55, 209),
    "getsockname": (51, 204), "getpeername": (52, 205),
    # memory
    "mmap": (9, 222), "munmap": (11, 215), "mprotect": (10, 226), "mremap": (25, 216), "brk": (12, 214),
    "madvise": (28, 233), "msync": (26, 227), "mincore": (27, 232),
    # threads
    "futex": (202, 98), "futex_waitv": (449, 449), "set_robust_list": (273, 99),
    "get_robust_list": (274, 100), "rseq": (334, 293), "set_tid_address": (218, 96),
    "sched_yield": (24, 124), "exit": (60, 93), "exit_group": (231, 94),
    "membarrier": (324, 283), "getcpu": (309, 168),
    # signals to itself, and clocks
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136), "rt_sigtimedwait": (128, 137), "rt_sigsuspend": (130, 133),
    "sigaltstack": (131, 132), "restart_syscall": (219, 128), "pause": (34, None), "alarm": (37, None),
    "getitimer": (36, 102), "setitimer": (38, 103), "nanosleep": (35, 101), "clock_nanosleep": (230, 115),
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "gettimeofday": (96, 169), "time": (201, None),
    "times": (100, 153),
    # asking who and where one is
    "getpid": (39, 172), "gettid": (186, 178), "getppid": (110, 173), "getuid": (102, 174),
    "geteuid": (107, 175), "getgid": (104, 176), "getegid": (108, 177), "getresuid": (118, 148),
    "getresgid": (120, 150), "getgroups": (115, 158), "getpgid": (121, 155), "getpgrp": (111, None),
    "getsid": (124, 156), "uname": (63, 160), "getrandom": (318, 278), "getrusage": (98, 165),
    "getrlimit": (97, 163), "setrlimit": (160, 164),
}  # fmt: skip

_LOW, _HIGH = 0, 4
_CLONE_THREAD = 0x00010000
_AF_UNIX, _SOCK_STREAM, _SOCK_FLAGS = 1, 1, 0o2004000
_TERMINAL_REQUESTS = (0x5401, 0x5413)  # TCGETS, TIOCGWINSZ: "is this a terminal?"
_FILE_REQUESTS = (0x5450, 0x5451, 0x5421, 0x541B)  # FIONCLEX, FIOCLEX, FIONBIO, FIONREAD


class Special(NamedTuple):
    """A call that is allowed with certain arguments only.

    Attributes:
        numbers: Its number on each machine.
        argument: Index of the argument that decides.
        allowed: Values of its low half that are allowed.
        ignored: Bits of it that are not looked at.
        required: A bit that must be set instead; 0 to go by ``allowed``.
    """

    numbers: tuple[int | None, int | None]
    argument: int
    allowed: tuple[int, ...] = ()
    ignored: int = 0
    required: int = 0


_SPECIAL: dict[str, tuple[Special, ...]] = {
    "clone": (Special((56, 220), 0, required=_CLONE_THREAD),),
    "tgkill": (Special((234, 131), 0, (OWN_PID,)),),
    "prlimit64": (Special((302, 261), 0, (0, OWN_PID)),),
    "ioctl": (Special((16, 29), 1, _TERMINAL_REQUESTS + _FILE_REQUESTS),),
    "socketpair": (
        Special((53, 199), 0, (_AF_UNIX,)),
        Special((53, 199), 1, (_SOCK_STREAM,), ignored=_SOCK_FLAGS),
    ),
}  # fmt: skip
_MISSING = {"clone3": (435, 435)}
"""Reported as not there, so that the C library falls back on ``clone``, whose flags can be looked at."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_REFUSE = 0x00050000 | errno.EPERM
_NOT_THERE = 0x00050000 | errno.ENOSYS
_X32 = 0x40000000


def _instruction(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("<HBBI", code, then, otherwise, value)


def _check(special: Special) -> Iterator[bytes]:
    """Yield instructions that refuse unless the argument is as it may be; else fall through."""
    yield _instruction(_LOAD, 16 + 8 * special.argument + _LOW)
    if special.required:
        yield _instruction(_ANY_BIT, special.required, 1, 0)
    else:
        if special.ignored:
            yield _instruction(_AND, 0xFFFFFFFF ^ special.ignored)
        last = len(special.allowed) - 1
        for place, value in enumerate(special.allowed):
            yield _instruction(_EQUAL, value, last - place + 1, 0)
    yield _instruction(_RETURN, _REFUSE)


def allowed_calls(machine: str) -> dict[str, int]:
    """Return names and numbers of the system calls that are allowed, with or without conditions."""
    column = _COLUMNS.index(machine)
    numbers = {**_ALLOWED, **{name: checks[0].numbers for name, checks in _SPECIAL.items()}}
    return {name: pair[column] for name, pair in numbers.items() if pair[column] is not None}  # type: ignore[misc]


def build_filter(machine: str) -> bytes:
    """Return the filter for a machine, as ``struct sock_filter`` instructions.

    Args:
        machine: As ``platform.machine()`` says.

    Raises:
        InfrastructureError: If there is no filter for it.
    """
    if machine not in ARCHITECTURES:
        raise InfrastructureError(
            f"expected a machine of {' or '.join(ARCHITECTURES)}, got {machine}: "
            "there is no filter of system calls for it"
        )
    column = _COLUMNS.index(machine)
    program = [
        _instruction(_LOAD, 4),
        _instruction(_EQUAL, ARCHITECTURES[machine], 1, 0),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, 0),
    ]
    if machine == "x86_64":  # the x32 calls have the same AUDIT_ARCH
        program += [_instruction(_AT_LEAST, _X32, 0, 1), _instruction(_RETURN, _REFUSE)]
    for checks in _SPECIAL.values():
        steps = [step for check in checks for step in _check(check)] + [_instruction(_RETURN, _ALLOW)]
        program += [_instruction(_EQUAL, checks[0].numbers[column] or 0, 0, len(steps)), *steps]
    for pair in _MISSING.values():
        program += [_instruction(_EQUAL, pair[column], 0, 1), _instruction(_RETURN, _NOT_THERE)]
    program += _search(_bounds(machine))
    return b"".join(program)


def _bounds(machine: str) -> list[int]:
    """Return the numbers at which calls begin to be allowed, and to be refused again, in turn."""
    column = _COLUMNS.index(machine)
    numbers = {pair[column] for pair in _ALLOWED.values()} - {None}
    edges = {edge for number in numbers if number is not None for edge in (number, number + 1)}
    return sorted(edge for edge in edges if (edge in numbers) != (edge - 1 in numbers))


def _search(bounds: list[int]) -> list[bytes]:
    """Return instructions that find between which bounds a number lies, by halves.

    The kernel compiles the filter, and runs it once per number, whenever a test
    installs it: a comparison per call, one after another, would take longer than a test.
    """
    # One comparison a bound, in the order of the halving, then the two returns.
    refuse, allow = len(bounds), len(bounds) + 1
    code: list[bytes] = []

    def place(low: int, high: int) -> int:
        """Place the comparisons among bounds[low:high]; return where they begin."""
        if low == high:
            return allow if low % 2 else refuse
        here, middle = len(code), (low + high) // 2
        code.append(b"")
        below, above = place(low, middle), place(middle + 1, high)
        code[here] = _instruction(_AT_LEAST, bounds[middle], above - here - 1, below - here - 1)
        return here

    place(0, len(bounds))
    return [*code, _instruction(_RETURN, _REFUSE), _instruction(_RETURN, _ALLOW)]
