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
    links = [path for path in _LIBRARIES if os.path.islink(path)]
    bound = [path for path in _LIBRARIES if os.path.isdir(path) and path not in links]
    python = base_interpreter()
    prefix = os.path.realpath(sys.base_prefix)
    if prefix != "/usr":
        bound.append(f"{prefix}/lib")
    bound.append(python)
    packages = {
        sysconfig.get_path(name, vars={"base": prefix, "platbase": prefix}) for name in ("purelib", "platlib")
    }
    words: list[str] = []
    for folder in _ancestors([*bound, *_DEVICES]):  # bubblewrap would close those that it makes itself
        words += ["--dir", folder]
    for path in bound:
        words += ["--ro-bind", path, path]
    for path in links:
        words += ["--symlink", os.readlink(path), path]
    for folder in sorted(filter(os.path.isdir, packages)):
        words += ["--tmpfs", folder, "--remount-ro", folder]
    for device in _DEVICES:
        words += ["--dev-bind", device, device]
    words += ["--symlink", "/tmp/.stdin", "/dev/stdin", "--dir", "/tmp", "--proc", "/proc"]
    return [*words, "--remount-ro", "/", "--chdir", "/"]


def _ancestors(paths: list[str]) -> list[str]:
    """Return the folders above some paths but for the root, outermost first."""
    folders = {str(folder) for path in paths for folder in Path(path).parents}
    return sorted(folders - {"/"}, key=lambda folder: (folder.count("/"), folder))
