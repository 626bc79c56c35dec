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
_CAPABILITY_HEADER = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
_NO_CAPABILITIES = bytes(24)

_libc = ctypes.CDLL(None, use_errno=True)
# Looked up here, once: a look-up in every forked process would touch the symbols of all libraries.
_fork = ctypes.PyDLL(None, use_errno=True).fork  # with Python's lock held
_unshare, _setns, _mount, _umount2 = _libc.unshare, _libc.setns, _libc.mount, _libc.umount2
_prctl, _capset = _libc.prctl, _libc.capset


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def fork() -> int:
    """Fork as the C library does, without what Python does after a fork.

    That is for processes of several threads, and touches so many pages that it
    takes longer than a short program.
    """
    pid: int = _fork()
    if pid < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"fork: {os.strerror(number)}")
    return pid


def unshare(flags: int) -> None:
    """Leave the namespaces named by ``flags`` for new ones."""
    _checked(_unshare(flags), "unshare")


def enter_namespace(fd: int, kind: int) -> None:
    """Enter the namespace that ``fd`` stands for."""
    _checked(_setns(fd, kind), "setns")


def mount_tmpfs(path: str, options: str) -> None:
    """Mount an empty memory file system that holds no devices and no programs."""
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    _checked(_mount(b"tmpfs", path.encode(), b"tmpfs", flags, options.encode()), "mount")


def detach(path: str) -> None:
    """Unmount; what still has files open there keeps them."""
    _checked(_umount2(path.encode(), MNT_DETACH), "umount")


def set_process_option(option: int, value: int) -> None:
    """Call ``prctl`` with one number."""
    _checked(_prctl(option, value, 0, 0, 0), "prctl")


def drop_capabilities() -> None:
    """Give up every capability for good."""
    _checked(_capset(_CAPABILITY_HEADER, _NO_CAPABILITIES), "capset")


class Filter:
    """A seccomp filter, made ready to be installed."""

    def __init__(self, program: bytes) -> None:
        """Take ``struct sock_filter`` instructions of 8 bytes each."""
        self._program = _Program(len(program) // 8, program)
        self._address = ctypes.byref(self._program)

    def install(self) -> None:
        """Put the process under it for good."""
        set_process_option(PR_SET_NO_NEW_PRIVS, 1)
        _checked(_prctl(PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, self._address, 0, 0), "seccomp")
