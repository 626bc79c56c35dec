"""Language models behind one interface: sample, score and train on token ids."""

from rla_agents.llm.base import (
    Allowed,
    Generated,
    LanguageModel,
    Sampling,
    Session,
    Span,
    TokenSequence,
    TrainItem,
)
from rla_agents.llm.chat import ChatFormat, Message
from rla_agents.llm.models import load_model, model_names
from rla_agents.llm.transformers_backend import TransformersModel

__all__ = [
    "Allowed",
    "ChatFormat",
    "Generated",
    "LanguageModel",
    "Message",
    "Sampling",
    "Session",
    "Span",
    "TokenSequence",
    "TrainItem",
    "TransformersModel",
    "load_model",
    "model_names",
]
