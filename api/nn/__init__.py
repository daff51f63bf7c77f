"""tt.nn: what neural networks are made of."""

from __future__ import annotations

from tt.core.methods.parameter import Parameter
from tt.nn import functional

__all__ = ["Parameter", "functional"]
