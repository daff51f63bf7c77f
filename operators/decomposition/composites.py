"""Composites of decompositions, and of what solves equations."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import (
    ArgumentError,
    DimensionCountError,
    DtypeError,
    LinAlgError,
    PlaceError,
    ShapeError,
    ValueRangeError,
)
from tt.core.shapes.geometry import broadcast
from tt.core.types.dtype import finfo, float64, int32, int64
from tt.core.types.keys import KEYS
from tt.core.types.user_warnings import warn_user
from tt.operators.decomposition.shapes import expect_square, expect_vectors, is_vector
from tt.operators.helpers import as_type, check_shapes, python_value
from tt.operators.linalg.shapes import expect_matrix

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite


def adjoint(a: Tensor) -> Tensor:
    """Return the conjugate transpose of the last two dimensions."""
    turned = ops.transpose(a, -2, -1)
    return ops.conj(turned) if a.dtype.is_complex else turned


def diagonal(a: Tensor) -> Tensor:
    """Return the diagonals of matrices."""
    return ops.diagonal(a, 0, -2, -1)


def eye_like(a: Tensor, rows: int, columns: int | None = None) -> Tensor:
    """Return a unit matrix with dtype and device of another tensor."""
    return ops.eye(rows, rows if columns is None else columns, dtype=a.dtype, device=a.device)


def places(count: int, like: Tensor) -> Tensor:
    """Return the integers before `count` on the device of another tensor."""
    return ops.arange(count, dtype=int64, device=like.device)


def raise_at(op: str, info: Tensor, problem: str) -> None:
    """Raise if one of the numbers that a decomposition reported is not 0, with batch element and place."""
    failed = python_value(
        ops.amax(ops.reshape(info, (-1,)), ())
        if info.numel()
        else ops.zeros((), dtype=int32, device=info.device)
    )
    if not failed:
        return
    numbers = ops.reshape(info, (-1,)).tolist()
    element, position = next((i, number) for i, number in enumerate(numbers) if number)
    raise LinAlgError(
        f"{op}: {f'(Batch element {element}): ' if info.ndim else ''}" + problem.format(position)
    )


SINGULAR: Final = (
    "the input matrix is singular: no pivot is left in column {}, so that diagonal element is zero"
)
NOT_POSITIVE: Final = "the matrix is not positive-definite: its leading minor of order {} is not"

# --- Cholesky --------------------------------------------------------------------------------------------------


@composite("linalg_cholesky")
def linalg_cholesky(A: Tensor, upper: bool) -> Tensor:
    factor, info = ops.linalg_cholesky_ex(A, upper=upper)
    raise_at("linalg.cholesky", info, NOT_POSITIVE)
    return factor


@composite("cholesky")
def older_cholesky(self: Tensor, upper: bool) -> Tensor:
    warn_user(
        "cholesky() is deprecated\n"
        f"  try: linalg.cholesky{'(A).mH, of matrices whose upper triangle is used' if upper else ''}"
    )
    return ops.linalg_cholesky(self, upper=upper)


@composite("cholesky_solve")
def cholesky_solve(self: Tensor, input2: Tensor, upper: bool) -> Tensor:
    check_shapes("cholesky_solve", self, input2, upper)
    half = ops.linalg_solve_triangular(adjoint(input2) if upper else input2, self, upper=False)
    return ops.linalg_solve_triangular(input2 if upper else adjoint(input2), half, upper=True)


@composite("cholesky_inverse")
def cholesky_inverse(self: Tensor, upper: bool) -> Tensor:
    check_shapes("cholesky_inverse", self, upper)
    return ops.cholesky_solve(eye_like(self, self.shape[-1]), self, upper)


# --- QR, SVD, eigenvalues --------------------------------------------------------------------------------------


@composite("qr")
def older_qr(self: Tensor, some: bool) -> tuple[Any, Any]:
    mode = "reduced" if some else "complete"
    warn_user(f"qr() is deprecated\n  try: linalg.qr(A, mode={mode!r})")
    return ops.linalg_qr(self, mode)


composite("linalg_svdvals", lambda A, driver: ops.linalg_svd(A, False, driver=driver)[1])
composite("linalg_eigvals", lambda A: ops.linalg_eig(A)[0])
composite("linalg_eigvalsh", lambda A, UPLO: ops.linalg_eigh(A, UPLO)[0])


@composite("svd")
def svd(self: Tensor, some: bool, compute_uv: bool) -> tuple[Any, Any, Any]:
    u, s, vh = ops.linalg_svd(self, not some or not compute_uv)
    if compute_uv:
        return u, s, ops.contiguous(adjoint(vh))
    # Without the vectors, PyTorch returns square matrices of zeros.
    return ops.zeros_like(ops.detach(u)), s, ops.zeros_like(ops.detach(vh))


@composite("linalg_householder_product")
def householder_product(A: Any, tau: Tensor) -> Tensor:
    batch, m, n = expect_matrix("linalg.householder_product", A)
    if n > m:
        raise ShapeError(
            f"linalg.householder_product(): A must have at least as many rows as columns, not {m} by {n}"
        )
    if not tau.ndim:
        raise DimensionCountError(
            "linalg.householder_product(): tau has at least 1 dimension, and this one has none"
        )
    k = tau.shape[-1]
    if not 0 <= k <= n or tuple(tau.shape[:-1]) != batch:
        raise ShapeError(
            f"linalg.householder_product(): tau {list(tau.shape)} does not fit A {list(A.shape)}: it needs the same "
            f"batch, and at most one number for each column"
        )
    if tau.dtype is not A.dtype:
        raise DtypeError(
            f"linalg.householder_product(): tau dtype {tau.dtype} does not match A dtype {A.dtype}"
        )
    vectors = ops.add(ops.tril(A, -1), eye_like(A, m, n))
    unit = eye_like(A, m, n)
    result = ops.where.default(ops.eq(unit, unit), unit, A)  # without reflections, a gradient of zeros
    # From the last one on each reflection meets n columns; their product would be m by m.
    for i in reversed(range(k)):
        v = ops.narrow(vectors, -1, i, 1)
        step = ops.mul(ops.unsqueeze(ops.narrow(tau, -1, i, 1), -1), v)
        result = ops.sub(result, ops.matmul(step, ops.matmul(adjoint(v), result)))
    return result


# --- LU --------------------------------------------------------------------------------------------------------


@composite("linalg_lu_factor_ex")
def lu_factor_ex(A: Any, pivot: bool, check_errors: bool) -> tuple[Any, Any, Any]:
    """Gaussian elimination, column by column, of all matrices of the batch at once."""
    batch, m, n = expect_matrix("linalg.lu_factor_ex", A)
    rows, columns = ops.unsqueeze(places(m, A), -1), places(n, A)
    pivots = []
    info = ops.zeros(batch, dtype=int64, device=A.device)
    matrix = A
    for k in range(min(m, n)):
        if pivot:
            column = ops.select(ops.narrow(matrix, -2, k, m - k), -1, k)
            # The largest element as the pivot keeps the factors at most 1, and rounding errors small.
            at = ops.add(ops.argmax(magnitude(column), -1), k)
            pivots.append(at)
            matrix = exchanged(matrix, k, at, rows)
        else:
            pivots.append(ops.full(batch, k, dtype=int64, device=A.device))
        head = ops.narrow(ops.narrow(matrix, -2, k, 1), -1, k, 1)
        zero = ops.eq(head, 0)
        singular = ops.reshape(zero, batch)
        # Like LAPACK, report the first zero pivot and go on.
        info = ops.where.default(ops.logical_and(singular, ops.eq(info, 0)), k + 1, info)
        below, right = ops.gt(rows, k), ops.gt(columns, k)
        quotient = ops.div.default(ops.narrow(matrix, -1, k, 1), ops.where.default(zero, 1.0, head))
        # What is done is masked, not cut off: one tensor holds the factors of all steps.
        factor = ops.where.default(below, quotient, 0.0)
        row = ops.where.default(right, ops.narrow(matrix, -2, k, 1), 0.0)
        reduced = ops.sub(matrix, ops.mul(factor, row))
        stored = ops.logical_and(below, ops.eq(columns, k))
        matrix = ops.where.default(stored, factor, reduced)
    joined = ops.stack(pivots, -1) if pivots else ops.zeros((*batch, 0), dtype=int64, device=A.device)
    if check_errors:
        raise_at("linalg.lu_factor_ex", info, SINGULAR)
    factors = matrix if min(m, n) else ops.clone(A)
    return factors, as_type(ops.add(joined, 1), int32), as_type(info, int32)


def magnitude(a: Tensor) -> Tensor:
    """Return the criterion for pivots: the absolute value, for complex numbers LAPACK's."""
    return ops.add(ops.abs(ops.real(a)), ops.abs(ops.imag(a))) if a.dtype.is_complex else ops.abs(a)


def exchanged(matrix: Tensor, k: int, at: Tensor, rows: Tensor) -> Tensor:
    """Return matrices with row k and the row `at` of each exchanged."""
    other = ops.unsqueeze(ops.unsqueeze(at, -1), -1)
    order = ops.where.default(ops.eq(rows, k), other, ops.where.default(ops.eq(rows, other), k, rows))
    return ops.gather(matrix, -2, ops.expand(order, tuple(matrix.shape)))


@composite("linalg_lu_factor")
def lu_factor(A: Tensor, pivot: bool) -> tuple[Any, Any]:
    factors, pivots, _ = ops.linalg_lu_factor_ex(A, pivot=pivot)
    return factors, pivots


@composite("linalg_lu")
def lu(A: Tensor, pivot: bool) -> tuple[Any, Any, Any]:
    factors, pivots, _ = ops.linalg_lu_factor_ex(A, pivot=pivot)
    P, L, U = ops.lu_unpack(factors, pivots)
    return (P if pivot else ops.zeros((0,), dtype=A.dtype, device=A.device)), L, U


@composite("lu_unpack")
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool, unpack_pivots: bool
) -> tuple[Any, Any, Any]:
    check_shapes("lu_unpack", LU_data, LU_pivots, unpack_data, unpack_pivots)
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    nothing = ops.zeros((0,), dtype=LU_data.dtype, device=LU_data.device)
    P, L, U = nothing, ops.clone(nothing), ops.clone(nothing)
    if unpack_pivots:
        P = permutation(LU_pivots, m, LU_data)
    if unpack_data:
        L = ops.add(ops.tril(ops.narrow(LU_data, -1, 0, k), -1), eye_like(LU_data, m, k))
        U = ops.triu(ops.narrow(LU_data, -2, 0, k))
    return P, L, U


def permutation(pivots: Tensor, m: int, like: Tensor) -> Tensor:
    """Return P of A = P L U from the exchanges of rows."""
    # Where values are not at hand (on another device, inside a transform) what gathers by them refuses them.
    at_hand = pivots.device.type == "cpu" and not pivots._keys & KEYS.mask("layer")
    if at_hand and python_value(ops.all((pivots >= 1) & (pivots <= m))) is False:
        raise PlaceError(
            f"lu_unpack(): a pivot is not between 1 and the {m} rows\n  try: the pivots that linalg.lu_factor returned"
        )
    order = ops.unsqueeze(ops.expand(places(m, like), (*pivots.shape[:-1], m)), -1)
    rows = ops.unsqueeze(places(m, like), -1)
    for k in range(pivots.shape[-1]):
        order = exchanged(order, k, ops.sub(as_type(ops.select(pivots, -1, k), int64), 1), rows)
    return as_type(ops.eq(rows, ops.transpose(order, -2, -1)), like.dtype)


@composite("linalg_lu_solve")
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint_: bool) -> Tensor:
    check_shapes("linalg_lu_solve", LU, pivots, B, left, adjoint_)
    # Pivots are constant between exchanges of rows: no gradient goes through P.
    P = ops.lu_unpack(ops.detach(LU), pivots, False, True)[0]

    def solve(right: Tensor, upper: bool, unit: bool) -> Tensor:
        factor = adjoint(LU) if adjoint_ else LU
        flipped = upper is not adjoint_
        return ops.linalg_solve_triangular(factor, right, upper=flipped, left=left, unitriangular=unit)

    # The factors in the order of A = P L U, or reversed for the adjoint, and for A on the right.
    if left is adjoint_:
        return permuted(solve(solve(B, True, False), False, True), P, left)
    return solve(solve(permuted(B, ops.transpose(P, -2, -1), left), False, True), True, False)


def permuted(right: Tensor, P: Tensor, left: bool) -> Tensor:
    """Return P @ right, or right @ P^T, whose rows or columns are those of `right` in another order."""
    # P times the numbers of the rows is their order; to gather costs n^2, a product with P n^3.
    numbered = ops.unsqueeze(as_type(places(P.shape[-1], P), P.dtype), -1)
    product = ops.squeeze.dim(ops.matmul(P, numbered), -1)
    order = as_type(ops.real(product) if P.dtype.is_complex else product, int64)
    dim = -2 if left else -1
    if order.ndim == 1:
        return ops.index_select(right, dim, order)
    batch = broadcast("linalg.lu_solve", P.shape[:-2], right.shape[:-2])
    shape = (*batch, *right.shape[-2:])
    index = ops.expand(ops.unsqueeze(order, -1 if left else -2), shape)
    return ops.gather(ops.expand(right, shape), dim, index)


# --- equations -------------------------------------------------------------------------------------------------


@composite("linalg_solve_ex")
def solve_ex(A: Any, B: Any, left: bool, check_errors: bool) -> tuple[Any, Any]:
    check_shapes("linalg_solve", A, B, left)
    factors, pivots, info = ops.linalg_lu_factor_ex(A)
    if check_errors:
        raise_at("linalg.solve_ex", info, SINGULAR)
    vector = is_vector(A, B)
    solution = ops.linalg_lu_solve(factors, pivots, ops.unsqueeze(B, -1) if vector else B, left=left)
    return (ops.squeeze.dim(solution, -1) if vector else solution), info


@composite("linalg_solve_triangular")
def solve_triangular(A: Tensor, B: Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor:
    """Substitution, row by row, of all matrices of the batch at once."""
    check_shapes("linalg_solve_triangular", A, B, upper, left, unitriangular)
    if not left:  # X A = B is A^T X^T = B^T
        turned = ops.linalg_solve_triangular(
            ops.transpose(A, -2, -1), ops.transpose(B, -2, -1), upper=not upper, unitriangular=unitriangular
        )
        return ops.contiguous(ops.transpose(turned, -2, -1))
    order = A.shape[-1]
    batch = broadcast("linalg.solve_triangular", A.shape[:-2], B.shape[:-2])
    right = ops.expand(B, (*batch, *B.shape[-2:]))
    solved: list[Any] = []
    for i in reversed(range(order)) if upper else range(order):
        row = ops.narrow(right, -2, i, 1)
        if solved:
            coefficients = ops.narrow(ops.narrow(A, -2, i, 1), -1, i + 1 if upper else 0, len(solved))
            known = ops.cat(solved[::-1] if upper else solved, -2)
            row = ops.sub(row, ops.matmul(coefficients, known))
        if not unitriangular:
            row = ops.div.default(row, ops.narrow(ops.narrow(A, -2, i, 1), -1, i, 1))
        solved.append(row)
    return ops.cat(solved[::-1] if upper else solved, -2) if solved else ops.clone(right)


@composite("triangular_solve")
def triangular_solve(
    self: Tensor, A: Tensor, upper: bool, transpose: bool, unitriangular: bool
) -> tuple[Any, Any]:
    warn_user(f"triangular_solve(b, A) is deprecated\n  try: linalg.solve_triangular(A, b, upper={upper})")
    factor = ops.transpose(A, -2, -1) if transpose else A
    solution = ops.linalg_solve_triangular(
        factor, self, upper=upper is not transpose, unitriangular=unitriangular
    )
    batch = tuple(solution.shape[:-2])
    return solution, ops.clone(ops.expand(A, (*batch, *A.shape[-2:])))


@composite("linalg_inv_ex")
def inv_ex(A: Any, check_errors: bool) -> tuple[Any, Any]:
    _, order = expect_square("linalg.inv_ex", A)
    # Of the shape of A, lest a batch of as many matrices take the unit matrix for a vector for each.
    inverse, info = ops.linalg_solve_ex(A, ops.expand(eye_like(A, order), tuple(A.shape)))
    if check_errors:
        raise_at("linalg.inv_ex", info, SINGULAR)
    return inverse, info


composite("inverse", lambda self: ops.linalg_inv(self))


@composite("linalg_lstsq")
def lstsq(A: Tensor, B: Tensor, rcond: float | None, driver: str | None) -> tuple[Any, Any, Any, Any]:
    check_shapes("linalg_lstsq", A, B, rcond, driver)
    m, n = A.shape[-2:]
    vector = A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1])
    right = ops.unsqueeze(B, -1) if vector else B
    U, S, Vh = ops.linalg_svd(A, False)
    # PyTorch's default; `gels` takes full rank for granted.
    tolerance = (epsilon(A) * max(m, n) if rcond is None else rcond) if driver != "gels" else 0.0
    # Singular values come sorted: the first one is the largest.
    kept = ops.gt(S, ops.mul(ops.narrow(S, -1, 0, 1), tolerance)) if min(m, n) else ops.gt(S, 0)
    inverse = ops.where.default(kept, ops.reciprocal(S), 0.0)
    solution = ops.matmul(adjoint(Vh), ops.mul(ops.unsqueeze(inverse, -1), ops.matmul(adjoint(U), right)))
    rank = ops.sum.dim(kept, (-1,), False, dtype=int64)
    # Only these drivers compute singular values, and only then does PyTorch return them.
    measured = driver in ("gelsd", "gelss")
    nothing = ops.zeros((0,), dtype=S.dtype, device=A.device)
    residuals = nothing
    full = driver == "gels" or (
        measured and (not rank.numel() or python_value(ops.amin(rank, ())) in (n, None))
    )
    if m > n and full:
        distance = ops.abs(ops.sub(ops.matmul(A, solution), right))
        residuals = ops.sum.dim(ops.square(distance), (-2,))
    return (
        ops.squeeze.dim(solution, -1) if vector else solution,
        residuals,
        rank if driver != "gels" else ops.zeros((0,), dtype=int64, device=A.device),
        S if measured else ops.clone(nothing),
    )


def epsilon(a: Tensor) -> float:
    """Return the distance from 1 to the next number of a dtype, for complex dtypes, of their parts."""
    return 2.0**-52 if a.dtype.to_real() is float64 else 2.0**-23


# --- determinants ----------------------------------------------------------------------------------------------


def determinant_parts(A: Tensor) -> tuple[Any, Any]:
    """Return the diagonal of U, and 1 or -1 for an even or odd number of exchanged rows."""
    factors, pivots, _ = ops.linalg_lu_factor_ex(A)
    moved = ops.ne(as_type(pivots, int64), ops.add(places(A.shape[-1], A), 1))
    # Each exchange of rows turns the sign.
    odd = ops.remainder(ops.sum.dim(moved, (-1,), False, dtype=int64), 2)
    return diagonal(factors), ops.add(ops.mul(odd, -2), 1)


@composite("linalg_det")
def linalg_det(A: Any) -> Tensor:
    expect_square("linalg.det", A)
    pivots, sign = determinant_parts(A)
    return ops.mul(ops.prod.dim(pivots, -1), as_type(sign, A.dtype))


@composite("linalg_slogdet")
def linalg_slogdet(A: Any) -> tuple[Any, Any]:
    expect_square("linalg.slogdet", A)
    pivots, sign = determinant_parts(A)
    size = ops.abs(pivots)
    # The sign of a zero determinant is 0, as in NumPy.
    direction = ops.where.default(
        ops.eq(size, 0), 0.0, ops.div.default(pivots, ops.where.default(ops.eq(size, 0), 1.0, size))
    )
    return (
        ops.mul(ops.prod.dim(direction, -1), as_type(sign, A.dtype)),
        ops.sum.dim(ops.log(size), (-1,)),
    )


composite("det", lambda self: ops.linalg_det(self))
composite("slogdet", lambda self: ops.linalg_slogdet(self))


@composite("logdet")
def logdet(self: Any) -> Tensor:
    expect_square("logdet", self)
    sign, logabsdet = ops.linalg_slogdet(self)
    if self.dtype.is_complex:
        return ops.add(ops.log(sign), logabsdet)
    return ops.where.default(ops.eq(sign, -1), float("nan"), logabsdet)


def check_order(op: str, value: int) -> None:
    """Raise unless a number of dimensions is positive."""
    if value <= 0:
        raise ValueRangeError(f"{op}(): expected a strictly positive integer for 'ind', got {value}")


_ITERATIONS: Final = 1000


@composite("lobpcg")
def lobpcg(
    A: Any, k: int | None, B: Tensor | None, X: Any, n: int | None, iK: Tensor | None, niter: int | None,
    tol: float | None, largest: bool | None, method: str | None, tracker: Any,
) -> tuple[Any, Any]:  # fmt: skip
    batch, m = expect_square("lobpcg", A)
    expect_vectors("lobpcg", A, X)
    if tracker is not None and not callable(tracker):
        raise ArgumentError("lobpcg", f"tracker must be a function, not {type(tracker).__name__}")
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = X.shape[-1] if X is not None else k if n is None else n
    _check(A, B, X, iK, m, k, n)
    if method not in (None, "basic", "ortho"):
        raise ValueRangeError(f'lobpcg(): method must be "basic" or "ortho", got {method!r}')
    A, B = _symmetric(A), _symmetric(B)
    tol = finfo(A.dtype).eps ** 0.5 if tol is None else tol
    niter = _ITERATIONS if niter is None else niter
    start = ops.randn((*batch, m, n), dtype=A.dtype, device=A.device) if X is None else X
    values, vectors = [], []
    # Each matrix by itself: they converge after different numbers of steps.
    for element in product(*map(range, batch)):
        a, b, x, i = (_at(matrix, element) for matrix in (A, B, start, iK))
        search = _Search(a, b, x, i, k, niter, tol, largest is None or largest, tracker)
        search.run()
        values.append(search.E[:k])
        vectors.append(search.X[:, :k])
    if not batch:
        return values[0], vectors[0]
    if not values:
        return ops.empty((*batch, k), dtype=A.dtype, device=A.device), start[..., :k]
    return (
        ops.reshape(ops.stack(values), (*batch, k)),
        ops.reshape(ops.stack(vectors), (*batch, m, k)),
    )


def _symmetric(matrix: Tensor | None) -> Any:
    """Return the symmetric part of a dense matrix, so that each element counts as much as the one opposite to it.

    The gradient says so, too; a symmetric matrix is its own part, bit by bit.
    """
    if matrix is None or matrix.layout.name != "strided":
        return matrix  # a sparse matrix is used as it is: its transpose has another layout
    return ops.mul(ops.add(matrix, adjoint(matrix)), 0.5)


def _at(matrix: Tensor | None, place: tuple[int, ...]) -> Any:
    return matrix[place] if matrix is not None and place else matrix


def _check(A: Tensor, B: Tensor | None, X: Tensor | None, iK: Tensor | None, m: int, k: int, n: int) -> None:
    for name, matrix in (("B", B), ("iK", iK)):
        if matrix is not None and tuple(matrix.shape) != tuple(A.shape):
            raise ShapeError(
                f"lobpcg(): {name} must have the shape of A, {list(A.shape)}, not {list(matrix.shape)}"
            )
    if not 1 <= k <= n:
        raise ValueRangeError(f"lobpcg(): k must be between 1 and n={n}, the number of columns of X, got {k}")
    if m < 3 * n:
        raise ValueRangeError(
            f"lobpcg(): A must have at least 3 * n = {3 * n} rows, and it has {m}\n  try: tt.linalg.eigh(A)"
        )


class _Search:
    """The state of the search for the eigenpairs of one matrix; `tracker` gets it after each step.

    The attributes have PyTorch's names: `E`, `X`, `S` and `R` are eigenvalues, eigenvectors, the basis and residuals.
    """

    def __init__(
        self, A: Tensor, B: Tensor | None, X: Tensor, iK: Tensor | None, k: int, niter: int, tol: float,
        largest: bool, tracker: Any,
    ) -> None:  # fmt: skip
        self.A, self.B, self.iK, self.tracker = A, B, iK, tracker
        self.iparams = {"m": A.shape[-1], "n": X.shape[-1], "k": k, "niter": niter}
        self.fparams, self.bparams = {"tol": tol}, {"largest": largest}
        self.ivars, self.fvars = {"istep": 0, "converged_count": 0}, dict[str, float]()
        self.bvars, self.tvars = {"force_stop": False}, dict[str, Any]()
        # Norms of the matrices, estimated by their effect on random vectors.
        size = ops.linalg_vector_norm(X)
        self.tvars["A_norm"] = ops.div.default(ops.linalg_vector_norm(ops.matmul(A, X)), size)
        self.tvars["B_norm"] = ops.div.default(ops.linalg_vector_norm(self.times_b(X)), size)
        self.directions: Any = None
        self.X = self.S = self.orthonormal(X)
        self.E, Z = self.ritz(self.S)
        self.X = ops.matmul(self.S, Z)
        self.measure()

    def times_b(self, X: Tensor) -> Tensor:
        return X if self.B is None else ops.matmul(self.B, X)

    def orthonormal(self, S: Tensor, before: Tensor | None = None) -> Tensor:
        """Return a basis of the columns of S, B-orthonormal, and orthogonal to the columns of `before`."""
        eps = finfo(S.dtype).eps
        for _ in range(3):  # each time repairs what rounding left
            if before is not None:
                S = ops.sub(S, ops.matmul(before, ops.matmul(adjoint(before), self.times_b(S))))
            gram = ops.matmul(adjoint(S), self.times_b(S))
            # Columns of one length: short ones would be lost to rounding.
            scale = ops.rsqrt(ops.clamp(ops.diagonal(gram, 0, -2, -1), finfo(S.dtype).tiny, None))
            gram = ops.mul(ops.mul(gram, ops.unsqueeze(scale, -1)), ops.unsqueeze(scale, -2))
            values, vectors = ops.linalg_eigh(gram)
            # Smaller eigenvalues are rounding: their vectors depend on the others.
            kept = int(python_value(ops.sum.default(ops.gt(values, values.shape[-1] * eps))))
            if not kept:
                return S[:, :0]
            values, vectors = values[-kept:], vectors[:, -kept:]
            S = ops.matmul(ops.mul(S, ops.unsqueeze(scale, -2)), ops.mul(vectors, ops.rsqrt(values)))
        return S

    def ritz(self, S: Tensor) -> tuple[Any, Any]:
        """Return the wanted eigenpairs of the projection of A to a basis."""
        small = ops.matmul(adjoint(S), ops.matmul(self.A, S))
        values, vectors = ops.linalg_eigh(ops.mul(ops.add(small, adjoint(small)), 0.5))
        n = self.iparams["n"]
        if self.bparams["largest"]:
            return ops.flip(values, (0,))[:n], ops.flip(vectors, (1,))[:, :n]
        return values[:n], vectors[:, :n]

    def measure(self) -> None:
        """Compute the residuals, and how many of the first vectors have converged."""
        self.R = ops.sub(ops.matmul(self.A, self.X), ops.mul(self.times_b(self.X), self.E))
        scale = ops.add(ops.mul(ops.abs(self.E), self.tvars["B_norm"]), self.tvars["A_norm"])
        sizes = ops.mul(ops.linalg_vector_norm(self.X, 2, (0,)), scale)
        self.tvars["rerr"] = ops.div.default(ops.linalg_vector_norm(self.R, 2, (0,)), sizes)
        converged = as_type(ops.le(self.tvars["rerr"], self.fparams["tol"]), int64)
        self.ivars["converged_count"] = int(python_value(ops.sum.default(ops.cumprod(converged, 0))))

    def step(self) -> None:
        """Search the space of the vectors, their residuals, and the last directions."""
        residuals = self.R if self.iK is None else ops.matmul(self.iK, self.R)
        # The last directions make it a conjugate gradient method (A. Knyazev, 2001); with residuals alone it
        # is steepest descent.
        parts = [residuals] if self.directions is None else [residuals, self.directions]
        known = self.X.shape[-1]
        rest = self.orthonormal(ops.cat(parts, 1), self.X)
        self.S = ops.cat([self.X, rest], 1)
        self.E, Z = self.ritz(self.S)
        self.directions = ops.matmul(rest, Z[known:])
        self.X = ops.matmul(self.S, Z)
        self.measure()

    def run(self) -> None:
        """Iterate until the wanted pairs have converged, or the number of steps is reached."""
        self.track()
        while not self.bvars["force_stop"] and self.ivars["converged_count"] < self.iparams["k"]:
            if 0 <= self.iparams["niter"] <= self.ivars["istep"]:
                break
            self.ivars["istep"] += 1
            self.step()
            self.track()
        # Rounding adds up over the steps.
        self.X = self.S = self.orthonormal(self.X)
        self.E, Z = self.ritz(self.S)
        self.X = ops.matmul(self.S, Z)
        # The largest element of each vector is positive, so that all devices find the same vectors.
        index = ops.argmax(ops.abs(self.X), 0, True)
        self.X = ops.mul(self.X, ops.sign(ops.gather(self.X, 0, index)))

    def track(self) -> None:
        if self.tracker is not None:
            self.tracker(self)
