"""Formulas of linear algebra.  g is the gradient of the result."""

from __future__ import annotations

from typing import Any

from tt.core.library import ops
from tt.plugins.autograd.formulas.helpers import conj
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()


def adjoint(a: Any) -> Any:
    """Return the conjugate transpose of the last two dims."""
    return conj(ops.transpose(a, -2, -1))


# --- products --------------------------------------------------------------------------------------------------


def matmul_self(g: Any, self_shape: Any, other: Any) -> Any:
    """g other^H, with vectors as matrices of one row or column; the engine sums what was broadcast."""
    if other.ndim == 1:
        if len(self_shape) == 1:
            return g * conj(other)
        return ops.unsqueeze(g, -1) * conj(other)
    if len(self_shape) == 1:
        rows = ops.unsqueeze(g, -2)
        return ops.squeeze(ops.matmul(rows, adjoint(other)), -2)
    return ops.matmul(g, adjoint(other))


def matmul_other(g: Any, self: Any, other_shape: Any) -> Any:
    """self^H g."""
    if self.ndim == 1:
        if len(other_shape) == 1:
            return g * conj(self)
        return conj(ops.unsqueeze(self, -1)) * ops.unsqueeze(g, -2)
    if len(other_shape) == 1:
        columns = ops.matmul(adjoint(self), ops.unsqueeze(g, -1))
        return ops.squeeze(columns, -1)
    if len(other_shape) == 2 and self.ndim > 2:
        # One product instead of one for each matrix of the batch, and nothing left to sum.
        rows, columns = self.shape[-1], g.shape[-1]
        return ops.matmul(adjoint(ops.reshape(self, (-1, rows))), ops.reshape(g, (-1, columns)))
    return ops.matmul(adjoint(self), g)


def times(g: Any, factor: Any) -> Any:
    """Return g * conj(factor), which for the usual factor of 1 is g."""
    return g if factor == 1 else g * conj(factor)


d.of("matmul", self=matmul_self, other=matmul_other)
d.of("mm", self=lambda g, mat2: ops.mm(g, adjoint(mat2)), mat2=lambda g, self: ops.mm(adjoint(self), g))
d.of("bmm", self=lambda g, mat2: ops.bmm(g, adjoint(mat2)), mat2=lambda g, self: ops.bmm(adjoint(self), g))
d.of("mv", self=lambda g, vec: ops.unsqueeze(g, -1) * conj(vec),
     vec=lambda g, self: ops.mv(adjoint(self), g))  # fmt: skip
d.of("dot", self=lambda g, tensor: g * conj(tensor), tensor=lambda g, self: g * conj(self))
d.of("vdot", self=lambda g, other: conj(g) * other, other=lambda g, self: g * self)
d.of("outer", self=lambda g, vec2: ops.mv(g, conj(vec2)), vec2=lambda g, self: ops.mv(ops.t(g), conj(self)))
d.of("addmm", self=lambda g, beta: times(g, beta),
     mat1=lambda g, mat2, alpha: times(ops.mm(g, adjoint(mat2)), alpha),
     mat2=lambda g, mat1, alpha: times(ops.mm(adjoint(mat1), g), alpha))  # fmt: skip
d.of("baddbmm", self=lambda g, beta: times(g, beta),
     batch1=lambda g, batch2, alpha: times(ops.bmm(g, adjoint(batch2)), alpha),
     batch2=lambda g, batch1, alpha: times(ops.bmm(adjoint(batch1), g), alpha))  # fmt: skip
d.of("linear", input=lambda g, input_shape, weight: matmul_self(g, input_shape, weight),
     weight=lambda g, input: linear_weight(g, input),
     bias=lambda g: g)  # fmt: skip


def linear_weight(g: Any, input: Any) -> Any:
    """g^H input, over all leading dims at once."""
    rows = ops.reshape(g, (-1, g.shape[-1]))
    return ops.matmul(ops.t(rows), conj(ops.reshape(input, (-1, input.shape[-1]))))


# --- decompositions --------------------------------------------------------------------------------------------


def svd_factors(gs: Any, U: Any, S: Any, Vh: Any) -> Any:
    """The gradient of A = U diag(S) Vh.

    With skew(X) = X - X^H, E[j, k] = S[k]^2 - S[j]^2 (1 on the diagonal):
    gA = U [(skew(U^H gU) / E) S + S (skew(V^H gV) / E) + diag(gS)] V^H + the parts of gU and gV outside of U and V.
    See J. Townsend, "Differentiating the Singular Value Decomposition" (2016).  It exists where the singular values
    differ, and does not see the phase of singular vectors.
    """
    gU, gS, gVh = gs
    m, n, k = U.shape[-2], Vh.shape[-1], S.shape[-1]
    inner = None
    if gU is not None or gVh is not None:
        squares = S * S
        E = ops.unsqueeze(squares, -2) - ops.unsqueeze(squares, -1)
        E = E + ops.eye(k, dtype=S.dtype, device=S.device)
        if gU is not None:
            skew = ops.matmul(adjoint(U), gU)
            inner = (skew - adjoint(skew)) / E * ops.unsqueeze(S, -2)
        if gVh is not None:
            skew = ops.matmul(Vh, adjoint(gVh))
            right = ops.unsqueeze(S, -1) * ((skew - adjoint(skew)) / E)
            inner = right if inner is None else inner + right
        if U.dtype.is_complex:
            inner = inner + _phase(gU, gVh, U, Vh, S)
    if gS is not None:
        diagonal = ops.diag_embed(gS).to(U.dtype)
        inner = diagonal if inner is None else inner + diagonal
    gA = ops.matmul(ops.matmul(U, inner), Vh)
    if gU is not None and m > k:
        outside = gU / ops.unsqueeze(S, -2)
        gA = gA + ops.matmul(outside - ops.matmul(U, ops.matmul(adjoint(U), outside)), Vh)
    if gVh is not None and n > k:
        outside = gVh / ops.unsqueeze(S, -1)
        gA = gA + ops.matmul(U, outside - ops.matmul(ops.matmul(outside, adjoint(Vh)), Vh))
    return gA


def _phase(gU: Any, gVh: Any, U: Any, Vh: Any, S: Any) -> Any:
    """Return the imaginary diagonal that complex singular vectors add."""
    if gU is not None:
        found = ops.diagonal(ops.matmul(adjoint(U), gU), 0, -2, -1)
    else:
        found = -ops.diagonal(ops.matmul(Vh, adjoint(gVh)), 0, -2, -1)
    return ops.diag_embed(ops.imag(found) / S * 1j)
