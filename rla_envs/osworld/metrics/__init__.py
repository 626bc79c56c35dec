"""OSWorld's evaluation metrics by their upstream names: pure functions over local files and values."""

from __future__ import annotations

from rla_envs.osworld.metrics.registry import METRICS, MetricSpec

__all__ = ["METRICS", "MetricSpec"]
