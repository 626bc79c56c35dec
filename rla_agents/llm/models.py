"""Language models by name: the embedded ones, local folders, and the Hugging Face hub."""

from __future__ import annotations

import functools
import importlib.resources
import socket
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub
import torch
from transformers import PretrainedConfig

from rla_agents.llm.smollm2 import smollm2_folder
from rla_agents.llm.transformers_backend import TransformersModel
from rla_agents.llm.vision import VISION_FAMILIES, VisionModel
from rla_envs.errors import InputError, unknown_name


def _tiny_folder(role: str) -> Path:
    folder = Path(str(importlib.resources.files("rla_agents"))) / "tiny" / role
    if not (folder / "config.json").is_file():
        raise InputError(
            f"the embedded model 'tiny' is missing from this installation ({folder}); reinstall it"
        )
    return folder


_EMBEDDED: dict[str, Callable[[], Path]] = {
    "tiny": functools.partial(_tiny_folder, "policy"),
    "tiny-critic": functools.partial(_tiny_folder, "critic"),
    "smollm2": smollm2_folder,
}


def critic_name(policy: str) -> str:
    """Return the model that judges beside a policy's unless another is named: its own kind."""
    return "tiny-critic" if policy == "tiny" else policy


def model_names() -> list[str]:
    """Return the names of the embedded models."""
    return sorted(_EMBEDDED)


def load_model(
    name_or_path: str | Path, device: str = "auto", dtype: torch.dtype | None = None
) -> TransformersModel:
    """Return a language model.

    Args:
        name_or_path: The name of an embedded model ("tiny", "smollm2"), a local
            folder, or the id of a model on the Hugging Face hub ("owner/name"; a copy
            in the local cache is taken as it is).
            Code that comes with a model is never run.
        device: "auto" takes CUDA if there is a device, else the CPU.
        dtype: Type of the weights; default float32, which training needs.

    Raises:
        InputError: If the name is not known, the folder is unreadable, or the
            device does not exist.
        MissingExtraError: If an embedded model's packages are not installed.

    Example:
        >>> model = load_model("tiny")
        >>> session = model.open([model.chat.first([{"role": "user", "content": "look"}])])
    """
    place = _device(device)
    name = str(name_or_path)
    if name in _EMBEDDED:
        return TransformersModel.from_folder(_EMBEDDED[name](), place, dtype)
    if isinstance(name_or_path, Path) or Path(name).is_dir() or name.startswith((".", "/", "~")):
        folder = Path(name).expanduser()
        return _class_of(str(folder), local=True).from_folder(folder, place, dtype)
    if name.count("/") == 1 and all(name.split("/")):
        return _from_hub(name, place, dtype)
    raise unknown_name("model", name, _EMBEDDED)


def _from_hub(name: str, device: torch.device, dtype: torch.dtype | None) -> TransformersModel:
    """Read a model from the hub's local cache, or else from the hub."""
    try:
        return _class_of(name, local=True).from_pretrained(name, device, dtype, local=True)
    except InputError:
        # Asked first: the hub's own client tries for most of a minute before it gives up.
        if not _reachable(huggingface_hub.constants.ENDPOINT):
            raise InputError(
                f"the model {name!r} is not in the local Hugging Face cache, and the hub cannot be reached "
                f"from here; give a local folder or an embedded model ({', '.join(model_names())})"
            ) from None
    return _class_of(name, local=False).from_pretrained(name, device, dtype, local=False)


def _class_of(name: str, *, local: bool) -> type[TransformersModel]:
    """Return who reads a model: by its configuration, one that sees or one that does not."""
    try:
        found: Any = PretrainedConfig.get_config_dict(name, local_files_only=local)
    except (OSError, ValueError):  # reading the model says what is wrong
        return TransformersModel
    return VisionModel if found[0].get("model_type") in VISION_FAMILIES else TransformersModel


def _reachable(address: str) -> bool:
    parts = urllib.parse.urlsplit(address)
    if urllib.request.getproxies():
        return True
    try:
        port = parts.port or (80 if parts.scheme == "http" else 443)
        socket.create_connection((parts.hostname or "", port), timeout=5).close()
    except OSError:
        return False
    return True


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError(f"unknown device {name!r}; expected auto, cpu, cuda or cuda:N") from error
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise InputError(
            f"device {name!r} was asked for, but torch sees {torch.cuda.device_count()} CUDA devices"
        )
    return device
