"""Formulas of random operators; few have samples that depend differentiably on the parameters."""

from __future__ import annotations

from tt.core.library import Tensor, ops
from tt.plugins.autograd.formulas.table import Formulas, zero

d = Formulas()

d.of("bernoulli", self=zero)
d.of("poisson", self=zero)
d.of("normal", self=zero)
d.of("uniform", self=zero)
d.of("exponential", self=zero)
d.of("normal.Tensor_Tensor", mean=zero, std=zero)
d.of("normal.Tensor_float", mean=zero)
d.of("normal.float_Tensor", std=zero)

# --- samples that are functions of their parameters --------------------------------------------------------------


def sample_dirichlet_self(g: Tensor, result: Tensor, self: Tensor) -> Tensor:
    """Change one element by its concentration; the others shrink in proportion, so that the sum stays 1."""
    total = ops.expand(ops.sum.dim(self, [-1], True), tuple(self.shape))
    return ops._dirichlet_grad(result, self, total) * (g - ops.sum.dim(g * result, [-1], True))


d.of("_standard_gamma", self=lambda g, self, result: g * ops._standard_gamma_grad(self, result))
d.of("_sample_dirichlet", self=sample_dirichlet_self)

# --- dropout ---------------------------------------------------------------------------------------------------


def native_dropout_input(g: Tensor, mask: Tensor, p: float, train: bool | None) -> Tensor:
    """Scale g as the elements were scaled."""
    # With p = 1 all elements were dropped, and the quotient does not exist.
    scale = 1.0 if train is False else 1 / (1 - p) if p < 1 else 0.0
    return ops.native_dropout_backward(g, mask, scale)


d.of("native_dropout", input=native_dropout_input)
d.of("native_dropout_backward",
     grad_output=lambda g, mask, scale: ops.native_dropout_backward(g, mask, scale))  # fmt: skip
