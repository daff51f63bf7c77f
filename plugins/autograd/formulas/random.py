"""Formulas of random operators: samples do not depend differentiably on the parameters."""

from __future__ import annotations

from typing import Any

from tt.core.library import ops
from tt.plugins.autograd.formulas.table import Formulas, zero

d = Formulas()

d.of("bernoulli", self=zero)
d.of("normal.Tensor_Tensor", mean=zero, std=zero)
d.of("normal.Tensor_float", mean=zero)
d.of("normal.float_Tensor", std=zero)

# --- dropout ---------------------------------------------------------------------------------------------------


def native_dropout_input(g: Any, mask: Any, p: float, train: bool | None) -> Any:
    """Scale g as the elements were scaled."""
    scale = 1.0 if train is False else 1 / (1 - p) if p < 1 else 0.0
    return ops.native_dropout_backward(g, mask, scale)


d.of("native_dropout", input=native_dropout_input)
d.of("native_dropout_backward",
     grad_output=lambda g, mask, scale: ops.native_dropout_backward(g, mask, scale))  # fmt: skip
