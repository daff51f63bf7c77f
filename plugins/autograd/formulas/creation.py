"""Formulas of operators that make tensors of others.  g is the gradient of the result."""

from __future__ import annotations

from tt.core.library import ops
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

d.of("complex", real=lambda g: ops.real(g), imag=lambda g: ops.imag(g))
