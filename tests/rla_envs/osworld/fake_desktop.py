"""A desktop in memory, for tests of what is around one: no windows, no screen, no applications.

It keeps the events it was given. What is typed goes into one file; ``cat`` is
the only command it knows. That a real desktop behaves so is tested elsewhere.
"""

import numpy as np

from rla_envs.errors import InfrastructureError
from rla_envs.osworld.actions.events import Move, Text
from rla_envs.osworld.desktop.base import Completed, View, Window

TYPED = "/home/user/typed.txt"


class FakeDesktop:
    """See the module. ``fail_in`` makes a method raise as if the desktop were lost."""

    opened = []

    def __init__(self, screen_size=(1280, 720)):
        self.screen_size = screen_size
        self.events, self.commands, self.files = [], [], {}
        self.open_windows = [Window(1, "Editor", "editor.Editor", 10, 0, 0, 100, 100, True)]
        self.killed, self.fail_in, self.closed, self.refuses = [], "", False, ""
        FakeDesktop.opened.append(self)

    def _check(self, name):
        if self.closed or self.fail_in == name:
            raise InfrastructureError(f"the desktop is lost ({name})")

    def observe(self, tree=True, settle=3.0, late=False):
        self._check("observe")
        picture = np.zeros((*self.screen_size[::-1], 3), np.uint8)
        for event in self.events:
            if isinstance(event, Move):
                picture[event.y, event.x] = 255
        return View(picture, f"<desktop-frame>{len(self.events)}</desktop-frame>" if tree else "", True)

    def perform(self, events):
        self._check("perform")
        self.events += events
        typed = "".join(event.text for event in events if isinstance(event, Text))
        if typed:
            self.files[TYPED] = self.files.get(TYPED, b"") + typed.encode()
        return self.refuses

    def execute(self, command, shell=False, timeout=120.0):
        self._check("execute")
        self.commands.append(command)
        if command[0] == "cat":
            return Completed(0, self.files.get(command[1], b"").decode(), "")
        return Completed(1, "", "Traceback (most recent call last):\nNameError: name 'x' is not defined\n")

    def read_file(self, path):
        self._check("read_file")
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def write_file(self, path, data):
        self.files[path] = data

    def windows(self):
        self._check("windows")
        return list(self.open_windows)

    def health(self):
        self._check("health")
        return "", tuple(self.killed)

    def close(self):
        self.closed = True
