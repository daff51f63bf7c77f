"""Composites of linear algebra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf, prod
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DimensionCountError, DtypeError, ShapeError, ValueRangeError
from tt.core.shapes.geometry import wrap_dim
from tt.core.tensor.common_dtype import common_dtype
from tt.core.types.dtype import bool_, int32
from tt.core.types.scalars import fitted_number
from tt.core.types.user_warnings import warn_user
from tt.operators.helpers import as_type, check_shapes, is_integral, widened

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

# --- products --------------------------------------------------------------------------------------------------


def _product(op: str) -> Callable[..., Any]:
    """Return the product of arguments with certain numbers of dimensions, which matmul serves."""

    def product(self: Tensor, other: Tensor) -> Tensor:
        check_shapes(op, self, other)
        return ops.matmul(self, other)

    return product


for _op in ("mm", "bmm", "mv", "dot"):
    composite(_op, _product(_op))


@composite("_int_mm")
def int_mm(self: Tensor, mat2: Tensor) -> Any:
    check_shapes("_int_mm", self, mat2)
    return ops.mm(as_type(self, int32), as_type(mat2, int32))


def _added(op: str, product: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return beta * self + alpha * a product of two others."""

    def add(self: Tensor, one: Tensor, other: Tensor, beta: Any, alpha: Any) -> Tensor:
        check_shapes(op, self, one, other, beta, alpha)
        # PyTorch converts the factors to the dtype of integers, too.
        if is_integral(self.dtype):
            beta, alpha = int(beta), int(alpha)
        # Half precision is rounded once, at the end.
        result = product(widened(one), widened(other))
        if alpha != 1:
            result = ops.mul(result, alpha)
        if beta == 0:  # what self holds, NaN included, does not count
            return as_type(result, self.dtype)
        return as_type(
            ops.add(ops.mul(widened(self), beta) if beta != 1 else widened(self), result), self.dtype
        )

    return add


for _op, _product_of in {
    "addmm": lambda one, other: ops.mm(one, other),
    "addmv": lambda one, other: ops.mv(one, other),
    "baddbmm": lambda one, other: ops.bmm(one, other),
    "addbmm": lambda one, other: ops.sum.dim(ops.bmm(one, other), (0,), False, dtype=one.dtype),
}.items():
    composite(_op, _added(_op, _product_of))


@composite("_addmm_activation")
def addmm_activation(
    self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any, alpha: Any, use_gelu: bool
) -> Tensor:
    result = ops.addmm(self, mat1, mat2, beta=beta, alpha=alpha)
    return ops.gelu(result, approximate="tanh") if use_gelu else ops.relu(result)


@composite("addr")
def addr(self: Tensor, vec1: Tensor, vec2: Tensor, beta: Any, alpha: Any) -> Tensor:
    check_shapes("addr", self, vec1, vec2, beta, alpha)
    dtype = common_dtype(self, vec1, vec2)
    self, vec1, vec2 = as_type(self, dtype), as_type(vec1, dtype), as_type(vec2, dtype)
    check_factors("addr", self, beta, alpha)
    product = ops.mul(ops.unsqueeze(widened(vec1), 1), widened(vec2))
    if self.dtype is bool_:
        product = product if alpha else ops.zeros_like(product)
        return ops.logical_or(self, product) if beta else product
    if alpha != 1:
        product = ops.mul(product, alpha)
    if beta == 0:
        return as_type(product, self.dtype)
    return as_type(ops.add(widened(self) if beta == 1 else ops.mul(widened(self), beta), product), self.dtype)


def check_factors(op: str, self: Tensor, beta: Any, alpha: Any) -> None:
    """Raise for factors that the dtype of the product cannot hold."""
    for name, value in (("beta", beta), ("alpha", alpha)):
        if isinstance(value, bool) and self.dtype is not bool_:
            raise DtypeError(f"{op}(): {name} is a bool, which the result is not")
        if is_integral(self.dtype) and isinstance(value, float | complex):
            raise DtypeError(f"{op}(): {name} is a floating point number, and the tensors are integral")
        if isinstance(value, complex) and not self.dtype.is_complex:
            raise DtypeError(f"{op}(): {name} is a complex number, and the tensors are {self.dtype.name}")
        if is_integral(self.dtype):
            fitted_number(value, self.dtype)  # raises where the dtype cannot hold it


@composite("outer")
def outer(self: Tensor, vec2: Tensor) -> Tensor:
    for name, value in (("self", self), ("vec2", vec2)):
        if value.ndim != 1:
            raise DimensionCountError(f"outer(): {name} is a vector, not a tensor of {value.ndim} dimensions")
    return ops.mul(ops.unsqueeze(self, 1), vec2)


composite("ger", lambda self, vec2: ops.outer(self, vec2))
composite("vdot", lambda self, other: ops.dot(ops.conj(self) if self.dtype.is_complex else self, other))


@composite("linalg_vecdot")
def vecdot(x: Tensor, y: Tensor, dim: int) -> Tensor:
    check_shapes("linalg_vecdot", x, y, dim)
    x, y = ops.broadcast_tensors([x, y])
    if not x.ndim:
        return ops.mul(ops.conj(x), y)
    rows, columns = ops.movedim(ops.conj(x), dim, -1), ops.movedim(y, dim, -1)
    # Each pair of vectors as a row times a column, so that one product of matrices serves the batch.
    product = ops.matmul(ops.unsqueeze(rows, -2), ops.unsqueeze(columns, -1))
    return ops.squeeze.dim(ops.squeeze.dim(product, -1), -1)


@composite("inner")
def inner(self: Tensor, other: Tensor) -> Tensor:
    if self.dtype is not other.dtype:
        raise DtypeError(
            f"inner(): expected both vectors to have same dtype, but found {self.dtype} and {other.dtype}"
        )
    if not self.ndim or not other.ndim:
        return ops.mul(self, other)
    if self.shape[-1] != other.shape[-1]:
        raise ShapeError(
            f"inner(): the last dimension must match on both input tensors but got shapes {list(self.shape)} and "
            f"{list(other.shape)}"
        )
    return ops.tensordot(self, other, ([-1], [-1]))


@composite("kron")
def kron(self: Tensor, other: Tensor) -> Tensor:
    ndim = max(self.ndim, other.ndim)
    left, right = ([1] * (ndim - t.ndim) + list(t.shape) for t in (self, other))
    # Dimensions of both alternate, so that one product with broadcasting has all pairs.
    one = ops.reshape(self, tuple(size for a in left for size in (a, 1)))
    two = ops.reshape(other, tuple(size for b in right for size in (1, b)))
    return ops.reshape(ops.mul(one, two), tuple(a * b for a, b in zip(left, right, strict=True)))


# --- chains ----------------------------------------------------------------------------------------------------


@composite("linalg_multi_dot")
def multi_dot(tensors: Sequence[Any]) -> Tensor:
    return chain("linalg.multi_dot", tensors)


@composite("chain_matmul")
def chain_matmul(matrices: Sequence[Any]) -> Tensor:
    warn_user("chain_matmul() is deprecated\n  try: linalg.multi_dot, which takes a list of matrices")
    for matrix in matrices:
        if matrix.ndim != 2:
            raise DimensionCountError(
                f"chain_matmul(): Tensor dimension is {matrix.ndim}, expected 2 instead"
            )
    if len(matrices) == 1:
        return ops.clone(matrices[0])
    return chain("chain_matmul", matrices)


def chain(op: str, tensors: Sequence[Any]) -> Tensor:
    """Return the product of a chain of matrices, of which the first and the last may be vectors."""
    if len(tensors) < 2:
        raise ShapeError(f"{op}(): a chain of products has at least 2 tensors, not {len(tensors)}")
    for position, tensor in enumerate(tensors):
        ends = position in (0, len(tensors) - 1)
        if tensor.ndim != 2 and not (ends and tensor.ndim == 1):
            raise DimensionCountError(
                f"{op}(): tensor {position} must be {'1D or 2D' if ends else '2D'}, but it has {tensor.ndim} dimensions"
            )
        if tensor.dtype is not tensors[0].dtype:
            raise DtypeError(
                f"{op}(): all tensors must have one dtype, got {tensors[0].dtype} and {tensor.dtype}"
            )
    row, column = tensors[0].ndim == 1, tensors[-1].ndim == 1
    matrices = list(tensors)
    if row:
        matrices[0] = ops.unsqueeze(matrices[0], 0)
    if column:
        matrices[-1] = ops.unsqueeze(matrices[-1], -1)
    for one, other in pairwise(matrices):
        if one.shape[1] != other.shape[0]:
            raise ShapeError(
                f"{op}(): {list(one.shape)} and {list(other.shape)} cannot be multiplied: the inner sizes differ"
            )
    result = _multiply(
        matrices, _splits([m.shape[0] for m in matrices] + [matrices[-1].shape[1]]), 0, len(matrices) - 1
    )
    result = ops.squeeze.dim(result, 0) if row else result
    return ops.squeeze.dim(result, -1) if column else result


def _splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return where to cut each part of a chain of matrices so that the fewest numbers are multiplied."""
    count = len(sizes) - 1
    costs = {(i, i): 0 for i in range(count)}
    cuts: dict[tuple[int, int], int] = {}
    # Shorter parts first: their costs are those of the longer ones' halves.
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            costs[first, last], cuts[first, last] = min(
                (
                    costs[first, cut]
                    + costs[cut + 1, last]
                    + sizes[first] * sizes[cut + 1] * sizes[last + 1],
                    cut,
                )
                for cut in range(first, last)
            )
    return cuts


def _multiply(matrices: Sequence[Any], cuts: dict[tuple[int, int], int], first: int, last: int) -> Any:
    if first == last:
        return matrices[first]
    cut = cuts[first, last]
    return ops.mm(_multiply(matrices, cuts, first, cut), _multiply(matrices, cuts, cut + 1, last))


# --- vectors of three, distances -------------------------------------------------------------------------------


@composite("cross")
def cross(self: Tensor, other: Tensor, dim: int | None) -> Tensor:
    if dim is None:
        shape = self.shape
        if self.shape != other.shape:
            raise ShapeError(
                f"cross(): inconsistent tensors dimensions input: {list(self.shape)} other: {list(other.shape)}"
            )
        dim = next((index for index, size in enumerate(shape) if size == 3), None)
        if dim is None:
            raise ShapeError(f"cross(): no dimension of size 3 in input {list(shape)}")
        warn_user(
            f"cross(): dim is {dim}, the first dimension of size 3, as it is left out, which is deprecated\n"
            f"  try: dim={dim}, or linalg.cross, whose dim is the last one"
        )
    return ops.linalg_cross(self, other, dim=dim)


@composite("linalg_cross")
def linalg_cross(self: Tensor, other: Tensor, dim: int) -> Tensor:
    check_shapes("linalg_cross", self, other, dim)
    at = wrap_dim("linalg.cross", dim, self.ndim)
    a, b = ([ops.select(t, at, i) for i in range(3)] for t in ops.broadcast_tensors([self, other]))
    # a[i - 2] is a[i + 1] of three elements, and a[i - 1] is a[i + 2].
    parts = [ops.sub(ops.mul(a[i - 2], b[i - 1]), ops.mul(a[i - 1], b[i - 2])) for i in range(3)]
    return ops.stack(parts, at)


@composite("cdist")
def cdist(x1: Tensor, x2: Tensor, p: float, compute_mode: str | None) -> Tensor:
    check_shapes("cdist", x1, x2, p, compute_mode)
    difference = ops.abs(ops.sub(ops.unsqueeze(x1, -2), ops.unsqueeze(x2, -3)))
    if not x1.shape[-1]:
        return ops.sum.dim(difference, (-1,))
    if p == 0:
        return ops.sum.dim(as_type(ops.ne(difference, 0), x1.dtype), (-1,))
    if p == inf:
        return ops.amax(difference, (-1,))
    if p == 1:
        return ops.sum.dim(difference, (-1,))
    # Scaled by the largest difference, powers neither overflow nor vanish.
    largest = ops.amax(difference, (-1,), True)
    scale = ops.where.default(ops.logical_or(ops.eq(largest, 0), ops.eq(largest, inf)), 1.0, largest)
    total = ops.sum.dim(ops.pow(ops.div.default(difference, scale), p), (-1,))
    return ops.mul(ops.pow(total, 1 / p), ops.squeeze.dim(scale, -1))


# --- layers ----------------------------------------------------------------------------------------------------


@composite("linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if weight.ndim not in (1, 2):
        raise DimensionCountError(f"linear(): weight must be 1D or 2D, got {weight.ndim}D")
    check_shapes("linear", input, weight, bias)
    if bias is not None and bias.ndim < 2 and weight.ndim == 2:
        # Half precision is rounded once, which a sum after the product would round again.
        if input.ndim == 2:
            return ops.addmm(bias, input, ops.t(weight))
        rows = ops.reshape(input, (prod(input.shape[:-1]), input.shape[-1]))
        return ops.reshape(ops.addmm(bias, rows, ops.t(weight)), (*input.shape[:-1], weight.shape[0]))
    product = ops.matmul(input, ops.t(weight))
    return product if bias is None else ops.add(product, bias)


@composite("pairwise_distance")
def pairwise_distance(x1: Tensor, x2: Tensor, p: float, eps: float, keepdim: bool) -> Tensor:
    dtype = common_dtype(x1, x2, 1.0)
    difference = ops.add(widened(as_type(ops.sub(x1, x2), dtype)), eps)
    return as_type(ops.linalg_vector_norm(difference, p, -1, keepdim), dtype.to_real())


@composite("pdist")
def pdist(self: Tensor, p: float) -> Tensor:
    if self.ndim != 2:
        raise DimensionCountError(
            f"pdist(): the rows of a matrix are compared, but the input has {self.ndim} dimensions"
        )
    if not self.dtype.is_floating_point:
        raise DtypeError(f"pdist(): expected a floating point input, got {self.dtype}")
    if not p >= 0:
        raise ValueRangeError(f"pdist(): p must not be negative, got {p}")
    rows = self.shape[0]
    first, second = ops.unbind(ops.triu_indices(rows, rows, 1, device=self.device), 0)
    # Each distance twice, but by one operator, which has kernels.
    distances = ops.cdist(self, self, p, "donot_use_mm_for_euclid_dist")
    index = ops.add(ops.mul(first, rows), second)
    return ops.index_select(ops.reshape(distances, (-1,)), 0, index)
