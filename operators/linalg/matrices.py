"""Composites of functions of matrices: norms, ranks, powers, pseudoinverses."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DimensionCountError, DtypeError, NumberRangeError, ShapeError, ValueRangeError
from tt.core.shapes.geometry import wrap_dim
from tt.core.tensor.base import TensorBase
from tt.core.types.dtype import int64
from tt.operators.decomposition.composites import adjoint, check_order, epsilon, eye_like
from tt.operators.decomposition.shapes import expect_square
from tt.operators.helpers import (
    as_type,
    check_integers,
    expect_strided,
    is_integral,
    python_value,
    widened,
)
from tt.operators.linalg.shapes import expect_matrix

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite


def expect_floating(op: str, self: Tensor) -> None:
    """Raise for integers and bools."""
    if is_integral(self.dtype):
        raise DtypeError(
            f"{op}(): the input is of floating point or complex numbers, not of {self.dtype.name}"
        )


# --- norms -----------------------------------------------------------------------------------------------------


@composite("linalg_norm.ord_str")
@composite("linalg_norm")
def linalg_norm(A: Tensor, ord: Any, dim: Sequence[int] | None, keepdim: bool, dtype: Any) -> Tensor:
    if dim is not None and len(dim) not in (1, 2):
        raise ShapeError(f"linalg.norm(): If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if ord is None:
        return ops.linalg_vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if dim is None and A.ndim not in ((2,) if isinstance(ord, str) else (1, 2)):
        raise DimensionCountError(
            f"linalg.norm(): If dim is not specified but ord is, the input must be "
            f"{'2D' if isinstance(ord, str) else '1D or 2D'}. Got {A.ndim}D."
        )
    dims = tuple(range(A.ndim)) if dim is None else tuple(dim)
    if len(dims) == 2:
        return ops.linalg_matrix_norm(A, ord, dims, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise ShapeError(
            f"linalg.norm(): the norm {ord!r} is one of matrices, over 2 dimensions, not {list(dims)}"
        )
    return ops.linalg_vector_norm(A, ord, dims, keepdim, dtype=dtype)


@composite("linalg_matrix_norm.str_ord")
@composite("linalg_matrix_norm")
def matrix_norm(A: Any, ord: Any, dim: Sequence[int], keepdim: bool, dtype: Any) -> Tensor:
    expect_matrix("linalg.matrix_norm", A)
    expect_floating("linalg.matrix_norm", A)
    if len(dim) != 2:
        raise ShapeError(f"linalg.matrix_norm(): dim must be a 2-tuple. Got {list(dim)}")
    one, other = (wrap_dim("linalg.matrix_norm", d, A.ndim) for d in dim)
    if one == other:
        raise ShapeError(f"linalg.matrix_norm(): dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return ops.linalg_vector_norm(A, 2, (one, other), keepdim, dtype=dtype)
    if ord not in ("nuc", 1, -1, 2, -2, inf, -inf):
        raise ValueRangeError(f"linalg.matrix_norm(): Order {ord} not supported.")
    matrix = A if dtype is None else converted("linalg.matrix_norm", A, dtype)
    if ord == "nuc" or abs(ord) == 2:
        order = (*(d for d in range(A.ndim) if d not in (one, other)), one, other)
        values = ops.linalg_svdvals(ops.permute(matrix, order))
        norm = ops.sum.dim(values, (-1,)) if ord == "nuc" else extreme(values, -1, ord > 0, False)
        if not keepdim:
            return norm
        # The kept dimensions of size 1 go back to where the matrix's were.
        norm = ops.unsqueeze(ops.unsqueeze(norm, -1), -1)
        return ops.permute(norm, tuple(order.index(d) for d in range(A.ndim)))
    summed, kept = (one, other) if abs(ord) == 1 else (other, one)
    sums = ops.linalg_vector_norm(matrix, 1, (summed,), True)
    norm = extreme(sums, kept, ord > 0, True)
    return norm if keepdim else ops.squeeze.dim(ops.squeeze.dim(norm, max(one, other)), min(one, other))


def extreme(sizes: Tensor, dim: int, largest: bool, keepdim: bool) -> Tensor:
    """Return the largest or the smallest of numbers that are not negative; the largest of none is 0."""
    if not largest:
        return ops.amin(sizes, (dim,), keepdim)
    return ops.amax(sizes, (dim,), keepdim) if sizes.shape[dim] else ops.sum.dim(sizes, (dim,), keepdim)


def converted(op: str, A: Any, dtype: Any) -> Any:
    """Return the matrix in the dtype in which to compute its norm."""
    if is_integral(dtype) or (A.dtype.is_complex and not dtype.is_complex) or (
        dtype.is_complex and not A.dtype.is_complex
    ) or dtype.to_real().itemsize < A.dtype.to_real().itemsize:  # fmt: skip
        raise DtypeError(
            f"{op}(): the dtype of the input {A.dtype.name} should be convertible without narrowing to the specified "
            f"dtype {dtype.name}"
        )
    return as_type(A, dtype)


@composite("linalg_cond.p_str")
@composite("linalg_cond")
def linalg_cond(A: Any, p: Any) -> Tensor:
    batch = expect_matrix("linalg.cond", A)[0]
    if p not in (None, "fro", "nuc", 1, -1, 2, -2, inf, -inf):
        raise ValueRangeError(f"linalg.cond(): got an invalid norm type: {p}")
    if p in (None, 2, -2):
        if not A.numel():
            return ops.zeros(batch, dtype=A.dtype.to_real(), device=A.device)
        values = ops.linalg_svdvals(A)
        first, last = ops.select(values, -1, 0), ops.select(values, -1, -1)
        return ops.div.default(last, first) if p == -2 else ops.div.default(first, last)
    expect_square("linalg.cond", A)
    if not A.numel():
        return ops.zeros(batch, dtype=A.dtype.to_real(), device=A.device)
    inverse, info = ops.linalg_inv_ex(A)
    singular = ops.ne(info, 0)
    # Zeros keep the norms finite; for a singular matrix the product of norms is not used.
    inverse = ops.where.default(ops.unsqueeze(ops.unsqueeze(singular, -1), -1), 0, inverse)
    condition = ops.mul(ops.linalg_norm(A, p, (-2, -1)), ops.linalg_norm(inverse, p, (-2, -1)))
    return ops.where.default(singular, inf, condition)


# --- rank, pseudoinverse ---------------------------------------------------------------------------------------


def tolerance(op: str, A: Tensor, largest: Tensor, atol: Any, rtol: Any) -> Tensor:
    """Return the size up to which singular values count as zero, with a last dimension of 1."""
    for name, value in (("atol", atol), ("rtol", rtol)):
        if isinstance(value, complex) or (isinstance(value, TensorBase) and value.dtype.is_complex):
            raise DtypeError(f"{op}(): {name} is a real number or tensor, not a complex one")
    default = epsilon(A) * max(A.shape[-2:])
    # As in PyTorch, the default relative bound counts only where no absolute one is given.
    if rtol is None:
        if isinstance(atol, TensorBase):
            rtol = ops.where.default(ops.gt(atol, 0), 0.0, default)
        else:
            rtol = default if atol is None or atol <= 0 else 0.0
    absolute, relative = (
        ops.unsqueeze(as_type(value, largest.dtype), -1) if isinstance(value, TensorBase) else value
        for value in (0.0 if atol is None else atol, rtol)
    )
    bound = ops.mul(largest, relative)
    if isinstance(absolute, TensorBase):
        return ops.maximum(bound, absolute)
    return ops.clamp(bound, absolute) if absolute else bound


def singular_values(A: Tensor, hermitian: bool) -> Tensor:
    """Return the sizes of eigenvalues of a Hermitian matrix, else the singular values."""
    return ops.abs(ops.linalg_eigvalsh(A)) if hermitian else ops.linalg_svdvals(A)


def rank_of(A: Any, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    op = "linalg.matrix_rank"
    batch = expect_square(op, A)[0] if hermitian else expect_matrix(op, A)[0]
    if not A.numel():
        return ops.zeros(batch, dtype=int64, device=A.device)
    values = singular_values(A, hermitian)
    bound = tolerance(op, A, ops.amax(values, (-1,), True), atol, rtol)
    return ops.sum.dim(ops.gt(values, bound), (-1,), False, dtype=int64)


composite("linalg_matrix_rank", rank_of)
composite("linalg_matrix_rank.tol", lambda A, tol, hermitian: rank_of(A, tol, 0.0, hermitian))


@composite("linalg_pinv")
def pinv(A: Any, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    op = "linalg.pinv"
    batch, m, n = expect_matrix(op, A)
    if hermitian:
        expect_square(op, A)
    if not A.numel():
        return ops.zeros((*batch, n, m), dtype=A.dtype, device=A.device)
    if hermitian:
        values, vectors = ops.linalg_eigh(A)
        sizes = ops.abs(values)
        bound = tolerance(op, A, ops.amax(sizes, (-1,), True), atol, rtol)
        inverse = ops.where.default(ops.gt(sizes, bound), ops.reciprocal(values), 0.0)
        return ops.matmul(ops.mul(vectors, ops.unsqueeze(inverse, -2)), adjoint(vectors))
    U, S, Vh = ops.linalg_svd(A, False)
    bound = tolerance(op, A, ops.narrow(S, -1, 0, 1), atol, rtol)
    inverse = ops.where.default(ops.gt(S, bound), ops.reciprocal(S), 0.0)
    return ops.matmul(ops.mul(adjoint(Vh), ops.unsqueeze(inverse, -2)), adjoint(U))


composite(
    "linalg_pinv.rcond", lambda A, rcond, hermitian: ops.linalg_pinv(A, rtol=rcond, hermitian=hermitian)
)
composite("pinverse", lambda self, rcond: ops.linalg_pinv(self, rtol=rcond))


# --- powers ----------------------------------------------------------------------------------------------------


@composite("linalg_matrix_power")
def matrix_power(A: Any, n: int) -> Tensor:
    _, order = expect_square("linalg.matrix_power", A)
    check_integers("linalg_matrix_power", A, n)
    if n == 0:
        eye = eye_like(A, order)
        return ops.where.default(ops.eq(eye, eye), eye, A)  # of a tensor that requires a gradient, zeros
    if n < 0:
        A, n = ops.linalg_inv(A), -n
    # Powers of two of A, of which the binary digits of n choose.
    while not n & 1:
        A, n = ops.matmul(A, A), n >> 1
    result = A
    while n := n >> 1:
        A = ops.matmul(A, A)
        if n & 1:
            result = ops.matmul(result, A)
    return ops.clone(result)


composite("matrix_power", lambda self, n: ops.linalg_matrix_power(self, n))

# The numerator of the Pade approximant of order 13 of the exponential; for -A it is the denominator.
PADE: Final = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
# Up to this norm the approximant is exact to double precision (N. Higham, 2005).
PADE_NORM: Final = 5.371920351148152


@composite("linalg_matrix_exp")
def matrix_exp(A: Any) -> Tensor:
    """Scaling, a rational approximation, and squaring."""
    _, order = expect_square("linalg.matrix_exp", A)
    if not A.numel():
        return ops.clone(A)
    matrix = widened(A)
    # Each matrix of a batch is halved as often as it needs: a small one, halved for the sake of a large one, would lose
    # a bit by each squaring.
    norms = ops.amax(ops.sum.dim(ops.abs(ops.detach(matrix)), (-2,), True), (-1,), True)
    needed = ops.ceil(ops.log2(ops.div.default(norms, PADE_NORM)))
    scaled = ops.logical_and(ops.gt(norms, PADE_NORM), ops.lt(norms, inf))
    halvings = ops.where(scaled, needed, ops.zeros_like(needed))
    matrix = ops.mul(matrix, ops.pow.Scalar(2.0, ops.neg(halvings)))
    eye = eye_like(matrix, order)
    two = ops.matmul(matrix, matrix)
    four = ops.matmul(two, two)
    six = ops.matmul(two, four)
    powers = (eye, two, four, six)

    def series(*coefficients: float) -> Tensor:
        total = ops.mul(powers[0], coefficients[0])
        for power, coefficient in zip(powers[1:], coefficients[1:], strict=True):
            total = ops.add(total, ops.mul(power, coefficient))
        return total

    b = PADE
    high_odd, high_even = series(0.0, b[9], b[11], b[13]), series(0.0, b[8], b[10], b[12])
    # Numerator and denominator differ in the sign of the odd part: six products serve both.
    odd = ops.matmul(matrix, ops.add(ops.matmul(six, high_odd), series(b[1], b[3], b[5], b[7])))
    even = ops.add(ops.matmul(six, high_even), series(b[0], b[2], b[4], b[6]))
    result = ops.linalg_solve(ops.sub(even, odd), ops.add(even, odd))
    most = python_value(ops.amax(halvings, ()))
    for squared in range(int(most or 0)):
        result = ops.where(ops.gt(halvings, squared), ops.matmul(result, result), result)
    return as_type(result, A.dtype)


composite("matrix_exp", lambda self: ops.linalg_matrix_exp(self))


@composite("linalg_vander")
def linalg_vander(x: Tensor, N: int | None) -> Tensor:
    if not x.ndim and N is None:
        raise ShapeError("linalg.vander(): x must have at least 1 dimension, or N be given")
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise ValueRangeError(f"linalg.vander(): N must be greater than 1, got {count}")
    return powers_of(x if x.ndim else ops.unsqueeze(x, 0), count)


def powers_of(x: Tensor, count: int) -> Tensor:
    """Return the powers from 0 to count - 1 along a new last dimension."""
    expect_strided("vander", x)
    if count >= 2**63:
        raise NumberRangeError(f"vander(): {count} columns are more than an int64 can count")
    base = as_type(x, int64) if is_integral(x.dtype) else x
    powers = [ops.ones_like(base)]
    for _ in range(count - 1):
        powers.append(ops.mul(powers[-1], base))
    return (
        ops.stack(powers[:count], -1)
        if count
        else ops.zeros((*x.shape, 0), dtype=base.dtype, device=x.device)
    )


@composite("vander")
def vander(x: Tensor, N: int | None, increasing: bool) -> Tensor:
    if x.ndim != 1:
        raise DimensionCountError(f"vander(): x must be a one-dimensional tensor, got {x.ndim}D")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise ValueRangeError(f"vander(): N must be non-negative, got {count}")
    if count >= 2**20:
        ops.empty((x.shape[0], count), dtype=x.dtype, device=x.device)  # raises at once if memory is short
    result = powers_of(x, count)
    return result if increasing else ops.flip(result, (1,))


# --- tensors as matrices ---------------------------------------------------------------------------------------


@composite("linalg_tensorsolve")
def tensorsolve(A: Tensor, B: Tensor, dims: Sequence[int] | None) -> Tensor:
    if dims is not None:
        moved = [wrap_dim("linalg.tensorsolve", d, A.ndim) for d in dims]
        A = ops.permute(A, (*(d for d in range(A.ndim) if d not in moved), *moved))
    shape = tuple(A.shape[B.ndim :])
    unknowns = prod(shape)
    if unknowns != prod(A.shape[: B.ndim]):
        raise DimensionCountError(
            f"linalg.tensorsolve(): expected A to satisfy prod(A.shape[B.ndim:]) == prod(A.shape[:B.ndim]), but got "
            f"{list(A.shape)} and B of {B.ndim} dimensions"
        )
    solution = ops.linalg_solve(ops.reshape(A, (unknowns, unknowns)), ops.reshape(B, (-1,)))
    return ops.reshape(solution, shape)


@composite("linalg_tensorinv")
def tensorinv(A: Tensor, ind: int) -> Tensor:
    check_order("linalg.tensorinv", ind)
    left, right = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if prod(left) != prod(right):
        raise ShapeError(
            f"linalg.tensorinv(): expected A to satisfy prod(A.shape[ind:]) == prod(A.shape[:ind]), but got "
            f"{list(A.shape)} and ind={ind}"
        )
    return ops.reshape(ops.linalg_inv(ops.reshape(A, (prod(left), prod(right)))), (*right, *left))
