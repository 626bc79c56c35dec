"""Checkpoints that are whole or do not exist, and the states that go into them.

A checkpoint is a folder ``checkpoints/000012`` with the parts of a run and a
``manifest.json`` that lists every file with its size and SHA-256. It is written
under a temporary name, flushed to the disk, and renamed last; older ones are
removed only after that. Whatever kills the process, the newest folder whose
manifest holds is a checkpoint to resume from.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors
import torch
from safetensors.torch import save_file

from rla_agents.files import storing, sync, write_atomic
from rla_envs.errors import InputError

Writer = Callable[[Path], None]
"""Writes one part of a checkpoint: a file, or a folder, at the path it is given."""

_MANIFEST = "manifest.json"
_FORMAT = 1
_TEMPORARY = ".tmp-"
_REPLACED = ".old-"


class Checkpoint(NamedTuple):
    """A complete checkpoint."""

    iteration: int
    """The last iteration that it contains."""
    path: Path
    """Its folder; ``path / part`` is what the part's writer wrote."""


class Skipped(NamedTuple):
    """A checkpoint that cannot be resumed from."""

    path: Path
    """Its folder."""
    reason: str
    """What is wrong with it, in a few words."""


class Latest(NamedTuple):
    """What :func:`latest_checkpoint` found."""

    checkpoint: Checkpoint | None
    """The newest complete checkpoint, if there is one."""
    skipped: tuple[Skipped, ...]
    """Newer ones that were passed over, newest first."""


class CheckpointStore:
    """Writes and prunes the checkpoints of one run; a run has one writer.

    Opening the store removes what a killed writer left behind. To only look at
    the checkpoints of a run that may be going on, use :func:`latest_checkpoint`.

    Args:
        folder: Where the checkpoints live; it is made if missing.
        keep: How many complete checkpoints to keep. With two or more, there is
            one to fall back on when the newest gets damaged later.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> store = CheckpointStore(folder.name)
        >>> saved = store.save(12, {"learner": state_writer({"updates": 3})})
        >>> load_state(store.latest().checkpoint.path / "learner")
        {'updates': 3}
        >>> folder.cleanup()
    """

    def __init__(self, folder: str | os.PathLike[str], keep: int = 2) -> None:
        """Open the store; see the class for the arguments."""
        if keep < 1:
            raise InputError(f"checkpoints to keep: expected 1 or more, got {keep}")
        self.folder = Path(folder)
        self.keep = keep
        with storing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._tidy()

    def save(self, iteration: int, parts: Mapping[str, Writer]) -> Checkpoint:
        """Write a checkpoint; when this returns it is complete and on the disk.

        Args:
            iteration: The last iteration that it contains, 0 and up. A folder
                that already has this number (a damaged one that the run resumed
                before) is replaced.
            parts: Name of each part, and what writes it.

        Raises:
            DiskFullError: There was no room. Nothing is left of this checkpoint,
                and the earlier ones are as they were.
        """
        final = self.folder / f"{iteration:06d}"
        temporary = self.folder / f"{_TEMPORARY}{final.name}"
        try:
            with storing(final):
                _remove(temporary)
                temporary.mkdir()
                for name, write in parts.items():
                    write(temporary / name)
                _seal(temporary, iteration)
                self._publish(temporary, final)
        except BaseException:
            with contextlib.suppress(OSError):
                self._tidy()
            raise
        with storing(self.folder):
            self._prune(iteration)
        return Checkpoint(iteration, final)

    def latest(self) -> Latest:
        """Return the newest complete checkpoint, and the newer ones that are not complete."""
        return latest_checkpoint(self.folder)

    def _publish(self, temporary: Path, final: Path) -> None:
        """Give the sealed folder its name; a folder that has it steps aside until then."""
        if final.exists():
            os.rename(final, self.folder / f"{_REPLACED}{final.name}")
        os.rename(temporary, final)
        sync(self.folder)
        _remove(self.folder / f"{_REPLACED}{final.name}")

    def _tidy(self) -> None:
        """Finish or undo what a writer was killed in."""
        for path in list(self.folder.iterdir()):
            if path.name.startswith(_REPLACED):
                name = path.name.removeprefix(_REPLACED)
                if (self.folder / name).exists():
                    _remove(path)
                else:
                    os.rename(path, self.folder / name)
            elif path.name.startswith(_TEMPORARY):
                _remove(path)

    def _prune(self, newest: int) -> None:
        """Remove what is older than ``newest``, but for the complete ones to keep."""
        kept = 1
        for iteration, path in _numbered(self.folder):
            if iteration >= newest:
                continue
            if kept < self.keep and _fault(path, content=False) is None:
                kept += 1
                continue
            # First out of sight, so that a kill leaves no half of it under its name.
            doomed = self.folder / f"{_TEMPORARY}{path.name}"
            os.rename(path, doomed)
            _remove(doomed)


def latest_checkpoint(folder: str | os.PathLike[str]) -> Latest:
    """Find the newest complete checkpoint; changes nothing on the disk.

    Complete means: the manifest can be read, and every file it lists is there
    with its size and SHA-256.
    """
    skipped: list[Skipped] = []
    for iteration, path in _numbered(Path(folder)):
        reason = _fault(path, content=True)
        if reason is None:
            return Latest(Checkpoint(iteration, path), tuple(skipped))
        skipped.append(Skipped(path, reason))
    return Latest(None, tuple(skipped))


def save_state(path: Path, state: Any) -> None:
    """Write a nested state to one safetensors file; :func:`load_state` gives it back.

    Args:
        path: The file.
        state: Tensors, numbers, strings, booleans and None in dicts, lists and
            tuples. Integers of any size and dict keys other than strings come
            back as they were, floats exactly, tensors on the CPU.

    Raises:
        InputError: The state holds something else. Nothing is pickled, so that
            loading a file never runs code from it.
    """
    tensors: dict[str, torch.Tensor] = {}
    tree = json.dumps(_encode(state, tensors, "state"))
    with storing(path):
        save_file(tensors, path, metadata={"tree": tree})


def load_state(path: Path) -> Any:
    """Read what :func:`save_state` wrote.

    Raises:
        InputError: The file is missing or is not such a file.
    """
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            tree = json.loads((file.metadata() or {})["tree"])
            return _decode(tree, {key: file.get_tensor(key) for key in file.keys()})  # noqa: SIM118
    except (OSError, KeyError, ValueError, safetensors.SafetensorError) as cause:
        raise InputError(f"cannot read the state in {path}: {cause}") from cause


def state_writer(state: Any) -> Writer:
    """Return the :data:`Writer` of a nested state, for :meth:`CheckpointStore.save`."""
    return lambda path: save_state(path, state)


def generator_state(generator: np.random.Generator | torch.Generator) -> Any:
    """Return the state of a random number generator, fit for :func:`save_state`."""
    if isinstance(generator, torch.Generator):
        return generator.get_state()
    return generator.bit_generator.state


def restore_generator(generator: np.random.Generator | torch.Generator, state: Any) -> None:
    """Make a generator go on from where :func:`generator_state` was taken."""
    if isinstance(generator, torch.Generator):
        generator.set_state(state)
    else:
        generator.bit_generator.state = state


def _seal(folder: Path, iteration: int) -> None:
    """Flush a folder's files to the disk and list them in its manifest."""
    files = {}
    for path in sorted(folder.rglob("*")):
        sync(path)
        if path.is_file():
            size, digest = path.stat().st_size, _sha256(path)
            files[path.relative_to(folder).as_posix()] = {"size": size, "sha256": digest}
    manifest = {"format": _FORMAT, "iteration": iteration, "files": files}
    write_atomic(folder / _MANIFEST, json.dumps(manifest, indent=1))


def _numbered(folder: Path) -> Iterator[tuple[int, Path]]:
    """Yield the checkpoint folders, newest first, complete or not."""
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    for name in sorted((name for name in names if name.isdecimal()), key=int, reverse=True):
        yield int(name), folder / name


def _fault(path: Path, content: bool) -> str | None:
    """Say why a folder is no complete checkpoint, or None if it is one.

    Args:
        path: The folder.
        content: Whether to read the files and compare hashes, not only sizes.
    """
    try:
        manifest = json.loads((path / _MANIFEST).read_bytes())
        if manifest["format"] != _FORMAT:
            return f"{_MANIFEST} has format {manifest['format']}, expected {_FORMAT}"
        for name, entry in manifest["files"].items():
            file = path / name
            if not file.is_file():
                return f"{name} is missing"
            if file.stat().st_size != entry["size"]:
                return f"{name} has {file.stat().st_size} bytes, expected {entry['size']}"
            if content and _sha256(file) != entry["sha256"]:
                return f"{name} has been altered (its SHA-256 differs)"
    except FileNotFoundError as cause:
        return f"{Path(cause.filename).name} is missing"
    except OSError as cause:
        return f"cannot be read ({cause.strerror})"
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"{_MANIFEST} is damaged"
    return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove(path: Path) -> None:
    if path.exists():
        shutil.rmtree(path)


def _encode(value: Any, tensors: dict[str, torch.Tensor], where: str) -> Any:
    """Turn a state into JSON, its tensors set apart under the names the JSON gives."""
    if isinstance(value, torch.Tensor):
        name = f"{len(tensors):06d}"
        tensors[name] = _alone(value, tensors)
        return {"tensor": name}
    if isinstance(value, dict):
        pairs = [
            [_encode(key, tensors, where), _encode(item, tensors, f"{where}[{key!r}]")]
            for key, item in value.items()
        ]
        return {"dict": pairs}
    if isinstance(value, list | tuple):
        items = [_encode(item, tensors, f"{where}[{i}]") for i, item in enumerate(value)]
        return {"tuple": items} if isinstance(value, tuple) else items
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise InputError(f"{where}: cannot save {type(value).__name__}; expected tensors or plain JSON values")


def _alone(value: torch.Tensor, others: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Return a tensor as safetensors takes it: contiguous, on the CPU, sharing no memory with the others."""
    tensor = value.detach().cpu().contiguous()
    storages = (other.untyped_storage().data_ptr() for other in others.values())
    return tensor.clone() if tensor.untyped_storage().data_ptr() in storages else tensor


def _decode(tree: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    if isinstance(tree, list):
        return [_decode(item, tensors) for item in tree]
    if not isinstance(tree, dict):
        return tree
    ((kind, content),) = tree.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "tuple":
        return tuple(_decode(item, tensors) for item in content)
    return {_decode(key, tensors): _decode(item, tensors) for key, item in content}
