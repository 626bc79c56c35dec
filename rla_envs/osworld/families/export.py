"""Write generated tasks as files that OSWorld's own client can run."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from rla_envs.files import storing, write_atomic
from rla_envs.osworld.families.build import build
from rla_envs.task import Task


def export(task: Task, folder: str | os.PathLike[str]) -> Path:
    """Write a task in OSWorld's layout, with its files.

    ``evaluation_examples/examples/<family>/<id>.json`` is the task file,
    ``files/<id>/`` holds what its setup uploads, and ``cache/<id>/`` the
    references that its evaluator compares with: OSWorld's client looks there
    before it downloads anything. Start the client in ``folder``, with
    ``cache_dir="cache"``.

    Args:
        task: A generated task.
        folder: Where to write; other tasks may lie there already.

    Returns:
        The path of the task file.

    Raises:
        InvalidTaskError: If the task cannot be built.
        StorageError: If the folder cannot be written.
    """
    built, root = build(task.payload), Path(folder)
    task_id = re.sub(r"[^A-Za-z0-9_-]", "-", task.id)
    uploads, files = [], {}
    for number, (path, data) in enumerate(built.uploads.items()):
        local = f"files/{task_id}/{number}_{path.rpartition('/')[2]}"
        files[local] = data
        uploads.append({"local_path": local, "path": path})
    for name, data in built.references().items():
        files[f"cache/{task_id}/{name}"] = data
    setup = [{"type": "upload_file", "parameters": {"files": uploads}}] if uploads else []
    # The client does not fetch what the cache holds; the addresses only have to be some.
    addresses = {name: f"https://example.invalid/{task_id}/{name}" for name in built.references()}
    content = built.task_file(task_id, setup, addresses)
    as_json = json.dumps(content, indent=2).encode()
    family = str(task.payload["family"])
    place = root / "evaluation_examples" / "examples" / family / f"{task_id}.json"
    for name, data in (*files.items(), (str(place.relative_to(root)), as_json)):
        target = root / name
        with storing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, data)
    return place
