"""The start state is what the task file says, or the failing step is named; nothing half made is scored."""

import base64

import pytest

from rla_envs.errors import InfrastructureError, InputError
from rla_envs.osworld.desktop.base import SETTLE_SECONDS, Completed
from rla_envs.osworld.tasks import parse_task, setup
from tests.rla_envs.osworld.tasks.fake_desktop import FakeDesktop


def task_with(*steps, files=None, **evaluator):
    config = [{"type": kind, "parameters": parameters} for kind, parameters in steps]
    task = {
        "id": "7",
        "instruction": "Do it.",
        "config": config,
        "evaluator": evaluator or {"func": "infeasible"},
    }
    return parse_task(task, files=files, applications=["soffice", "libreoffice", "gnome-terminal", "vlc"])


def failure_of(desktop, *steps, files=None):
    """Return the message of the failed set-up."""
    with pytest.raises(InfrastructureError) as failed:
        setup(desktop, task_with(*steps, files=files))
    assert "\n" not in str(failed.value)
    return str(failed.value)


def test_files_come_from_the_folder_and_from_the_task_itself(tmp_path):
    (tmp_path / "os" / "7").mkdir(parents=True)
    (tmp_path / "os" / "7" / "a b.bin").write_bytes(b"\x00\xff")
    (tmp_path / "own.txt").write_bytes(b"own")
    inside = f"data:;base64,{base64.b64encode(b'in the task').decode()}"
    download = [
        {"url": "https://huggingface.co/datasets/x/y/resolve/main/os/7/a%20b.bin", "path": "/tmp/a b.bin"},
        {"url": inside, "path": "b.txt"},
        {"url": "data:,c%20d", "path": "~/Desktop/c.txt"},
    ]
    upload = [{"local_path": "own.txt", "path": "/home/user/own.txt"}]
    desktop = FakeDesktop()
    setup(
        desktop,
        task_with(("download", {"files": download}), ("upload_file", {"files": upload}), files=tmp_path),
    )
    assert desktop.files == {
        "/tmp/a b.bin": b"\x00\xff",
        "/home/user/b.txt": b"in the task",
        "/home/user/Desktop/c.txt": b"c d",
        "/home/user/own.txt": b"own",
    }


def test_commands_get_the_size_of_the_screen_and_the_password():
    desktop = FakeDesktop()
    line = "echo {CLIENT_PASSWORD} {SCREEN_WIDTH} {SCREEN_HEIGHT} {OTHER}"
    setup(
        desktop,
        task_with(
            ("execute", {"command": line, "shell": True}),
            ("execute", {"command": ["click", "{SCREEN_WIDTH_HALF}", "{SCREEN_HEIGHT_HALF}", "~/a"]}),
            ("command", {"command": "ls '~/a b'"}),
        ),
    )
    assert desktop.asked("execute") == [
        ("echo password 1280 720 {OTHER}", True),
        (["click", "640", "360", "/home/user/a"], False),
        (["ls", "/home/user/a b"], False),
    ]


def test_a_sleep_waits_until_the_desktop_is_at_rest_and_at_most_its_time_or_a_little_more():
    desktop = FakeDesktop()
    setup(desktop, task_with(("sleep", {"seconds": 0.5}), ("sleep", {"seconds": 20})))
    assert [settle for (settle,) in desktop.asked("observe")][:2] == [SETTLE_SECONDS, 20.0]


def test_an_application_is_waited_for_and_its_window_activated():
    desktop = FakeDesktop(launches={"libreoffice": ["Untitled 1 - LibreOffice Calc"]})
    name = {"window_name": "LibreOffice Calc", "strict": False}
    setup(desktop, task_with(("launch", {"command": ["libreoffice", "--calc"]}), ("activate_window", name)))
    assert desktop.asked("launch") == [(["libreoffice", "--calc"], False)]
    assert desktop.asked("activate_window") == [("LibreOffice Calc", False, False)]


def test_a_file_is_opened_by_its_absolute_path_and_an_application_by_its_name():
    desktop = FakeDesktop(files={"/home/user/Desktop/a.xlsx": b"", "gedit": b""})
    setup(desktop, task_with(("open", {"path": "Desktop/a.xlsx"}), ("open", {"path": "gedit"})))
    assert desktop.asked("open_file") == [("/home/user/Desktop/a.xlsx",), ("gedit",)]


def test_the_wallpaper_is_a_setting_of_the_desktop():
    desktop = FakeDesktop()
    setup(desktop, task_with(("change_wallpaper", {"path": "~/a.png"})))
    ((command, _),) = desktop.asked("execute")
    assert command[-3:] == ["org.gnome.desktop.background", "picture-uri", "file:///home/user/a.png"]


def test_the_forwarding_of_the_browsers_port_is_left_out():
    desktop = FakeDesktop()
    setup(
        desktop, task_with(("launch", {"command": ["socat", "tcp-listen:9222,fork", "tcp:localhost:1337"]}))
    )
    assert desktop.asked("launch") == []


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (("launch", {"command": ["vlc"]}), r"config[1] (launch): there is no program 'vlc'"),
        (
            ("open", {"path": "/home/user/none.txt"}),
            "config[1] (open): there is no file '/home/user/none.txt'",
        ),
        (("close_window", {"window_name": "B"}), "(close_window): there is no window 'B'; windows: 'A'"),
        (
            ("activate_window", {"window_name": "B"}),
            "(activate_window): there is no window 'B'; windows: 'A'",
        ),
        (("launch", {"command": ["soffice"]}), "(launch): no window came up; windows: 'A'"),
        (("execute", {"command": "false", "shell": True}), "(execute): the command ended with 1: no\\such"),
        (("execute", {"command": "'", "shell": False}), '(execute): expected a command, got "\'"'),
        (("command", {"command": ["slow"]}), "(command): the command took too long"),
        (("upload_file", {"files": [{"local_path": "a", "path": "b"}]}), "(upload_file): there is no file a"),
    ],
)
def test_a_step_that_fails_is_a_failure_of_the_machinery_that_names_it(monkeypatch, step, message):
    monkeypatch.setattr("rla_envs.osworld.tasks.steps.WINDOW_SECONDS", 0.0)
    answers = {"false": Completed(1, "", "why\nno\\such\n"), "slow": Completed(124, "", "")}
    desktop = FakeDesktop(titles=["A"], answers=answers, launches={"soffice": []})
    assert message in failure_of(desktop, ("sleep", {"seconds": 0}), step)


def test_ending_a_process_that_is_not_there_is_no_failure():
    desktop = FakeDesktop(answers={"pkill vlc": Completed(1, "", ""), "pkill": Completed(2, "", "usage")})
    setup(desktop, task_with(("execute", {"command": ["pkill", "vlc"]})))
    assert "ended with 2: usage" in failure_of(desktop, ("execute", {"command": ["pkill"]}))


def test_a_task_that_is_not_runnable_is_refused_before_anything_is_done(tmp_path):
    desktop = FakeDesktop()
    missing = {"files": [{"url": "https://a.org/b", "path": "b"}]}
    with pytest.raises(
        InputError, match=r"task 7 is not runnable \(needs_files\): https://a.org/b \(looked for"
    ):
        setup(desktop, task_with(("execute", {"command": ["ls"]}), ("download", missing), files=tmp_path))
    assert desktop.calls == []


def test_options_that_the_metric_does_not_take_are_refused_before_anything_is_done():
    desktop = FakeDesktop()
    task = task_with(
        func="exact_match",
        result={"type": "vm_terminal_output"},
        expected={"type": "rule", "rules": {"expected": "1"}},
        options={"fuzzy": 1},
    )
    with pytest.raises(InputError, match="'fuzzy'"):
        setup(desktop, task)
    assert desktop.calls == []


def test_a_lost_desktop_is_a_failure_of_the_machinery():
    desktop = FakeDesktop()
    desktop.lost = True
    assert failure_of(desktop, ("execute", {"command": ["ls"]})) == "the desktop does not answer"
