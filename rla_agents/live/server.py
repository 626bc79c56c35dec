"""The live page's web server: one page and a stream of events, on loopback only.

It is the standard library's threaded server, and not a framework: there is one
page for the person at this machine, and a stream (server-sent events, which
browsers reconnect by themselves) is a response that is held open. A framework
would bring an event loop, in which reading files blocks all others.

Other web sites that the person visits must not read the page: requests with
another ``Host`` than this machine's own names are refused, which is what a
domain that points to 127.0.0.1 would send (DNS rebinding), and no answer
allows another origin. No path of a request is looked up on disk, but those of the
screenshots that the run's own trajectories name.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import sys
import threading
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

from rla_agents.live.feed import INTERVAL, Feed
from rla_agents.report.page import asset, render
from rla_agents.report.screenshots import media_type
from rla_agents.report.trajectories import LIMIT, Selection
from rla_envs.errors import InputError

ADDRESS = "127.0.0.1"

_NAMES = frozenset({"127.0.0.1", "localhost"})
_HEARTBEAT = 10.0
_MOST_STREAMS = 32
_TITLES = {
    "success": "Success over time",
    "difficulty": "Success by difficulty",
    "votes": "Votes of the critic",
    "throughput": "Throughput",
    "health": "Health",
}


class LiveServer(ThreadingHTTPServer):
    """Serves the page of one run.

    Args:
        feed: The run.
        port: Port of 127.0.0.1; 0 takes a free one.

    Raises:
        InputError: If the port cannot be used.
    """

    daemon_threads = True

    def __init__(self, feed: Feed, port: int) -> None:
        """Bind the port; ``serve_forever`` answers. See the class for the arguments."""
        self.feed = feed
        self.page, self.policy = _page(feed.folder.resolve().name)
        self.stopping = threading.Event()
        self.streams = threading.BoundedSemaphore(_MOST_STREAMS)
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            used = error.errno == errno.EADDRINUSE
            cause = "is in use" if used else f"cannot be used ({error.strerror})"
            raise InputError(
                f"port {port} of {ADDRESS} {cause}; name another with --port, or 0 for any free one"
            ) from error

    @property
    def url(self) -> str:
        """The page's address."""
        return f"http://{ADDRESS}:{self.server_address[1]}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Pass over pages that were closed while they were answered."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        """Free the port and end the streams."""
        self.stopping.set()
        super().server_close()


class _Handler(BaseHTTPRequestHandler):
    # A page that went to sleep must not hold its thread for ever.
    timeout = 60

    def do_GET(self) -> None:
        """Answer a request."""
        host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        if host not in _NAMES:
            self._send(HTTPStatus.FORBIDDEN, b"expected the Host 127.0.0.1 or localhost\n")
            return
        server, path = cast(LiveServer, self.server), urlsplit(self.path)
        if path.path == "/":
            policy = {"Content-Security-Policy": server.policy}
            self._send(HTTPStatus.OK, server.page, "text/html; charset=utf-8", policy)
        elif path.path == "/events":
            after = parse_qs(path.query).get("after", [""])[-1]
            self._stream(server, self.headers.get("Last-Event-ID") or after)
        elif path.path.startswith("/screenshots/") and (found := server.feed.screenshot(path.path[1:])):
            self._send(HTTPStatus.OK, found, media_type(path.path))
        else:
            self._send(HTTPStatus.NOT_FOUND, b"there is nothing here; the page is at /\n")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: requests are no news."""

    def _stream(self, server: LiveServer, since: str) -> None:
        """Send changes until the page goes or the server stops."""
        if not server.streams.acquire(blocking=False):
            self._send(HTTPStatus.SERVICE_UNAVAILABLE, b"too many pages are open\n")
            return
        try:
            self._begin(HTTPStatus.OK, "text/event-stream", {})
            self.wfile.write(b"retry: 1000\n\n")
            quiet = 0.0
            while not server.stopping.is_set():
                change = server.feed.change(since)
                quiet += INTERVAL
                if change is not None:
                    since, quiet = change.id, 0.0
                    said = {"reset": change.reset, "parts": change.parts, "episodes": change.episodes}
                    self.wfile.write(f"id: {since}\nevent: change\ndata: {json.dumps(said)}\n\n".encode())
                elif quiet >= _HEARTBEAT:
                    quiet = 0.0
                    self.wfile.write(b": here\n\n")
                server.stopping.wait(INTERVAL)
        except (ConnectionError, TimeoutError):
            pass  # the page was closed
        finally:
            server.streams.release()

    def _send(
        self,
        status: HTTPStatus,
        body: bytes,
        kind: str = "text/plain; charset=utf-8",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._begin(status, kind, {"Content-Length": str(len(body)), **(headers or {})})
        self.wfile.write(body)

    def _begin(self, status: HTTPStatus, kind: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        fixed = {
            "Content-Type": kind,
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        for name, value in {**fixed, **headers}.items():
            self.send_header(name, value)
        self.end_headers()


def _page(name: str) -> tuple[bytes, str]:
    """Return the page, empty as it is before the first event, and its content security policy."""
    scripts = asset("viewer.js"), asset("live.js")
    rule = f"The latest {LIMIT} are kept, the newest first; they come as they end."
    page = render(
        "live.html",
        group="Phase or cell",
        name=name,
        titles=_TITLES,
        follow=scripts[1],
        selection=Selection([], 0, rule),
        most=LIMIT,
    )
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    policy = {
        "default-src": "'none'",
        # These two and no other, whatever a run's text may bring into the page.
        "script-src": " ".join(f"'sha256-{value}'" for value in hashes),
        "style-src": "'unsafe-inline'",
        "img-src": "'self'",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return page.encode("utf-8", "replace"), "; ".join(f"{key} {value}" for key, value in policy.items())
