"""pyautogui's functions: their arguments in order, and what each does with the hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rla_envs.osworld.actions.action import ActionError, shown, unknown
from rla_envs.osworld.actions.gestures import Gestures

Arguments = Mapping[str, Any]
_NOTHING = object()


@dataclass(frozen=True)
class Function:
    """One function of pyautogui's or time's.

    Attributes:
        act: Does it, given the arguments that came.
        parameters: Names of its parameters, in order.
        required: Those without a default.
        variadic: Whether it takes any number of positional arguments, as its first parameter.
    """

    act: Callable[[Gestures, Arguments], None]
    parameters: tuple[str, ...]
    required: tuple[str, ...] = ()
    variadic: bool = False


def bind(name: str, positional: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by the names of the parameters.

    Args:
        name: One of :data:`FUNCTIONS`.
        positional: The arguments without a name.
        keywords: Those with one.

    Raises:
        ActionError: If there are too many, an unknown one, one given twice or
            one missing.
    """
    function = FUNCTIONS[name]
    if function.variadic:
        positional = [list(positional)] if positional else []
    if len(positional) > len(function.parameters):
        raise ActionError(
            f"{name}: expected at most {len(function.parameters)} arguments, got {len(positional)}"
        )
    given = dict(zip(function.parameters, positional, strict=False))
    for keyword, value in keywords.items():
        if keyword not in function.parameters:
            raise ActionError(f"{name}: {unknown('argument', keyword, function.parameters)}")
        if keyword in given:
            raise ActionError(f"{name}: {keyword!r} is given twice")
        given[keyword] = value
    for parameter in function.required:
        if given.get(parameter) is None:
            raise ActionError(f"{name}: expected the argument {parameter!r}, got none")
    return given


def _point(given: Arguments) -> tuple[Any, Any]:
    """Return x and y; pyautogui takes both as one pair in the place of x, too."""
    x, y = given.get("x"), given.get("y")
    if isinstance(x, list):
        if y is not None or len(x) != 2:
            raise ActionError(f"expected x and y, or a pair of them, got {shown(x)} and {shown(y)}")
        return x[0], x[1]
    if isinstance(x, str):
        raise ActionError(f"expected x as a number, got {shown(x)}; finding pictures is not offered")
    return x, y


def _offset(given: Arguments) -> tuple[Any, Any]:
    x, y = given.get("xOffset"), given.get("yOffset")
    if isinstance(x, list) and len(x) == 2 and y is None:
        return x[0], x[1]
    return 0 if x is None else x, 0 if y is None else y


def _move(hand: Gestures, given: Arguments) -> None:
    hand.move_to(*_point(given))


def _move_by(hand: Gestures, given: Arguments) -> None:
    hand.move_by(*_offset(given))


def _drag(hand: Gestures, given: Arguments) -> None:
    x, y = _point(given)
    if given.get("mouseDownUp", True):
        hand.drag_to(x, y, given.get("button", "left"))
    else:
        hand.move_to(x, y)


def _drag_by(hand: Gestures, given: Arguments) -> None:
    if given.get("mouseDownUp", True):
        hand.drag_by(*_offset(given), given.get("button", "left"))
    else:
        hand.move_by(*_offset(given))


def _click(hand: Gestures, given: Arguments, button: str = "left", clicks: int = 1) -> None:
    hand.move_to(*_point(given))
    hand.click(given.get("button", button), given.get("clicks", clicks), given.get("interval", 0.0))


def _button(hand: Gestures, given: Arguments, down: bool) -> None:
    hand.move_to(*_point(given))
    hand.button(given.get("button", "left"), down)


def _scroll(hand: Gestures, given: Arguments, axis: str = "dy") -> None:
    hand.move_to(*_point(given))
    hand.scroll(**{axis: given["clicks"]})


def _press(hand: Gestures, given: Arguments) -> None:
    hand.press(given["keys"], given.get("presses", 1), given.get("interval", 0.0))


def _hotkey(hand: Gestures, given: Arguments) -> None:
    keys = given["args"]
    # pyautogui takes the keys as one list, too.
    hand.hotkey(keys[0] if len(keys) == 1 else keys, given.get("interval", 0.0))


def _key(hand: Gestures, given: Arguments, down: bool) -> None:
    hand.key(given["key"], down)


def _write(hand: Gestures, given: Arguments) -> None:
    message = given["message"]
    # A list holds the names of keys, as in pyautogui.
    if isinstance(message, list):
        if message:
            hand.press(message)
    else:
        hand.type(message)


def _sleep(hand: Gestures, given: Arguments) -> None:
    hand.pause(given["seconds"])


def _misplaced_hold(hand: Gestures, given: Arguments) -> None:
    raise ActionError("pyautogui.hold: expected it after 'with', got a call alone; use keyDown and keyUp")


_TAIL = ("duration", "tween", "logScreenshot", "_pause")
_LOG = ("logScreenshot", "_pause")
_ONE_BUTTON = ("x", "y", "interval", *_TAIL)
_SOME_CLICKS = ("x", "y", "interval", "button", *_TAIL)
_BY = ("xOffset", "yOffset", "duration", "tween")
_DRAG = ("button", *_LOG, "mouseDownUp")
_WHEEL = ("clicks", "x", "y", *_LOG)
_WRITE = Function(_write, ("message", "interval", *_LOG), ("message",))
_MOVE_BY = Function(_move_by, (*_BY, *_LOG))
_DRAG_BY = Function(_drag_by, (*_BY, *_DRAG))

_PYAUTOGUI = {
    "moveTo": Function(_move, ("x", "y", *_TAIL)),
    "moveRel": _MOVE_BY,
    "move": _MOVE_BY,
    "dragTo": Function(_drag, ("x", "y", "duration", "tween", *_DRAG)),
    "dragRel": _DRAG_BY,
    "drag": _DRAG_BY,
    "click": Function(_click, ("x", "y", "clicks", "interval", "button", *_TAIL)),
    "leftClick": Function(_click, _ONE_BUTTON),
    "rightClick": Function(partial(_click, button="right"), _ONE_BUTTON),
    "middleClick": Function(partial(_click, button="middle"), _ONE_BUTTON),
    "doubleClick": Function(partial(_click, clicks=2), _SOME_CLICKS),
    "tripleClick": Function(partial(_click, clicks=3), _SOME_CLICKS),
    "mouseDown": Function(partial(_button, down=True), ("x", "y", "button", *_TAIL)),
    "mouseUp": Function(partial(_button, down=False), ("x", "y", "button", *_TAIL)),
    "scroll": Function(_scroll, _WHEEL, ("clicks",)),
    "vscroll": Function(_scroll, _WHEEL, ("clicks",)),
    "hscroll": Function(partial(_scroll, axis="dx"), _WHEEL, ("clicks",)),
    "press": Function(_press, ("keys", "presses", "interval", *_LOG), ("keys",)),
    "hotkey": Function(_hotkey, ("args", "interval", *_LOG), ("args",), variadic=True),
    "keyDown": Function(partial(_key, down=True), ("key", *_LOG), ("key",)),
    "keyUp": Function(partial(_key, down=False), ("key", *_LOG), ("key",)),
    "write": _WRITE,
    "typewrite": _WRITE,
    "hold": Function(_misplaced_hold, ("keys", *_LOG), ("keys",)),
    "sleep": Function(_sleep, ("seconds",), ("seconds",)),
}

FUNCTIONS = {
    **{f"pyautogui.{name}": function for name, function in _PYAUTOGUI.items()},
    "time.sleep": Function(_sleep, ("seconds",), ("seconds",)),
}
"""Every function that is understood, by its full name, with the parameters of pyautogui 0.9.54."""

_CURVES = ("Quad", "Cubic", "Quart", "Quint", "Sine", "Expo", "Circ", "Elastic", "Back", "Bounce")
_TWEENS = ("linear", *(f"ease{way}{curve}" for way in ("In", "Out", "InOut") for curve in _CURVES))

CONSTANTS = {
    **{f"pyautogui.{name.upper()}": name for name in ("left", "middle", "right", "primary", "secondary")},
    **{f"pyautogui.{name}": name for name in _TWEENS},
}
"""pyautogui's constants: the buttons, and the ways to move, which make no difference here."""
