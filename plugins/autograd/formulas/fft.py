"""Formulas of Fourier transforms.  g is the gradient of the result.

A transform is a matrix F times a number; its adjoint is the transform in the other direction times the same number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tt.core.library import Tensor, ops
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

SAME_FACTOR: Final = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The normalization with which the transform in the other direction multiplies by the same number."""


def edge_weights(like: Tensor, dim: int, n: int, inside: float) -> Tensor:
    """Return 1 for frequency zero and for the half of an even n, another number for those in between."""
    ndim, dim = like.ndim, dim % like.ndim
    k = ops.arange.default(n // 2 + 1, device=like.device)
    weights = ops.full((n // 2 + 1,), inside, dtype=like.dtype.to_real(), device=like.device)
    weights = ops.where(ops.eq(ops.remainder(2 * k, n), 0), 1.0, weights)
    return ops.reshape(weights, (n // 2 + 1, *(1,) * (ndim - dim - 1)))


def fft_r2c_self(g: Tensor, self_shape: Sequence[int], dim: Sequence[int], norm: str) -> Tensor:
    """Re F^H g; the real transform counts each frequency between the edges twice, so these are halved."""
    n = self_shape[dim[-1]]
    return ops._fft_c2r(g * edge_weights(g, dim[-1], n, 0.5), dim, SAME_FACTOR[norm], n)


def fft_c2r_self(g: Tensor, dim: Sequence[int], norm: str, last_dim_size: int) -> Tensor:
    """F g, where each frequency between the edges counts for its mirrored one, too."""
    transformed = ops._fft_r2c(g, dim, SAME_FACTOR[norm])
    return transformed * edge_weights(transformed, dim[-1], last_dim_size, 2.0)


d.of("_fft_c2c", self=lambda g, dim, norm, forward: ops._fft_c2c(g, dim, SAME_FACTOR[norm], not forward))
d.of("_fft_r2c", self=fft_r2c_self)
d.of("_fft_c2r", self=fft_c2r_self)
