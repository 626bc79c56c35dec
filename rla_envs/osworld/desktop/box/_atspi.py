"""The accessibility bus: many calls in flight at once, each with its own time to answer."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

from jeepney import DBusAddress, MessageType, new_method_call
from jeepney.io.blocking import open_dbus_connection

from . import _wire
from ._wire import Method, Reference

_A = "org.a11y.atspi."
_PROPERTIES = "org.freedesktop.DBus.Properties"

GET_CHILDREN = Method(f"{_A}Accessible", "GetChildren", "", _wire.references)
GET_STATE = Method(f"{_A}Accessible", "GetState", "", _wire.states)
GET_ROLE_NAME = Method(f"{_A}Accessible", "GetRoleName", "", _wire.string)
GET_INTERFACES = Method(f"{_A}Accessible", "GetInterfaces", "", _wire.strings)
GET_ATTRIBUTES = Method(f"{_A}Accessible", "GetAttributes", "", _wire.pairs)
GET_INDEX = Method(f"{_A}Accessible", "GetIndexInParent", "", _wire.number)
GET_EXTENTS = Method(f"{_A}Component", "GetExtents", "u", _wire.extents)
AT_POINT = Method(f"{_A}Component", "GetAccessibleAtPoint", "iiu", _wire.reference)
GET_TEXT = Method(f"{_A}Text", "GetText", "ii", _wire.string)
GET_ACTIONS = Method(f"{_A}Action", "GetActions", "", _wire.triples)
AT_CELL = Method(f"{_A}Table", "GetAccessibleAt", "ii", _wire.reference)
ROW_AT = Method(f"{_A}Table", "GetRowAtIndex", "i", _wire.number)
COLUMN_AT = Method(f"{_A}Table", "GetColumnAtIndex", "i", _wire.number)
GET = Method(_PROPERTIES, "Get", "ss", _wire.variant)
GET_ALL = Method(_PROPERTIES, "GetAll", "s", _wire.properties)
GET_PID = Method("org.freedesktop.DBus", "GetConnectionUnixProcessID", "s", _wire.number)
ADD_MATCH = Method("org.freedesktop.DBus", "AddMatch", "s", _wire.nothing)
REGISTER_EVENT = Method(f"{_A}Registry", "RegisterEvent", "sass", _wire.nothing)

DAEMON: Reference = ("org.freedesktop.DBus", "/org/freedesktop/DBus")
REGISTRY: Reference = (f"{_A}Registry", "/org/a11y/atspi/registry")
DESKTOP: Reference = (f"{_A}Registry", "/org/a11y/atspi/accessible/root")

Callback = Callable[[Any], None]
"""Takes what a call returned; None if it failed."""


def pack_strings(*values: str) -> bytes:
    """Return strings as the body of a call."""
    body = b""
    for value in values:
        raw = value.encode()
        body += b"\0" * (-len(body) % 4) + len(raw).to_bytes(4, "little") + raw + b"\0"
    return body


class Conversation:
    """Calls that belong together, in practice those to one application.

    Attributes:
        pending: How many calls have not been answered yet.
        heard: When the last answer came, by the monotonic clock.
        abandoned: Whether it was given up because no answer came for too long.
    """

    __slots__ = ("abandoned", "heard", "pending")

    def __init__(self) -> None:
        self.pending = 0
        self.heard = time.monotonic()
        self.abandoned = False


class Bus:
    """A connection to the accessibility bus.

    Raises:
        OSError: From every method, and on construction, if the bus is not
            there or went away.
    """

    def __init__(self, timeout: float = 5.0) -> None:
        self._link = open_dbus_connection(_address(timeout), auth_timeout=timeout)
        self._socket: socket.socket = self._link.sock
        # A bus that takes nothing in for this long is as good as gone.
        self._socket.settimeout(timeout)
        self._serial = 1000  # jeepney used the first few, for its greeting
        self._splitter = _wire.Splitter()
        self._outgoing: list[bytes] = []
        self._calls: dict[int, tuple[Conversation, Callable[[bytes, int], Any], Callback]] = {}
        self._prefixes: dict[tuple[str, Method], bytes] = {}
        self.signals = 0

    def call(
        self, conversation: Conversation, target: Reference, method: Method, body: bytes, done: Callback
    ) -> None:
        """Queue a call; ``done`` is given what it returned, during :meth:`run`."""
        destination, path = target
        prefix = self._prefixes.get((destination, method))
        if prefix is None:
            prefix = self._prefixes[destination, method] = _wire.call_prefix(destination, method)
        self._serial += 1
        self._outgoing.append(_wire.method_call(prefix, path, self._serial, body))
        self._calls[self._serial] = conversation, method.decode, done
        conversation.pending += 1

    def ask(self, target: Reference, method: Method, body: bytes = b"", timeout: float = 1.0) -> Any:
        """Make one call and return what it returned; None if it failed or was not answered in time."""
        answers: list[Any] = []
        conversation = Conversation()
        self.call(conversation, target, method, body, answers.append)
        self.run([conversation], timeout)
        return answers[0] if answers else None

    def run(self, conversations: list[Conversation], silence: float) -> None:
        """Send what is queued and take answers in, until every conversation is over.

        Args:
            conversations: Those to wait for.
            silence: Seconds without any answer after which one is abandoned:
                its calls are forgotten.
        """
        for conversation in conversations:
            conversation.heard = time.monotonic()
        while True:
            self._send()
            open_ones = [each for each in conversations if each.pending and not each.abandoned]
            if not open_ones:
                return
            wait = min(each.heard for each in open_ones) + silence - time.monotonic()
            if wait > 0:
                self.receive(wait)
            now = time.monotonic()
            for each in open_ones:
                if each.pending and each.heard + silence <= now:
                    self._abandon(each)

    def receive(self, timeout: float) -> None:
        """Wait up to ``timeout`` seconds for something to come in, and handle it."""
        if not select.select([self._socket], [], [], max(timeout, 0.0))[0]:
            return
        data = self._socket.recv(1 << 18)
        if not data:
            raise ConnectionResetError("the accessibility bus closed the connection")
        now = time.monotonic()
        for kind, serial, message, body in self._splitter.feed(data):
            if kind == _wire.SIGNAL:
                self.signals += 1
                continue
            known = self._calls.pop(serial, None)
            if known is None:
                continue
            conversation, decode, done = known
            conversation.pending -= 1
            conversation.heard = now
            done(_decoded(decode, message, body) if kind == _wire.METHOD_RETURN else None)

    def close(self) -> None:
        """Close the connection."""
        self._link.close()

    def _send(self) -> None:
        if self._outgoing:
            data = b"".join(self._outgoing)
            self._outgoing.clear()
            self._socket.sendall(data)

    def _abandon(self, conversation: Conversation) -> None:
        conversation.abandoned = True
        self._calls = {serial: call for serial, call in self._calls.items() if call[0] is not conversation}


def _decoded(decode: Callable[[bytes, int], Any], message: bytes, body: int) -> Any:
    """Return what a message says; None if an application sent something else than was asked for."""
    try:
        return decode(message, body)
    except (struct.error, IndexError, ValueError):
        return None


def _address(timeout: float) -> str:
    """Ask the session bus for the address of the accessibility bus."""
    with open_dbus_connection("SESSION", auth_timeout=timeout) as session:
        launcher = DBusAddress("/org/a11y/bus", "org.a11y.Bus", "org.a11y.Bus")
        reply = session.send_and_get_reply(new_method_call(launcher, "GetAddress"), timeout=timeout)
        if reply.header.message_type == MessageType.error:
            raise ConnectionError(f"the session bus knows no accessibility bus: {reply.body}")
        return str(reply.body[0])
