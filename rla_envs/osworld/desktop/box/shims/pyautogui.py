"""The functions of pyautogui, for programs inside a box: their events go to the box's own server.

A new process pays a few milliseconds for it, types every character exactly,
and knows no fail-safe corner.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from PIL import Image

FAILSAFE = False
PAUSE = 0.1
"""Seconds to wait after each function; pyautogui's own default."""

LEFT, MIDDLE, RIGHT, PRIMARY, SECONDARY = "left", "middle", "right", "left", "right"
_BUTTONS = {1: LEFT, 2: MIDDLE, 3: RIGHT, "primary": LEFT, "secondary": RIGHT}
_STEPS_PER_SECOND = 60


class PyAutoGUIException(Exception):  # noqa: N818 - pyautogui's name
    """Something could not be done."""


class FailSafeException(PyAutoGUIException):
    """Never raised here; programs name it in their handlers."""


class Point(NamedTuple):
    """A place on the screen, in pixels."""

    x: int
    y: int


class Size(NamedTuple):
    """The extent of the screen, in pixels."""

    width: int
    height: int


def position(x: float | None = None, y: float | None = None) -> Point:
    """Return where the pointer is, or would be with these coordinates."""
    now_x, now_y = json.loads(_ask("GET", "/cursor_position"))
    return Point(int(now_x if x is None else x), int(now_y if y is None else y))


def size() -> Size:
    """Return the size of the screen."""
    answer = json.loads(_ask("POST", "/screen_size"))
    return Size(int(answer["width"]), int(answer["height"]))


def onScreen(x: Any, y: float | None = None) -> bool:  # noqa: N802
    """Return whether a place is on the screen."""
    place, extent = _place(x, y), size()
    return 0 <= place.x < extent.width and 0 <= place.y < extent.height


def screenshot(
    imageFilename: str | None = None,  # noqa: N803
    region: tuple[int, int, int, int] | None = None,
) -> Image.Image:
    """Return the screen, or a region of it (left, top, width, height), and save it if a file is named."""
    from io import BytesIO

    from PIL import Image

    picture: Image.Image = Image.open(BytesIO(_ask("GET", "/screenshot"))).convert("RGB")
    if region is not None:
        left, top, width, height = region
        picture = picture.crop((left, top, left + width, top + height))
    if imageFilename is not None:
        picture.save(imageFilename)
    return picture


def moveTo(x: Any = None, y: float | None = None, duration: float = 0.0, *_: Any, **__: Any) -> None:  # noqa: N802
    """Move the pointer to a place, in ``duration`` seconds."""
    _perform(_path(_place(x, y), duration))


def moveRel(  # noqa: N802
    xOffset: Any = None,  # noqa: N803
    yOffset: float | None = None,  # noqa: N803
    duration: float = 0.0,
    *_: Any,
    **__: Any,
) -> None:
    """Move the pointer by an offset."""
    _perform(_path(_shifted(xOffset, yOffset), duration))


move = moveRel


def mouseDown(x: Any = None, y: float | None = None, button: Any = PRIMARY, *_: Any, **__: Any) -> None:  # noqa: N802
    """Press a button of the mouse."""
    _perform([*_at(x, y), _button(button, True)])


def mouseUp(x: Any = None, y: float | None = None, button: Any = PRIMARY, *_: Any, **__: Any) -> None:  # noqa: N802
    """Release a button of the mouse."""
    _perform([*_at(x, y), _button(button, False)])


def click(
    x: Any = None,
    y: float | None = None,
    clicks: int = 1,
    interval: float = 0.0,
    button: Any = PRIMARY,
    duration: float = 0.0,
    *_: Any,
    **__: Any,
) -> None:
    """Click, once or several times."""
    place = [] if x is None and y is None else _path(_place(x, y), duration)
    _perform(place + _repeated([_button(button, True), _button(button, False)], clicks, interval))


def leftClick(x: Any = None, y: float | None = None, interval: float = 0.0, *_: Any, **__: Any) -> None:  # noqa: N802
    """Click the left button."""
    click(x, y, 1, interval, LEFT)


def rightClick(x: Any = None, y: float | None = None, interval: float = 0.0, *_: Any, **__: Any) -> None:  # noqa: N802
    """Click the right button."""
    click(x, y, 1, interval, RIGHT)


def middleClick(x: Any = None, y: float | None = None, interval: float = 0.0, *_: Any, **__: Any) -> None:  # noqa: N802
    """Click the middle button."""
    click(x, y, 1, interval, MIDDLE)


def doubleClick(  # noqa: N802
    x: Any = None, y: float | None = None, interval: float = 0.0, button: Any = LEFT, *_: Any, **__: Any
) -> None:
    """Click twice."""
    click(x, y, 2, interval, button)


def tripleClick(  # noqa: N802
    x: Any = None, y: float | None = None, interval: float = 0.0, button: Any = LEFT, *_: Any, **__: Any
) -> None:
    """Click three times."""
    click(x, y, 3, interval, button)


def dragTo(  # noqa: N802
    x: Any = None,
    y: float | None = None,
    duration: float = 0.0,
    tween: Any = None,
    button: Any = PRIMARY,
    *_: Any,
    **__: Any,
) -> None:
    """Drag with a button held down to a place."""
    _drag(_place(x, y), duration, button)


def dragRel(  # noqa: N802
    xOffset: Any = 0,  # noqa: N803
    yOffset: float = 0,  # noqa: N803
    duration: float = 0.0,
    tween: Any = None,
    button: Any = PRIMARY,
    *_: Any,
    **__: Any,
) -> None:
    """Drag with a button held down by an offset."""
    _drag(_shifted(xOffset, yOffset), duration, button)


drag = dragRel


def scroll(clicks: float, x: Any = None, y: float | None = None, *_: Any, **__: Any) -> None:
    """Turn the wheel: up, or down for a negative number of clicks."""
    _perform([*_at(x, y), {"type": "scroll", "dx": 0, "dy": int(clicks)}])


vscroll = scroll


def hscroll(clicks: float, x: Any = None, y: float | None = None, *_: Any, **__: Any) -> None:
    """Turn the wheel sideways: to the right, or to the left for a negative number of clicks."""
    _perform([*_at(x, y), {"type": "scroll", "dx": int(clicks), "dy": 0}])


def keyDown(key: str, *_: Any, **__: Any) -> None:  # noqa: N802
    """Press a key and hold it."""
    _perform([_key(key, True)])


def keyUp(key: str, *_: Any, **__: Any) -> None:  # noqa: N802
    """Release a key."""
    _perform([_key(key, False)])


def press(keys: str | Iterable[str], presses: int = 1, interval: float = 0.0, *_: Any, **__: Any) -> None:
    """Press and release keys, one after the other."""
    names = [keys] if isinstance(keys, str) else list(keys)
    _perform(_repeated([_key(name, down) for name in names for down in (True, False)], presses, interval))


def hotkey(*keys: str | Sequence[str], interval: float = 0.0, **_: Any) -> None:
    """Press keys in order, and release them in the opposite one."""
    names = [name for key in keys for name in ([key] if isinstance(key, str) else key)]
    events = [_key(name, True) for name in names] + [_key(name, False) for name in reversed(names)]
    _perform(_spaced([[event] for event in events], interval))


@contextmanager
def hold(keys: str | Iterable[str], *_: Any, **__: Any) -> Iterator[None]:
    """Hold keys for the time of a ``with`` block."""
    names = [keys] if isinstance(keys, str) else list(keys)
    _perform([_key(name, True) for name in names])
    try:
        yield
    finally:
        _perform([_key(name, False) for name in names])


def write(message: str | Sequence[str], interval: float = 0.0, *_: Any, **__: Any) -> None:
    """Type a text, in which a line feed is the Enter key; of a list, press the keys by name."""
    if not isinstance(message, str):
        press(message, interval=interval)
    elif interval:
        _perform(_spaced([[{"type": "text", "text": char}] for char in message], interval))
    else:
        _perform([{"type": "text", "text": message}])


typewrite = write


def sleep(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)


def _button(button: Any, down: bool) -> dict[str, Any]:
    return {"type": "button", "button": _BUTTONS.get(button, button), "down": down}


def _key(key: str, down: bool) -> dict[str, Any]:
    return {"type": "key", "key": key, "down": down}


def _repeated(events: list[dict[str, Any]], times: int, interval: float) -> list[dict[str, Any]]:
    return _spaced([events] * times, interval)


def _spaced(groups: list[list[dict[str, Any]]], interval: float) -> list[dict[str, Any]]:
    """Join groups of events, with a pause after each as pyautogui has it."""
    pause = [{"type": "pause", "seconds": interval}] if interval else []
    return [event for group in groups for event in (*group, *pause)]


def _place(x: Any, y: float | None) -> Point:
    """Return a place given as two numbers or as a pair; the pointer's for what is missing."""
    if isinstance(x, Sequence):
        x, y = x
    if x is None or y is None:
        return position(x, y)
    return Point(int(x), int(y))


def _shifted(x: Any, y: float | None) -> Point:
    if isinstance(x, Sequence):
        x, y = x
    now = position()
    return Point(now.x + int(x or 0), now.y + int(y or 0))


def _at(x: Any, y: float | None) -> list[dict[str, Any]]:
    return [] if x is None and y is None else _path(_place(x, y), 0.0)


def _path(end: Point, duration: float) -> list[dict[str, Any]]:
    """Return the moves to a place: one, or a straight line of them in ``duration`` seconds."""
    steps = int(duration * _STEPS_PER_SECOND) if duration > 0 else 0
    events: list[dict[str, Any]] = []
    if steps > 1:
        start = position()
        for step in range(1, steps):
            x = round(start.x + (end.x - start.x) * step / steps)
            y = round(start.y + (end.y - start.y) * step / steps)
            events.append({"type": "move", "x": x, "y": y})
            events.append({"type": "pause", "seconds": duration / steps})
    return [*events, {"type": "move", "x": end.x, "y": end.y}]


def _drag(end: Point, duration: float, button: Any) -> None:
    # Applications take a press and a release for a drag only if they see the pointer move in between.
    start = position()
    middle = {"type": "move", "x": (start.x + end.x) // 2, "y": (start.y + end.y) // 2}
    _perform([_button(button, True), middle, *_path(end, duration), _button(button, False)])


def _perform(events: list[dict[str, Any]]) -> None:
    """Have the server carry out events, and wait as long as :data:`PAUSE` says."""
    answer = json.loads(_ask("POST", "/rla/input", json.dumps({"events": events}).encode()))
    if answer["error"]:
        raise PyAutoGUIException(answer["error"])
    if PAUSE:
        time.sleep(PAUSE)


def _ask(method: str, path: str, body: bytes = b"") -> bytes:
    """Send the server a request and return the body of its answer.

    Written out, because importing ``http.client`` takes longer than all else here.
    """
    head = (
        f"{method} {path} HTTP/1.0\r\nHost: box\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.environ["RLA_BOX_SOCKET"])
        connection.sendall(head.encode() + body)
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    status, _, rest = answer.partition(b"\r\n")
    if b" 200 " not in status + b" ":
        raise PyAutoGUIException(f"the box's server answered {status.decode('latin-1')!r} to {method} {path}")
    return rest.partition(b"\r\n\r\n")[2]
