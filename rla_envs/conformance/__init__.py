"""The checks that any adaptive environment, ours or a third party's, must pass."""

from rla_envs.conformance.subject import ConformanceError
from rla_envs.conformance.suite import check_adaptive_env, check_names

__all__ = ["ConformanceError", "check_adaptive_env", "check_names"]
