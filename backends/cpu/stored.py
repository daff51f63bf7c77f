"""Dtypes that tensors only store: which kernels move their elements."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tt.core.library import (
    Kernel,
)

__all__ = ["with_stored"]

MOVING: Final = frozenset({
    "_embedding", "_to_copy", "alias", "as_strided", "cat", "clone", "constant_pad_nd", "copy", "detach", "empty",
    "empty_like", "expand", "fill",
    "flip", "full_like", "gather", "index", "index_put", "index_select", "item",
    "masked_select", "ones_like", "permute", "repeat", "resize", "roll", "select", "slice", "squeeze", "squeeze.dim",
    "unsqueeze", "view", "view.dtype", "where", "zero", "zeros", "zeros_like",
})  # fmt: skip
"""Operators whose kernels view, move or fill elements of any dtype."""


def with_stored(kernel: Kernel) -> Kernel:
    """Return a kernel that serves float8 and complex32, too, if it only moves elements."""
    return replace(kernel, dtypes="any") if kernel.op in MOVING and kernel.dtypes == "all" else kernel
