"""Formulas of random operators: what is drawn does not follow small changes of the parameters."""

from __future__ import annotations

from tt.plugins.autograd.formulas.table import Formulas, zero

d = Formulas()

d.of("bernoulli", self=zero)
d.of("normal.Tensor_Tensor", mean=zero, std=zero)
d.of("normal.Tensor_float", mean=zero)
d.of("normal.float_Tensor", std=zero)
