"""Programming problems: LiveBench's, embedded and generated ones, and grading that cannot be talked round."""

from rla_envs.coding.grade import Grader, TestResult, Verdict, grade
from rla_envs.coding.problem import Case, Problem, ProblemSource
from rla_envs.coding.sources import load_problems

__all__ = ["Case", "Grader", "Problem", "ProblemSource", "TestResult", "Verdict", "grade", "load_problems"]
