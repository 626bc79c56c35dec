"""A local desktop behind a port speaks OSWorld's HTTP protocol."""

import http.client
import io
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.parse
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from rla_envs.osworld.serve import main

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def port(local_desktops):
    command = [sys.executable, "-m", "rla_envs.osworld.serve", "--port", "0", "--screen", "800x600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as process:
        address = process.stdout.readline().strip()
        yield urllib.parse.urlsplit(address).port
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def ask(port, method, path, body=None, form=None):
    """Send one request as OSWorld's client does; return status and content."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers, data = {}, None
    if body is not None:
        headers, data = {"Content-Type": "application/json"}, json.dumps(body)
    if form is not None:
        headers, data = {"Content-Type": "application/x-www-form-urlencoded"}, urllib.parse.urlencode(form)
    connection.request(method, path, data, headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content


def json_of(port, method, path, body=None):
    status, content = ask(port, method, path, body)
    assert status == 200, content
    return json.loads(content)


def test_the_screen_is_a_png_of_its_size(port):
    status, content = ask(port, "GET", "/screenshot")
    assert status == 200
    assert Image.open(io.BytesIO(content)).size == (800, 600)
    assert json_of(port, "POST", "/screen_size", {}) == {"width": 800, "height": 600}


def test_commands_run_and_their_pyautogui_moves_the_real_pointer(port):
    source = "import pyautogui; pyautogui.moveTo(123, 45); print(pyautogui.size())"
    done = json_of(port, "POST", "/execute", {"command": ["python", "-c", source], "shell": False})
    assert (done["status"], done["returncode"], done["error"]) == ("success", 0, "")
    assert "800" in done["output"]
    assert json_of(port, "GET", "/cursor_position") == [123, 45]
    failed = json_of(port, "POST", "/setup/execute", {"command": "exit 3", "shell": True})
    assert failed["returncode"] == 3


def test_scripts_run_in_python_and_bash(port):
    assert json_of(port, "POST", "/run_python", {"code": "print(6 * 7)"})["output"] == "42\n"
    bash = json_of(
        port, "POST", "/run_bash_script", {"script": "cd /tmp; pwd; echo no >&2; exit 4", "timeout": 5}
    )
    assert (bash["status"], bash["output"], bash["returncode"]) == ("error", "/tmp\nno\n", 4)


def test_files_go_in_and_come_out(port):
    boundary = "xyz"
    data = b"a\r\nb\0\xff"
    content = (
        b'--xyz\r\nContent-Disposition: form-data; name="file_path"\r\n\r\n/home/user/in.bin\r\n'
        b'--xyz\r\nContent-Disposition: form-data; name="file_data"; filename="in.bin"\r\n'
        b"Content-Type: application/octet-stream\r\n\r\n" + data + b"\r\n--xyz--\r\n"
    )
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    connection.request("POST", "/setup/upload", content, kind)
    assert connection.getresponse().status == 200
    connection.close()
    assert ask(port, "POST", "/file", form={"file_path": "/home/user/in.bin"}) == (200, data)
    assert ask(port, "POST", "/file", form={"file_path": "/home/user/none"})[0] == 404
    tree = json_of(port, "POST", "/list_directory", {"path": "/home/user"})["directory_tree"]
    assert {"type": "file", "name": "in.bin"} in tree["children"]


def test_windows_open_are_measured_and_close(port):
    assert ask(port, "POST", "/setup/launch", {"command": ["mousepad"]})[0] == 200
    verified = {"command": ["true"], "verification": {"window_exists": "Mousepad"}, "max_wait_time": 20}
    assert ask(port, "POST", "/execute_with_verification", {**verified, "check_interval": 0.05})[0] == 200
    assert ask(port, "POST", "/setup/activate_window", {"window_name": "Mousepad"})[0] == 200
    assert json_of(port, "POST", "/window_size", {"app_class_name": "mousepad"})["width"] > 100
    tree = ElementTree.fromstring(json_of(port, "GET", "/accessibility")["AT"])
    assert "mousepad" in [application.get("name") for application in tree.iter("application")]
    assert ask(port, "POST", "/setup/close_window", {"window_name": "Mousepad"})[0] == 200
    assert ask(port, "POST", "/setup/activate_window", {"window_name": "Mousepad", "strict": True})[0] == 404


def test_the_text_of_a_terminal_can_be_read(port):
    assert json_of(port, "GET", "/terminal") == {"output": None, "status": "success"}
    assert (
        ask(port, "POST", "/setup/launch", {"command": "gnome-terminal -- bash -c 'echo word; read'"})[0]
        == 200
    )
    shown = {"command": ["true"], "verification": {"window_exists": "Terminal"}, "max_wait_time": 20}
    assert ask(port, "POST", "/execute_with_verification", {**shown, "check_interval": 0.05})[0] == 200
    while "word" not in (json_of(port, "GET", "/terminal")["output"] or ""):  # the shell takes a moment
        pass


def test_a_picture_can_be_set_as_the_wallpaper(port):
    make = "from PIL import Image; Image.new('RGB', (40, 30), (200, 10, 10)).save('/home/user/red.png')"
    assert json_of(port, "POST", "/execute", {"command": ["python", "-c", make]})["returncode"] == 0
    assert ask(port, "POST", "/wallpaper", {})[0] == 404
    assert ask(port, "POST", "/setup/change_wallpaper", {"path": "/home/user/red.png"})[0] == 200
    _, content = ask(port, "GET", "/screenshot")
    assert Image.open(io.BytesIO(content)).convert("RGB").getpixel((799, 599)) == (200, 10, 10)
    status, picture = ask(port, "POST", "/wallpaper", {})
    assert (status, Image.open(io.BytesIO(picture)).size) == (200, (40, 30))


def test_what_it_is_and_what_it_has_not(port):
    assert ask(port, "GET", "/platform") == (200, b"Linux")
    assert json_of(port, "POST", "/desktop_path", {}) == {"desktop_path": "/home/user/Desktop"}
    assert ask(port, "GET", "/nothing")[0] == 404
    assert ask(port, "POST", "/execute", {"command": 3})[0] == 400
    status, content = ask(port, "POST", "/setup/download_file", {"url": "http://a", "path": "/b"})
    assert (status, b"no network" in content) == (501, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [(["--port", "99999"], "0 to 65535"), (["--screen", "big"], "screen_size: expected width and height")],
)
def test_bad_arguments_are_one_line_and_exit_2(capsys, words, message):
    assert main(words) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert message in error
    assert error.count("\n") == 1


def test_a_port_that_is_taken_is_one_line_and_exit_2(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["--port", str(taken.getsockname()[1])]) == 2
    assert "choose another" in capsys.readouterr().err


@pytest.mark.skipif(
    "RLA_DESKTOP_ENV" not in os.environ,
    reason="set RLA_DESKTOP_ENV to a Python that has desktop_env installed",
)
def test_the_unmodified_client_of_osworld_plays_a_task(port, tmp_path):
    script = Path(__file__).with_name("desktop_env_client.py")
    done = subprocess.run(
        [os.environ["RLA_DESKTOP_ENV"], str(script), str(port)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {"before": 0, "after": 1}
