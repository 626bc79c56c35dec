"""Boxes made by bubblewrap: namespaces without a daemon, as root or as an ordinary user."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from rla_envs.coding.sandbox.box import ENVIRONMENT, Box, interpreter_command
from rla_envs.coding.sandbox.interpreter import base_interpreter
from rla_envs.coding.sandbox.process import ProcessChannel
from rla_envs.errors import InfrastructureError

_THREADS = 64
_TMP_MB = 64
_NOBODY = 65534
_CAP_SYS_ADMIN = 1 << 21
_FIRST_UID = 0x70000000
"""Users that programs run as when we are root: one a box, far above those that accounts have."""

_LIBRARIES = ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")


def start() -> Box:
    """Start a box.

    Raises:
        InfrastructureError: If bubblewrap is not installed, or may not make namespaces here.
    """
    program = shutil.which("bwrap")
    if program is None:
        raise InfrastructureError("the bubblewrap sandbox needs bwrap; type: apt-get install bubblewrap")
    privileged = _is_privileged()

    def command(socket: int, info: int) -> list[str]:
        words = [program, "--info-fd", str(info), *_namespaces(privileged), *_files()]
        return [*words, "--", *interpreter_command(base_interpreter(), socket, socket)]

    channel = ProcessChannel(command, _environment(), reports_pid=True)
    return Box(
        channel,
        namespaces=True,
        uid=_FIRST_UID + channel.started_pid if privileged else None,
        threads=_THREADS,
        workdir="/tmp",
        tmp_mb=_TMP_MB,
    )


def _is_privileged() -> bool:
    """Return whether we are root with the power to make namespaces; in some containers root is not."""
    status = Path("/proc/self/status").read_text()
    effective = next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return os.geteuid() == 0 and bool(int(effective, 16) & _CAP_SYS_ADMIN)


def _namespaces(privileged: bool) -> list[str]:
    """Return the options on what a box shares with the machine: nothing.

    Root needs no user namespace: programs become users of their own instead,
    so that files only root may read stay closed to them.
    """
    words = ["--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    words += ["--as-pid-1", "--new-session", "--hostname", "sandbox"]
    words += ["--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN"]
    if privileged:
        for name in ("CAP_SETUID", "CAP_SETGID", "CAP_KILL"):
            words += ["--cap-add", name]
        return words
    return [*words, "--unshare-user", "--uid", str(_NOBODY), "--gid", str(_NOBODY)]


def _environment() -> dict[str, str]:
    library = sysconfig.get_config_var("LIBDIR")
    return {**ENVIRONMENT, "LD_LIBRARY_PATH": library} if library else ENVIRONMENT


def _files() -> list[str]:
    """Return the options on what a box sees: shared libraries, the interpreter, four devices, read-only."""
    words: list[str] = []
    for path in _LIBRARIES:
        if os.path.islink(path):
            words += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            words += ["--ro-bind", path, path]
    python = base_interpreter()
    prefix = os.path.realpath(sys.base_prefix)
    # bwrap would give the folders on the way the modes they have outside, where /root is closed to others.
    for folder in (*reversed(Path(prefix).parents[:-1]), prefix):
        words += ["--perms", "0755", "--dir", str(folder)]
    if prefix != "/usr":
        words += ["--ro-bind", f"{prefix}/lib", f"{prefix}/lib"]
    words += ["--ro-bind", python, python]
    for name in ("purelib", "platlib"):
        packages = sysconfig.get_path(name, vars={"base": prefix, "platbase": prefix})
        if os.path.isdir(packages) and packages not in words:
            words += ["--tmpfs", packages, "--remount-ro", packages]
    words += ["--dir", "/dev"]
    for device in _DEVICES:
        words += ["--dev-bind", device, device]
    words += ["--symlink", "/tmp/.stdin", "/dev/stdin", "--dir", "/tmp", "--proc", "/proc"]
    return [*words, "--remount-ro", "/", "--chdir", "/"]
