"""A file is read as it grows, whatever its writer does to it."""

import json
import os

import pytest

from rla_agents.files import append_jsonl, truncate_jsonl
from rla_agents.live import tail as tail_module
from rla_agents.live.tail import Tail


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.jsonl"


def rows(first, last):
    return [{"n": n} for n in range(first, last)]


def test_each_row_is_read_once_and_a_half_written_one_when_it_is_whole(path):
    tail = Tail(path)
    assert tail.read() == ([], False, False)
    append_jsonl(path, rows(0, 3))
    assert tail.read().rows == rows(0, 3)
    with path.open("a") as file:
        file.write('{"n": 3')
    assert tail.read() == ([], False, False)
    with path.open("a") as file:
        file.write('}\n{"n": 4}\n{"n"')
    assert tail.read().rows == rows(3, 5)


def test_a_cut_line_that_its_writer_replaces_is_no_start_over(path):
    append_jsonl(path, rows(0, 2))
    with path.open("a") as file:
        file.write('{"n": 77777777777777777777')
    tail = Tail(path)
    assert tail.read().rows == rows(0, 2)
    append_jsonl(path, rows(2, 3))
    assert tail.read() == (rows(2, 3), False, False)


@pytest.mark.parametrize("change", ["resumed", "cut", "cut and filled", "removed"])
def test_what_was_read_and_is_gone_is_said_and_the_file_is_read_anew(path, change):
    append_jsonl(path, rows(0, 5))
    tail = Tail(path)
    tail.read()
    inode = path.stat().st_ino
    if change == "resumed":
        truncate_jsonl(path, lambda row: row["n"] < 2)
        append_jsonl(path, rows(2, 9))
    elif change == "removed":
        path.unlink()
    else:
        os.truncate(path, 0)
        if change == "cut and filled":
            append_jsonl(path, rows(100, 120))
            assert path.stat().st_ino == inode
    assert tail.read().replaced
    expected = {"resumed": rows(0, 9), "cut and filled": rows(100, 120)}.get(change, [])
    assert tail.read() == (expected, False, False)


def test_lines_that_are_no_object_are_counted_and_passed_over(path):
    path.write_bytes(b'{"n": 0}\nnot json\n[1]\n\xff\xfe\n\n{"n": 1}\n')
    tail = Tail(path)
    assert tail.read().rows == rows(0, 2)
    assert tail.unreadable == 3


def test_a_long_file_comes_in_pieces_and_a_line_longer_than_a_piece_whole(path, monkeypatch):
    monkeypatch.setattr(tail_module, "_CHUNK", 16)
    written = [*rows(0, 40), {"n": "x" * 1000}, *rows(40, 50)]
    path.write_text("".join(json.dumps(row) + "\n" for row in written))
    tail, found, pieces = Tail(path), [], 0
    while True:
        news = tail.read()
        found += news.rows
        pieces += 1
        if not news.more:
            break
    assert found == written
    assert pieces > 10
