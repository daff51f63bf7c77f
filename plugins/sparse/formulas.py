"""Gradients of the sparse operators, and of other operators for sparse tensors.

Note [Gradients of sparse tensors]
----------------------------------
Elements that a sparse tensor does not store are not variables: its gradient has the same pattern.  The operators of
this plugin give such gradients.  General operators with a formula for dense tensors use it, in which case
the gradient of a sparse tensor may be dense (`mm`, `sum`): so it is in PyTorch, which has `sparse.mm` and `sparse.sum`
for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tt.core.library import Tensor, handle_of, ops
from tt.plugins.sparse.compute.pointwise import LINEAR, expanded, kernels_of_one, on_values
from tt.plugins.sparse.compute.whole import kernels_of_reductions, sum_dims
from tt.plugins.sparse.layouts import LAYOUTS
from tt.plugins.sparse.structure.gradients import PIECES, STRUCTURE, STRUCTURE_BESIDE_DENSE, by_numbers

__all__ = ["PartsOfSparse", "SparseFormulas", "formulas", "parts"]

Gradient = Callable[..., Any]


class SparseFormulas:
    """The table that the layer "autograd" takes: operator -> {argument: function of the result's gradient}."""

    layer = "autograd"

    def __init__(self) -> None:
        self.formulas: dict[str, dict[str, Gradient]] = {}

    def of(self, op: str, /, **gradients: Gradient) -> None:
        """Add the formulas of an operator; the parameter names name their values."""
        self.formulas[op] = gradients


class PartsOfSparse:
    """Operators that are differentiated by their parts where a tensor is sparse."""

    layer = "autograd"
    layouts = LAYOUTS

    def function(self, op: str, layouts: Sequence[str]) -> Callable[..., Any] | None:
        """Return what takes the place of an operator in a call with tensors of these layouts, or None."""
        return (_beside_dense() if "strided" in layouts else _alone()).get(op)


@cache
def _alone() -> dict[str, Callable[..., Any]]:
    kernels = {**kernels_of_one(), **kernels_of_reductions()}
    # The gradient of a linear operator is its formula, in any layout.
    structure = {**PIECES, **{op: by_numbers(op) for op in STRUCTURE}}
    return structure | {op: function for op, (function, _) in kernels.items() if op not in LINEAR}


@cache
def _beside_dense() -> dict[str, Callable[..., Any]]:
    structure = {op: by_numbers(op) for op in STRUCTURE_BESIDE_DENSE}
    return {"mul": _times_broadcast, "div": _divided_by_number, **structure}


def _divided_by_number(self: Tensor, other: Tensor) -> Any:
    """Divide the elements of a compressed tensor, so that the gradient of the number is a sum of strided elements."""
    if is_strided(self) or other.ndim or self.layout.name == "sparse_coo":
        return NotImplemented
    return on_values(ops.div, self, other)


def _times_broadcast(self: Tensor, other: Tensor) -> Any:
    """Give each stored element its dense factor, whose gradient is the sum over the dimensions of the broadcast."""
    sparse, factor = (other, self) if is_strided(self) else (self, other)
    if not factor.ndim and sparse.layout.name != "sparse_coo":
        return on_values(ops.mul, sparse, factor)
    # The formula for equal shapes, or for a number, serves these.
    if not factor.ndim or tuple(factor.shape) == tuple(sparse.shape):
        return NotImplemented
    expanded(factor, sparse)  # refuses what does not fit
    whole = ops.reshape(factor, (1,) * (sparse.ndim - factor.ndim) + tuple(factor.shape))
    stretched = [d for d in range(whole.ndim) if whole.shape[d] != sparse.shape[d]]
    pattern = once(sparse)
    return ops.mul(pattern, ops.sparse.spread(whole, pattern, stretched, True) if stretched else whole)


formulas = SparseFormulas()
d = formulas


def is_strided(value: Tensor) -> bool:
    """Return whether a tensor is dense."""
    return bool(value.layout.name == "strided")


def dense(value: Tensor) -> Any:
    """Return a tensor as a dense one."""
    return value if is_strided(value) else ops.sparse.to_dense(value)


def once(value: Tensor) -> Any:
    """Return a tensor with each of its elements stored once."""
    return ops.sparse.coalesce(value) if value.layout.name == "sparse_coo" else value


def masked(g: Tensor, self: Tensor) -> Any:
    """Return the elements of a gradient where a sparse tensor stores some, in its layout."""
    if is_strided(self):
        return dense(g)
    pattern = once(self)
    return ops.sparse.with_values(pattern, ops.sparse.values_at(g, pattern))


# --- making, converting ------------------------------------------------------------------------------------------


def to_dense_self(g: Tensor, self: Tensor, masked_grad: bool | None) -> Any:
    """g, in the layout of self; everywhere if no mask is requested."""
    # Every element is stored then, zeros included, in the layout that a gradient of self must have.
    if masked_grad is False and self.layout.name == "sparse_coo":
        return ops.sparse.to_layout(dense(g), "sparse_coo", sparse_dim=handle_of(self).sparse_dim)
    return dense(g) if masked_grad is False else masked(g, self)


d.of("sparse::coo", values=lambda g, result: ops.sparse.values_at(g, result))
d.of("sparse::compressed", values=lambda g, result: ops.sparse.values_at(g, result))
d.of("sparse::to_dense", self=to_dense_self)
d.of("sparse::to_layout", self=masked)
# Each summand contributes to its sum with the factor 1.
d.of("sparse::coalesce", self=lambda g: g)
d.of("sparse::values", self=lambda g, self: ops.sparse.with_values(self, g))
d.of("sparse::with_values", values=lambda g, result: ops.sparse.values_at(g, result))
d.of("sparse::values_at", self=lambda g, self, mask: _at(g, self, mask))


def _at(g: Tensor, self: Tensor, mask: Tensor) -> Any:
    """G where the mask stores elements, in the layout of self."""
    result = ops.sparse.with_values(mask, g)
    return dense(result) if is_strided(self) else masked(result, self)


# --- reductions --------------------------------------------------------------------------------------------------


def spread_self(g: Tensor, self: Tensor, like: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Any:
    """The sums of g along the dimensions."""
    result = ops.sparse.with_values(like, ops.sparse.values_at(g, like))
    if result.layout.name != "sparse_coo":
        result = ops.sparse.to_layout(result, "sparse_coo")
    return masked(sum_dims(result, dim, keepdim), self)


def softmax_self(g: Tensor, result: Tensor, dim: int, logarithm: bool) -> Any:
    """The gradient of softmax is y (g - sum(g y)), of its logarithm g - exp(y) sum(g)."""
    g = masked(g, result)
    if not logarithm:
        return result * (g - ops.sparse.fiber_sum(g * result, dim))
    y = ops.sparse.with_values(result, ops.exp(ops.sparse.values(result)))
    return g - y * ops.sparse.fiber_sum(g, dim)


for _op in ("sparse::sum_dims", "sparse::sum_to_dense"):
    d.of(_op, self=lambda g, self, dim, keepdim: ops.sparse.spread(g, once(self), dim, keepdim))
d.of("sparse::spread", self=spread_self)
d.of("sparse::fiber_sum", self=lambda g, result, dim: ops.sparse.fiber_sum(masked(g, result), dim))
d.of("sparse::softmax", self=softmax_self)

# --- products ----------------------------------------------------------------------------------------------------


def adjoint(a: Tensor) -> Any:
    """Return the conjugate transpose of the last two dims."""
    turned = ops.transpose(a, -2, -1)
    return ops.conj(turned) if a.dtype.is_complex else turned


def masked_product(self: Tensor, left: Tensor, right: Tensor) -> Any:
    """Return left @ right as the gradient of self: dense, or where self stores elements."""
    if is_strided(self):
        return dense(ops.matmul(left, right))
    if is_strided(left) and is_strided(right):
        return ops.sparse.sampled_mm(once(self), left, right)
    return masked(ops.matmul(left, right), self)


def reduced_self(gs: Sequence[Tensor | None], self: Tensor, mat2: Tensor, reduce: str, chosen: Tensor) -> Any:
    """The gradient of the stored elements."""
    g = gs[0]
    if g is None:
        return None
    if reduce in ("amax", "amin"):
        return ops.sparse.with_values(self, ops.sparse.mm_reduce_backward(self, g, mat2, chosen)[0])
    return ops.sparse.sampled_mm(self, _shared(g, self, reduce), adjoint(mat2))


def reduced_mat2(gs: Sequence[Tensor | None], self: Tensor, mat2: Tensor, reduce: str, chosen: Tensor) -> Any:
    """The gradient of the dense matrix."""
    g = gs[0]
    if g is None:
        return None
    if reduce in ("amax", "amin"):
        return ops.sparse.mm_reduce_backward(self, g, mat2, chosen)[1]
    return ops.mm(adjoint(self), _shared(g, self, reduce))


def _shared(g: Tensor, self: Tensor, reduce: str) -> Any:
    """g, of a mean divided by how many elements each row stores."""
    if reduce == "sum":
        return g
    counts = ops.diff(ops.sparse.compressed_indices(self))
    # A row without elements has no gradient to divide, and must not give NaN.
    return g / ops.unsqueeze(ops.clamp(counts, 1), 1).to(g.dtype)


def solved_matrix(g: Tensor, A: Tensor, B: Tensor, left: bool, result: Tensor) -> Any:  # noqa: N803 - PyTorch's names
    """-(A^-H g) x^H where A stores elements, or the same from the right."""
    y = ops.sparse.spsolve(adjoint(A), g, left)
    # A vector is one column on the left, and one row on the right.
    if B.ndim == 1:
        y, x = ops.unsqueeze(y, 1), ops.unsqueeze(result, 1)
        y, x = (y, x) if left else (x, y)
        return (
            -masked_product(A, y, adjoint(x)) if left else -masked_product(A, conj(y), ops.transpose(x, 0, 1))
        )
    return -masked_product(A, y, adjoint(result)) if left else -masked_product(A, adjoint(result), y)


def solved_right(g: Tensor, A: Tensor, left: bool) -> Any:  # noqa: N803 - PyTorch's names
    """A^-H g, or g A^-H."""
    return ops.sparse.spsolve(adjoint(A), g, left)


def conj(a: Tensor) -> Any:
    """Return the conjugate."""
    return ops.conj(a) if a.dtype.is_complex else a


d.of("sparse::mm", self=lambda g, self, mat2: masked_product(self, g, adjoint(mat2)),
     mat2=lambda g, self, mat2: masked_product(mat2, adjoint(self), g))  # fmt: skip
d.of("sparse::sampled_mm", mat1=lambda g, mat2: ops.matmul(g, adjoint(mat2)),
     mat2=lambda g, mat1: ops.matmul(adjoint(mat1), g))  # fmt: skip
d.of("sparse::mm_reduce", self=reduced_self, mat2=reduced_mat2)
d.of("sparse::spsolve", A=solved_matrix, B=solved_right)

parts = PartsOfSparse()
