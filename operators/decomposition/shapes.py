"""Shape rules of decompositions, and of what solves equations."""

from __future__ import annotations

from tt.core.errors import DimensionCountError, DtypeError, ShapeError, ValueRangeError
from tt.core.shapes.geometry import Described, broadcast
from tt.core.shapes.registry import Result, RuleTable
from tt.core.types.dtype import int32
from tt.operators.linalg.shapes import expect_matrix

rule = RuleTable()

Shape = tuple[int, ...]


def expect_square(op: str, tensor: Described) -> tuple[Shape, int]:
    """Return batch and order; raise unless the matrices are square."""
    batch, rows, columns = expect_matrix(op, tensor)
    if rows != columns:
        raise ShapeError(
            f"{op}(): A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )
    return batch, rows


# --- decompositions --------------------------------------------------------------------------------------------


@rule("svd")
def svd(
    self: Described, /, some: bool = True, full_matrices: bool | None = None, *, op: str
) -> tuple[Shape, Shape, Shape]:
    """U, S and V of `svd` (`some=`), or U, S and Vh of `linalg.svd` (`full_matrices=`)."""
    batch, m, n = expect_matrix(op, self)
    k = min(m, n)
    full = full_matrices if full_matrices is not None else not some
    u = (*batch, m, m if full else k)
    # The older `svd` returns V, and `linalg.svd` its conjugate transpose.
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
        raise ValueRangeError(
            f"{op}(): received unrecognized mode '{mode}' but expected one of 'reduced', 'r', or 'complete'"
        )
    k = m if chosen == "complete" else min(m, n)
    return ((0,) if chosen == "r" else (*batch, m, k)), (*batch, k, n)


@rule("factor_and_info")
def factor_and_info(self: Described, /, *, op: str) -> tuple[Shape, Shape]:
    """A square factor, and an error code."""
    batch, order = expect_square(op, self)
    return (*batch, order, order), batch


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


def expect_triangle(op: str, UPLO: str) -> None:
    """Raise unless a word names one of the triangles."""
    if UPLO.upper() not in ("L", "U"):
        raise ValueRangeError(f"{op}(): Expected UPLO argument to be 'L' or 'U', but got {UPLO!r}")


@rule("eigvalsh")
def eigvalsh(self: Described, /, UPLO: str, *, op: str) -> Shape:
    """Eigenvalues of a Hermitian matrix."""
    expect_triangle(op, UPLO)
    return eigvals(self, op=op)


@rule("eigh")
def eigh(self: Described, /, UPLO: str, *, op: str) -> tuple[Shape, Shape]:
    """Eigenvalues and eigenvectors of a Hermitian matrix."""
    expect_triangle(op, UPLO)
    return eig(self, op=op)


@rule("lobpcg")
def lobpcg(
    A: Described, k: int | None, X: Described | None, n: int | None, *, op: str
) -> tuple[Shape, Shape]:
    """A few eigenvalues and eigenvectors of a symmetric matrix."""
    expect_square(op, A)
    expect_vectors(op, A, X)
    count = k if k is not None else 1 if X is None else X.shape[-1]
    return (*A.shape[:-2], count), (*A.shape[:-1], count)


def expect_vectors(op: str, A: Described, X: Described | None) -> None:
    """Require the first vectors of a search to be as many matrices as `A`, with as many rows."""
    if X is not None and (len(X.shape) != len(A.shape) or tuple(X.shape[:-1]) != tuple(A.shape[:-1])):
        raise ShapeError(
            f"{op}(): X must have {A.shape[-2]} rows for each matrix of A, whose shape is {list(A.shape)}, and its "
            f"shape is {list(X.shape)}"
        )


@rule("lu_factor_ex")
def lu_factor_ex(self: Described, /, *, op: str) -> tuple[Result, Result, Result]:
    """L and U in one matrix, the pivots, and an error code."""
    batch, m, n = expect_matrix(op, self)
    return Result((*batch, m, n)), Result((*batch, min(m, n)), dtype=int32), Result(batch, dtype=int32)


@rule("lu_unpack")
def lu_unpack(
    LU_data: Described, LU_pivots: Described, unpack_data: bool, unpack_pivots: bool, *, op: str
) -> tuple[Shape, Shape, Shape]:
    """P, L and U; unrequested results are empty."""
    batch, m, n = expect_matrix(op, LU_data)
    k = min(m, n)
    if unpack_pivots and LU_pivots.dtype is not int32:
        raise DtypeError(
            f"{op}(): LU_pivots must be of int32, as linalg.lu_factor returns them, not {LU_pivots.dtype.name}"
        )
    if unpack_pivots and (not LU_pivots.ndim or LU_pivots.shape[:-1] != batch or LU_pivots.shape[-1] > m):
        raise ShapeError(
            f"{op}(): LU_pivots {list(LU_pivots.shape)} do not fit LU_data {list(LU_data.shape)}: they have the same "
            f"batch, and at most one pivot for each of the {m} rows"
        )
    return (
        (*batch, m, m) if unpack_pivots else (0,),
        (*batch, m, k) if unpack_data else (0,),
        (*batch, k, n) if unpack_data else (0,),
    )


# --- numbers of matrices ---------------------------------------------------------------------------------------


@rule("square_matrix")
def square_matrix(self: Described, /, *, op: str) -> Shape:
    """A matrix of the same order (inverse, Cholesky factor, exponential)."""
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


# --- equations -------------------------------------------------------------------------------------------------


def is_vector(A: Described, B: Described) -> bool:
    """Return whether the right-hand sides of `linalg.solve` are vectors rather than matrices."""
    # A batch of vectors has the shape of A without its last dimension; whatever else there is are matrices.
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1]))


@rule("solve")
def solve(A: Described, B: Described, /, left: bool = True, *, op: str) -> Shape:
    """The solution of linear equations; one right-hand side or several."""
    batch, order = expect_square(op, A)
    if not B.ndim:
        raise DimensionCountError(f"{op}(): B must have at least 1 dimension, but it has none")
    if is_vector(A, B):
        if not left:
            raise ShapeError(
                f"{op}(): with left=False, B must be a matrix, not a vector {list(B.shape)}; write B.unsqueeze(-2) "
                f"for a matrix of one row"
            )
        if B.shape[-1] != order:
            raise ShapeError(f"{op}(): Incompatible shapes of A {list(A.shape)} and B {list(B.shape)}")
        return (*broadcast(op, batch, B.shape[:-1]), order)
    return solve_triangular(A, B, left, op=op)


@rule("solve_triangular")
def solve_triangular(A: Described, B: Described, /, left: bool = True, *, op: str) -> Shape:
    """The solution of equations whose right-hand sides are a matrix always."""
    batch, order = expect_square(op, A)
    expect_matrix(op, B)
    if (B.shape[-2] if left else B.shape[-1]) != order:
        raise ShapeError(
            f"{op}(): Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({order}x{order} and {B.shape[-2]}x{B.shape[-1]})"
        )
    return (*broadcast(op, batch, B.shape[:-2]), *B.shape[-2:])


@rule("cholesky_solve")
def cholesky_solve(self: Described, input2: Described, /, *, op: str) -> Shape:
    """The solution of equations by the factor of their matrix."""
    expect_matrix(op, self)
    return solve_triangular(input2, self, op=op)


@rule("lu_solve")
def lu_solve(LU: Described, pivots: Described, B: Described, left: bool = True, *, op: str) -> Shape:
    """The solution of equations by factors, of which each matrix has its own pivots."""
    shape = solve_triangular(LU, B, left, op=op)
    if pivots.dtype is not int32:
        raise DtypeError(
            f"{op}(): pivots must be of int32, as linalg.lu_factor returns them, not {pivots.dtype.name}"
        )
    if tuple(pivots.shape) != tuple(LU.shape[:-1]):
        raise ShapeError(
            f"{op}(): the number of pivots per batch should be same as the dimension of the matrix: "
            f"{list(pivots.shape)} and {list(LU.shape)}"
        )
    return shape


@rule("lstsq")
def lstsq(
    A: Described, B: Described, driver: str | None = None, *, op: str
) -> tuple[Shape, Shape, Shape, Shape]:  # fmt: skip
    """Solution, residuals, rank and singular values; the driver determines which of them are not empty."""
    batch, m, n = expect_matrix(op, A)
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise ValueRangeError(
            f"{op}(): parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got {driver!r}"
        )
    if not B.ndim or not 0 <= A.ndim - B.ndim <= 1:
        raise DimensionCountError(
            f"{op}(): A must have as many dimensions as B, or one more, but they have {A.ndim} and {B.ndim}"
        )
    # The same distinction as PyTorch's: a batch of vectors has the shape of A without its last dimension.
    vector = A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1])
    right = (*B.shape, 1) if vector else tuple(B.shape)
    if len(right) < 2 or right[-2] != m:
        raise ShapeError(
            f"{op}(): A and B must have as many rows, but their shapes are {list(A.shape)} and {list(B.shape)}"
        )
    both = broadcast(op, batch, right[:-2])
    columns = right[-1:]
    measured = driver in ("gelsd", "gelss")
    # Only more equations than unknowns leave residuals, and gelsy does not return them.
    return (
        (*both, n, *(() if vector else columns)),
        (*both, *columns) if m > n and (measured or driver == "gels") else (0,),
        batch if driver != "gels" else (0,),
        (*batch, min(m, n)) if measured else (0,),
    )


@rule("geqrf")
def geqrf(self: Described, *, op: str) -> tuple[Shape, Shape]:
    """R with the reflections below it, and a factor for each."""
    if self.ndim < 2:
        raise DimensionCountError(f"{op}(): the input has at least 2 dimensions, got {self.ndim}")
    return tuple(self.shape), (*self.shape[:-2], min(self.shape[-2:]))


@rule("linalg_ldl_factor_ex")
def ldl_factor_ex(self: Described, *, op: str) -> tuple[Shape, Shape, Shape]:
    """L and D in one matrix, pivots, and one number for each matrix."""
    if self.ndim < 2 or self.shape[-1] != self.shape[-2]:
        raise ShapeError(f"{op}(): takes square matrices, not {list(self.shape)}")
    return tuple(self.shape), tuple(self.shape[:-1]), tuple(self.shape[:-2])


@rule("linalg_ldl_solve")
def ldl_solve(LD: Described, pivots: Described, B: Described, *, op: str) -> Shape:
    """A solution for each right hand side; the batches broadcast."""
    ldl_factor_ex(LD, op=op)
    if B.ndim < 2:
        raise DimensionCountError(f"{op}(): B has at least 2 dimensions, and this one has {B.ndim}")
    if B.shape[-2] != LD.shape[-1]:
        raise ShapeError(f"{op}(): B {list(B.shape)} needs {LD.shape[-1]} rows, as LD has")
    if tuple(pivots.shape) != tuple(LD.shape[:-1]):
        raise ShapeError(f"{op}(): pivots {list(pivots.shape)} does not fit LD {list(LD.shape)}")
    if pivots.dtype.kind not in ("signed", "unsigned"):
        raise DtypeError(f"{op}(): pivots are integers, got {pivots.dtype}")
    return (*broadcast(op, LD.shape[:-2], B.shape[:-2]), *B.shape[-2:])
