"""Running untrusted Python programs: isolated, limited, and the same on every machine."""

from rla_envs.coding.sandbox.opening import BACKENDS, open_sandbox, why_unavailable
from rla_envs.coding.sandbox.protocol import Limits, Run, Sandbox, Status, SuiteRun

__all__ = ["BACKENDS", "Limits", "Run", "Sandbox", "Status", "SuiteRun", "open_sandbox", "why_unavailable"]
