"""The windows on the desktop: list them, and have the window manager activate or close them."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator
from typing import Any

from Xlib import X, error
from Xlib.display import Display
from Xlib.protocol import event

_FROM_A_PAGER = 2
"""Source of a request, in the window manager's protocol: the user's own wish, not an application's."""


def read_property(display: Any, window: Any, name: str) -> Any:
    """Return the value of a window's property, numbers or bytes; None if it or the window does not exist."""
    try:
        found = window.get_full_property(display.intern_atom(name), X.AnyPropertyType)
    except error.XError:
        return None
    return None if found is None else found.value


def client_windows(display: Any) -> list[Any]:
    """Return the windows that applications opened, lowest first, without desktop backgrounds and panels."""
    root = display.screen().root
    ids = read_property(display, root, "_NET_CLIENT_LIST_STACKING")
    furniture = {
        display.intern_atom("_NET_WM_WINDOW_TYPE_DESKTOP"),
        display.intern_atom("_NET_WM_WINDOW_TYPE_DOCK"),
    }
    found = [display.create_resource_object("window", number) for number in (() if ids is None else ids)]
    return [w for w in found if furniture.isdisjoint(read_property(display, w, "_NET_WM_WINDOW_TYPE") or ())]


def list_windows(display: Any) -> list[dict[str, Any]]:
    """Return the windows that applications opened, lowest first.

    Args:
        display: Connection to the X server (an ``Xlib.display.Display``).

    Returns:
        For each its ``id``, ``title``, ``window_class`` (as wmctrl shows it,
        ``"instance.Class"``), ``pid`` (0 if unknown), ``x``, ``y``, ``width``
        and ``height`` in pixels of the screen, without decorations, and
        whether it is ``active``.
    """
    root = display.screen().root
    active = read_property(display, root, "_NET_ACTIVE_WINDOW")
    described = []
    for window in client_windows(display):
        try:
            size = window.get_geometry()
            corner = root.translate_coords(window, 0, 0)
        except error.XError:  # closed in the meantime
            continue
        pid = read_property(display, window, "_NET_WM_PID")
        described.append(
            {
                "id": window.id,
                "title": _title(display, window),
                "window_class": _window_class(display, window),
                "pid": int(pid[0]) if pid else 0,
                "x": corner.x,
                "y": corner.y,
                "width": size.width,
                "height": size.height,
                "active": bool(active) and active[0] == window.id,
            }
        )
    return described


def activate(display: Any, name: str, strict: bool = False, by_class: bool = False) -> bool:
    """Give a window the focus and raise it; return whether there is one by this name.

    Names are compared as wmctrl compares them: a part of the title is enough,
    in upper or lower case. Of several windows the lowest is taken, as by wmctrl.

    Args:
        display: Connection to the X server.
        name: Title of the window, or a part of it.
        strict: Whether the whole title must be exactly this.
        by_class: Whether to look at the window's class instead of its title.
    """
    window = _find(display, name, strict, by_class)
    if window is None:
        return False
    _request(display, window, "_NET_ACTIVE_WINDOW", [_FROM_A_PAGER, X.CurrentTime, 0, 0, 0])
    return True


def close(display: Any, name: str, strict: bool = False, by_class: bool = False) -> bool:
    """Ask a window to close, as its close button does; arguments and result as for :func:`activate`."""
    window = _find(display, name, strict, by_class)
    if window is None:
        return False
    _request(display, window, "_NET_CLOSE_WINDOW", [X.CurrentTime, _FROM_A_PAGER, 0, 0, 0])
    return True


def wait_for_window(
    display: Any, predicate: Callable[[dict[str, Any]], bool], timeout: float
) -> dict[str, Any] | None:
    """Wait until there is a window of some kind.

    Args:
        display: Connection to the X server.
        predicate: Says of a window, as :func:`list_windows` describes it, whether it is the one.
        timeout: Longest time to wait, in seconds.

    Returns:
        The window, or None if none came in time.
    """
    deadline = time.monotonic() + timeout
    for _ in _changes(display.get_display_name(), deadline):
        for window in list_windows(display):
            if predicate(window):
                return window
    return None


def _changes(name: str, deadline: float) -> Iterator[None]:
    """Yield at once, and again whenever the windows or a title of theirs may have changed."""
    watch = Display(name)
    try:
        root = watch.screen().root
        root.change_attributes(event_mask=X.PropertyChangeMask)
        known: set[int] = set()
        while True:
            for window in client_windows(watch):
                if window.id not in known:
                    known.add(window.id)
                    window.change_attributes(event_mask=X.PropertyChangeMask, onerror=error.CatchError())
            watch.sync()
            while watch.pending_events():
                watch.next_event()
            yield
            if not watch.pending_events():
                left = deadline - time.monotonic()
                if left <= 0 or not select.select([watch], [], [], left)[0]:
                    return
    finally:
        watch.close()


def _title(display: Any, window: Any) -> str:
    title = read_property(display, window, "_NET_WM_NAME")
    if title is not None:
        return _text(title, "utf-8")
    return _text(read_property(display, window, "WM_NAME") or b"", "latin-1")


def _window_class(display: Any, window: Any) -> str:
    names = _text(read_property(display, window, "WM_CLASS") or b"", "latin-1")
    return ".".join(names.rstrip("\0").split("\0"))


def _text(value: bytes | str, encoding: str) -> str:
    return value if isinstance(value, str) else bytes(value).decode(encoding, "replace")


def _find(display: Any, name: str, strict: bool, by_class: bool) -> Any:
    for window in client_windows(display):
        found = _window_class(display, window) if by_class else _title(display, window)
        if found == name if strict else name.casefold() in found.casefold():
            return window
    return None


def _request(display: Any, window: Any, kind: str, data: list[int]) -> None:
    """Send the window manager a request about a window."""
    message = event.ClientMessage(window=window, client_type=display.intern_atom(kind), data=(32, data))
    display.screen().root.send_event(
        message, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask
    )
    display.sync()
