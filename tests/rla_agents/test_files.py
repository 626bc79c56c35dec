"""Files are whole or as they were; logs of JSON lines survive a kill in mid-line."""

import errno
import os
import resource
import threading

import pytest

from rla_agents.files import (
    DiskFullError,
    StorageError,
    append_jsonl,
    read_jsonl,
    storage_error,
    truncate_jsonl,
    write_atomic,
)
from rla_envs.errors import InputError, RLAError


@pytest.fixture
def small_files():
    """Let no file grow beyond 1000 bytes: the system then refuses writes as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("content", ["größer\n", "line\r\n", "", b"\x00\xff"])
def test_content_comes_back_byte_for_byte(tmp_path, content):
    write_atomic(tmp_path / "f", content)
    expected = content.encode() if isinstance(content, str) else content
    assert (tmp_path / "f").read_bytes() == expected
    assert os.listdir(tmp_path) == ["f"]


def test_a_full_disk_is_one_line_and_leaves_the_old_content(tmp_path, small_files):
    path = tmp_path / "config.toml"
    write_atomic(path, "old")
    with pytest.raises(DiskFullError, match=r"disk full: cannot write .*config\.toml") as caught:
        write_atomic(path, "x" * 5000)
    assert isinstance(caught.value, RLAError)
    assert "\n" not in str(caught.value)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["config.toml"]


@pytest.mark.parametrize("failing", ["write", "fsync", "replace"])
def test_whichever_call_fails_nothing_is_left_behind(tmp_path, monkeypatch, failing):
    path = tmp_path / "f"
    write_atomic(path, "old")

    def fail(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(DiskFullError):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["f"]


def test_a_missing_folder_is_named_and_is_not_called_a_full_disk(tmp_path):
    with pytest.raises(StorageError, match=r"cannot write .*nowhere.*No such file") as caught:
        write_atomic(tmp_path / "nowhere" / "f", "x")
    assert not isinstance(caught.value, DiskFullError)


def test_a_link_is_followed_not_replaced(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_atomic(tmp_path / "link", "new")
    assert (tmp_path / "real").read_text() == "new"
    assert (tmp_path / "link").is_symlink()


def test_readers_never_meet_half_a_file(tmp_path):
    path = tmp_path / "f"
    texts = {letter * 200_000 for letter in "ab"}
    write_atomic(path, "a" * 200_000)
    done = threading.Event()

    def write():
        for _ in range(10):
            for text in texts:
                write_atomic(path, text)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = 0
    while not done.is_set() or not seen:
        assert path.read_text() in texts
        seen += 1
    writer.join()


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Error while serializing: I/O error: No space left on device (os error 28)", DiskFullError),
        ("I/O error: Permission denied (os error 13)", StorageError),
        ("the tensor has no name", None),
    ],
)
def test_errors_of_rust_libraries_are_told_apart_by_their_number(message, kind):
    error = storage_error("model.safetensors", RuntimeError(message))
    assert (error and type(error)) is kind


def test_rows_come_back_in_order(tmp_path):
    path = tmp_path / "m.jsonl"
    append_jsonl(path, [{"i": 0, "text": "zwei\nZeilen \u2028 \r"}, {"i": 1, "x": 0.1 + 0.2}])
    append_jsonl(path, [])
    append_jsonl(path, [{"i": 2, "x": None}])
    rows = [{"i": 0, "text": "zwei\nZeilen \u2028 \r"}, {"i": 1, "x": 0.1 + 0.2}, {"i": 2, "x": None}]
    assert read_jsonl(path) == rows
    assert path.read_bytes().count(b"\n") == 3


def test_a_line_cut_anywhere_is_left_out_and_the_next_row_is_not_glued_to_it(tmp_path):
    path = tmp_path / "m.jsonl"
    append_jsonl(path, [{"i": 0}, {"i": 1}])
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for end in range(first, len(whole)):
        path.write_bytes(whole[:end])
        assert read_jsonl(path) == [{"i": 0}]
        append_jsonl(path, [{"i": 2}])
        assert read_jsonl(path) == [{"i": 0}, {"i": 2}]


def test_a_cut_first_line_longer_than_a_block_is_removed_too(tmp_path):
    path = tmp_path / "m.jsonl"
    path.write_bytes(b'{"text": "' + b"x" * 200_000)
    append_jsonl(path, [{"i": 0}])
    assert path.read_bytes() == b'{"i": 0}\n'


def test_rows_that_find_no_room_leave_the_log_as_it_was(tmp_path, small_files):
    path = tmp_path / "m.jsonl"
    append_jsonl(path, [{"i": 0}])
    with pytest.raises(DiskFullError, match=r"m\.jsonl"):
        append_jsonl(path, [{"i": number} for number in range(1000)])
    assert path.read_bytes() == b'{"i": 0}\n'


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_figure_that_json_lacks_is_refused_before_anything_is_written(tmp_path, value):
    with pytest.raises(InputError, match="write null"):
        append_jsonl(tmp_path / "m.jsonl", [{"i": 0}, {"loss": value}])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("bad", [b"not json", b"[1]", b"\xff", b""])
def test_a_damaged_line_in_the_middle_is_an_error_with_its_number(tmp_path, bad):
    path = tmp_path / "m.jsonl"
    path.write_bytes(b'{"i": 0}\n' + bad + b'\n{"i": 2}\n')
    with pytest.raises(InputError, match="line 2: expected a JSON object"):
        read_jsonl(path)


def test_a_missing_log_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*m\.jsonl: No such file"):
        read_jsonl(tmp_path / "m.jsonl")


def test_truncating_keeps_the_other_lines_byte_for_byte(tmp_path):
    path = tmp_path / "m.jsonl"
    path.write_bytes(b'{"iteration":0,"x":1.50}\n{"iteration":  1}\n{"iteration":2}\n{"itera')
    assert truncate_jsonl(path, lambda row: row["iteration"] <= 1) == 1
    assert path.read_bytes() == b'{"iteration":0,"x":1.50}\n{"iteration":  1}\n'
    assert truncate_jsonl(path, lambda row: True) == 0
    assert truncate_jsonl(tmp_path / "missing.jsonl", lambda row: True) == 0
    assert os.listdir(tmp_path) == ["m.jsonl"]
