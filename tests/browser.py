"""A real Chromium, told what to do through its debugging pipe (NUL-separated JSON on descriptors 3 and 4)."""

import base64
import json
import os
import select
import shutil
import subprocess
import time

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
_PATIENCE = 40.0


class Browser:
    """One tab of a headless browser; errors of the page's scripts and of its policy are in ``faults``."""

    def __init__(self, profile, size=(1280, 900), dark=False):
        down_read, self._write = os.pipe()
        self._read, up_write = os.pipe()
        self._number, self._rest, self.faults = 0, b"", []
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
        options = [f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}", "about:blank"]
        # The pipe's ends must be 3 and 4 there; a shell puts them in place.
        moved = f'exec 3<&{down_read} 4>&{up_write}; exec "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", moved, "bash", *command, *options],
            pass_fds=(down_read, up_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(down_read)
        os.close(up_write)
        pages = [t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        attached = self.call("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    _session = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._write)
        self._process.terminate()
        self._process.wait()
        os.close(self._read)

    def call(self, method, **parameters):
        """Run a command of the protocol and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def run(self, script):
        """Return the value of an expression."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition):
        """Return once an expression is true."""
        end = time.monotonic() + _PATIENCE
        pause = "new Promise((done) => setTimeout(done, 30))"
        while not self.run(f"{pause}.then(() => Boolean({condition}))"):
            assert time.monotonic() < end, f"never true: {condition}; faults: {self.faults}"

    def key(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, text=key if len(key) == 1 else "")

    def picture(self, path, **parameters):
        data = self.call("Page.captureScreenshot", format="png", **parameters)["data"]
        path.write_bytes(base64.b64decode(data))

    def _note(self, event):
        if event.get("method") == "Runtime.exceptionThrown":
            self.faults.append(event["params"]["exceptionDetails"])
        # A lost connection is logged too; what the page may not load or run is a fault of ours.
        if event.get("method") == "Log.entryAdded" and "Content Security" in event["params"]["entry"]["text"]:
            self.faults.append(event["params"]["entry"])

    def _next(self):
        while b"\0" not in self._rest:
            assert select.select([self._read], [], [], _PATIENCE)[0], "the browser does not answer"
            data = os.read(self._read, 1 << 20)
            assert data, "the browser is gone"
            self._rest += data
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)
