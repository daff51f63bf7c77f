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
        return (g if len(self_shape) == 1 else ops.unsqueeze(g, -1)) * conj(other)
    if len(self_shape) == 1:
        return ops.squeeze.dim(ops.matmul(ops.unsqueeze(g, -2), adjoint(other)), -2)
    return ops.matmul(g, adjoint(other))


def matmul_other(g: Any, self: Any, other_shape: Any) -> Any:
    """self^H g."""
    if self.ndim == 1:
        return (
            g * conj(self) if len(other_shape) == 1 else conj(ops.unsqueeze(self, -1)) * ops.unsqueeze(g, -2)
        )
    if len(other_shape) == 1:
        return ops.squeeze.dim(ops.matmul(adjoint(self), ops.unsqueeze(g, -1)), -1)
    if len(other_shape) == 2 and self.ndim > 2:
        # One product instead of one for each matrix of the batch, and nothing left to sum.
        rows, columns = ops.reshape(self, (-1, self.shape[-1])), ops.reshape(g, (-1, g.shape[-1]))
        return ops.matmul(adjoint(rows), columns)
    return ops.matmul(adjoint(self), g)


def times(g: Any, factor: Any) -> Any:
    """Return g * conj(factor), which for the usual factor of 1 is g."""
    return g if factor == 1 else g * conj(factor)


d.of("matmul", self=matmul_self, other=matmul_other)
d.of("mm", self=lambda g, mat2: ops.mm(g, adjoint(mat2)), mat2=lambda g, self: ops.mm(adjoint(self), g))
d.of("bmm", self=lambda g, mat2: ops.bmm(g, adjoint(mat2)), mat2=lambda g, self: ops.bmm(adjoint(self), g))
d.of("mv", self=lambda g, vec: ops.unsqueeze(g, -1) * conj(vec), vec=lambda g, self: ops.mv(adjoint(self), g))
d.of("dot", self=lambda g, tensor: g * conj(tensor), tensor=lambda g, self: g * conj(self))
d.of("addmm", self=lambda g, beta: times(g, beta),
     mat1=lambda g, mat2, alpha: times(ops.mm(g, adjoint(mat2)), alpha),
     mat2=lambda g, mat1, alpha: times(ops.mm(adjoint(mat1), g), alpha))  # fmt: skip

# --- decompositions --------------------------------------------------------------------------------------------


def svd_A(gs: Any, U: Any, S: Any, Vh: Any) -> Any:
    """The gradient of A = U diag(S) Vh.

    With skew(X) = X - X^H and E[j, k] = S[k]^2 - S[j]^2 (1 on the diagonal):

        gA = U [skew(U^H gU) / E S + S skew(V^H gV) / E + diag(gS)] Vh + the parts of gU and gV outside of U and V

    where skew counts off the diagonal; complex vectors add i Im diag(U^H gU) / S on it.

    See J. Townsend, "Differentiating the Singular Value Decomposition" (2016).  It exists where the singular values
    differ and, for gU and gVh, are not zero; a loss must not depend on the phase of the singular vectors.
    """
    gU, gS, gVh = gs
    k = S.shape[-1]
    # Of full matrices the first k vectors count: the others are any basis of what is left.
    U, gU = _first(U, k, -1), None if gU is None else _first(gU, k, -1)
    Vh, gVh = _first(Vh, k, -2), None if gVh is None else _first(gVh, k, -2)
    eye = ops.eye(k, dtype=S.dtype, device=S.device)
    inner: Any = None if gS is None else ops.unsqueeze(gS, -1) * eye
    if gU is not None or gVh is not None:
        squares = S * S
        E = ops.unsqueeze(squares, -2) - ops.unsqueeze(squares, -1) + eye
        if gU is not None:
            product = ops.matmul(adjoint(U), gU)
            inner = _plus(inner, (product - adjoint(product)) * (1 - eye) / E * ops.unsqueeze(S, -2))
        if gVh is not None:
            product = ops.matmul(Vh, adjoint(gVh))
            inner = _plus(inner, ops.unsqueeze(S, -1) * ((product - adjoint(product)) * (1 - eye) / E))
        if U.dtype.is_complex:
            inner = inner + ops.unsqueeze(_phase(gU, gVh, U, Vh) / S, -1) * eye * 1j
    gA = ops.matmul(ops.matmul(U, inner.to(U.dtype)), Vh)
    if gU is not None and U.shape[-2] > k:
        outside = gU / ops.unsqueeze(S, -2).to(U.dtype)
        gA = gA + ops.matmul(outside - ops.matmul(U, ops.matmul(adjoint(U), outside)), Vh)
    if gVh is not None and Vh.shape[-1] > k:
        outside = gVh / ops.unsqueeze(S, -1).to(U.dtype)
        gA = gA + ops.matmul(U, outside - ops.matmul(ops.matmul(outside, adjoint(Vh)), Vh))
    return gA


def _phase(gU: Any, gVh: Any, U: Any, Vh: Any) -> Any:
    """Return how the loss turns with the phase of the left vectors alone."""
    if gU is not None:
        return ops.imag(ops.sum.dim(conj(U) * gU, (-2,)))
    return ops.imag(ops.sum.dim(conj(Vh) * gVh, (-1,)))


def _first(a: Any, k: int, dim: int) -> Any:
    return a if a.shape[dim] == k else ops.narrow(a, dim, 0, k)


def _plus(a: Any, b: Any) -> Any:
    return b if a is None else a + b


d.of("linalg_svd", A=svd_A)
d.of("linalg_inv", A=lambda g, result: -ops.matmul(ops.matmul(adjoint(result), g), adjoint(result)))
