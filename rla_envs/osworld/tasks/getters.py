"""Get the values that metrics compare: from the desktop, from the files of tasks, or from the task itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from rla_envs.errors import InfrastructureError, InputError
from rla_envs.osworld.actions.events import Key, Text
from rla_envs.osworld.desktop.base import Completed, Desktop
from rla_envs.osworld.tasks import files
from rla_envs.osworld.tasks.place import HOME, absolute, words
from rla_envs.osworld.tasks.task_file import Getter

NOT_FROM_THE_DESKTOP = frozenset({"cloud_file", "rule"})
"""Getters of what the task's authors wrote; all others return what the agent may have made."""

_VIDEO_TYPES = (
    "3gp 3gpp 3gpp2 avi divx dv fli flv mp2t mp4 mp4v-es mpeg mpeg-system msvideo ogg quicktime "
    "vnd.divx vnd.mpegurl vnd.rn-realvideo webm x-anim x-avi x-flc x-fli x-flv x-m4v x-matroska "
    "x-mpeg x-mpeg-system x-mpeg2 x-ms-asf x-ms-asf-plugin x-ms-asx x-ms-wm x-ms-wmv x-ms-wmx "
    "x-ms-wvx x-msvideo x-nsv x-ogm x-ogm+ogg x-theora x-theora+ogg"
)
"""Kinds of video that OSWorld asks the default player of."""

_TREE_PROGRAM = """
import json, os, sys

def tree(path):
    children = []
    try:
        for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
            inner = entry.is_dir(follow_symlinks=False)
            children.append(tree(entry.path) if inner else {"type": "file", "name": entry.name})
    except OSError as error:
        return {"error": str(error)}
    return {"type": "directory", "name": os.path.basename(path), "children": children}

print(json.dumps(tree(sys.argv[1]) if os.path.isdir(sys.argv[1]) else None))
"""


class GetterRunner:
    """Carries out getters.

    Args:
        desktop: The desktop that the agent worked on.
        folder: Where the files of tasks are found.
        work: Folder on this machine in which files are put for metrics, and in
            which the output of postconfig's commands is.
    """

    def __init__(self, desktop: Desktop, folder: Path | None, work: Path) -> None:
        """Keep what getters need."""
        self._desktop, self._folder, self._work = desktop, folder, work
        self._kinds: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
            "accessibility_tree": lambda _: self._desktop.accessibility_tree(),
            "audio_in_slide": lambda parameters: self._in_slide(parameters, "audio"),
            "background_image_in_slide": lambda parameters: self._in_slide(parameters, "image"),
            "cache_file": self._cache_file,
            "cloud_file": self._cloud_file,
            "content_from_vm_file": self._content_from_vm_file,
            "default_video_player": self._default_video_player,
            "gimp_config_file": self._gimp_config_file,
            "list_directory": self._list_directory,
            "rule": lambda parameters: parameters["rules"],
            "vm_command_error": lambda parameters: self._run(parameters).error,
            "vm_command_line": lambda parameters: self._run(parameters).output,
            "vm_file": self._vm_file,
            "vm_screen_size": self._vm_screen_size,
            "vm_terminal_output": lambda _: self._desktop.terminal_output(),
            "vm_wallpaper": self._vm_wallpaper,
            "vm_window_size": self._vm_window_size,
            "vscode_config": self._vscode_config,
        }

    def get(self, getter: Getter) -> Any:
        """Return a getter's value: text, a JSON value, or the path of a file on this machine.

        None, in place of a path, says that there is no such file on the desktop.

        Raises:
            InfrastructureError: If the desktop is lost, or a file of the task.
        """
        return self._kinds[getter.type](getter.parameters)

    def _cache_file(self, parameters: Mapping[str, Any]) -> Path | None:
        path = self._work / parameters["path"]
        return path if path.is_file() else None

    def _cloud_file(self, parameters: Mapping[str, Any]) -> Any:
        try:
            contents = [files.content(url, self._folder) for url in parameters["path"]]
        except (InputError, OSError) as cause:
            raise InfrastructureError(f"a file of the task cannot be read: {cause}") from cause
        return self._given(parameters, [*map(self._keep, parameters["dest"], contents)])

    def _vm_file(self, parameters: Mapping[str, Any]) -> Any:
        return self._given(parameters, [*map(self._fetch, parameters["path"], parameters["dest"])])

    def _given(self, parameters: Mapping[str, Any], paths: list[Path | None]) -> Any:
        """Return those files that the metric is to have; one alone not as a list."""
        given = [path for place, path in enumerate(paths) if place in parameters.get("gives", (0,))]
        return given[0] if len(given) == 1 else given

    def _content_from_vm_file(self, parameters: Mapping[str, Any]) -> list[str] | None:
        from rla_envs.osworld.tasks.documents import last_row

        path = self._fetch(parameters["path"], "content.xlsx")
        return None if path is None else last_row(path)

    def _in_slide(self, parameters: Mapping[str, Any], kind: str) -> Path | None:
        from rla_envs.osworld.tasks.documents import slide_media

        presentation = self._fetch(parameters["ppt_file_path"], "presentation.pptx")
        media = None if presentation is None else slide_media(presentation, parameters["slide_index"], kind)
        if isinstance(media, str):
            return self._fetch(media, parameters["dest"])
        return None if media is None else self._keep(parameters["dest"], media)

    def _gimp_config_file(self, parameters: Mapping[str, Any]) -> Path | None:
        return self._fetch(f"{HOME}/.config/GIMP/2.10/{parameters['file_name']}", parameters["dest"])

    def _vscode_config(self, parameters: Mapping[str, Any]) -> Path | None:
        """Run a command of VS Code through its palette; it writes what is then fetched."""
        keys = ("ctrl", "shift", "p")
        palette = [*(Key(key, True) for key in keys), *(Key(key, False) for key in reversed(keys))]
        command = [Text(parameters["vscode_extension_command"] + "\n")]
        for events in (palette, command):
            refused = self._desktop.perform(events)
            if refused:
                raise InfrastructureError(f"the palette of VS Code cannot be used: {refused}")
            self._desktop.observe(tree=False)
        return self._fetch(parameters["path"], parameters["dest"])

    def _vm_wallpaper(self, parameters: Mapping[str, Any]) -> Path | None:
        shown = self._desktop.execute(["gsettings", "get", "org.gnome.desktop.background", "picture-uri"])
        address = shown.output.strip().strip("'")
        return self._fetch(unquote(address.removeprefix("file://")), parameters["dest"]) if address else None

    def _vm_screen_size(self, parameters: Mapping[str, Any]) -> dict[str, int]:
        width, height = self._desktop.screen_size
        return {"width": width, "height": height}

    def _vm_window_size(self, parameters: Mapping[str, Any]) -> dict[str, int] | None:
        wanted = parameters["app_class_name"].lower()
        for window in self._desktop.windows():
            # A class is an instance's name and a class's name with a dot between.
            if wanted in (window.window_class.lower(), *window.window_class.lower().split(".")):
                return {"width": window.width, "height": window.height}
        return None

    def _list_directory(self, parameters: Mapping[str, Any]) -> Any:
        listed = self._desktop.execute(["python3", "-c", _TREE_PROGRAM, absolute(parameters["path"])])
        try:
            return json.loads(listed.output)
        except ValueError as cause:
            raise InfrastructureError(f"a folder cannot be listed: {listed.error.strip()[-200:]}") from cause

    def _default_video_player(self, parameters: Mapping[str, Any]) -> str:
        asked = f"for kind in {_VIDEO_TYPES}; do xdg-mime query default video/$kind; done"
        players = self._desktop.execute(asked, shell=True).output.split()
        return Counter(players).most_common(1)[0][0] if players else "unknown"

    def _run(self, parameters: Mapping[str, Any]) -> Completed:
        shell = parameters.get("shell", False)
        return self._desktop.execute(words(parameters["command"], shell), shell)

    def _fetch(self, path: str, name: str) -> Path | None:
        """Copy a file of the desktop into our folder; None if there is none."""
        try:
            content = self._desktop.read_file(absolute(path))
        except FileNotFoundError:
            return None
        return self._keep(name, content)

    def _keep(self, name: str, content: bytes) -> Path:
        path = self._work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path
