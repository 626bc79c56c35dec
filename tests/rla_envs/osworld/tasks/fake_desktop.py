"""A desktop of a few dictionaries, for tests of what tasks do with a desktop."""

from rla_envs.errors import InfrastructureError, InputError
from rla_envs.osworld.desktop.base import Completed, Window


def window(title, number=1, window_class="soffice.Soffice", width=800, height=600):
    return Window(number, title, window_class, 7, 0, 0, width, height, False)


class FakeDesktop:
    """Keeps files in a dictionary and notes what it is asked; nothing runs.

    Args:
        files: Content of each file.
        titles: Titles of the windows.
        answers: What commands give: output text or Completed, by the command as a line.
        launches: Titles of windows that come up when a program is launched, by its name.
    """

    screen_size = (1280, 720)

    def __init__(self, files=None, titles=(), answers=None, launches=None):
        self.files = dict(files or {})
        self.open_windows = [window(title, number) for number, title in enumerate(titles)]
        self.answers = dict(answers or {})
        self.launches = dict(launches or {})
        self.calls = []
        self.events = []
        self.terminal = None
        self.lost = False

    def _note(self, *call):
        if self.lost:
            raise InfrastructureError("the desktop does not answer")
        self.calls.append(call)

    def asked(self, kind):
        """Return the arguments of the calls of one kind, in order."""
        return [call[1:] for call in self.calls if call[0] == kind]

    def observe(self, tree=True, settle=3.0, late=False):
        self._note("observe", settle)

    def accessibility_tree(self):
        self._note("accessibility_tree")
        return "<desktop-frame/>"

    def perform(self, events):
        self._note("perform")
        self.events.extend(events)
        return ""

    def windows(self):
        self._note("windows")
        return list(self.open_windows)

    def execute(self, command, shell=False, timeout=120.0):
        self._note("execute", command, shell)
        answer = self.answers.get(command if isinstance(command, str) else " ".join(command), "")
        return answer if isinstance(answer, Completed) else Completed(0, answer, "")

    def launch(self, command, shell=False):
        self._note("launch", command, shell)
        name = command.split()[0] if isinstance(command, str) else command[0]
        if name not in self.launches:
            raise InputError(f"there is no program {name!r}")
        self.open_windows += [window(title, 100 + len(self.open_windows)) for title in self.launches[name]]

    def open_file(self, path):
        self._note("open_file", path)
        if path not in self.files:
            raise InputError(f"there is no file {path!r}")
        self.open_windows.append(window(path, 200))

    def _has(self, name):
        return any(name in each.title for each in self.open_windows)

    def activate_window(self, name, strict=False, by_class=False):
        self._note("activate_window", name, strict, by_class)
        return self._has(name)

    def close_window(self, name, strict=False, by_class=False):
        self._note("close_window", name, strict, by_class)
        return self._has(name)

    def read_file(self, path):
        self._note("read_file", path)
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def write_file(self, path, data):
        self._note("write_file", path)
        self.files[path] = data

    def terminal_output(self):
        self._note("terminal_output")
        return self.terminal
