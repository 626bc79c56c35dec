"""The server in a box: OSWorld's HTTP protocol, and under ``/rla`` what it has no word for.

It takes connections from two places: descriptors that arrive over the socket
to the host, and a Unix socket for programs in the box.
"""

from __future__ import annotations

import array
import json
import os
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import IO, Any
from urllib.parse import parse_qs, urlsplit

from .start import SOCKET, Session

MAX_BODY = 256 << 20
"""Largest request, in bytes."""


@dataclass(frozen=True)
class Request:
    """What was asked: the query or form fields, the JSON body, and files sent along."""

    fields: Mapping[str, str]
    body: Mapping[str, Any]
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class Reply:
    """What is answered: bytes, or anything that JSON can say."""

    content: Any
    status: int = 200
    content_type: str = ""
    headers: Mapping[str, str] | None = None

    def encode(self) -> tuple[bytes, str]:
        """Return the bytes to send and their media type."""
        if isinstance(self.content, bytes):
            return self.content, self.content_type or "application/octet-stream"
        if isinstance(self.content, str):
            return self.content.encode("utf-8", "replace"), self.content_type or "text/plain; charset=utf-8"
        return json.dumps(self.content).encode(), "application/json"


class RequestError(Exception):
    """A request that cannot be met: a message for the client, and the HTTP status."""

    def __init__(self, message: str, status: int = 400) -> None:
        """Keep both."""
        super().__init__(message)
        self.status = status


Route = Callable[[Request], Reply]


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection, one after the other."""

    protocol_version = "HTTP/1.1"
    # Small answers would wait for an acknowledgement otherwise, where the connection is a TCP one.
    disable_nagle_algorithm = False
    wbufsize = -1
    routes: Mapping[tuple[str, str], Route] = {}

    def do_GET(self) -> None:
        """Answer a GET request."""
        self._answer("GET")

    def do_POST(self) -> None:
        """Answer a POST request."""
        self._answer("POST")

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""

    def address_string(self) -> str:
        """Return a name for the client: a Unix socket's has none."""
        return "client"

    def _answer(self, method: str) -> None:
        try:
            parts = urlsplit(self.path)
            request = self._request(parts.query)
            route = self.routes.get((method, parts.path))
            if route is None:
                raise RequestError(f"no such endpoint: {method} {parts.path}", 404)
            reply = route(request)
        except RequestError as error:
            reply = Reply({"status": "error", "message": str(error)}, error.status)
        except Exception as error:  # a fault of one request must not end the others
            reply = Reply({"status": "error", "message": f"{type(error).__name__}: {error}"}, 500)
        self._send(reply)

    def _send(self, reply: Reply) -> None:
        data, content_type = reply.encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (reply.headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def _request(self, query: str) -> Request:
        size = int(self.headers.get("Content-Length") or 0)
        if not 0 <= size <= MAX_BODY:
            self.close_connection = True
            raise RequestError(f"expected a body of at most {MAX_BODY} bytes, got {size}", 413)
        raw = self.rfile.read(size)
        kind = self.headers.get_content_type()
        fields = {name: values[-1] for name, values in parse_qs(query).items()}
        if kind == "application/x-www-form-urlencoded":
            fields |= {name: values[-1] for name, values in parse_qs(raw.decode()).items()}
            return Request(fields, fields, {})
        if kind == "multipart/form-data":
            return _multipart(self.headers, raw)
        if not raw:
            return Request(fields, fields, {})
        try:
            body = json.loads(raw)
        except ValueError as error:
            raise RequestError(f"expected a body of JSON or a form; {error}") from error
        if not isinstance(body, dict):
            raise RequestError(f"expected a JSON object, got {type(body).__name__}")
        return Request(fields, body, {})


def _multipart(message: Message, raw: bytes) -> Request:
    """Return the fields and files of a form; a file's bytes exactly as they came."""
    boundary = message.get_param("boundary")
    if not isinstance(boundary, str) or not boundary:
        raise RequestError("expected a boundary between the parts of the form")
    fields: dict[str, str] = {}
    files: dict[str, bytes] = {}
    for part in (b"\r\n" + raw).split(b"\r\n--" + boundary.encode())[1:]:
        head, separator, data = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        described = BytesParser().parsebytes(head)
        name = described.get_param("name", header="content-disposition")
        if not separator or not isinstance(name, str):
            continue
        if described.get_filename() is None:
            fields[name] = data.decode("utf-8", "replace")
        else:
            files[name] = data
    return Request(fields, fields, files)


class _Passed(ThreadingMixIn, UnixStreamServer):
    """Takes connections that the host passes as descriptors; ends the box when the host is gone."""

    daemon_threads = True

    def __init__(self, control: socket.socket) -> None:
        super().__init__("", Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = control

    def get_request(self) -> tuple[socket.socket, Any]:
        data, messages, _, _ = self.socket.recvmsg(1, socket.CMSG_SPACE(4))
        if not data:
            os._exit(0)  # with the first program of the box, all others end
        descriptors = array.array("i")
        for level, kind, content in messages:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(content)
        if not descriptors:
            raise OSError("no descriptor came")
        return socket.socket(fileno=descriptors[0]), "host"


class _Inside(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64


def serve(control: socket.socket, session: Session, options: Mapping[str, Any], burials: IO[str]) -> None:
    """Serve until the host closes its end of the socket.

    Args:
        control: Socket over which the host passes connections.
        session: The running desktop.
        options: Those of the box.
        burials: What the first process tells of the orphans that it buried.
    """
    from .guard import Guard
    from .routes import Box

    box = Box(session, Guard(session, options["memory_mb"], burials))
    Handler.routes = box.routes()
    inside = _Inside(SOCKET, Handler)
    threading.Thread(target=inside.serve_forever, daemon=True).start()
    control.sendall(b'{"ready": true}\n')
    _Passed(control).serve_forever(poll_interval=3600)
