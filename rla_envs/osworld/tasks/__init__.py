"""Tasks in OSWorld's own format: loaded, set up and scored."""

from rla_envs.osworld.tasks.load import load_task, parse_task
from rla_envs.osworld.tasks.scoring import Score, evaluate
from rla_envs.osworld.tasks.steps import setup
from rla_envs.osworld.tasks.task_file import TaskFile

__all__ = ["Score", "TaskFile", "evaluate", "load_task", "parse_task", "setup"]
