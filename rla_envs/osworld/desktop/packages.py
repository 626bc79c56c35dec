"""The Debian packages of a local desktop, and which of them are missing here.

``python -m rla_envs.osworld.desktop.packages`` prints those that are missing,
for ``apt-get install``.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple


class Package(NamedTuple):
    """A Debian package.

    Attributes:
        name: Its name.
        sign: A program, or a pattern of files, that is there when it is installed.
        use: What it is for.
        needed: Whether no desktop starts without it.
    """

    name: str
    sign: str
    use: str
    needed: bool = False

    def is_installed(self) -> bool:
        """Return whether it is."""
        if "*" in self.sign:
            return any(Path("/").glob(self.sign.lstrip("/")))
        return shutil.which(self.sign) is not None or Path(self.sign).is_dir()


PACKAGES = (
    Package("bubblewrap", "bwrap", "boxes", True),
    Package("xvfb", "Xvfb", "the screen", True),
    Package("x11-xkb-utils", "setxkbmap", "the keyboard", True),
    Package("openbox", "openbox", "windows", True),
    Package("dbus", "dbus-daemon", "the message bus", True),
    Package("at-spi2-core", "/usr/libexec/at-spi-bus-launcher", "the accessibility tree", True),
    Package("libfaketime", "/usr/lib/*/faketime/libfaketimeMT.so.1", "a clock of the desktop's own", True),
    Package("fonts-dejavu-core", "/usr/share/fonts/truetype/dejavu", "text", True),
    Package("fonts-liberation2", "/usr/share/fonts/truetype/liberation2", "text in office documents"),
    Package("adwaita-icon-theme", "/usr/share/icons/Adwaita", "icons"),
    Package(
        "gsettings-desktop-schemas", "/usr/share/glib-2.0/schemas/org.gnome.desktop.interface*", "settings"
    ),
    Package("libglib2.0-bin", "gsettings", "settings"),
    Package("libreoffice-calc", "/usr/lib/libreoffice/program/libsclo.so*", "spreadsheets"),
    Package("libreoffice-writer", "/usr/lib/libreoffice/program/libswlo.so*", "documents"),
    Package("libreoffice-impress", "/usr/lib/libreoffice/program/libsdlo.so*", "slides"),
    Package("libreoffice-gtk3", "/usr/lib/libreoffice/program/libvclplug_gtk3lo.so*", "office windows"),
    Package(
        "libatk-adaptor",
        "/usr/lib/*/gtk-2.0/modules/libatk-bridge.so",
        "the file manager's accessibility tree",
    ),
    Package(
        "libgail-common", "/usr/lib/*/gtk-2.0/modules/libgail.so", "the file manager's accessibility tree"
    ),
    Package("mousepad", "mousepad", "text files"),
    Package("pcmanfm", "pcmanfm", "folders"),
    Package("gnome-terminal", "gnome-terminal", "a terminal that can be read"),
    Package("xterm", "xterm", "a terminal"),
    Package("wmctrl", "wmctrl", "commands of OSWorld's tasks"),
    Package("xdotool", "xdotool", "commands of OSWorld's tasks"),
    Package("x11-utils", "xprop", "commands of OSWorld's tasks"),
    Package("procps", "pkill", "commands of OSWorld's tasks"),
    Package("zip", "zip", "commands of OSWorld's tasks"),
    Package("unzip", "unzip", "commands of OSWorld's tasks"),
)
"""What ``make desktop`` installs; about 550 MB with what they depend on."""


def missing(needed_only: bool = False) -> list[str]:
    """Return the names of the packages that are not installed here.

    Args:
        needed_only: Leave out those without which a desktop starts.
    """
    chosen = [package for package in PACKAGES if package.needed or not needed_only]
    return [package.name for package in chosen if not package.is_installed()]


if __name__ == "__main__":
    print(*missing())  # noqa: T201 - the command's output
