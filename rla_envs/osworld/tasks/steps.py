"""Make a task's start state on a desktop, and carry out what precedes its evaluation."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rla_envs.errors import InfrastructureError, InputError
from rla_envs.osworld.desktop.base import SETTLE_SECONDS, Completed, Desktop
from rla_envs.osworld.metrics import METRICS
from rla_envs.osworld.tasks import files
from rla_envs.osworld.tasks.place import absolute, filled_in, words
from rla_envs.osworld.tasks.task_file import Step, TaskFile

WINDOW_SECONDS = 30.0
"""Longest time that the window of an application is waited for."""

_LOOK_SECONDS = 0.1
_TIMED_OUT = 124
_OFFICE_WORK = ("eog", "evince", "gedit", "libreoffice", "mousepad", "soffice", "thunderbird")
_WEB_AND_MEDIA = ("chromium", "gimp", "google-chrome", "vlc")
_SYSTEM_TOOLS = ("code", "gnome-terminal", "nautilus", "pcmanfm", "xterm")
_WITH_WINDOW = frozenset({*_OFFICE_WORK, *_WEB_AND_MEDIA, *_SYSTEM_TOOLS})
_WITHOUT_WINDOW = frozenset(
    {"pkill", "killall", "--convert-to", "--headless", "--install-extension", "-compose"}
)
_ONLY_FOR_THE_LIVE_WEB = "socat"
"""What OSWorld starts to forward Chrome's port to the getters of live pages, which are not offered here."""


class StepFailure(Exception):  # noqa: N818 (not an error: evaluation goes on after one)
    """A step could not be carried out; the message says which and why."""


def setup(desktop: Desktop, task: TaskFile) -> None:
    """Make a task's start state by carrying out its ``config``.

    Where OSWorld sleeps for a fixed time, this waits until the desktop has
    come to rest, and no longer than the greater of that time and
    :data:`~rla_envs.osworld.desktop.base.SETTLE_SECONDS`: a busy machine needs
    more than the time that was enough on its authors', and an idle one less.
    It waits likewise after every step and for the window of every application
    that a step starts.

    Args:
        desktop: A fresh desktop.
        task: A task that is runnable.

    Raises:
        InputError: If the task is not runnable, or has options that its metric does not take.
        InfrastructureError: If a step fails; the message names it and why. An
            episode on half a start state would be lost for reasons that are
            not the agent's.
        MissingExtraError: If the packages that its metrics need are not installed.
    """
    check_runnable(task)
    for check in task.evaluator.checks:
        METRICS[check.metric].load()
        METRICS[check.metric].check_options(check.options)
    runner = StepRunner(desktop, task.files)
    for number, step in enumerate(task.config, 1):
        try:
            runner.run(step, wait=number < len(task.config))  # whoever looks first waits for the last
        except StepFailure as failure:
            raise InfrastructureError(f"the setup of task {task.id} failed: {failure}") from failure


_AT_REST = ("download", "upload_file", "sleep", "open")
"""Steps after which the desktop need not be waited for: they wait themselves, or nothing moves."""


def check_runnable(task: TaskFile) -> None:
    """Raise InputError if a task is not runnable, with what is missing."""
    if task.availability != "runnable":
        raise InputError(f"task {task.id} is not runnable ({task.availability}): {'; '.join(task.missing)}")


class StepRunner:
    """Carries out setup steps.

    Args:
        desktop: Where.
        folder: Where the files of tasks are found.
        scoring: Whether the steps precede an evaluation. Then the agent may
            have closed a window or broken what a command works on: neither is
            a failure, and windows are not waited for.
        saved: Folder that the output of commands is saved in.
    """

    def __init__(
        self, desktop: Desktop, folder: Path | None, scoring: bool = False, saved: Path | None = None
    ) -> None:
        """Keep what steps need."""
        self._desktop, self._folder, self._scoring, self._saved = desktop, folder, scoring, saved
        self._started: set[str] = set()
        self._kinds: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
            "download": self._download,
            "upload_file": self._upload_file,
            "launch": self._launch,
            "open": self._open,
            "execute": self._execute,
            "command": self._execute,
            "sleep": self._sleep,
            "activate_window": self._activate_window,
            "close_window": self._close_window,
            "change_wallpaper": self._change_wallpaper,
        }

    def run(self, step: Step, wait: bool = True) -> None:
        """Carry out a step, and wait for the desktop to come to rest if it is to be waited for.

        Raises:
            StepFailure: If it cannot be carried out.
            InfrastructureError: If the desktop is lost.
        """
        try:
            self._kinds[step.type](step.parameters)
        except (InputError, OSError, StepFailure) as cause:
            raise StepFailure(f"{step.field} ({step.type}): {cause}") from cause
        if wait and step.type not in _AT_REST:
            self._desktop.observe(tree=False, late=self._scoring)

    def _download(self, parameters: Mapping[str, Any]) -> None:
        for file in parameters["files"]:
            self._desktop.write_file(absolute(file["path"]), files.content(file["url"], self._folder))

    def _upload_file(self, parameters: Mapping[str, Any]) -> None:
        for file in parameters["files"]:
            source = (self._folder or Path()) / file["local_path"]
            if self._folder is None or not source.is_file():
                raise StepFailure(f"there is no file {source}")
            self._desktop.write_file(absolute(file["path"]), source.read_bytes())

    def _launch(self, parameters: Mapping[str, Any]) -> None:
        command = words(filled_in(self._desktop, parameters["command"]), parameters.get("shell", False))
        spoken = set(command.split() if isinstance(command, str) else command)
        if _ONLY_FOR_THE_LIVE_WEB in spoken:
            return
        applications = {word.rpartition("/")[2] for word in spoken} & _WITH_WINDOW
        before = {window.id for window in self._desktop.windows()}
        self._desktop.launch(command, parameters.get("shell", False))
        if applications and not spoken & _WITHOUT_WINDOW and not applications & self._started:
            self._wait(
                lambda: any(window.id not in before for window in self._desktop.windows()),
                "no window came up",
            )
        self._started |= applications

    def _open(self, parameters: Mapping[str, Any]) -> None:
        self._desktop.open_file(
            absolute(parameters["path"]) if "/" in parameters["path"] else parameters["path"]
        )

    def _execute(self, parameters: Mapping[str, Any]) -> None:
        shell = parameters.get("shell", False)
        command = words(filled_in(self._desktop, parameters["command"]), shell)
        completed = self._desktop.execute(command, shell)
        for stream, text in (("stdout", completed.output), ("stderr", completed.error)):
            if stream in parameters and self._saved is not None:
                path = self._saved / parameters[stream]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        self._check(command, completed)

    def _check(self, command: str | list[str], completed: Completed) -> None:
        # There may have been no process to end.
        if completed.returncode == 0 or (command[0] in ("pkill", "killall") and completed.returncode == 1):
            return
        ended = (
            "took too long" if completed.returncode == _TIMED_OUT else f"ended with {completed.returncode}"
        )
        said = (completed.error.strip() or completed.output.strip()).splitlines()
        raise StepFailure(f"the command {ended}" + (f": {said[-1][:200]}" if said else ""))

    def _sleep(self, parameters: Mapping[str, Any]) -> None:
        settle = max(parameters["seconds"], SETTLE_SECONDS)
        self._desktop.observe(tree=False, settle=settle, late=self._scoring)

    def _activate_window(self, parameters: Mapping[str, Any]) -> None:
        def activate() -> bool:
            return self._desktop.activate_window(
                parameters["window_name"], parameters.get("strict", False), parameters.get("by_class", False)
            )

        self._wait(activate, f"there is no window {parameters['window_name']!r}")

    def _close_window(self, parameters: Mapping[str, Any]) -> None:
        name = parameters["window_name"]
        if not self._desktop.close_window(
            name, parameters.get("strict", False), parameters.get("by_class", False)
        ):
            raise StepFailure(f"there is no window {name!r}{self._open_windows()}")

    def _change_wallpaper(self, parameters: Mapping[str, Any]) -> None:
        picture = f"file://{absolute(parameters['path'])}"
        command = ["gsettings", "set", "org.gnome.desktop.background", "picture-uri", picture]
        self._check(command, self._desktop.execute(command))

    def _wait(self, done: Callable[[], bool], otherwise: str) -> None:
        """Wait until something holds: applications take their time, and say nothing when they are there."""
        deadline = time.monotonic() + (0.0 if self._scoring else WINDOW_SECONDS)
        while not done():
            if time.monotonic() >= deadline:
                raise StepFailure(otherwise + self._open_windows())
            time.sleep(_LOOK_SECONDS)

    def _open_windows(self) -> str:
        titles = ", ".join(repr(window.title) for window in self._desktop.windows())
        return f"; windows: {titles or 'none'}"
