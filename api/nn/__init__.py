"""tt.nn: functions and parameters for neural networks."""

from __future__ import annotations

from tt.core.methods.parameter import Parameter
from tt.nn import functional

__all__ = ["Parameter", "functional"]
