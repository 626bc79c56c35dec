"""Run a command of this interpreter as an ordinary user: ``python ordinary_user.py REPOSITORY WORDS...``.

For root only. Folders that the user may not enter, such as root's home, are
replaced (in a mount namespace of this process's own) by empty ones in which
only the interpreter and the repository are.
"""

import ctypes
import os
import sys

USER = 65533
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000
libc = ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def closed_ancestor(path):
    parts = path.split("/")
    folders = ["/".join(parts[:i]) or "/" for i in range(1, len(parts) + 1)]
    return next((folder for folder in folders if not os.stat(folder).st_mode & 0o001), None)


def become_ordinary(paths):
    checked(libc.unshare(CLONE_NEWNS))
    checked(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None))
    kept = [(path, os.open(path, os.O_PATH)) for path in paths if closed_ancestor(path)]
    for folder in {closed_ancestor(path) for path, _ in kept}:
        checked(libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, b"mode=0755"))
    for path, fd in kept:
        os.makedirs(path, exist_ok=True)
        checked(libc.mount(f"/proc/self/fd/{fd}".encode(), path.encode(), None, MS_BIND | MS_REC, None))
        os.close(fd)
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)


if __name__ == "__main__":
    become_ordinary({os.path.realpath(path) for path in (sys.base_prefix, sys.prefix, sys.argv[1])})
    os.environ.update(HOME="/tmp", LOGNAME="ordinary", USER="ordinary")
    os.execv(sys.executable, [sys.executable, "-B", *sys.argv[2:]])
