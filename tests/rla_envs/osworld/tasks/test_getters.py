"""Every getter returns what OSWorld's does, from files made for it."""

import io
import os
import subprocess
import sys
import zipfile

import pytest

from rla_envs.osworld.actions.events import Key, Text
from rla_envs.osworld.desktop.base import Completed
from rla_envs.osworld.tasks.forms import GETTERS
from rla_envs.osworld.tasks.getters import GetterRunner
from rla_envs.osworld.tasks.task_file import Getter
from tests.rla_envs.osworld.tasks.fake_desktop import FakeDesktop, window


@pytest.fixture
def get(tmp_path):
    """Carry out a getter on a desktop; files are put in tmp_path."""

    def carry_out(desktop, kind, folder=None, **parameters):
        return GetterRunner(desktop, folder, tmp_path).get(Getter(kind, parameters, "evaluator.result"))

    return carry_out


def test_every_getter_of_the_format_is_carried_out(tmp_path):
    assert GetterRunner(FakeDesktop(), None, tmp_path)._kinds.keys() == GETTERS.keys()


def test_files_are_copied_from_the_desktop_and_one_is_not_a_list(get, tmp_path):
    desktop = FakeDesktop(files={"/home/user/a": b"A", "/tmp/b": b"B"})
    one = get(desktop, "vm_file", path=("/home/user/a",), dest=("x/a",))
    assert one == tmp_path / "x" / "a"
    assert one.read_bytes() == b"A"
    assert get(desktop, "vm_file", path=("none",), dest=("n",)) is None
    several = {"path": ("~/a", "none", "/tmp/b"), "dest": ("1", "2", "3"), "multi": True}
    assert get(desktop, "vm_file", **several, gives=(0, 1, 2)) == [tmp_path / "1", None, tmp_path / "3"]
    assert get(desktop, "vm_file", **several) == tmp_path / "1"
    assert (tmp_path / "3").read_bytes() == b"B"


def test_files_of_the_task_come_from_the_folder(get, tmp_path):
    folder = tmp_path / "cache"
    (folder / "a.org").mkdir(parents=True)
    (folder / "a.org" / "gold.txt").write_bytes(b"gold")
    urls = ("https://a.org/gold.txt", "data:,own")
    given = get(
        FakeDesktop(), "cloud_file", folder, path=urls, dest=("g.txt", "o.txt"), multi=True, gives=(0, 1)
    )
    assert [path.read_bytes() for path in given] == [b"gold", b"own"]


def test_commands_return_what_they_print(get):
    desktop = FakeDesktop(answers={"list": Completed(3, "out\n", "err\n"), "a | b": "piped"})
    assert get(desktop, "vm_command_line", command=("list",)) == "out\n"
    assert get(desktop, "vm_command_error", command="list") == "err\n"
    assert get(desktop, "vm_command_line", command="a | b", shell=True) == "piped"
    assert desktop.asked("execute") == [(["list"], False), (["list"], False), ("a | b", True)]


def test_what_the_screen_shows_is_returned(get):
    desktop = FakeDesktop()
    desktop.terminal = "user$ ls"
    desktop.open_windows = [
        window("Media", window_class="vlc.Vlc", width=640, height=360),
        window("Other", window_class="xterm.XTerm"),
    ]
    assert get(desktop, "accessibility_tree") == "<desktop-frame/>"
    assert get(desktop, "vm_terminal_output") == "user$ ls"
    assert get(desktop, "vm_screen_size") == {"width": 1280, "height": 720}
    assert get(desktop, "vm_window_size", app_class_name="Vlc") == {"width": 640, "height": 360}
    assert get(desktop, "vm_window_size", app_class_name="gimp") is None


def test_the_wallpaper_is_the_file_that_the_setting_names(get, tmp_path):
    asked = "gsettings get org.gnome.desktop.background picture-uri"
    desktop = FakeDesktop(
        files={"/home/user/a b.png": b"PNG"}, answers={asked: "'file:///home/user/a%20b.png'\n"}
    )
    assert get(desktop, "vm_wallpaper", dest="w.png").read_bytes() == b"PNG"
    assert get(FakeDesktop(), "vm_wallpaper", dest="w.png") is None


def test_settings_of_applications_are_files_at_their_places(get):
    desktop = FakeDesktop(files={"/home/user/.config/GIMP/2.10/gimprc": b"(x)", "/home/user/OUT": b"{}"})
    assert get(desktop, "gimp_config_file", file_name="gimprc", dest="g").read_bytes() == b"(x)"
    code = {"vscode_extension_command": "OpenProject", "path": "/home/user/OUT", "dest": "o"}
    assert get(desktop, "vscode_config", **code).read_bytes() == b"{}"
    assert desktop.events[:3] == [Key("ctrl", True), Key("shift", True), Key("p", True)]
    assert desktop.events[-1] == Text("OpenProject\n")


def test_a_folder_is_listed_with_all_below_it(get, tmp_path):
    (tmp_path / "f" / "inner").mkdir(parents=True)
    (tmp_path / "f" / "b.jpg").touch()
    (tmp_path / "f" / "inner" / "a é.txt").touch()
    os.symlink(tmp_path, tmp_path / "f" / "loop")

    class Here(FakeDesktop):
        def execute(self, command, shell=False, timeout=120.0):
            done = subprocess.run([sys.executable, *command[1:]], capture_output=True, text=True, check=True)
            return Completed(done.returncode, done.stdout, done.stderr)

    assert get(Here(), "list_directory", path=str(tmp_path / "f")) == {
        "type": "directory",
        "name": "f",
        "children": [
            {"type": "file", "name": "b.jpg"},
            {"type": "directory", "name": "inner", "children": [{"type": "file", "name": "a é.txt"}]},
            {"type": "file", "name": "loop"},
        ],
    }
    assert get(Here(), "list_directory", path=str(tmp_path / "none")) is None


def test_the_default_player_is_the_one_of_most_kinds_of_video(get):
    class Players(FakeDesktop):
        def execute(self, command, shell=False, timeout=120.0):
            assert "xdg-mime query default video/$kind" in command
            return Completed(0, "totem.desktop\nvlc.desktop\nvlc.desktop\n", "")

    assert get(Players(), "default_video_player") == "vlc.desktop"
    assert get(FakeDesktop(), "default_video_player") == "unknown"


RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def presentation(relations, background="rId2"):
    """Return a PowerPoint file of one slide with these relations: (identifier, kind, target)."""
    pictures = (
        f'<p:bg xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:r="{OFFICE}" '
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
        f'<p:bgPr><a:blip r:embed="{background}"/></p:bgPr></p:bg>'
    )
    rels = "".join(
        f'<Relationship Id="{i}" Type="{OFFICE}/{kind}" Target="{to}"/>' for i, kind, to in relations
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("ppt/slides/slide1.xml", pictures if background else "<p/>")
        archive.writestr(
            "ppt/slides/_rels/slide1.xml.rels", f'<Relationships xmlns="{RELATIONS}">{rels}</Relationships>'
        )
        archive.writestr("ppt/media/one.png", b"ONE")
        archive.writestr("ppt/media/two.png", b"TWO")
        archive.writestr("ppt/media/sound.mp3", b"MP3")
    return buffer.getvalue()


MEDIA = [
    ("rId1", "image", "../media/one.png"),
    ("rId2", "image", "../media/two.png"),
    ("rId3", "audio", "../media/sound.mp3"),
]


def test_the_sound_and_the_background_of_a_slide_are_taken_out_of_the_file(get):
    pytest.importorskip("lxml")
    desktop = FakeDesktop(files={"/home/user/a.pptx": presentation(MEDIA)})
    where = {"ppt_file_path": "/home/user/a.pptx", "slide_index": 0, "dest": "out"}
    assert get(desktop, "background_image_in_slide", **where).read_bytes() == b"TWO"
    assert get(desktop, "audio_in_slide", **where).read_bytes() == b"MP3"
    assert get(desktop, "audio_in_slide", **{**where, "slide_index": 1}) is None
    assert get(desktop, "audio_in_slide", **{**where, "ppt_file_path": "none"}) is None


def test_the_background_that_is_a_file_on_the_desktop_is_fetched_from_there(get):
    pytest.importorskip("lxml")
    linked = presentation([("rId2", "image", "file:///home/user/my%20hill.png")])
    desktop = FakeDesktop(files={"/home/user/a.pptx": linked, "/home/user/my hill.png": b"HILL"})
    where = {"ppt_file_path": "/home/user/a.pptx", "slide_index": 0, "dest": "out"}
    assert get(desktop, "background_image_in_slide", **where).read_bytes() == b"HILL"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK",
        presentation(MEDIA, background=""),
        presentation([("rId2", "image", "../../../../etc/passwd")]),
    ],
)
def test_a_presentation_without_such_a_picture_has_none(get, content):
    pytest.importorskip("lxml")
    desktop = FakeDesktop(files={"/home/user/a.pptx": content})
    where = {"ppt_file_path": "/home/user/a.pptx", "slide_index": 0, "dest": "out"}
    assert get(desktop, "background_image_in_slide", **where) is None


def test_the_last_row_of_a_workbook_is_returned_as_texts(get):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["name", "count", "note"], ["a", 1, "x"], ["b", 2, None]):
        book.active.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    desktop = FakeDesktop(files={"/home/user/a.xlsx": buffer.getvalue(), "/home/user/b.xlsx": b"no workbook"})
    what = {"file_type": "xlsx", "file_content": "last_row"}
    assert get(desktop, "content_from_vm_file", path="/home/user/a.xlsx", **what) == ["b", "2", "nan"]
    assert get(desktop, "content_from_vm_file", path="/home/user/b.xlsx", **what) is None
    assert get(desktop, "content_from_vm_file", path="/home/user/none.xlsx", **what) is None


def test_rules_are_returned_as_they_are(get):
    assert get(FakeDesktop(), "rule", rules=[{"a": 1}]) == [{"a": 1}]
