"""The supervisor inside a box: keeps a forked process ready, gives it one test, and watches it.

It runs no untrusted code: programs are compiled and run in processes that
have given up every privilege. Nor does what programs read and write pass
through its memory, which every later program inherits: the kernel moves it
from one file descriptor to another.
"""

from __future__ import annotations

import fcntl
import gc
import os
import resource
import signal
import sys
from contextlib import suppress
from typing import Any, NoReturn

from . import confine, frames, linux, program, suite
from .pipes import ERR, JOB, MAX_FD, OUT, RESULTS, Child, Pipes
from .warm import warm_up
from .watch import Watch

_ERROR_TAIL = 8192
_LOW_FDS = 10
_SPARES = 8


class Zygote:
    """Serves the requests that come over one file descriptor and answers over another."""

    def __init__(self, requests: int, replies: int, config: confine.Config) -> None:
        """Take over the process; ``config`` says how programs are confined."""
        self.requests, self.replies, self.config = requests, replies, config
        self.own_namespace = os.pidfd_open(os.getpid())
        self.proc = _private_proc(detach=config.namespaces)
        self.confinement = confine.Confinement(config, _address_space(self.proc))
        self.oom_kills = _oom_kills(self.proc)
        if not config.namespaces and os.listdir(config.workdir):
            raise FileExistsError(f"expected {config.workdir} to be empty: it is emptied after every test")
        self.spares: list[Child] = []
        self.fork_spares(1)

    def serve(self) -> None:
        """Answer requests; return when the other side is gone, or a process that was to take a test."""
        with suppress(frames.BrokenStreamError, BrokenPipeError):
            while True:
                header, sizes = frames.unpack(lambda size: frames.read_exactly(self.requests, size))
                self.run(header, sizes)

    def fork_spares(self, count: int) -> None:
        """Fork processes, and let them get ready.

        Several at a time: after a fork, each page this process touches is copied once more.
        """
        pipes = [Pipes.make() for _ in range(count)]
        for each in pipes:
            if self.config.namespaces:
                linux.unshare(linux.CLONE_NEWPID)
            pid = linux.fork()
            if pid == 0:
                self.become_child(each)
            if self.config.namespaces:
                linux.enter_namespace(self.own_namespace, linux.CLONE_NEWPID)
            self.spares.append(each.child(pid))

    def become_child(self, pipes: Pipes) -> NoReturn:
        """Get ready, wait for a test, run it and end the process."""
        code = 1
        try:
            pipes.keep_only_the_childs()
            self.confinement.isolate()
            code = self.run_program(frames.read_job(JOB))
        except frames.BrokenStreamError:
            pass
        except BaseException as error:
            with suppress(BaseException):
                os.write(ERR, repr(error).encode())
        finally:
            os._exit(code)

    def run_program(self, header: dict[str, Any]) -> int:
        """Read the program, take the last step of confinement and run it; return the exit code."""
        kind, limits = header["kind"], header["limits"]
        source, payload = (frames.read_exactly(JOB, size) for size in header["sizes"])
        kept: tuple[int, ...]
        if kind == "stdin":
            kept = (_sealed_file(payload), OUT, ERR)
            if self.config.namespaces and b"/dev/stdin" in source:
                with open(".stdin", "wb") as file:  # what /dev/stdin leads to, where there is no /proc
                    file.write(payload)
            del payload
        else:
            null = os.open("/dev/null", os.O_RDWR)
            kept = (null, null, ERR, RESULTS, OUT)
        self.confinement.limit(limits)
        frames.write_all(RESULTS, program.STARTED)
        for place, fd in enumerate(kept):
            os.dup2(fd, place)
        os.closerange(len(kept), MAX_FD)
        gc.enable()
        if kind == "stdin":
            return program.run_main(source)
        if kind == "functional":
            program.call_function(source, payload, header["entry_point"], limits["value_bytes"])
        else:
            suite.run_suite(source, payload, limits["value_bytes"])
        return 0

    def run(self, header: dict[str, Any], sizes: list[int]) -> None:
        """Run one request in the process that is ready, and reply with what it did."""
        child = self.spares.pop()
        watch = Watch(child, header, self.proc, self.requests, self.reply)
        frames.write_job(child.job, {**header, "sizes": sizes})
        _splice(self.requests, child.job, sum(sizes))
        if not self.spares:
            self.fork_spares(_SPARES)
        status = watch.until_end()
        if watch.started:
            self.report(header, child, status, watch)
        else:
            error = os.pread(child.err, _ERROR_TAIL, 0).decode("utf-8", "replace")
            reason = f"a test did not start: {error or watch.wait_status}"
            self.reply({"status": "infrastructure", "error": reason, "last": True})
        child.close()
        if not self.config.namespaces:
            _empty(self.config.workdir)

    def report(self, header: dict[str, Any], child: Child, status: str, watch: Watch) -> None:
        """Reply with how a process ended, and with what it printed."""
        limits, code = header["limits"], os.waitstatus_to_exitcode(watch.wait_status)
        printed, errors = (os.fstat(fd).st_size for fd in (child.out, child.err))
        if header["kind"] == "stdin":
            if max(printed, errors) > limits["output_bytes"]:
                status = "output_limit"
            elif not status and watch.cpu_seconds > limits["time_limit"]:
                status = "timeout"
        else:
            printed = 0
        if not status and code == -signal.SIGKILL and self.machine_was_out_of_memory():
            self.reply({"status": "infrastructure", "error": "this machine ran out of memory", "last": True})
            return
        if not status:
            status = {0: "ok", program.EXIT_MEMORY: "memory"}.get(code, "runtime_error")
        shown = min(errors, _ERROR_TAIL)
        self.reply(
            {"status": status, "code": code, "cpu": watch.cpu_seconds, "last": True},
            (child.out, 0, min(printed, limits["output_bytes"])),
            (child.err, errors - shown, shown),
        )

    def machine_was_out_of_memory(self) -> bool:
        """Return whether the kernel has killed for want of memory since this was last asked.

        That a process was killed proves nothing: it can arrange that itself.
        """
        before, self.oom_kills = self.oom_kills, _oom_kills(self.proc)
        return self.oom_kills > before

    def reply(self, header: dict[str, Any], *parts: tuple[int, int, int]) -> None:
        """Send one message to the parent, with parts of files: descriptor, offset, size."""
        frames.write_all(self.replies, frames.pack(header, [size for _, _, size in parts]))
        for fd, offset, size in parts:
            while size:
                sent = os.sendfile(self.replies, fd, offset, size)
                if sent == 0:  # shorter than announced: a program may say anything
                    frames.write_all(self.replies, bytes(size))
                    break
                offset, size = offset + sent, size - sent


def _splice(source: int, target: int, size: int) -> None:
    while size:
        moved = os.splice(source, target, size)
        if moved == 0:
            raise frames.BrokenStreamError("the other side is gone")
        size -= moved


def _empty(folder: str) -> None:
    """Remove what is in a folder; nothing runs any more that could swap it meanwhile."""
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            os.chmod(entry.path, 0o700)
            _empty(entry.path)
            os.rmdir(entry.path)
        else:
            os.unlink(entry.path)


def _sealed_file(data: bytes) -> int:
    """Return a file in memory that can only be read."""
    fd = os.memfd_create("in", os.MFD_ALLOW_SEALING)
    frames.write_all(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


def _private_proc(detach: bool) -> int | None:
    """Return a descriptor of ``/proc``, unmounted for everybody else where it can be."""
    try:
        fd = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    if detach:
        linux.detach("/proc")
    return fd


def _address_space(proc: int | None) -> int:
    """Return the bytes of address space of this process; a generous guess where that is not told."""
    if proc is None:
        return 256 << 20
    fd = os.open("self/statm", os.O_RDONLY, dir_fd=proc)
    try:
        return int(os.read(fd, 100).split()[0]) * resource.getpagesize()
    finally:
        os.close(fd)


def _oom_kills(proc: int | None) -> int:
    """Return how many processes of this machine were killed for want of memory; 0 if that is not told."""
    if proc is None:
        return 0
    fd = os.open("vmstat", os.O_RDONLY, dir_fd=proc)
    with open(fd, "rb") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith(b"oom_kill "))


def main(requests: int, replies: int) -> None:
    """Start on a box's two file descriptors: take the configuration, say hello, serve."""
    opened = requests, replies, os.open("/dev/null", os.O_RDWR)
    requests, replies, null = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _LOW_FDS) for fd in opened)
    for fd in {*range(_LOW_FDS)} - {2}:  # errors of its own go where they went
        os.dup2(null, fd, inheritable=False)
    linux.set_process_option(linux.PR_SET_DUMPABLE, 0)
    header, sizes = frames.unpack(lambda size: frames.read_exactly(requests, size))
    header["filter"] = frames.read_exactly(requests, sizes[0])
    warm_up()
    gc.collect()
    gc.freeze()
    gc.disable()
    zygote = Zygote(requests, replies, confine.Config(**header))
    zygote.reply({"python": sys.version.split()[0], "pid": os.getpid()})
    zygote.serve()
    if not zygote.config.namespaces:
        with suppress(OSError):  # where it is not a mount of its own
            os.rmdir(zygote.config.workdir)
