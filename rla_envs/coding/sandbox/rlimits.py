"""Boxes that only limit: for machines where nothing better runs, and programs that mean no harm."""

from __future__ import annotations

import shutil
import tempfile
import warnings

from rla_envs.coding.sandbox.box import ENVIRONMENT, Box, interpreter_command
from rla_envs.coding.sandbox.interpreter import base_interpreter
from rla_envs.coding.sandbox.process import ProcessChannel

WARNING = (
    "the rlimits sandbox does NOT isolate: a program it runs can read every file that you can, "
    "and expected answers in this process's memory; use it only for programs that you trust, "
    "or install bubblewrap"
)


class _FolderChannel(ProcessChannel):
    """A supervisor with a folder on disk to work in, which goes with it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        super().__init__(
            lambda socket, _: interpreter_command(base_interpreter(), socket, socket),
            {**ENVIRONMENT, "HOME": folder, "TMPDIR": folder},
            reports_pid=False,
        )

    def close(self) -> None:
        super().close()
        shutil.rmtree(self.folder, ignore_errors=True)


def start() -> Box:
    """Start a box without walls.

    Raises:
        InfrastructureError: If it does not start.
    """
    warnings.warn(WARNING, RuntimeWarning, stacklevel=4)
    channel = _FolderChannel(tempfile.mkdtemp(prefix="rla-sandbox-"))
    return Box(channel, namespaces=False, uid=None, threads=None, workdir=channel.folder, tmp_mb=0)
