"""Formulas of operators that join tensors.  g is the gradient of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import ops
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()


def cat_tensors(g: Any, tensors_shape: Sequence[Sequence[int]], dim: int) -> list[Any]:
    """Cut g into the parts that were joined; one-dimensional empty tensors fit anywhere and get nothing."""
    found: list[Any] = []
    start = 0
    if all(tuple(shape) == (0,) for shape in tensors_shape):
        dim = 0  # the operator takes any
    for shape in tensors_shape:
        if tuple(shape) == (0,) and g.ndim != 1:
            found.append(None)
            continue
        found.append(ops.narrow(g, dim, start, shape[dim]))
        start += shape[dim]
    return found


d.of("cat", tensors=cat_tensors)
