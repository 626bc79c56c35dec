"""OSWorld: computer control on a real desktop, with tasks in OSWorld's own format."""

from rla_envs.osworld.families.register import families
from rla_envs.osworld.tasks import TaskFile, load_task

__all__ = ["TaskFile", "families", "load_task"]
