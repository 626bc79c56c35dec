"""Whatever happens while saving or later, the newest complete checkpoint is found and comes back exactly."""

import errno
import math
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from rla_agents.checkpoint import (
    CheckpointStore,
    generator_state,
    latest_checkpoint,
    load_state,
    restore_generator,
    save_state,
    state_writer,
)
from rla_agents.files import DiskFullError, write_atomic
from rla_envs.errors import InputError

torch.set_num_threads(1)

REPOSITORY = Path(__file__).parents[2]


def parts(value):
    """A folder with two files, and a state."""

    def model(path):
        (path / "deep").mkdir(parents=True)
        write_atomic(path / "deep" / "config.json", f'{{"value": {value}}}')
        write_atomic(path / "empty", "")

    return {
        "model": model,
        "state": state_writer({"value": value, "tensor": torch.full((50,), float(value))}),
    }


def value_of(checkpoint):
    value = load_state(checkpoint.path / "state")["value"]
    assert (checkpoint.path / "model" / "deep" / "config.json").read_text() == f'{{"value": {value}}}'
    return value


@pytest.fixture
def store(tmp_path):
    """A store with checkpoints 1 and 2."""
    store = CheckpointStore(tmp_path / "checkpoints")
    for iteration in (1, 2):
        store.save(iteration, parts(10 * iteration))
    return store


def names(store):
    return sorted(os.listdir(store.folder))


# Saving and finding


def test_what_was_saved_is_found(store):
    found = store.latest()
    assert (found.checkpoint.iteration, found.skipped) == (2, ())
    assert found.checkpoint.path == store.folder / "000002"
    assert value_of(found.checkpoint) == 20


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_only_the_newest_are_kept(tmp_path, keep):
    store = CheckpointStore(tmp_path / "checkpoints", keep=keep)
    for iteration in (0, 5, 999_999, 1_000_000):
        store.save(iteration, parts(iteration))
    assert names(store) == sorted(["000000", "000005", "999999", "1000000"][-keep:])
    assert store.latest().checkpoint.iteration == 1_000_000


def test_keeping_none_is_refused(tmp_path):
    with pytest.raises(InputError, match="expected 1 or more, got 0"):
        CheckpointStore(tmp_path, keep=0)


def test_without_checkpoints_none_is_found(tmp_path):
    assert latest_checkpoint(tmp_path / "nowhere") == (None, ())
    assert CheckpointStore(tmp_path / "new").latest() == (None, ())


def test_looking_at_a_run_that_goes_on_disturbs_nothing(store):
    (store.folder / ".tmp-000003").mkdir()
    assert latest_checkpoint(store.folder).checkpoint.iteration == 2
    assert names(store) == [".tmp-000003", "000001", "000002"]


def test_opening_the_store_removes_what_a_killed_writer_left(store):
    (store.folder / ".tmp-000003").mkdir()
    (store.folder / ".tmp-000003" / "half").write_text("x")
    CheckpointStore(store.folder)
    assert names(store) == ["000001", "000002"]


@pytest.mark.parametrize("new_one_in_place", [True, False])
def test_opening_the_store_settles_a_replacement_that_was_cut_short(store, new_one_in_place):
    old = store.folder / ".old-000002"
    (store.folder / "000002").rename(old)
    if new_one_in_place:
        shutil.copytree(store.folder / "000001", store.folder / "000002")
    found = CheckpointStore(store.folder).latest()
    assert found.checkpoint.path.name == "000002"
    assert value_of(found.checkpoint) == (10 if new_one_in_place else 20)
    assert names(store) == ["000001", "000002"]


# Damage


def deleted(folder):
    (folder / "model" / "deep" / "config.json").unlink()


def truncated(folder):
    os.truncate(folder / "state", 60)


def altered(folder):
    data = bytearray((folder / "state").read_bytes())
    data[-1] ^= 1
    (folder / "state").write_bytes(data)


def without_manifest(folder):
    (folder / "manifest.json").unlink()


def with_half_a_manifest(folder):
    os.truncate(folder / "manifest.json", 40)


def with_another_manifest(folder):
    (folder / "manifest.json").write_text("[1]")


def of_a_later_format(folder):
    (folder / "manifest.json").write_text('{"format": 2}')


DAMAGE = [
    (deleted, "model/deep/config.json is missing"),
    (truncated, "state has 60 bytes, expected "),
    (altered, "state has been altered"),
    (without_manifest, "manifest.json is missing"),
    (with_half_a_manifest, "manifest.json is damaged"),
    (with_another_manifest, "manifest.json is damaged"),
    (of_a_later_format, "manifest.json has format 2, expected 1"),
]


@pytest.mark.parametrize(("damage", "reason"), DAMAGE)
def test_a_damaged_checkpoint_is_passed_over_with_the_reason(store, damage, reason):
    damage(store.folder / "000002")
    found = CheckpointStore(store.folder).latest()
    assert value_of(found.checkpoint) == 10
    assert [skipped.path.name for skipped in found.skipped] == ["000002"]
    assert found.skipped[0].reason.startswith(reason)


@pytest.mark.parametrize(("damage", "reason"), DAMAGE)
def test_the_run_that_goes_on_replaces_the_damaged_one_and_keeps_the_complete_one(store, damage, reason):
    damage(store.folder / "000002")
    store.save(2, parts(21))
    assert names(store) == ["000001", "000002"]
    found = store.latest()
    assert (value_of(found.checkpoint), found.skipped) == (21, ())


def test_a_damaged_one_does_not_take_the_place_of_one_to_keep(store):
    deleted(store.folder / "000002")
    store.save(3, parts(30))
    assert names(store) == ["000001", "000003"]


def test_if_all_are_damaged_each_is_named_newest_first(store):
    deleted(store.folder / "000001")
    truncated(store.folder / "000002")
    found = store.latest()
    assert found.checkpoint is None
    assert [skipped.path.name for skipped in found.skipped] == ["000002", "000001"]


# Kills


def test_killed_before_any_call_to_the_system_a_save_costs_at_most_itself(tmp_path):
    script = Path(__file__).with_name("killed_saver.py")
    run = subprocess.run(
        [sys.executable, "-W", "ignore", script, tmp_path],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    killed = int(run.stdout)
    assert killed > 40
    newest = set()
    for fatal in range(1, killed + 1):
        done = [int(line) for line in (tmp_path / f"{fatal}.done").read_text().split()]
        folder = tmp_path / str(fatal)
        before = latest_checkpoint(folder).checkpoint
        assert (before.iteration if before else -1) >= max(done, default=-1)
        # Whatever has a checkpoint's name is one, but for the damaged one that was put there.
        for path in folder.glob("[0-9]*"):
            files = {file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()}
            assert path.name == "000003" or files == {"manifest.json", "state", "model/text"}
        store = CheckpointStore(folder)
        found = store.latest()
        assert all(skipped.path.name == "000003" for skipped in found.skipped)
        if found.checkpoint is not None:
            iteration = found.checkpoint.iteration
            state = load_state(found.checkpoint.path / "state")
            assert (state["i"], state["tensor"].tolist()) == (iteration, [iteration] * 20)
            text = (found.checkpoint.path / "model" / "text").read_text()
            assert text == f"iteration {iteration}\n" * 50
            newest.add(iteration)
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]
        store.save(9, parts(90))
        assert value_of(store.latest().checkpoint) == 90
    assert newest == {0, 1, 2, 3}


# Full disk


def test_a_disk_that_is_full_for_the_weights_is_one_line_and_leaves_the_earlier_ones(store):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        with pytest.raises(DiskFullError, match="disk full: cannot write .*000003") as caught:
            store.save(3, {"big": state_writer(torch.zeros(10_000)), **parts(30)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "\n" not in str(caught.value)
    assert names(store) == ["000001", "000002"]
    assert value_of(store.latest().checkpoint) == 20


@pytest.mark.parametrize("failing", ["write", "fsync", "mkdir", "rename"])
def test_whichever_call_finds_no_room_nothing_is_half_written(store, monkeypatch, failing):
    def fail(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, failing, fail)
        with pytest.raises(DiskFullError, match="disk full"):
            store.save(3, parts(30))
    assert names(store) == ["000001", "000002"]
    assert value_of(store.latest().checkpoint) == 20
    assert store.save(3, parts(30)).iteration == 3


def test_a_writer_that_fails_for_another_reason_keeps_its_error(store):
    def broken(path):
        path.write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.save(3, {"broken": broken})
    assert names(store) == ["000001", "000002"]


# States


def test_a_nested_state_comes_back_exactly(tmp_path):
    shared = torch.arange(6.0)
    state = {
        "counter": 2**127 + 1,
        "numbers": [0.1 + 0.2, -0.0, math.inf, 1e-320, True, None],
        "tuple": (1, ("a", [])),
        3: {"step": torch.tensor(7.0), "half": torch.tensor([1.5], dtype=torch.bfloat16)},
        "": {},
        "views": [shared, shared[2:], shared.reshape(2, 3).T],
        "bytes": torch.tensor([0, 255], dtype=torch.uint8),
        "none": torch.zeros(0, 3),
    }
    save_state(tmp_path / "state", state)
    loaded = load_state(tmp_path / "state")

    def same(a, b):
        if isinstance(a, torch.Tensor):
            return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
        if isinstance(a, dict):
            return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
        if isinstance(a, list | tuple):
            return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
        return type(a) is type(b) and repr(a) == repr(b)

    assert same(state, loaded)


@pytest.mark.parametrize("value", [object(), np.float64(1.0), {1, 2}, b"bytes", print])
def test_what_would_need_pickling_is_refused_with_its_place(tmp_path, value):
    with pytest.raises(InputError, match=r"state\['a'\]\[1\]: cannot save"):
        save_state(tmp_path / "state", {"a": [0, value]})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("content", [None, b"", b"not safetensors", b"\x02\0\0\0\0\0\0\0{}"])
def test_an_unreadable_state_is_one_line(tmp_path, content):
    path = tmp_path / "state"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match="cannot read the state in .*state: ") as caught:
        load_state(path)
    assert "\n" not in str(caught.value)


def test_an_optimizer_comes_back_exactly(tmp_path):
    weights = [torch.nn.Parameter(torch.randn(3, 4, generator=torch.Generator().manual_seed(0)))]
    optimizer = torch.optim.AdamW(weights, lr=0.1, betas=(0.9, 0.99))
    weights[0].sum().backward()
    optimizer.step()
    save_state(tmp_path / "optimizer", optimizer.state_dict())
    loaded = load_state(tmp_path / "optimizer")
    assert loaded["param_groups"] == optimizer.state_dict()["param_groups"]
    for key, value in optimizer.state_dict()["state"][0].items():
        assert torch.equal(loaded["state"][0][key], value)


def test_random_generators_go_on_where_they_were(tmp_path):
    ours, torchs = np.random.default_rng(5), torch.Generator().manual_seed(5)
    ours.integers(0, 3, dtype=np.int32)  # leaves half a draw in the generator's buffer
    torch.rand(3, generator=torchs)
    save_state(tmp_path / "rng", {"numpy": generator_state(ours), "torch": generator_state(torchs)})
    expected = ours.integers(0, 2**31, 9, dtype=np.int32).tolist(), torch.rand(9, generator=torchs).tolist()
    loaded = load_state(tmp_path / "rng")
    ours, torchs = np.random.default_rng(0), torch.Generator()
    restore_generator(ours, loaded["numpy"])
    restore_generator(torchs, loaded["torch"])
    assert ours.integers(0, 2**31, 9, dtype=np.int32).tolist() == expected[0]
    assert torch.rand(9, generator=torchs).tolist() == expected[1]
