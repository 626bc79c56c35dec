"""Adaptive environments: tasks with named difficulty that can be checked, replayed and rewritten.

Importing this package registers its environments with Gymnasium.
"""

from rla_envs import conformance
from rla_envs.adaptive import AdaptiveEnv, Turn
from rla_envs.difficulty import DifficultyParameter
from rla_envs.registry import env_ids, make_vec, register_environments
from rla_envs.spaces import Unicode
from rla_envs.task import Task, TaskCheck, TaskEdit

__all__ = [
    "AdaptiveEnv",
    "DifficultyParameter",
    "Task",
    "TaskCheck",
    "TaskEdit",
    "Turn",
    "Unicode",
    "conformance",
    "env_ids",
    "make_vec",
]

register_environments()
