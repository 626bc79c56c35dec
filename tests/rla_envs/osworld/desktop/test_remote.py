"""A remote desktop is driven through OSWorld's own endpoints; here a box on loopback speaks them."""

import contextlib
import threading

import numpy as np
import pytest

from rla_envs.errors import InfrastructureError, InputError
from rla_envs.osworld.actions.events import Button, Key, Move, Scroll, Text
from rla_envs.osworld.desktop.remote import RemoteDesktop
from rla_envs.osworld.serve import listen, serve


@contextlib.contextmanager
def served(desktop):
    with listen(0) as listener:
        thread = threading.Thread(target=serve, args=(listener, desktop), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            desktop.close()
            thread.join(10)


@pytest.fixture(scope="module")
def remote(local_desktops):
    from rla_envs.osworld.desktop.opening import open_desktop

    with served(open_desktop("local")) as address, RemoteDesktop(address) as remote:
        yield remote


def test_it_types_clicks_and_sees(remote):
    assert remote.screen_size == (1280, 720)
    remote.launch(["xterm", "-T", "typing", "-e", "sh", "-c", "stty -echo; cat > /tmp/typed"])
    view = remote.observe()
    while not any(window.title == "typing" for window in remote.windows()):
        view = remote.observe()
    window = next(window for window in remote.windows() if window.title == "typing")
    assert view.screenshot.shape == (720, 1280, 3)
    assert view.accessibility_tree.startswith("<")
    middle = Move(window.x + window.width // 2, window.y + window.height // 2)
    text = "aZ <>{}[]~|\\'\"`$#@!?/ 0123456789"
    events = [middle, Button("left", True), Button("left", False), Scroll(0, 1), Text(f"{text}\n")]
    assert (
        remote.perform([*events, Key("ctrl", True), Key("d", True), Key("d", False), Key("ctrl", False)])
        == ""
    )
    while any(window.title == "typing" for window in remote.windows()):
        remote.observe()
    assert remote.read_file("/tmp/typed") == f"{text}\n".encode()


def test_a_character_that_pyautogui_cannot_type_is_named_and_nothing_is_done(remote):
    before = remote.screenshot()
    assert "U+00E9" in remote.perform([Move(0, 0), Text("café")])
    assert "U+20AC" in remote.perform([Key("€", True)])
    assert "off the screen" in remote.perform([Move(1280, 0)])
    assert np.array_equal(before, remote.screenshot())
    assert remote.perform([]) == ""


def test_files_and_commands_go_through_the_protocol(remote):
    remote.write_file("/home/user/new/file.bin", bytes(range(256)))
    assert remote.read_file("/home/user/new/file.bin") == bytes(range(256))
    assert remote.execute("echo $((1 + 1))", shell=True).output == "2\n"
    assert remote.execute(["no-such-program"]).returncode == 127
    assert remote.health() == ("", ())
    with pytest.raises(FileNotFoundError):
        remote.read_file("/nowhere")


def test_a_lost_server_is_an_infrastructure_error(local_desktops):
    from rla_envs.osworld.desktop.opening import open_desktop

    desktop = open_desktop("local")
    with served(desktop) as address, RemoteDesktop(address) as remote:
        desktop.close()
        with pytest.raises(InfrastructureError):
            remote.observe()
    with pytest.raises(InfrastructureError):
        RemoteDesktop(address)


@pytest.mark.parametrize(
    "address", ["", "https://x", "ftp://x:1", "http://", "http://h:99999", "http://h/path"]
)
def test_an_address_of_another_form_is_refused(address):
    with pytest.raises(InputError, match="http://host:port"):
        RemoteDesktop(address)
