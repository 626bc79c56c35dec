"""What every measurement does around what it measures."""

import pytest

from benchmarks.running import exit_code
from rla_envs.errors import InputError


def test_a_command_that_refuses_says_so_in_one_line_and_exits_with_2(capsys):
    def refuse():
        raise InputError("expected more")

    assert exit_code(refuse) == 2
    assert capsys.readouterr() == ("", "expected more\n")


def test_a_command_keeps_its_own_exit_code_and_its_faults_their_traceback():
    assert exit_code(lambda: 1) == 1
    with pytest.raises(ZeroDivisionError):
        exit_code(lambda: 1 // 0)
