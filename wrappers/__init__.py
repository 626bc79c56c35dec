"""Gymnasium wrappers: difficulty that follows a critic's feedback, and actions by number."""

from wrappers.critic_feedback import CriticFeedback, FreeParameters, make_adaptive, step_rewards
from wrappers.curricula import curriculum_names, make_curriculum, propose_task, shared_curriculum
from wrappers.numbered_commands import NumberedCommands
from wrappers.protocols import Critic, Curriculum, Episode, Proposal, Step, TaskEditor, TaskSource, Verdict

__all__ = [
    "Critic",
    "CriticFeedback",
    "Curriculum",
    "Episode",
    "FreeParameters",
    "NumberedCommands",
    "Proposal",
    "Step",
    "TaskEditor",
    "TaskSource",
    "Verdict",
    "curriculum_names",
    "make_adaptive",
    "make_curriculum",
    "propose_task",
    "shared_curriculum",
    "step_rewards",
]
