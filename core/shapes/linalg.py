"""Shape rules of linear algebra."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tt.core.dtype import int32
from tt.core.errors import ShapeError
from tt.core.shapes.geometry import Described, broadcast, reduced_shape, wrap_dim
from tt.core.shapes.registry import Result, RuleTable

rule = RuleTable()

Shape = tuple[int, ...]


# --- products --------------------------------------------------------------------------------------------------


@rule("matmul")
def matmul(self: Described, other: Described, /, *, op: str) -> Shape:
    """Vectors, matrices and batches of matrices; the batches broadcast."""
    if not self.ndim or not other.ndim:
        raise ShapeError(
            f"{op}(): both arguments to matmul need to be at least 1D, but they are {self.ndim}D and {other.ndim}D"
        )
    left = self.shape if self.ndim > 1 else (1, *self.shape)
    right = other.shape if other.ndim > 1 else (*other.shape, 1)
    if left[-1] != right[-2]:
        raise mismatch(op, self, other)
    batch = broadcast(op, left[:-2], right[:-2])
    rows = left[-2:-1] if self.ndim > 1 else ()
    columns = right[-1:] if other.ndim > 1 else ()
    return (*batch, *rows, *columns)


def mismatch(op: str, self: Described, other: Described) -> ShapeError:
    """Return the error of two tensors that cannot be multiplied."""
    shapes = " and ".join("x".join(map(str, t.shape)) for t in (self, other))
    if self.ndim == 1 and other.ndim == 1:
        return ShapeError(
            f"{op}(): inconsistent tensor size, expected tensor [{self.shape[0]}] and src [{other.shape[0]}] to have "
            f"the same number of elements"
        )
    return ShapeError(f"{op}(): mat1 and mat2 shapes cannot be multiplied ({shapes})")


def expect_ndim(op: str, ndim: int, **tensors: Described) -> None:
    """Raise unless every tensor has exactly so many dimensions."""
    what = {1: "a vector", 2: "a matrix", 3: "a batch of matrices"}[ndim]
    for name, tensor in tensors.items():
        if tensor.ndim != ndim:
            raise ShapeError(
                f"{op}(): {name} must be {what} ({ndim}D), got {tensor.ndim}D: {list(tensor.shape)}"
            )


@rule("mm")
def mm(self: Described, mat2: Described, /, *, op: str) -> Shape:
    """Two matrices."""
    expect_ndim(op, 2, self=self, mat2=mat2)
    if self.shape[1] != mat2.shape[0]:
        raise mismatch(op, self, mat2)
    return self.shape[0], mat2.shape[1]


@rule("bmm")
def bmm(self: Described, mat2: Described, /, *, op: str) -> Shape:
    """Two batches of matrices."""
    expect_ndim(op, 3, self=self, mat2=mat2)
    batch, rows, inner = self.shape
    if mat2.shape[:2] != (batch, inner):
        raise ShapeError(
            f"{op}(): Expected size for first two dimensions of batch2 tensor to be: [{batch}, {inner}] but got: "
            f"{list(mat2.shape[:2])}."
        )
    return batch, rows, mat2.shape[2]


@rule("mv")
def mv(self: Described, vec: Described, /, *, op: str) -> Shape:
    """A matrix and a vector."""
    expect_ndim(op, 2, self=self)
    expect_ndim(op, 1, vec=vec)
    if self.shape[1] != vec.shape[0]:
        raise ShapeError(
            f"{op}(): size mismatch, got input ({self.shape[0]}x{self.shape[1]}), vec ({vec.shape[0]})"
        )
    return (self.shape[0],)


@rule("dot")
def dot(self: Described, other: Described, /, *, op: str) -> Shape:
    """Two vectors."""
    if self.ndim != 1 or other.ndim != 1:
        raise ShapeError(f"{op}(): 1D tensors expected, but got {self.ndim}D and {other.ndim}D tensors")
    if self.shape != other.shape:
        raise mismatch(op, self, other)
    return ()


@rule("vecdot")
def vecdot(x: Described, y: Described, dim: int = -1, *, op: str) -> Shape:
    """Vectors along a dimension; the others broadcast."""
    shape = broadcast(op, x.shape, y.shape)
    return reduced_shape(shape, (wrap_dim(op, dim, len(shape)),) if shape else (), False)


@rule("outer")
def outer(self: Described, vec2: Described, /, *, op: str) -> Shape:
    """Every product of the elements of two vectors."""
    expect_ndim(op, 1, self=self, vec2=vec2)
    return self.shape[0], vec2.shape[0]


@rule("inner")
def inner(self: Described, other: Described, *, op: str) -> Shape:
    """Sums of products along the last dimensions."""
    if not self.ndim or not other.ndim:
        return (*self.shape, *other.shape)
    if self.shape[-1] != other.shape[-1]:
        raise ShapeError(
            f"{op}(): the last dimension must match on both input tensors but got shapes {list(self.shape)} and "
            f"{list(other.shape)}"
        )
    return (*self.shape[:-1], *other.shape[:-1])


@rule("tensordot")
def tensordot(
    self: Described, other: Described, dims_self: Sequence[int], dims_other: Sequence[int], *, op: str
) -> Shape:
    """Sums of products over pairs of dimensions."""
    if len(dims_self) != len(dims_other):
        raise ShapeError(
            f"{op}(): both dimension lists should have same length, got {dims_self} and {dims_other}"
        )
    left = [wrap_dim(op, d, self.ndim) for d in dims_self]
    right = [wrap_dim(op, d, other.ndim) for d in dims_other]
    for a, b in zip(left, right, strict=True):
        if self.shape[a] != other.shape[b] and 1 not in (self.shape[a], other.shape[b]):
            raise ShapeError(
                f"{op}(): contracted dimensions need to match, but first has size {self.shape[a]} in dim {a} and "
                f"second has size {other.shape[b]} in dim {b}"
            )
    return reduced_shape(self.shape, tuple(left), False) + reduced_shape(other.shape, tuple(right), False)


@rule("kron")
def kron(self: Described, other: Described) -> Shape:
    """The Kronecker product."""
    ndim = max(self.ndim, other.ndim)
    left, right = ((1,) * (ndim - t.ndim) + tuple(t.shape) for t in (self, other))
    return tuple(a * b for a, b in zip(left, right, strict=True))


@rule("cross")
def cross(self: Described, other: Described, /, dim: int | None = -1, *, op: str) -> Shape:
    """The cross product of vectors of three along a dimension."""
    if self.ndim != other.ndim:
        raise ShapeError(f"{op}(): inputs must have the same number of dimensions.")
    shape = broadcast(op, self.shape, other.shape)
    if dim is None:
        at = next((i for i, size in enumerate(self.shape) if size == 3), -1)
    else:
        at = wrap_dim(op, dim, self.ndim)
    if at < 0 or not shape or self.shape[at] != 3 or other.shape[at] != 3:
        raise ShapeError(
            f"{op}(): inputs dimension {dim} must have length 3. Got {list(self.shape)} and {list(other.shape)}"
        )
    return shape


# --- a product added to something ------------------------------------------------------------------------------


def added(op: str, self: Described, shape: Shape) -> Shape:
    """Return the shape of a product to which `self` is added, which it broadcasts to."""
    found = broadcast(op, shape, self.shape)
    if found != shape:
        raise ShapeError(
            f"{op}(): The expanded size of the tensor self {list(self.shape)} must match the shape of the product "
            f"{list(shape)}"
        )
    return shape


@rule("addmm")
def addmm(self: Described, mat1: Described, mat2: Described, /, *, op: str) -> Shape:
    """A product of matrices added to a tensor."""
    return added(op, self, mm(mat1, mat2, op=op))


@rule("addmv")
def addmv(self: Described, mat: Described, vec: Described, /, *, op: str) -> Shape:
    """A product of a matrix and a vector added to a tensor."""
    return added(op, self, mv(mat, vec, op=op))


@rule("addr")
def addr(self: Described, vec1: Described, vec2: Described, /, *, op: str) -> Shape:
    """An outer product added to a tensor."""
    return added(op, self, outer(vec1, vec2, op=op))


@rule("baddbmm")
def baddbmm(self: Described, batch1: Described, batch2: Described, /, *, op: str) -> Shape:
    """A product of batches of matrices added to a tensor."""
    return added(op, self, bmm(batch1, batch2, op=op))


# --- matrices --------------------------------------------------------------------------------------------------


def expect_matrix(op: str, tensor: Described) -> tuple[Shape, int, int]:
    """Return batch, rows and columns; raise for less than two dimensions."""
    if tensor.ndim < 2:
        raise ShapeError(
            f"{op}(): The input tensor A must have at least 2 dimensions, but it has {tensor.ndim}: "
            f"{list(tensor.shape)}"
        )
    return tuple(tensor.shape[:-2]), tensor.shape[-2], tensor.shape[-1]


def expect_square(op: str, tensor: Described) -> tuple[Shape, int]:
    """Return batch and order; raise unless the matrices are square."""
    batch, rows, columns = expect_matrix(op, tensor)
    if rows != columns:
        raise ShapeError(
            f"{op}(): A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )
    return batch, rows


@rule("svd")
def svd(
    self: Described, /, some: bool = True, full_matrices: bool | None = None, *, op: str
) -> tuple[Shape, Shape, Shape]:
    """U, S and V of `svd` (`some=`), or U, S and Vh of `linalg.svd` (`full_matrices=`)."""
    batch, m, n = expect_matrix(op, self)
    k = min(m, n)
    full = full_matrices if full_matrices is not None else not some
    u = (*batch, m, m if full else k)
    if full_matrices is None:
        return u, (*batch, k), (*batch, n, n if full else k)
    return u, (*batch, k), (*batch, n if full else k, n)


@rule("svdvals")
def svdvals(self: Described, /, *, op: str) -> Shape:
    """The singular values."""
    batch, m, n = expect_matrix(op, self)
    return (*batch, min(m, n))


@rule("qr")
def qr(self: Described, /, some: bool = True, mode: str | None = None, *, op: str) -> tuple[Shape, Shape]:
    """Q and R of a matrix."""
    batch, m, n = expect_matrix(op, self)
    chosen = mode if mode is not None else ("reduced" if some else "complete")
    if chosen not in ("reduced", "complete", "r"):
        raise ShapeError(
            f"{op}(): received unrecognized mode '{mode}' but expected one of 'reduced', 'r', or 'complete'"
        )
    k = m if chosen == "complete" else min(m, n)
    return ((0,) if chosen == "r" else (*batch, m, k)), (*batch, k, n)


@rule("square_matrix")
def square_matrix(self: Described, /, *, op: str) -> Shape:
    """A matrix of the same order (inverse, Cholesky factor, power)."""
    batch, order = expect_square(op, self)
    return (*batch, order, order)


@rule("det")
def det(self: Described, /, *, op: str) -> Shape:
    """One number for each square matrix."""
    return expect_square(op, self)[0]


@rule("slogdet")
def slogdet(self: Described, /, *, op: str) -> tuple[Shape, Shape]:
    """Sign and logarithm of the absolute value of the determinant."""
    batch, _ = expect_square(op, self)
    return batch, batch


@rule("matrix_number")
def matrix_number(self: Described, /, *, op: str) -> Shape:
    """One number for each matrix (rank)."""
    return expect_matrix(op, self)[0]


@rule("trace")
def trace(self: Described, /, *, op: str) -> Shape:
    """The sum of the diagonal."""
    if self.ndim != 2:
        raise ShapeError(f"{op}(): expected a matrix, but got tensor with dim {self.ndim}")
    return ()


@rule("eigvals")
def eigvals(self: Described, /, *, op: str) -> Shape:
    """Eigenvalues."""
    batch, order = expect_square(op, self)
    return (*batch, order)


@rule("eig")
def eig(self: Described, /, *, op: str) -> tuple[Shape, Shape]:
    """Eigenvalues and eigenvectors."""
    batch, order = expect_square(op, self)
    return (*batch, order), (*batch, order, order)


@rule("lu")
def lu(self: Described, /, *, op: str) -> tuple[Shape, Shape, Shape]:
    """P, L and U of a matrix."""
    batch, m, n = expect_matrix(op, self)
    k = min(m, n)
    return (*batch, m, m), (*batch, m, k), (*batch, k, n)


@rule("lu_factor")
def lu_factor(self: Described, /, *, op: str) -> tuple[Result, Result]:
    """L and U in one matrix, and the pivots."""
    batch, m, n = expect_matrix(op, self)
    return Result((*batch, m, n)), Result((*batch, min(m, n)), dtype=int32)


@rule("pinv")
def pinv(self: Described, /, *, op: str) -> Shape:
    """A matrix with rows and columns exchanged."""
    batch, m, n = expect_matrix(op, self)
    return (*batch, n, m)


@rule("solve")
def solve(A: Described, B: Described, /, left: bool = True, *, op: str) -> Shape:  # noqa: N803 - as on paper
    """The solution of linear equations; one right-hand side or several."""
    batch, order = expect_square(op, A)
    if not B.ndim:
        expect_matrix(op, B)
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1]))
    if vector:
        if B.shape[-1] != order:
            raise ShapeError(f"{op}(): Incompatible shapes of A {list(A.shape)} and B {list(B.shape)}")
        return (*broadcast(op, batch, B.shape[:-1]), order)
    rows = B.shape[-2] if left else B.shape[-1]
    if rows != order:
        raise ShapeError(
            f"{op}(): Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({order}x{order} and {B.shape[-2]}x{B.shape[-1]})"
        )
    return (*broadcast(op, batch, B.shape[:-2]), *B.shape[-2:])


@rule("solve_triangular")
def solve_triangular(A: Described, B: Described, /, left: bool = True, *, op: str) -> Shape:  # noqa: N803 - as on paper
    """The solution of triangular equations; B is a matrix always."""
    batch, order = expect_square(op, A)
    expect_matrix(op, B)
    if (B.shape[-2] if left else B.shape[-1]) != order:
        raise ShapeError(f"{op}(): Incompatible shapes of A {list(A.shape)} and B {list(B.shape)}")
    return (*broadcast(op, batch, B.shape[:-2]), *B.shape[-2:])


@rule("cholesky_solve")
def cholesky_solve(self: Described, input2: Described, /, *, op: str) -> Shape:
    """The solution of equations from a Cholesky factor (the second argument)."""
    return solve_triangular(input2, self, op=op)


@rule("multi_dot")
def multi_dot(tensors: Sequence[Described], *, op: str) -> Shape:
    """A chain of matrices, the first and last may be vectors."""
    if len(tensors) < 2:
        raise ShapeError(f"{op}(): expected at least 2 tensors but got {len(tensors)}")
    shape = tuple(tensors[0].shape)
    for tensor in tensors[1:]:
        if shape[-1] != tensor.shape[0]:
            raise ShapeError(f"{op}(): tensors cannot be multiplied: {list(shape)} and {list(tensor.shape)}")
        shape = (*shape[:-1], *tensor.shape[1:])
    return shape


@rule("matrix_norm")
def matrix_norm(
    self: Described, /, dim: Sequence[int] = (-2, -1), keepdim: bool = False, *, op: str
) -> Shape:
    """A norm over two dimensions."""
    expect_matrix(op, self)
    dims = tuple(wrap_dim(op, d, self.ndim) for d in dim)
    if len(dims) != 2 or dims[0] == dims[1]:
        raise ShapeError(f"{op}(): dim must be a 2-tuple of different dims. Got {list(dim)}")
    return reduced_shape(self.shape, dims, keepdim)


# --- diagonals, distances --------------------------------------------------------------------------------------


@rule("diag")
def diag(self: Described, diagonal: int = 0, *, op: str) -> Shape:
    """The diagonal of a matrix, or a matrix with a vector on its diagonal."""
    if self.ndim == 1:
        size = self.shape[0] + abs(diagonal)
        return size, size
    if self.ndim != 2:
        raise ShapeError(f"{op}(): Supports 1D or 2D tensors. Got {self.ndim}D")
    rows, columns = self.shape
    return (max(min(rows, columns - diagonal) if diagonal >= 0 else min(rows + diagonal, columns), 0),)


@rule("diagflat")
def diagflat(self: Described, offset: int = 0) -> Shape:
    """A matrix with all elements on its diagonal."""
    size = prod(self.shape) + abs(offset)
    return size, size


@rule("cdist")
def cdist(x1: Described, x2: Described, *, op: str) -> Shape:
    """Distances between the rows of two matrices."""
    if x1.ndim < 2 or x2.ndim < 2:
        raise ShapeError(f"{op}(): X1 and X2 need at least 2 dimensions, got {x1.ndim}D and {x2.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise ShapeError(
            f"{op}(): X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    return (*broadcast(op, x1.shape[:-2], x2.shape[:-2]), x1.shape[-2], x2.shape[-2])
