"""Programming problems: LiveBench's, embedded and generated ones, and grading that cannot be talked round."""

from rla_envs.coding.problem import Case, Problem, ProblemSource

__all__ = ["Case", "Problem", "ProblemSource"]
