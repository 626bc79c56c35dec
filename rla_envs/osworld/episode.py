"""One episode on one desktop: the task set up, the actions carried out, the result scored."""

from __future__ import annotations

from dataclasses import dataclass, field

from rla_envs.errors import InfrastructureError
from rla_envs.osworld.actions import FAIL, WAIT, Action, ActionError
from rla_envs.osworld.actions.events import Event, Move, Pause
from rla_envs.osworld.desktop.base import Desktop, View
from rla_envs.osworld.tasks import Score, TaskFile, evaluate, setup

WAIT_SECONDS = 1.0
"""How long the special action WAIT lets the desktop go on before it is looked at."""
CODE_SECONDS = 90.0
"""How long a program of the agent may run (the limit of OSWorld's own client)."""

_PREFIX = "import pyautogui, time; pyautogui.FAILSAFE = False\n"
# Linux passes no argument longer than 128 KiB.
_LONGEST_CODE = 120_000


@dataclass
class Episode:
    """A task being worked on.

    Attributes:
        desktop: Where.
        task: What.
        settle: Longest time that the desktop is waited for after an action, in seconds.
        tree: Whether the accessibility tree is wanted.
        pointer: Where the pointer is.
        history: The actions so far.
        cause: What disturbed the episode that the agent did not do, in a line; may be empty.
    """

    desktop: Desktop
    task: TaskFile
    settle: float
    tree: bool
    pointer: tuple[int, int] = (0, 0)
    history: list[Action] = field(default_factory=list)
    cause: str = ""
    _owners: dict[int, str] = field(default_factory=dict)
    _killed: int = 0

    def begin(self) -> View:
        """Make the start state, with the pointer in the middle of the screen."""
        setup(self.desktop, self.task)
        width, height = self.desktop.screen_size
        self.pointer = (width // 2, height // 2)
        self.desktop.perform([Move(*self.pointer)])
        self._killed = len(self.desktop.health()[1])  # what the task itself ended
        return self.look()

    def look(self) -> View:
        """Wait for the desktop to come to rest and return what is to be seen."""
        view = self.desktop.observe(self.tree, self.settle)
        self._remember_windows()
        self._notice([])
        return view

    def do(self, action: Action) -> str:
        """Carry out an action; return what could not be done, in a line."""
        self._notice_losses()
        self.history.append(action)
        events: list[Event] = list(action.events)
        if action.special == WAIT:
            events.append(Pause(WAIT_SECONDS))
        return self._perform(events)

    def run(self, code: str, special: str) -> str:
        """Run a program of the agent inside the desktop; return why it failed, in a line."""
        if "\0" in code or len(code.encode("utf-8", "replace")) > _LONGEST_CODE:
            raise ActionError(f"expected a program of at most {_LONGEST_CODE} bytes without null characters")
        error = self.do(Action((), special))
        if not code.strip():
            return error
        done = self.desktop.execute(
            ["python", "-c", _PREFIX + code.encode("utf-8", "replace").decode()], timeout=CODE_SECONDS
        )
        if done.returncode == 0:
            return error
        said = done.error.strip().splitlines() or [f"the program ended with {done.returncode}"]
        return said[-1][:500]

    def score(self) -> Score:
        """Score what the desktop holds now."""
        return evaluate(self.desktop, self.task, self.history)

    @property
    def gave_up(self) -> bool:
        """Whether the last action said that the task cannot be done."""
        return bool(self.history) and self.history[-1].special == FAIL

    def _perform(self, events: list[Event]) -> str:
        if not events:
            return ""
        error = self.desktop.perform(events)
        for event in [] if error else events:
            if isinstance(event, Move):
                self.pointer = (event.x, event.y)
        return error

    def _remember_windows(self) -> None:
        windows = self.desktop.windows()
        self._owners = {window.pid: window.window_class or window.title for window in windows if window.pid}

    def _notice_losses(self) -> None:
        """Say which applications went away while the agent did nothing."""
        there = {window.pid for window in self.desktop.windows()}
        gone = [f"{name} has ended by itself" for pid, name in self._owners.items() if pid not in there]
        self._notice(gone)

    def _notice(self, gone: list[str]) -> None:
        """Say what went away, what crashed and what the desktop had to end."""
        ended, killed = self.desktop.health()
        if ended:
            raise InfrastructureError(f"the desktop is lost: {ended} has ended")
        news = [*gone, *killed[self._killed :]]
        self._killed = len(killed)
        if news:
            self.cause = "; ".join(filter(None, [self.cause, *news]))
