"""Servers of the live page, and a client of its events."""

import contextlib
import http.client
import json
import threading

from rla_agents.live.feed import Feed
from rla_agents.live.server import LiveServer


class EagerFeed(Feed):
    """A feed that looks at the folder each time it is asked: a second passes before it."""

    def __init__(self, folder):
        self.now = 0.0
        super().__init__(folder, clock=lambda: self.now)

    def change(self, since):
        self.now += 1.0
        return super().change(since)


@contextlib.contextmanager
def served(folder, port=0):
    """Serve a run's page from this process."""
    with LiveServer(Feed(folder), port) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def get(server, path, **headers):
    """Return status, headers and body."""
    connection = http.client.HTTPConnection(*server.server_address)
    connection.request("GET", path, headers={name.replace("_", "-"): text for name, text in headers.items()})
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read().decode()
    connection.close()
    return found


@contextlib.contextmanager
def events(server, **headers):
    """Yield an iterator over the changes that the server sends, each with its id."""
    connection = http.client.HTTPConnection(*server.server_address, timeout=30)
    connection.request("GET", "/events", headers={name.replace("_", "-"): t for name, t in headers.items()})
    answer = connection.getresponse()
    assert answer.getheader("Content-Type") == "text/event-stream"
    try:
        yield _changes(answer)
    finally:
        answer.close()
        connection.close()


def _changes(answer):
    fields = {}
    for line in answer:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name:
            fields[name] = value
        elif "data" in fields:
            yield {"id": fields["id"], **json.loads(fields["data"])}
            fields = {}
