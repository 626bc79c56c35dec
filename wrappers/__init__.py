"""Gymnasium wrappers: difficulty that follows a critic's feedback, actions by number, desktops in words."""

from wrappers.critic_feedback import CriticFeedback, FreeParameters, make_adaptive, step_rewards
from wrappers.curricula import curriculum_names, propose_task, shared_curriculum
from wrappers.desktop_text import DesktopText
from wrappers.lost_steps import LostSteps
from wrappers.numbered_commands import NumberedCommands
from wrappers.protocols import (
    Critic,
    Curriculum,
    Episode,
    Feedback,
    Proposal,
    Step,
    TaskEditor,
    TaskSource,
    Verdict,
)
from wrappers.rule_editor import RuleEditor

__all__ = [
    "Critic",
    "CriticFeedback",
    "Curriculum",
    "DesktopText",
    "Episode",
    "Feedback",
    "FreeParameters",
    "LostSteps",
    "NumberedCommands",
    "Proposal",
    "RuleEditor",
    "Step",
    "TaskEditor",
    "TaskSource",
    "Verdict",
    "curriculum_names",
    "make_adaptive",
    "propose_task",
    "shared_curriculum",
    "step_rewards",
]
