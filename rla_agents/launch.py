"""From a command line to a run: which settings, which folder, new or resumed."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from rla_agents.command_line import parse
from rla_agents.config import TrainConfig, drop_stale, layers
from rla_envs.errors import InputError
from rla_envs.registry import find_env
from wrappers.curricula.registry import check_arguments


@dataclass(frozen=True)
class Launch:
    """Train a policy and a reward model while the tasks adapt.

    Settings come from the defaults, then CONFIG, then the options below.
    """

    config: Annotated[TrainConfig, tyro.conf.arg(name="")] = field(default_factory=TrainConfig)
    """Settings of the run."""
    file: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="[CONFIG.toml]")] = None
    """TOML file with settings; `config.toml` in any run folder is one."""
    resume: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Go on with the run in --run-dir from its last checkpoint."""
    quiet: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Show no progress."""


def read_launch(args: Sequence[str], *, prog: str, preset: str | None = None) -> Launch:
    """Return what a command line asks for, with its run folder settled.

    Args:
        args: Words after the command's name.
        prog: The command, for help and errors.
        preset: Shipped preset that lies under the file and the options.

    Raises:
        InputError: On bad settings, an unknown environment or curriculum,
            ``--resume`` without a run to resume, or a run folder that already
            holds a run.
    """
    # Read more than once: which file and which model's settings lie under the
    # options is itself among the words.
    asked = parse(Launch, args, prog=prog, default=Launch(config=layers(None, preset)))
    below = layers(asked.file, preset)
    folder = asked.config.run_dir or below.run_dir
    if asked.resume and asked.file is None:
        below = layers(_saved_settings(folder))
    else:
        model = parse(Launch, args, prog=prog, default=Launch(config=below)).config.policy.model
        below = layers(asked.file, preset, model)
    launch = parse(Launch, args, prog=prog, default=Launch(config=below))
    config = drop_stale(below, launch.config)
    if folder is None:
        config = dataclasses.replace(config, run_dir=_free_folder(preset or Path(config.policy.model).name))
    elif Path(folder, "config.toml").exists() and not launch.resume:
        raise InputError(
            f"--run-dir: {folder} already holds a run; go on with it with --resume, or name another folder"
        )
    find_env(config.env.id)
    check_arguments(config.curriculum.name, config.curriculum.arguments)
    return dataclasses.replace(launch, config=config)


def _saved_settings(folder: str | None) -> Path:
    if folder is None:
        raise InputError("--resume: expected --run-dir with the folder of a run, got none")
    saved = Path(folder, "config.toml")
    if not saved.is_file():
        raise InputError(f"--resume: no run to resume in {folder}, it has no config.toml")
    return saved


def _free_folder(stem: str) -> str:
    candidates = (Path("runs", f"{stem}-{number}") for number in itertools.count(1))
    return str(next(folder for folder in candidates if not folder.exists()))
