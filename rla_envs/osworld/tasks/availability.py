"""Tell whether a task can run here, and if not, all that it needs.

Three things can be missing:

- **the network**: a step or getter that logs in, opens or reads a page on the
  live web; a command that installs or fetches something; a task whose authors
  send its traffic through a proxy (``"proxy": true``), or whose instruction
  sends the agent to the web (:data:`ASKS_FOR_THE_WEB`);
- **an application**: one of ``related_apps`` or a program that a command
  starts is not installed (looked for on the PATH, or in the names given); a
  settings schema of GNOME is not there; a command needs what only a whole
  machine has (``sudo``, a sound server); or a step, getter or metric is one
  that this package does not have;
- **files**: an address that a step or getter reads has no file in the folder.

A missing network comes before a missing application, and that before
missing files: it is the hardest to supply.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from rla_envs.osworld.metrics import METRICS
from rla_envs.osworld.tasks.files import embedded, find, wanted
from rla_envs.osworld.tasks.forms import GETTERS_NOT_OFFERED, WEB_GETTERS
from rla_envs.osworld.tasks.task_file import Availability, Evaluator, Getter, Step

_CHROME = (("google-chrome", "chromium"), "chromium")
_APPLICATIONS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "chrome": _CHROME,
    "browser": _CHROME,
    "calc": (("soffice",), "libreoffice-calc"),
    "libreoffice": (("soffice",), "libreoffice"),
    "libreoffice_calc": (("soffice",), "libreoffice-calc"),
    "libreoffice_impress": (("soffice",), "libreoffice-impress"),
    "libreoffice_writer": (("soffice",), "libreoffice-writer"),
    "writer": (("soffice",), "libreoffice-writer"),
    "gimp": (("gimp",), "gimp"),
    "picard": (("picard",), "picard"),
    "terminal": (("gnome-terminal", "xterm"), "gnome-terminal"),
    "thunderbird": (("thunderbird",), "thunderbird"),
    "vlc": (("vlc",), "vlc"),
    "vscode": (("code",), "code, of Microsoft's own repository"),
    "vs_code": (("code",), "code, of Microsoft's own repository"),
}
"""For a name in ``related_apps``: programs of which one must be there, and the Debian package."""

_PACKAGES: Mapping[str, str] = {
    "code": "code, of Microsoft's own repository",
    "eog": "eog",
    "evince": "evince",
    "ffmpeg": "ffmpeg",
    "gedit": "gedit",
    "gimp": "gimp",
    "gio": "libglib2.0-bin",
    "git": "git",
    "gnome-terminal": "gnome-terminal",
    "google-chrome": "chromium",
    "gsettings": "libglib2.0-bin",
    "jq": "jq",
    "libreoffice": "libreoffice-common",
    "nautilus": "nautilus",
    "rhythmbox": "rhythmbox",
    "soffice": "libreoffice-common",
    "thunderbird": "thunderbird",
    "unzip": "unzip",
    "vlc": "vlc",
    "wmctrl": "wmctrl",
    "xdg-open": "xdg-utils",
    "xsel": "xsel",
    "zip": "zip",
}
"""Programs that are looked for in commands, with their Debian packages."""

_WHOLE_MACHINE = ("conda", "pactl", "pulseaudio", "snap", "sudo", "timedatectl")
"""Programs that work only in a whole machine, or are no package of Debian: missing unless named."""

ASKS_FOR_THE_WEB = frozenset(
    {
        "68a25bd4-59c7-4f4d-975e-da0c8509c848",  # download the first paper of a list
        "7ff48d5b-2df2-49da-b500-a5150ffc7f18",  # find the addresses of machines in Shenzhen
        "94d95f96-9699-4208-98ba-3c3119edf9c2",  # install Spotify
        "aad10cd7-9337-4b62-b704-a857848cedf2",  # save a page of developer.apple.com
        "acb0f96b-e27c-44d8-b55f-7cb76609dfcd",  # clone a repository
        "c7c1e4c3-9e92-4eba-a4b8-689953975ea4",  # find the addresses on home pages
        "deec51c9-3b1e-4b9e-993c-4776f20e8bb2",  # list the papers of a day on arXiv
        "e1fc0df3-c8b9-4ee7-864c-d0b590d3aa56",  # install an extension of LibreOffice
        "f8369178-fafe-40c2-adc4-b9b08a125456",  # install a theme from gnome-look.org
    }
)
"""Tasks that only their instruction shows to need the live web, found by reading those of all others."""

_SCHEMAS = Path("/usr/share/glib-2.0/schemas")
_SCHEMA_PACKAGES = {"org.gnome.shell": "gnome-shell-common"}

_FETCHES = re.compile(
    r"\bapt(-get)?\s+(update|install)\b|\bpip3?\s+install\s+(?!\S*[/.])|\bsnap\s+install\b|\bgit\s+clone\s+http"
    r"|\b(wget|curl)\s|--install-extension\s+[\w-]+\.[\w-]+(\s|$)"
)
"""Commands that fetch from the web. A package given as a file, and an extension as .vsix, are not fetched."""


def judge(
    data: Mapping[str, Any],
    config: tuple[Step, ...],
    evaluator: Evaluator,
    folder: Path | None,
    applications: Collection[str] | None,
) -> tuple[Availability, tuple[str, ...]]:
    """Return a task's availability and everything that it lacks.

    Args:
        data: The task as it was read.
        config: Its setup.
        evaluator: Its evaluator.
        folder: Where its files are looked for.
        applications: Names of the programs (and GNOME settings schemas) that
            the desktop has; by default those installed on this machine.
    """
    steps = (*config, *evaluator.postconfig)
    getters = [g for check in evaluator.checks for g in (check.result, check.expected) if g is not None]
    # A label may name several of the same thing; each is said once, in the order met.
    network = tuple(dict.fromkeys(_network(data, steps, getters)))
    programs = tuple(dict.fromkeys((*_programs(data, steps, getters, applications), *_metrics(evaluator))))
    files = tuple(wanted(url, folder) for url in _absent(steps, getters, folder))
    missing = (*network, *programs, *files)
    if network:
        return "needs_network", missing
    if programs:
        return "needs_application", missing
    return ("needs_files" if files else "runnable"), missing


def addresses(steps: Collection[Step], getters: Collection[Getter]) -> tuple[str, ...]:
    """Return the addresses of all files that steps and getters read, each once, in order."""
    found = [file["url"] for step in steps if step.type == "download" for file in step.parameters["files"]]
    found += [url for getter in getters if getter.type == "cloud_file" for url in getter.parameters["path"]]
    return tuple(dict.fromkeys(found))


def _absent(steps: Collection[Step], getters: Collection[Getter], folder: Path | None) -> Iterator[str]:
    for url in addresses(steps, getters):
        if embedded(url) is None and find(url, folder) is None:
            yield url


def _network(data: Mapping[str, Any], steps: Collection[Step], getters: Collection[Getter]) -> Iterator[str]:
    if data.get("proxy") is True:
        yield "the network: the task goes to the live web through a proxy"
    if data["id"] in ASKS_FOR_THE_WEB:
        yield "the network: the instruction sends the agent to the live web"
    for step in steps:
        if step.type == "googledrive":
            yield f"the network: {step.field} needs a Google Drive account"
        elif step.type == "login":
            yield f"the network: {step.field} logs in to {step.parameters['platform']}"
        elif step.type in ("chrome_open_tabs", "chrome_close_tabs"):
            for url in next(iter(step.parameters.values())):
                yield f"the network: {step.field} opens {url}"
        elif fetching := _FETCHES.search(_line(step)):
            yield f"the network: {step.field} fetches from the web ({fetching[0].strip()!r})"
    for getter in getters:
        if getter.type in WEB_GETTERS:
            yield f"the network: {getter.field} reads the live web (getter {getter.type!r})"


def _programs(
    data: Mapping[str, Any],
    steps: Collection[Step],
    getters: Collection[Getter],
    applications: Collection[str] | None,
) -> Iterator[str]:
    for app in data.get("related_apps", ()):
        programs, package = _APPLICATIONS.get(app.lower().replace(" ", "_"), ((), ""))
        if programs and not any(_is_there(program, applications) for program in programs):
            yield f"the application {programs[0]} (Debian package: {package})"
    for line in (*map(_line, steps), *map(_line, getters)):
        yield from _unmet(line, applications)
    for step in steps:
        if step.type == "update_browse_history":
            yield f"the setup step {step.type}: this package does not have it ({step.field})"
    for getter in getters:
        if getter.type in GETTERS_NOT_OFFERED:
            yield f"the getter {getter.type}: this package does not have it ({getter.field})"


def _metrics(evaluator: Evaluator) -> Iterator[str]:
    for check in evaluator.checks:
        if check.metric not in METRICS:
            yield f"the metric {check.metric}: this package does not have it"


def _unmet(line: str, applications: Collection[str] | None) -> Iterator[str]:
    """Yield what a command line uses and the desktop does not have."""
    words = set(re.findall(r"(?<![\w./-])(?:/usr/bin/)?([a-z][\w-]*)(?![\w./-])", line))
    for program in sorted(words & _PACKAGES.keys()):
        there = _is_there(program, applications)
        if not there and not (program == "google-chrome" and _is_there("chromium", applications)):
            yield f"the application {program} (Debian package: {_PACKAGES[program]})"
    for program in sorted(words & set(_WHOLE_MACHINE)):
        if applications is None or program not in applications:
            yield f"{program}: a local desktop has none; a whole virtual machine has"
    for schema in sorted(set(re.findall(r"gsettings (?:get|set) (org\.gnome\.[\w.-]+)", line))):
        known = schema in applications if applications is not None else _has_schema(schema)
        if not known:
            package = _SCHEMA_PACKAGES.get(schema, "gsettings-desktop-schemas")
            yield f"the settings {schema} (Debian package: {package})"


def _has_schema(schema: str) -> bool:
    """Return whether a file of the system declares a settings schema; it may stand in that of its parent."""
    names = schema.split(".")
    return any((_SCHEMAS / f"{'.'.join(names[:n])}.gschema.xml").is_file() for n in range(len(names), 2, -1))


def _is_there(program: str, applications: Collection[str] | None) -> bool:
    return shutil.which(program) is not None if applications is None else program in applications


def _line(part: Step | Getter) -> str:
    """Return the command of a step or getter as one line; empty if it has none."""
    command = part.parameters.get("command", "")
    return command if isinstance(command, str) else " ".join(map(_spoken, command))


def _spoken(argument: str) -> str:
    """Return an argument as it reads in a line: a script for a shell as it is, a name with blanks quoted."""
    return argument if re.search(r"[;&|\n]", argument) else shlex.quote(argument)
