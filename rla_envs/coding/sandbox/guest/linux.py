"""The Linux calls that Python does not offer: namespaces, mounts, capabilities and seccomp."""

from __future__ import annotations

import ctypes
import os
import struct

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000

MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Leave the namespaces named by ``flags`` for new ones."""
    _checked(_libc.unshare(flags), "unshare")


def enter_namespace(fd: int, kind: int) -> None:
    """Enter the namespace that ``fd`` stands for."""
    _checked(_libc.setns(fd, kind), "setns")


def mount_tmpfs(path: str, options: str) -> None:
    """Mount an empty memory file system that holds no devices and no programs."""
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    _checked(_libc.mount(b"tmpfs", path.encode(), b"tmpfs", flags, options.encode()), f"mount {path}")


def detach(path: str) -> None:
    """Unmount; what still has files open there keeps them."""
    _checked(_libc.umount2(path.encode(), MNT_DETACH), f"umount {path}")


def set_process_option(option: int, value: int) -> None:
    """Call ``prctl`` with one number."""
    _checked(_libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0), f"prctl {option}")


def drop_capabilities() -> None:
    """Give up every capability for good."""
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    _checked(_libc.capset(header, bytes(24)), "capset")


def install_filter(program: bytes) -> None:
    """Install a seccomp filter, given as ``struct sock_filter`` instructions of 8 bytes each."""
    set_process_option(PR_SET_NO_NEW_PRIVS, 1)
    described = _Program(len(program) // 8, program)
    _checked(
        _libc.prctl(PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(described), 0, 0),
        "seccomp",
    )
