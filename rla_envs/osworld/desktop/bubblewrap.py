"""The command that makes a box: what a desktop sees of the machine, and what it shares with it: nothing."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from rla_envs.errors import InfrastructureError, missing_extra
from rla_envs.osworld.desktop import packages

HOME = "/home/user"
"""Home of the box's user; the paths in OSWorld's tasks say so."""

UID = 1000
"""The box's user where a user namespace can give it any number."""

PACKAGES = ("mss", "Xlib", "six", "jeepney", "PIL")
"""Python packages that the programs in a box import."""

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = (
    "alternatives", "dconf", "default", "fonts", "glvnd", "gtk-2.0", "gtk-3.0", "ld.so.cache",
    "ld.so.conf", "ld.so.conf.d", "libreoffice", "libpaper.d", "mime.types", "nsswitch.conf", "papersize",
    "python3", "python3.11", "shells", "ssl/certs", "terminfo", "vim", "X11", "xdg", "debian_version",
    "os-release", "bash.bashrc", "profile", "profile.d", "inputrc", "gimp", "chromium", "chromium.d",
)  # fmt: skip
"""Names under /etc that applications read; accounts, keys and the machine's name are not among them."""
_OTHER = ("/var/cache/fontconfig", "/var/lib/dpkg", "/var/lib/libreoffice", "/opt/google")
_OURS = "/opt/rla"
_FOLDERS = (
    "/etc",
    "/etc/ssl",
    "/home",
    "/opt",
    _OURS,
    f"{_OURS}/bin",
    f"{_OURS}/lib",
    "/run",
    "/run/user",
    "/var",
    "/var/cache",
    "/var/lib",
)
"""Made here, since bubblewrap would close to the box's user those that it makes itself."""


def command(
    files: Mapping[str, int],
    seccomp: int,
    limits: Mapping[str, int],
    privileged: bool,
) -> list[str]:
    """Return what to execute in front of the program to run in a box.

    Args:
        files: Open descriptors with the contents of the files that
            :func:`own_files` names.
        seccomp: Open descriptor with the filter of system calls.
        privileged: Whether we are root, and the box's first program becomes
            an ordinary user by itself. (It could not see programs in root's
            home if it were one from the start.)
        limits: ``home_mb`` and ``tmp_mb``: room in MiB.

    Raises:
        InfrastructureError: If a Debian package is not installed.
        MissingExtraError: If a Python package is not installed.
    """
    missing = packages.missing(needed_only=True)
    if missing:
        raise InfrastructureError(
            f"a local desktop needs Debian packages that are not installed; "
            f"as root: apt-get install {' '.join(missing)} (make desktop installs all)"
        )
    words = [
        str(shutil.which("bwrap")), "--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts",
        "--unshare-cgroup-try", "--new-session",
        "--as-pid-1", "--hostname", "desktop", "--seccomp", str(seccomp),
        "--cap-drop", "ALL",
    ]  # fmt: skip
    if privileged:
        for name in ("CAP_SETUID", "CAP_SETGID", "CAP_CHOWN"):
            words += ["--cap-add", name]
    else:
        words += ["--unshare-user", "--uid", str(UID), "--gid", str(UID)]
    prefix = os.path.realpath(sys.base_prefix)
    for folder in (*_FOLDERS, *map(str, reversed(Path(prefix).parents[:-1]))):
        words += ["--dir", folder] if not folder.startswith("/usr") else []
    words += [*_read_only(prefix), *_own_files(files)]
    words += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
    for folder, size in (("/dev/shm", "tmp_mb"), ("/tmp", "tmp_mb"), ("/var/tmp", "tmp_mb")):
        words += ["--size", str(limits[size] << 20), "--perms", "1777", "--tmpfs", folder]
    words += ["--size", str(limits["home_mb"] << 20), "--perms", "0755", "--tmpfs", HOME]
    words += ["--size", str(16 << 20), "--perms", "0700", "--tmpfs", f"/run/user/{UID}"]
    return [*words, "--remount-ro", "/", "--chdir", HOME, "--"]


def own_files(uid: int) -> Mapping[str, str]:
    """Return the files that a box whose user has this number has of its own, not of the machine's.

    Python programs see the machine's clock: with libfaketime 0.9.10 loaded,
    ``time.sleep`` fails in Python 3.11 and later, and so the two names by
    which they are started stand for scripts that do not load it.
    """
    system_python = shutil.which("python3", path="/usr/bin") or _base_interpreter()
    return {
        "/etc/passwd": f"root:x:0:0::/root:/bin/sh\nuser:x:{uid}:{uid}:User:{HOME}:/bin/bash\n",
        "/etc/group": f"root:x:0:\nuser:x:{uid}:\n",
        "/etc/hostname": "desktop\n",
        "/etc/hosts": "127.0.0.1 localhost desktop\n::1 localhost\n",
        "/etc/machine-id": "0123456789abcdef0123456789abcdef\n",
        f"{_OURS}/bin/python": f'#!/bin/sh\nunset LD_PRELOAD\nexec {_base_interpreter()} "$@"\n',
        f"{_OURS}/bin/python3": f'#!/bin/sh\nunset LD_PRELOAD\nexec {system_python} "$@"\n',
    }


def interpreter() -> list[str]:
    """Return the command of a Python that imports what is ours in a box, and nothing of the user's."""
    return [_base_interpreter(), "-P", "-s", "-B"]


def environment() -> dict[str, str]:
    """Return the variables of a box's first program, which all others inherit."""
    return {
        "HOME": HOME,
        "USER": "user",
        "LOGNAME": "user",
        "SHELL": "/bin/bash",
        "PATH": f"{_OURS}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/usr/games",
        "PYTHONPATH": f"{_OURS}:{_OURS}/lib",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }


def clock_library() -> str:
    """Return the library that gives programs a clock of their own.

    Raises:
        InfrastructureError: If it is not installed.
    """
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not found:
        raise InfrastructureError(
            "a desktop with a clock of its own needs the Debian package libfaketime; "
            "as root: apt-get install libfaketime"
        )
    return str(found[0])


def _base_interpreter() -> str:
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def _read_only(prefix: str) -> Iterator[str]:
    """Yield the options on what a box sees of the machine."""
    for path in _SYSTEM:
        if os.path.islink(path):
            yield from ("--symlink", os.readlink(path), path)
        elif os.path.isdir(path):
            yield from ("--ro-bind", path, path)
    for name in _SETTINGS:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    for path in _OTHER:
        yield from ("--ro-bind-try", path, path)
    if not prefix.startswith("/usr"):
        yield from ("--ro-bind", prefix, prefix)


def _own_files(files: Mapping[str, int]) -> Iterator[str]:
    """Yield the options on what is ours: the box's programs and packages, and single files."""
    for path, descriptor in files.items():
        mode = "0755" if path.startswith(_OURS) else "0644"
        yield from ("--perms", mode, "--file", str(descriptor), path)
    yield from ("--symlink", "/etc/machine-id", "/var/lib/dbus/machine-id")
    yield from ("--ro-bind", str(Path(__file__).with_name("box")), f"{_OURS}/box")
    yield from ("--ro-bind", str(Path(__file__).with_name("home")), f"{_OURS}/home")
    for package in PACKAGES:
        place = _package_path(package)
        yield from ("--ro-bind", str(place), f"{_OURS}/lib/{place.name}")
        libraries = place.parent / "pillow.libs"
        if package == "PIL" and libraries.is_dir():
            yield from ("--ro-bind", str(libraries), f"{_OURS}/lib/pillow.libs")


def _package_path(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        error = ModuleNotFoundError(f"No module named {package!r}", name=package)
        raise missing_extra("the local desktop", "osworld", error)
    origin = Path(spec.origin).resolve()
    return origin.parent if spec.submodule_search_locations else origin
