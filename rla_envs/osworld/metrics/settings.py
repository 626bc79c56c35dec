"""Metrics over the settings of programs: LibreOffice's registry, GIMP's files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rla_envs.errors import InputError
from rla_envs.osworld.metrics.inputs import read_result, read_text, rule
from rla_envs.osworld.metrics.packages import parse_xml

_OOR = "{http://openoffice.org/2001/registry}"


def find_default_font(result: Any, expected: Any) -> float:
    """Return whether Writer's default font in a ``registrymodifications.xcu`` is ``font_name``."""
    wanted = rule(expected, "font_name")
    return float(_registry_value(result, "/org.openoffice.Office.Writer/DefaultFont", "Standard") == wanted)


def check_auto_saving_time(result: Any, expected: Any) -> float:
    """Return whether LibreOffice saves by itself every ``minutes``, by a ``registrymodifications.xcu``."""
    wanted = rule(expected, "minutes")
    value = _registry_value(result, "/org.openoffice.Office.Common/Save/Document", "AutoSaveTimeIntervall")
    return float(value is not None and value.strip().isdecimal() and int(value) == wanted)


def check_presenter_console_disable(result: Any) -> float:
    """Return whether Impress's presenter console is switched off, by a ``registrymodifications.xcu``."""
    value = _registry_value(result, "/org.openoffice.Office.Impress/Misc/Start", "EnablePresenterScreen")
    return float(value is not None and value.strip().lower() == "false")


def check_config_status(result: Any, expected: Any) -> float:
    """Return whether a line of GIMP's settings has a key and a value.

    Args:
        result: Path of the settings: lines such as ``(theme "Light")``.
        expected: ``key``, the first word of the line or its first two, and ``value``, its last word.
    """
    key, value = rule(expected, "key"), rule(expected, "value")
    words = [key] if isinstance(key, str) else key
    if not isinstance(words, list) or not 1 <= len(words) <= 2:
        raise InputError(f"check_config_status expects a key of one or two words, got {key!r}")
    for line in read_result(read_text, result).splitlines():
        found = line.strip().lstrip("(").rstrip(")").split()
        if not line.startswith("#") and found[: len(words)] == words and found[-1] == value:
            return 1.0
    return 0.0


def _registry_value(result: Any, item: str, name: str) -> str | None:
    """Return a setting's value, the last one where there are several, or None."""

    def value(path: Path) -> str | None:
        found = [
            entry.text or ""
            for element in parse_xml(path.read_bytes()).iter("item")
            if element.get(f"{_OOR}path") == item
            for prop in element.iter("prop")
            if prop.get(f"{_OOR}name") == name
            for entry in prop.iter("value")
        ]
        return found[-1] if found else None

    return read_result(value, result)
