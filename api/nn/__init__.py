"""tt.nn: what neural networks are made of."""

from __future__ import annotations

from tt.core.parameter import Parameter
from tt.nn import functional

__all__ = ["Parameter", "functional"]
