"""Helpers of the parametrizations and of the older functions with their names."""

from __future__ import annotations

from typing import Any

import tt
import tt.nn.functional as F
from tt.nn.modules.module import Module


def norm_except_dim(v: tt.Tensor, dim: int) -> tt.Tensor:
    """Return the lengths of a tensor's slices along a dimension, in its number of dimensions; -1: of all of it."""
    if dim == -1:
        return tt.linalg.vector_norm(v)
    others = [d for d in range(v.dim()) if d != dim % v.dim()]
    return tt.linalg.vector_norm(v, dim=others, keepdim=True) if others else v.abs()


def scaled(v: tt.Tensor, g: tt.Tensor, dim: int) -> tt.Tensor:
    """Return a tensor of the direction of v and the length g."""
    return v * (g / norm_except_dim(v, dim))


def power_iteration(matrix: tt.Tensor, u: tt.Tensor, v: tt.Tensor, steps: int, eps: float) -> None:
    """Improve the estimates of the first singular vectors in place."""
    # The estimates are state of the module: gradients take them as constants, and they keep their storage.
    with tt.no_grad():
        for _ in range(steps):
            u.copy_(F.normalize(tt.mv(matrix, v), dim=0, eps=eps))
            v.copy_(F.normalize(tt.mv(matrix.mH, u), dim=0, eps=eps))


def outputs_dim(module: Module) -> int:
    """Return the dimension of a weight that counts the outputs: 1 for transposed convolutions."""
    kinds: list[Any] = [getattr(tt.nn, f"ConvTranspose{n}d", None) for n in (1, 2, 3)]
    return int(isinstance(module, tuple(kind for kind in kinds if kind is not None)))
