"""Formulas of linear algebra.  g is the gradient of the result."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import Any

from tt.core.library import Tensor, ops
from tt.plugins.autograd.formulas.helpers import conj
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()


def adjoint(a: Tensor) -> Any:
    """Return the conjugate transpose of the last two dims."""
    return conj(ops.transpose(a, -2, -1))


# --- products --------------------------------------------------------------------------------------------------


def matmul_self(g: Tensor, self_shape: Sequence[int], other: Tensor) -> Any:
    """g other^H, with vectors as matrices of one row or column; the engine sums what was broadcast."""
    if other.ndim == 1:
        return (g if len(self_shape) == 1 else ops.unsqueeze(g, -1)) * conj(other)
    if len(self_shape) == 1:
        return ops.squeeze.dim(ops.matmul(ops.unsqueeze(g, -2), adjoint(other)), -2)
    return ops.matmul(g, adjoint(other))


def matmul_other(g: Tensor, self: Tensor, other_shape: Sequence[int]) -> Any:
    """self^H g."""
    if self.ndim == 1:
        return (
            g * conj(self) if len(other_shape) == 1 else conj(ops.unsqueeze(self, -1)) * ops.unsqueeze(g, -2)
        )
    if len(other_shape) == 1:
        return ops.squeeze.dim(ops.matmul(adjoint(self), ops.unsqueeze(g, -1)), -1)
    if len(other_shape) == 2 and self.ndim > 2:
        # One product instead of one for each matrix of the batch, and nothing left to sum.
        count = prod(self.shape[:-1])
        rows = ops.reshape(self, (count, self.shape[-1]))
        columns = ops.reshape(g, (count, g.shape[-1]))
        return ops.matmul(adjoint(rows), columns)
    return ops.matmul(adjoint(self), g)


def linear_input(g: Tensor, weight: Tensor) -> Any:
    """g weight, conjugate; a vector as weight gives one number for each row."""
    if weight.ndim == 1:
        return ops.unsqueeze(g, -1) * conj(weight)
    return ops.mm(g, conj(weight)) if g.ndim == 2 else ops.matmul(g, conj(weight))


def linear_weight(g: Tensor, input: Tensor, weight_shape: Sequence[int]) -> Tensor:
    """g^T input, conjugate, with all rows of the batch as one matrix."""
    # The usual layer, written out: no reshape, one product.
    if len(weight_shape) == 2 == input.ndim:
        return ops.mm(ops.t(g), conj(input))
    rows = ops.reshape(input, (prod(input.shape[:-1]), input.shape[-1]))
    if len(weight_shape) == 1:
        return ops.matmul(ops.reshape(g, (rows.shape[0],)), conj(rows))
    columns = ops.reshape(g, (rows.shape[0], g.shape[-1]))
    return ops.mm(ops.t(columns), conj(rows))


def linear_bias(g: Tensor) -> Tensor:
    """The sum of all rows of g."""
    if g.ndim == 2:
        return ops.sum.dim(g, (0,), False)
    return g if g.ndim <= 1 else ops.sum.dim(g, tuple(range(g.ndim - 1)), False)


def times(g: Tensor, factor: Any) -> Tensor:
    """Return g * conj(factor), which for the usual factor of 1 is g."""
    return g if factor == 1 else g * conj(factor)


d.of("matmul", self=matmul_self, other=matmul_other)
d.of("mm", self=lambda g, mat2: ops.mm(g, adjoint(mat2)), mat2=lambda g, self: ops.mm(adjoint(self), g))
d.of("bmm", self=lambda g, mat2: ops.bmm(g, adjoint(mat2)), mat2=lambda g, self: ops.bmm(adjoint(self), g))
d.of("linear", input=linear_input, weight=linear_weight, bias=linear_bias)
d.of("mv", self=lambda g, vec: ops.unsqueeze(g, -1) * conj(vec), vec=lambda g, self: ops.mv(adjoint(self), g))
# Products with vectors promote nothing, and the vectors may be narrower than g.
d.of("outer", self=lambda g, vec2: ops.mv(g, conj(vec2).to(g.dtype)),
     vec2=lambda g, self: ops.mv(ops.t(g), conj(self).to(g.dtype)))  # fmt: skip
d.of("dot", self=lambda g, tensor: g * conj(tensor), tensor=lambda g, self: g * conj(self))
d.of("addmm", self=lambda g, beta: times(g, beta),
     mat1=lambda g, mat2, alpha: times(ops.mm(g, adjoint(mat2)), alpha),
     mat2=lambda g, mat1, alpha: times(ops.mm(adjoint(mat1), g), alpha))  # fmt: skip

d.of("addmv", self=lambda g, beta: times(g, beta),
     mat=lambda g, vec, alpha: times(ops.unsqueeze(g, -1) * conj(vec), alpha),
     vec=lambda g, mat, alpha: times(ops.mv(adjoint(mat), g), alpha))  # fmt: skip
d.of("addr", self=lambda g, beta: times(g, beta),
     vec1=lambda g, vec2, alpha: times(ops.mv(g, conj(vec2).to(g.dtype)), alpha),
     vec2=lambda g, vec1, alpha: times(ops.mv(ops.t(g), conj(vec1).to(g.dtype)), alpha))  # fmt: skip
d.of("baddbmm", self=lambda g, beta: times(g, beta),
     batch1=lambda g, batch2, alpha: times(ops.bmm(g, adjoint(batch2)), alpha),
     batch2=lambda g, batch1, alpha: times(ops.bmm(adjoint(batch1), g), alpha))  # fmt: skip
d.of("addbmm", self=lambda g, beta: times(g, beta),
     batch1=lambda g, batch2, alpha: times(ops.matmul(g, adjoint(batch2)), alpha),
     batch2=lambda g, batch1, alpha: times(ops.matmul(adjoint(batch1), g), alpha))  # fmt: skip
d.of("linalg_vecdot", x=lambda g, y, dim: ops.unsqueeze(conj(g), dim) * y,
     y=lambda g, x, dim: ops.unsqueeze(g, dim) * x)  # fmt: skip
d.of("linalg_cross", self=lambda g, other, dim: ops.linalg_cross(conj(other), g, dim=dim),
     other=lambda g, self, dim: ops.linalg_cross(g, conj(self), dim=dim))  # fmt: skip

# --- distances -------------------------------------------------------------------------------------------------


def distance(g: Tensor, x1: Tensor, x2: Tensor, p: Any, result: Tensor) -> tuple[Any, Any]:
    """The gradients of both sets of points; 0 where two points agree, as the distance has a kink there."""
    difference = ops.unsqueeze(x1, -2) - ops.unsqueeze(x2, -3)
    r, g = ops.unsqueeze(result, -1), ops.unsqueeze(g, -1)
    if p == 0:
        slope = ops.zeros_like(difference) * g
    elif p == 1:
        slope = g * ops.sign(difference)
    elif p == inf:
        # Elements that are farthest at once each get the whole of g, as in PyTorch.
        slope = g * ops.sign(difference) * ops.eq(ops.abs(difference), r)
    elif p == 2:
        # The difference as it is, not its sign and size: where it is 0, its slope counts in second derivatives.
        apart = ops.ne(r, 0)
        slope = ops.where.default(apart, g / ops.where.default(apart, r, 1.0), 0.0) * difference
    else:
        # Below 2 the power has an infinite second derivative at 0; from 2 on only the root has a kink.
        apart = ops.ne(difference, 0) if p < 2 else ops.ne(r, 0)
        ratio = ops.abs(ops.where.default(apart, difference, 1.0)) / ops.where.default(apart, r, 1.0)
        slope = ops.where.default(apart, g * ops.sign(difference) * ops.pow(ratio, p - 1), 0.0)
    return ops.sum.dim(slope, (-2,)), -ops.sum.dim(slope, (-3,))


d.of("cdist", x1=lambda g, x1, x2, p, result: distance(g, x1, x2, p, result)[0],
     x2=lambda g, x1, x2, p, result: distance(g, x1, x2, p, result)[1])  # fmt: skip


def pinv_A(g: Tensor, A: Tensor, P: Tensor) -> Tensor:
    """-P^H g P^H + (I - A P) g^H P P^H + P^H P g^H (I - P A), where values below the tolerance count as zero."""
    PH, gH = adjoint(P), adjoint(g)
    grad = -ops.matmul(PH, ops.matmul(g, PH))
    # The parts outside the ranges of A and of A^H; one of both is empty for a matrix of full rank.
    outside = ops.matmul(gH, ops.matmul(P, PH))
    grad = grad + outside - ops.matmul(A, ops.matmul(P, outside))
    outside = ops.matmul(ops.matmul(PH, P), gH)
    return grad + outside - ops.matmul(ops.matmul(outside, P), A)


d.of("linalg_pinv", A=lambda g, A, result: pinv_A(g, A, result))


def exponential_A(g: Tensor, A: Tensor) -> Tensor:
    """The corner of the exponential of [[A^H, g], [0, A^H]]."""
    n = A.shape[-1]
    turned = adjoint(A)
    top, low = ops.cat([turned, g], -1), ops.cat([ops.zeros_like(turned), turned], -1)
    # The corner is the Fréchet derivative in direction g (R. Mathias, 1996); by A^H it is the adjoint map.
    return ops.narrow(ops.narrow(ops.linalg_matrix_exp(ops.cat([top, low], -2)), -2, 0, n), -1, n, n)


d.of("linalg_matrix_exp", A=exponential_A)
