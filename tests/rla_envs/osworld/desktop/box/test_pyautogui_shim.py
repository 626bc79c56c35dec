"""Programs in the box that import pyautogui act through the box's server, as pyautogui itself would."""

import json
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer

import pytest
from PIL import Image

import rla_envs.osworld.desktop.box as box

SHIMS = Path(box.__file__).parent / "shims"


class Server(ThreadingMixIn, UnixStreamServer):
    """A stand-in for the box's server that keeps the events it is sent."""

    daemon_threads = True

    def __init__(self, path):
        super().__init__(str(path), Handler)
        self.events = []
        self.error = ""


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/rla/input":
            self.server.events += json.loads(body)["events"]
            self.answer({"error": self.server.error})
        elif self.path == "/screen_size":
            self.answer({"width": 1280, "height": 720})

    def do_GET(self):
        if self.path == "/cursor_position":
            self.answer([100, 200])
        elif self.path == "/screenshot":
            file = BytesIO()
            Image.new("RGB", (1280, 720), (1, 2, 3)).save(file, "PNG")
            self.answer(file.getvalue())
        else:
            self.send_error(404)

    def answer(self, value):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

    def address_string(self):
        return "box"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    if not hasattr(socket, "AF_UNIX"):
        pytest.skip("needs Unix sockets")
    with Server(tmp_path_factory.mktemp("s") / "box.sock") as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def run(server, code):
    """Run a program in which pyautogui is imported, and return what it printed."""
    return subprocess.run(
        [sys.executable, "-c", f"import pyautogui\npyautogui.PAUSE = 0\n{code}"],
        env={"PYTHONPATH": str(SHIMS), "RLA_BOX_SOCKET": server.server_address},
        capture_output=True,
        text=True,
        timeout=60,
    )


def short(event):
    """A compact form of an event."""
    mark = {True: "+", False: "-"}.get(event.get("down"), "")
    values = [str(value) for name, value in event.items() if name not in ("type", "down")]
    return f"{event['type']} {mark}{','.join(values)}"


PROGRAMS = {
    "hotkey('ctrl', 's')": "key +ctrl|key +s|key -s|key -ctrl",
    "hotkey(['shift', 'ctrl', 'e'])": "key +shift|key +ctrl|key +e|key -e|key -ctrl|key -shift",
    "press(['enter'])": "key +enter|key -enter",
    "press('up', presses=2, interval=0.01)": "key +up|key -up|pause 0.01|key +up|key -up|pause 0.01",
    "keyDown('a'); pyautogui.keyUp('a')": "key +a|key -a",
    "write('Grüße\\n')": "text Grüße\n",
    "typewrite(['a', 'enter'])": "key +a|key -a|key +enter|key -enter",
    "write('ab', interval=0.1)": "text a|pause 0.1|text b|pause 0.1",
    "click(0, 0)": "move 0,0|button +left|button -left",
    "click()": "button +left|button -left",
    "click((3, 4), button='right')": "move 3,4|button +right|button -right",
    "click(x=5)": "move 5,200|button +left|button -left",
    "rightClick(1, 2)": "move 1,2|button +right|button -right",
    "middleClick()": "button +middle|button -middle",
    "doubleClick(1, 2)": "move 1,2|button +left|button -left|button +left|button -left",
    "tripleClick()": "button +left|button -left|button +left|button -left|button +left|button -left",
    "moveTo(12.7, 3.2)": "move 12,3",
    "moveRel(-10, 5)": "move 90,205",
    "move(0, 1)": "move 100,201",
    "mouseDown(button=2); pyautogui.mouseUp(1, 2)": "button +middle|move 1,2|button -left",
    "dragTo(200, 400)": "button +left|move 150,300|move 200,400|button -left",
    "dragRel(10, 20, button='right')": "button +right|move 105,210|move 110,220|button -right",
    "scroll(-20)": "scroll 0,-20",
    "scroll(3, 7, 8)": "move 7,8|scroll 0,3",
    "hscroll(2)": "scroll 2,0",
    "moveTo(103, 200, duration=0.06)": "move 101,200|pause 0.02|move 102,200|pause 0.02|move 103,200",
}


def test_calls_become_the_events_of_pyautogui(server):
    server.events = []
    programs = "\n".join(f"pyautogui.{call}\npyautogui.write('---')" for call in PROGRAMS)
    result = run(server, programs)
    assert result.stderr == ""
    seen = "|".join(map(short, server.events)).split("|text ---")
    assert [part.strip("|") for part in seen[:-1]] == list(PROGRAMS.values())


def test_keys_are_held_for_a_with_block_also_when_it_raises(server):
    server.events = []
    run(server, "with pyautogui.hold('shift'):\n    pyautogui.press('a')\n    raise KeyError")
    assert [short(event) for event in server.events] == ["key +shift", "key +a", "key -a", "key -shift"]


def test_questions_are_answered_by_the_server(server):
    code = (
        "p = pyautogui\n"
        "print(*p.position(), *p.size(), p.onScreen(0, 0), p.onScreen(1280, 0), p.FAILSAFE)\n"
        "print(p.screenshot().size, p.screenshot(region=(1, 2, 30, 40)).size)\n"
    )
    result = run(server, code)
    assert (result.stdout, result.stderr) == ("100 200 1280 720 True False False\n(1280, 720) (30, 40)\n", "")


def test_what_cannot_be_done_raises(server):
    server.error = "unknown key 'ctr'"
    try:
        result = run(server, "pyautogui.press('ctr')")
    finally:
        server.error = ""
    assert result.returncode == 1
    assert "PyAutoGUIException: unknown key 'ctr'" in result.stderr
