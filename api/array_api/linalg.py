"""The extension for linear algebra, and the functions of it that the standard has in its main namespace, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import tt
from tt.array_api._promotion import as_tensors, as_tuple, cast
from tt.array_api.reduction import sum as _sum
from tt.array_api.shaping import matrix_transpose

Array: TypeAlias = tt.Tensor

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot",
    "trace", "vecdot", "vector_norm",
]  # fmt: skip

det, inv, eigvalsh, svdvals = tt.linalg.det, tt.linalg.inv, tt.linalg.eigvalsh, tt.linalg.svdvals
matrix_power = tt.linalg.matrix_power


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """A matrix with orthonormal columns, and an upper triangle."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value."""

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """Singular vectors as columns, singular values in descending order, and singular vectors as rows."""

    U: Array
    S: Array
    Vh: Array


# --- products ----------------------------------------------------------------------------------------------------


def matmul(x1: Array, x2: Array, /) -> Array:
    """Return the product of matrices, or of a matrix and a vector.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.matmul(xp.ones((2, 3)), xp.ones(3))
    tensor([3., 3.])
    """
    return tt.matmul(*as_tensors(x1, x2))


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the sums of conj(x1) * x2 along an axis, counted from the end.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.vecdot(xp.asarray([[1, 2], [3, 4]]), xp.asarray([1, 1]))
    tensor([3, 7])
    """
    left, right = as_tensors(x1, x2)
    if axis >= 0:
        raise ValueError("axis of vecdot() counts from the end: it must be negative")
    for x in (left, right):
        if -axis > x.ndim:
            raise IndexError(f"axis {axis} is out of range for an array of {x.ndim} dimensions")
    # The standard does not broadcast the axis that is summed.
    if left.shape[axis] != right.shape[axis]:
        raise ValueError(f"vectors of sizes {left.shape[axis]} and {right.shape[axis]} have no product")
    # `sum` would widen integers.
    return tt.sum(tt.conj(left) * right, axis, dtype=left.dtype)


def tensordot(x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """Return the product of two arrays, summed over pairs of axes.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.tensordot(xp.ones((2, 3)), xp.ones((3, 4)), axes=1).shape
    tt.Size([2, 4])
    """
    left, right = as_tensors(x1, x2)
    pairs = axes if isinstance(axes, int) else (as_tuple(axes[0]), as_tuple(axes[1]))
    return tt.tensordot(left, right, dims=pairs)


def outer(x1: Array, x2: Array, /) -> Array:
    """Return the products of all pairs of elements of two vectors.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.linalg.outer(xp.asarray([1, 2]), xp.asarray([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    return tt.outer(*as_tensors(x1, x2))


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the cross product of vectors of three.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.linalg.cross(xp.asarray([1, 0, 0]), xp.asarray([0, 1, 0]))
    tensor([0, 0, 1])
    """
    left, right = tt.broadcast_tensors(list(as_tensors(x1, x2)))
    for x in (x1, x2):
        if x.shape[axis] != 3:
            raise ValueError(f"cross() takes vectors of three, not of {x.shape[axis]}")
    return tt.linalg.cross(left, right, dim=axis)


# --- parts of a matrix -------------------------------------------------------------------------------------------


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """Return a diagonal of each matrix, as a view.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.linalg.diagonal(xp.asarray([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return tt.diagonal(x, offset, -2, -1)


def trace(x: Array, /, *, offset: int = 0, dtype: tt.dtype | None = None) -> Array:
    """Return the sum of a diagonal of each matrix.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.linalg.trace(xp.asarray([[1, 2], [3, 4]]))
    tensor(5)
    """
    return _sum(tt.diagonal(x, offset, -2, -1), axis=-1, dtype=dtype)


# --- norms -------------------------------------------------------------------------------------------------------


def vector_norm(
    x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: float = 2
) -> Array:
    """Return the norm of order `ord` of vectors, or of all elements.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.linalg.vector_norm(xp.asarray([3.0, 4.0]))
    tensor(5.)
    """
    axes = None if axis is None else as_tuple(axis)
    if axes == ():
        # A norm of single elements.
        magnitude = tt.abs(x)
        return cast(magnitude != 0, magnitude.dtype) if ord == 0 else magnitude
    return tt.linalg.vector_norm(x, ord, axes, keepdims)


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> Array:
    """Return the norm of each matrix; None and "fro" mean the root of the sum of squares.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.linalg.matrix_norm(xp.asarray([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    return tt.linalg.matrix_norm(x, "fro" if ord is None else ord, (-2, -1), keepdims)


def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return how many singular values are larger than `rtol` times the largest.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.linalg.matrix_rank(xp.ones((2, 2)))
    tensor(1)
    """
    return tt.linalg.matrix_rank(x, rtol=rtol)


# --- decompositions and equations --------------------------------------------------------------------------------


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """Return the triangle whose product with its adjoint is the positive definite matrix.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.linalg.cholesky(xp.asarray([[4.0]]))
    tensor([[2.]])
    """
    return tt.linalg.cholesky(x, upper=upper)


def eigh(x: Array, /) -> EighResult:
    """Return eigenvalues and eigenvectors of symmetric or Hermitian matrices.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.linalg.eigh(xp.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    return EighResult(*tt.linalg.eigh(x))


def qr(x: Array, /, *, mode: str = "reduced") -> QRResult:
    """Return the QR decomposition; "complete" has a square Q.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.linalg.qr(xp.ones((3, 2)), mode="complete").Q.shape
    tt.Size([3, 3])
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f'mode must be "reduced" or "complete", not {mode!r}')
    return QRResult(*tt.linalg.qr(x, mode))


def slogdet(x: Array, /) -> SlogdetResult:
    """Return the sign of the determinant, and the logarithm of its absolute value.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.linalg.slogdet(xp.asarray([[-1.0]])).sign
    tensor(-1.)
    """
    return SlogdetResult(*tt.linalg.slogdet(x))


def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult:
    """Return the singular value decomposition.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.linalg.svd(xp.asarray([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    return SVDResult(*tt.linalg.svd(x, full_matrices))


def pinv(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the pseudoinverse; singular values up to `rtol` times the largest count as zero.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.linalg.pinv(xp.asarray([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    if rtol is None:
        rtol = max(x.shape[-2:]) * tt.finfo(x.dtype).eps
    return tt.linalg.pinv(x, rtol=rtol)


def solve(x1: Array, x2: Array, /) -> Array:
    """Return the solution of x1 @ x = x2; `x2` is a vector only if it has one dimension.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.linalg.solve(xp.asarray([[2.0]]), xp.asarray([4.0]))
    tensor([2.])
    """
    left, right = as_tensors(x1, x2)
    if right.ndim == 1:
        return tt.linalg.solve(left, right[:, None])[..., 0]
    # PyTorch takes a stack of vectors where the shapes allow it; the standard never does.
    batch = tt.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left = tt.broadcast_to(left, (*batch, *left.shape[-2:]))
    return tt.linalg.solve(left, tt.broadcast_to(right, (*batch, *right.shape[-2:])))
