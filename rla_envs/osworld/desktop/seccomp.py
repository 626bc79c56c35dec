"""The filter of system calls for a whole desktop, for x86-64 and aarch64.

Applications need most of what a kernel offers, so this is a list of what none
needs: ways to new namespaces and mounts, other processes' memory and
descriptors, and parts of the kernel with a history of holes. Numbers are those
of Linux's ``arch/x86/entry/syscalls/syscall_64.tbl`` and
``include/uapi/asm-generic/unistd.h``.
"""

from __future__ import annotations

import errno
import struct

from rla_envs.coding.sandbox.seccomp import ARCHITECTURES
from rla_envs.errors import InfrastructureError

REFUSED: dict[str, tuple[int, int]] = {
    # namespaces and mounts
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "chroot": (161, 51),
    "pivot_root": (155, 41), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264),
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438), "kcmp": (312, 272), "process_madvise": (440, 440),
    # the kernel itself
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "keyctl": (250, 219),
    "add_key": (248, 217), "request_key": (249, 218), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "syslog": (103, 116), "quotactl": (179, 60), "quotactl_fd": (443, 443), "acct": (163, 89),
    "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    "lookup_dcookie": (212, 18), "move_pages": (279, 239), "migrate_pages": (256, 238),
    "fanotify_init": (300, 262), "vhangup": (153, 58),
}  # fmt: skip
"""Calls that fail with "operation not permitted": name, number on x86-64, number on aarch64."""

_CLONE = (56, 220)
_CLONE3 = 435
_NEW_NAMESPACES = 0x7E020080
"""CLONE_NEW{NS, CGROUP, UTS, IPC, USER, PID, NET} and CLONE_NEWTIME."""
_IOCTL = (16, 29)
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_REFUSE, _NOT_THERE = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
_X32 = 0x40000000


def _step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("<HBBI", code, then, otherwise, value)


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
    column = tuple(ARCHITECTURES).index(machine)
    refuse, allow = _step(_RETURN, _REFUSE), _step(_RETURN, _ALLOW)
    program = [
        _step(_LOAD, 4), _step(_EQUAL, ARCHITECTURES[machine], 1, 0), _step(_RETURN, _KILL), _step(_LOAD, 0),
    ]  # fmt: skip
    if machine == "x86_64":  # the x32 calls have the same AUDIT_ARCH
        program += [_step(_AT_LEAST, _X32, 0, 1), refuse]
    # The C library falls back on clone, whose flags can be looked at.
    program += [_step(_EQUAL, _CLONE3, 0, 1), _step(_RETURN, _NOT_THERE)]
    program += [
        _step(_EQUAL, _CLONE[column], 0, 4), _step(_LOAD, 16), _step(_ANY_BIT, _NEW_NAMESPACES, 0, 1),
        refuse, allow,
    ]  # fmt: skip
    first, second = _TERMINAL_INJECTION
    program += [
        _step(_EQUAL, _IOCTL[column], 0, 5), _step(_LOAD, 24), _step(_EQUAL, first, 1, 0),
        _step(_EQUAL, second, 0, 1), refuse, allow,
    ]  # fmt: skip
    for numbers in REFUSED.values():
        program += [_step(_EQUAL, numbers[column], 0, 1), refuse]
    return b"".join([*program, allow])
