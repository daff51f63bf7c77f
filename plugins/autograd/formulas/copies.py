"""Formulas of copies and conversions."""

from __future__ import annotations

from typing import Any

from tt.core.library import Tensor, ops
from tt.plugins.autograd.formulas.table import Formulas, zero

d = Formulas()


def to_source(g: Tensor, self_dtype: Any, self_device: Any) -> Tensor:
    """Bring g back to where the copied tensor is; the engine casts, but never moves."""
    return g if g.device == self_device else ops._to_copy(g, dtype=self_dtype, device=self_device)


d.of("clone", self=lambda g: g)


d.of("_to_copy", self=to_source)


d.of("copy", self=zero, src=lambda g, src_dtype, src_device: to_source(g, src_dtype, src_device))


d.of("fill", self=zero, value=lambda g: ops.sum(g))


d.of("zero", self=zero)
