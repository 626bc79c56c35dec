"""The progress display: honest counts on stderr, nothing if quiet, and a terminal left as it was."""

import contextlib
import io

import pytest

from rla_agents.config import TrainConfig
from rla_agents.display import Display

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
ROW = {
    "iteration": 3,
    "policy/success": 0.25,
    "policy/reward": -0.5,
    "critic/oracle_accuracy": None,
    "policy/groups_used": 2,
    "policy/groups": 4,
    "curriculum/accepted": 1,
    "curriculum/rejected": 0,
}


@pytest.fixture
def terminal(monkeypatch):
    """A terminal in place of stderr; give what was written to it."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for name in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    return Terminal()


@contextlib.contextmanager
def shown(terminal, quiet=False):
    """Show a display on the terminal."""
    with contextlib.redirect_stderr(terminal), Display(TrainConfig(iterations=10), quiet) as display:
        yield display


def use(display):
    display.phase("rollout", 8)
    display.advance(3)
    display.iteration(ROW)
    display.note("[red]a note[/red]")


def test_it_shows_the_numbers_of_an_iteration(terminal):
    with shown(terminal) as display:
        use(display)
    text = terminal.getvalue()
    assert "iteration   3  success 0.250  reward -0.500  critic vs plan -  kl -" in text
    assert "groups 2/4  edits +1 -0" in text
    assert "4/10" in text
    assert "3/8" in text
    assert "[red]a note[/red]" in text  # a note is text, not markup


def test_a_phase_of_unknown_length_shows_no_total_of_the_one_before(terminal):
    with shown(terminal) as display:
        display.phase("rollout", 8)
        display.advance(8)
        display.phase("judge")
    last = next(line for line in reversed(terminal.getvalue().splitlines()) if "judge" in line)
    assert "0/?" in last


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_the_cursor_is_back_whatever_ends_it(terminal, error):
    def run():
        with shown(terminal) as display:
            use(display)
            if error:
                raise error

    if error:
        with pytest.raises(error):
            run()
    else:
        run()
    text = terminal.getvalue()
    assert text.count(HIDE) == text.count(SHOW) == 1
    assert text.rfind(SHOW) > text.rfind(HIDE)


def test_quiet_prints_nothing(terminal, capsys):
    with shown(terminal, quiet=True) as display:
        use(display)
    assert terminal.getvalue() == ""
    assert capsys.readouterr().out == ""
