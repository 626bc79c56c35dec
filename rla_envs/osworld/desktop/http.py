"""The host's side of OSWorld's HTTP protocol, over whatever makes a connection."""

from __future__ import annotations

import http.client
import io
import json
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode

import numpy as np
from PIL import Image, UnidentifiedImageError

from rla_envs.errors import InfrastructureError, InputError
from rla_envs.osworld.desktop.base import Completed, Screenshot

REQUEST_SECONDS = 30.0
"""How long an answer may take that waits for nothing but the server."""

_MAX_ANSWER = 512 << 20

Connect = Callable[[float], http.client.HTTPConnection]
"""Makes a connection whose answers may take this many seconds."""


class RefusedError(InfrastructureError):
    """The server answered that it cannot do what it was asked; ``status`` is HTTP's.

    A failure of the machinery, unless whoever asked knows better.
    """

    def __init__(self, message: str, status: int) -> None:
        """Keep both."""
        super().__init__(message)
        self.status = status


class OSWorldClient:
    """Speaks to a server of OSWorld's protocol: what is the same for every provider.

    Args:
        connect: Makes a connection.
        name: What the server is called in messages (``"the desktop"``).
    """

    def __init__(self, connect: Connect, name: str = "the desktop") -> None:
        """Keep how to connect; nothing is sent yet."""
        self._connect, self._name = connect, name
        self._lock = threading.Lock()
        self._kept: http.client.HTTPConnection | None = None

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        timeout: float = REQUEST_SECONDS,
        raw: tuple[str, bytes] | None = None,
    ) -> tuple[bytes, Mapping[str, str]]:
        """Return the answer's content and headers.

        Args:
            method: ``"GET"`` or ``"POST"``.
            path: Endpoint.
            body: Sent as JSON.
            timeout: Seconds that the answer may take.
            raw: Media type and content to send instead of ``body``.

        Raises:
            RefusedError: If the server refuses.
            InfrastructureError: If it does not answer.
        """
        headers, data = {}, None
        if raw is not None:
            headers["Content-Type"], data = raw
        elif body is not None:
            headers["Content-Type"], data = "application/json", json.dumps(body).encode()
        with self._lock:
            connection, self._kept = self._kept, None
        connection = self._again(connection, timeout)
        try:
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            content = answer.read(_MAX_ANSWER)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise InfrastructureError(
                f"{self._name} does not answer {method} {path}: {_cause(error)}"
            ) from error
        with self._lock:
            if self._kept is None and not answer.will_close:
                self._kept = connection
            else:
                connection.close()
        if answer.status >= 400:
            raise RefusedError(_message(content), answer.status)
        return content, dict(answer.getheaders())

    def ask(
        self, path: str, body: Mapping[str, object] | None = None, timeout: float = REQUEST_SECONDS
    ) -> dict[str, Any]:
        """Return the JSON object that a POST (with a body) or GET answers; errors as :meth:`request`."""
        content, _ = self.request("GET" if body is None else "POST", path, body, timeout=timeout)
        try:
            answer = json.loads(content)
        except ValueError as error:
            raise InfrastructureError(f"{self._name} answered {path} with what is not JSON") from error
        if not isinstance(answer, dict):
            raise InfrastructureError(
                f"{self._name} answered {path} with {type(answer).__name__}, not an object"
            )
        return answer

    def screenshot(self) -> Screenshot:
        """Return the screen as it is now."""
        content, _ = self.request("GET", "/screenshot")
        try:
            with Image.open(io.BytesIO(content)) as picture:
                return np.asarray(picture.convert("RGB"))
        except (UnidentifiedImageError, OSError, ValueError) as error:
            raise InfrastructureError(
                f"{self._name} sent a screenshot that is no picture: {error}"
            ) from error

    def accessibility_tree(self) -> str:
        """Return the accessibility tree as it is now, in OSWorld's XML form."""
        return str(self.ask("/accessibility", timeout=60.0).get("AT", ""))

    def execute(self, command: Sequence[str] | str, shell: bool = False, timeout: float = 120.0) -> Completed:
        """Run a command in the desktop's session and wait for it; 124 means it took too long."""
        words = command if isinstance(command, str) else list(command)
        body = {"command": words, "shell": shell, "timeout": timeout}
        try:
            answer = self.ask("/execute", body, timeout=timeout + REQUEST_SECONDS)
        except RefusedError as error:
            raise InfrastructureError(f"{self._name} runs no command: {error}") from error
        code = answer.get("returncode", 0 if answer.get("status") == "success" else 1)
        return Completed(int(code), str(answer.get("output") or ""), str(answer.get("error") or ""))

    def launch(self, command: Sequence[str] | str, shell: bool = False) -> None:
        """Start a command in the desktop's session, without waiting for it."""
        words = command if isinstance(command, str) else list(command)
        try:
            self.request("POST", "/setup/launch", {"command": words, "shell": shell})
        except RefusedError as error:
            raise InputError(f"launch: {error}") from error

    def open_file(self, path: str) -> None:
        """Open a file in the application for its kind, and wait until its window is there and at rest."""
        try:
            self.request("POST", "/setup/open_file", {"path": path}, timeout=90.0)
        except RefusedError as error:
            if error.status in (404, 501):
                raise InputError(f"open_file: {error}") from error
            raise InfrastructureError(f"open_file: {error}") from error

    def activate_window(self, name: str, strict: bool = False, by_class: bool = False) -> bool:
        """Give the focus to a window; return whether there is one."""
        return self._window("/setup/activate_window", name, strict, by_class)

    def close_window(self, name: str, strict: bool = False, by_class: bool = False) -> bool:
        """Ask a window to close; return whether there is one."""
        return self._window("/setup/close_window", name, strict, by_class)

    def read_file(self, path: str) -> bytes:
        """Return a file's content; raises FileNotFoundError if there is no such file."""
        try:
            form = "application/x-www-form-urlencoded"
            content, _ = self.request("POST", "/file", raw=(form, _form(path)), timeout=120.0)
        except RefusedError as error:
            raise FileNotFoundError(str(error)) from error
        return content

    def write_file(self, path: str, data: bytes) -> None:
        """Write a file, with the folders above it."""
        boundary = uuid.uuid5(uuid.NAMESPACE_URL, path).hex
        while boundary.encode() in data:
            boundary = uuid.uuid5(uuid.NAMESPACE_URL, boundary).hex
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="file_path"\r\n\r\n{path}\r\n',
            f'--{boundary}\r\nContent-Disposition: form-data; name="file_data"; filename="file"\r\n'
            "Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: binary\r\n\r\n",
        ]
        content = "".join(parts).encode() + data + f"\r\n--{boundary}--\r\n".encode()
        kind = f"multipart/form-data; boundary={boundary}"
        try:
            self.request("POST", "/setup/upload", raw=(kind, content), timeout=120.0)
        except RefusedError as error:
            raise InfrastructureError(f"cannot write {path}: {error}") from error

    def terminal_output(self) -> str | None:
        """Return the text in the topmost terminal window, as the user sees it; None if there is none."""
        output = self.ask("/terminal").get("output")
        return None if output is None else str(output)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()

    def __enter__(self) -> Self:
        """Return the desktop."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the desktop."""
        self.close()

    def _again(self, kept: http.client.HTTPConnection | None, timeout: float) -> http.client.HTTPConnection:
        """Return the kept connection with another time limit, or a new one."""
        if kept is not None and kept.sock is not None:
            kept.sock.settimeout(timeout)
            return kept
        try:
            return self._connect(timeout)
        except OSError as error:
            raise InfrastructureError(f"{self._name} cannot be reached: {_cause(error)}") from error

    def _window(self, path: str, name: str, strict: bool, by_class: bool) -> bool:
        try:
            self.request("POST", path, {"window_name": name, "strict": strict, "by_class": by_class})
        except RefusedError as error:
            if error.status == 404:
                return False
            raise InfrastructureError(f"{path}: {error}") from error
        return True


def _form(path: str) -> bytes:
    return urlencode({"file_path": path}).encode()


def _message(content: bytes) -> str:
    try:
        answer = json.loads(content)
    except ValueError:
        return content[:500].decode("utf-8", "replace")
    return str(answer.get("message", answer)) if isinstance(answer, dict) else str(answer)


def _cause(error: BaseException) -> str:
    return str(error) or type(error).__name__
