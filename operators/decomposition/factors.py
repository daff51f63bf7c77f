"""Composites of LAPACK's further factors, and of decompositions of low rank."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
from tt.core.types.dtype import int32, int64
from tt.core.types.layout import strided
from tt.core.types.user_warnings import warn_user
from tt.operators.decomposition.composites import adjoint
from tt.operators.helpers import as_type, check_shapes, number, python_value

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

    Product = Callable[[Tensor], Tensor]

composites: Final = CompositeTable()
composite = composites.composite

# --- Householder's reflections ---------------------------------------------------------------------------------


@composite("geqrf")
def geqrf(self: Tensor) -> tuple[Any, Any]:
    check_shapes("geqrf", self)
    (m, n), batch = tuple(self.shape[-2:]), tuple(self.shape[:-2])
    rest, columns, rows, taus = self, [], [], []
    for k in range(min(m, n)):
        column = ops.select(rest, -1, 0)
        first, below = ops.slice(column, -1, 0, 1, 1), ops.slice(column, -1, 1, m - k, 1)
        real = ops.real(first) if first.dtype.is_complex else first
        length = ops.linalg_vector_norm(column, 2, -1, True)
        # Opposite in sign to the first element, so that their difference does not cancel.
        beta = ops.where.default(ops.lt(real, 0), length, ops.neg(length))
        # A column that is real and zero below the diagonal stays as it is.
        flat = ops.eq(ops.linalg_vector_norm(below, 2, -1, True), 0)
        if first.dtype.is_complex:
            flat = ops.logical_and(flat, ops.eq(ops.imag(first), 0))
        one = number(1, beta)
        safe = ops.where.default(flat, one, beta)
        tau = ops.div.default(ops.sub(safe, first), safe)
        tau = ops.where.default(flat, number(0, tau), tau)
        scale = ops.where.default(flat, number(1, first), ops.sub(first, safe))
        v = ops.div.default(below, scale)
        full = ops.unsqueeze(ops.cat([ops.ones_like(first), v], -1), -1)
        others = ops.slice(rest, -1, 1, n - k, 1)
        # LAPACK's tau is that of H; what is applied is its adjoint.
        step = ops.mul(full, ops.unsqueeze(ops.conj(tau), -1))
        others = ops.sub(others, ops.matmul(step, ops.matmul(adjoint(full), others)))
        diagonal = ops.where.default(flat, first, as_type(safe, first.dtype))
        columns.append(v)
        rows.append(ops.cat([ops.unsqueeze(diagonal, -1), ops.slice(others, -2, 0, 1, 1)], -1))
        taus.append(tau)
        rest = ops.slice(others, -2, 1, m - k, 1)
    if not taus:
        return ops.clone(self), ops.empty((*batch, 0), dtype=self.dtype, device=self.device)
    upper = ops.cat([ops.constant_pad_nd(row, (k, 0), 0) for k, row in enumerate(rows)], -2)
    triangle = ops.constant_pad_nd(upper, (0, 0, 0, m - len(rows)), 0)
    lower = [ops.unsqueeze(ops.constant_pad_nd(v, (k + 1, 0), 0), -1) for k, v in enumerate(columns)]
    below_diagonal = ops.constant_pad_nd(ops.cat(lower, -1), (0, n - len(lower)), 0)
    return ops.add(triangle, below_diagonal), ops.cat(taus, -1)


@composite("ormqr")
def ormqr(self: Tensor, input2: Tensor, input3: Tensor, left: bool, transpose: bool) -> Tensor:
    op = "ormqr"
    if self.ndim < 2 or input3.ndim < 2:
        raise DimensionCountError(f"{op}(): input and other have at least 2 dimensions")
    if not input2.ndim:
        raise DimensionCountError(f"{op}(): tau has at least 1 dimension, and this one has none")
    batch, rows, count = tuple(self.shape[:-2]), self.shape[-2], input2.shape[-1]
    if not 0 <= count <= min(self.shape[-2:]) or tuple(input2.shape[:-1]) != batch:
        raise ShapeError(f"{op}(): tau {list(input2.shape)} does not fit the reflections {list(self.shape)}")
    if tuple(input3.shape[:-2]) != batch:
        raise ShapeError(f"{op}(): other {list(input3.shape)} needs the batch of input, {list(batch)}")
    if input3.shape[-2 if left else -1] != rows:
        raise ShapeError(f"{op}(): other {list(input3.shape)} does not fit a Q of {rows} by {rows}")
    for name, tensor in (("tau", input2), ("other", input3)):
        if tensor.dtype is not self.dtype:
            raise DtypeError(
                f"{op}(): {name} dtype {tensor.dtype} does not match the input dtype {self.dtype}"
            )
    # As a square matrix: Q has as many columns as rows, whatever the number of reflections.
    whole = ops.constant_pad_nd(ops.narrow(self, -1, 0, count), (0, rows - count), 0)
    q = ops.linalg_householder_product(whole, input2)
    q = adjoint(q) if transpose else q
    return ops.matmul(q, input3) if left else ops.matmul(input3, q)


# --- LU --------------------------------------------------------------------------------------------------------


@composite("lu")
def lu(self: Tensor, pivot: bool, get_infos: bool, out: Any) -> tuple[Any, ...]:
    if out is not None:
        raise ArgumentError("lu", "out is not supported: linalg.lu_factor and linalg.lu_factor_ex take it")
    warn_user("lu() is deprecated: see linalg.lu_factor and linalg.lu_factor_ex")
    result = ops.linalg_lu_factor_ex(self, pivot=pivot, check_errors=not get_infos)
    return tuple(result) if get_infos else tuple(result[:2])


@composite("lu_solve")
def lu_solve(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    warn_user("lu_solve() is deprecated: see linalg.lu_solve")
    return ops.linalg_lu_solve(LU_data, LU_pivots, self)


# --- LDL -------------------------------------------------------------------------------------------------------

ALPHA: Final = (1 + math.sqrt(17)) / 8
"""Bunch's and Kaufman's bound of how small a pivot may be."""


def _size(x: Tensor) -> Tensor:
    """Return LAPACK's measure of how large a number is."""
    return ops.add(ops.abs(ops.real(x)), ops.abs(ops.imag(x))) if x.dtype.is_complex else ops.abs(x)


def _largest(x: Tensor) -> tuple[float, int]:
    """Return the size and the place of the largest element of a vector; 0 if it has none."""
    if not x.shape[0]:
        return 0.0, 0
    size = _size(x)
    at = int(ops.argmax(size).item())
    return float(ops.select(size, 0, at).item()), at


def _swapped(s: Tensor, one: int, other: int) -> Tensor:
    """Return a matrix with two rows and the same two columns exchanged."""
    order = [*range(s.shape[0])]
    order[one], order[other] = order[other], order[one]
    for dim in (0, 1):
        s = ops.cat([ops.slice(s, dim, i, i + 1, 1) for i in order], dim)
    return s


def _choice(s: Tensor) -> tuple[int, int]:
    """Return which row comes to the front of the rest, and how many rows the pivot has; 0 where all is zero."""
    size = float(_size(ops.select(ops.select(s, 0, 0), 0, 0)).item())
    column, at = _largest(ops.select(ops.slice(s, 0, 1, s.shape[0], 1), 1, 0))
    if max(size, column) == 0 or math.isnan(size):
        return 0, 0
    at += 1
    # Bunch's and Kaufman's tests: keep the diagonal element unless others would make the factors grow.
    if size >= ALPHA * column:
        return 0, 1
    row = ops.select(s, 0, at)
    others = [ops.slice(row, 0, 0, at, 1), ops.slice(row, 0, at + 1, s.shape[0], 1)]
    most = _largest(ops.cat(others))[0]
    if size >= ALPHA * column * (column / most):
        return 0, 1
    if float(_size(ops.select(row, 0, at)).item()) >= ALPHA * most:
        return at, 1
    return at, 2


def _ldl(matrix: Tensor, hermitian: bool) -> tuple[Any, list[int], int]:
    """Return L and D in one matrix, LAPACK's pivots, and the first column without a pivot, from 1, or 0."""
    n = matrix.shape[0]
    low = ops.tril(matrix, -1)
    diagonal = ops.diagonal(matrix)
    if hermitian and matrix.dtype.is_complex:
        # A Hermitian matrix has a real diagonal, and LAPACK does not look at imaginary parts.
        diagonal = as_type(ops.real(diagonal), matrix.dtype)
    mirrored = ops.conj(ops.t(low)) if hermitian else ops.t(low)
    rest = ops.add(ops.add(low, mirrored), ops.diag_embed(diagonal))
    columns: list[Any] = []
    pivots: list[int] = []
    info = 0
    while len(columns) < n:
        k = len(columns)
        at, step = _choice(rest)
        if not step:
            # A column of zeros: its pivot is 0, there is nothing to eliminate, and the first such column is reported.
            info, step, zero = info or k + 1, 1, True
        else:
            zero = False
        if at != step - 1:
            rest = _swapped(rest, step - 1, at)
        # LAPACK counts from 1 and marks both columns of a block of two by a negative number.
        pivots += [k + at + 1] if step == 1 else [-(k + at + 1)] * 2
        size = rest.shape[0]
        block = ops.slice(ops.slice(rest, 0, 0, step, 1), 1, 0, step, 1)
        below = ops.slice(ops.slice(rest, 0, step, size, 1), 1, 0, step, 1)
        trailing = ops.slice(ops.slice(rest, 0, step, size, 1), 1, step, size, 1)
        factor = below
        if not zero and size > step:
            factor = ops.div.default(below, block) if step == 1 else ops.matmul(below, ops.linalg_inv(block))
            across = ops.conj(ops.t(below)) if hermitian else ops.t(below)
            trailing = ops.sub(trailing, ops.matmul(factor, across))
        pieces = ops.cat([ops.tril(block), factor])
        columns += [ops.constant_pad_nd(ops.select(pieces, 1, i), (k, 0), 0) for i in range(step)]
        rest = trailing
    factors = ops.stack(columns, 1) if columns else ops.clone(matrix)
    return factors, pivots, info


@composite("linalg_ldl_factor_ex")
def ldl_factor_ex(self: Tensor, hermitian: bool, check_errors: bool) -> tuple[Any, Any, Any]:
    check_shapes("linalg_ldl_factor_ex", self)
    batch, n = tuple(self.shape[:-2]), self.shape[-1]
    # Matrix by matrix: the values decide which pivots are blocks of two.
    parts = [_ldl(matrix, hermitian) for matrix in ops.unbind(ops.reshape(self, (math.prod(batch), n, n)), 0)]
    infos = [info for _, _, info in parts]
    if check_errors and any(infos):
        raise LinAlgError(
            f"linalg.ldl_factor_ex(): column {next(i for i in infos if i)} has no pivot: the factor D is singular"
        )

    def integers(values: list[int], shape: tuple[int, ...]) -> Tensor:
        numbers = [ops.full((1,), value, dtype=int32, device=self.device) for value in values]
        return (
            ops.reshape(ops.cat(numbers), shape)
            if numbers
            else ops.empty(shape, dtype=int32, device=self.device)
        )

    factors = ops.stack([factor for factor, _, _ in parts]) if parts and n else ops.clone(self)
    pivots = integers([p for _, each, _ in parts for p in each], (*batch, n))
    return ops.reshape(factors, tuple(self.shape)), pivots, integers(infos, batch)


@composite("linalg_ldl_factor")
def ldl_factor(self: Tensor, hermitian: bool) -> tuple[Any, Any]:
    factors, pivots, info = ops.linalg_ldl_factor_ex(self, hermitian=hermitian)
    if python_value(ops.any(ops.ne(info, 0))):
        raise LinAlgError(
            "linalg.ldl_factor(): the factor D has a zero on its diagonal: the matrix is singular"
        )
    return factors, pivots


def check_pivots(pivots: Sequence[int]) -> None:
    """Raise for what linalg.ldl_factor cannot have returned: LAPACK would exchange rows that are not there."""
    n, k = len(pivots), 0
    while k < n:
        step = 1 if pivots[k] > 0 else 2
        if not 1 <= abs(pivots[k]) <= n or k + step > n or pivots[k + step - 1] != pivots[k]:
            raise PlaceError(
                f"linalg.ldl_solve(): these are not pivots of a matrix with {n} rows: {[*pivots]}\n"
                "  try: the pivots that linalg.ldl_factor returned"
            )
        k += step


def _ldl_solve(factor: Tensor, pivots: list[int], right: Tensor, hermitian: bool) -> Tensor:
    """Solve with one matrix, as LAPACK does, row by row."""
    n = factor.shape[0]
    check_pivots(pivots)
    rows = [*ops.unbind(right, 0)]

    def at(i: int, j: int) -> Tensor:
        return ops.select(ops.select(factor, 0, i), 0, j)

    def turned(value: Tensor) -> Tensor:
        return ops.conj(value) if hermitian else value

    def swap(i: int, j: int) -> None:
        rows[i], rows[j] = rows[j], rows[i]

    k = 0
    while k < n:
        step = 1 if pivots[k] > 0 else 2
        swap(k + step - 1, abs(pivots[k]) - 1)
        for i in range(k + step, n):
            for j in range(k, k + step):
                rows[i] = ops.sub(rows[i], ops.mul(at(i, j), rows[j]))
        if step == 1:
            rows[k] = ops.div.default(rows[k], at(k, k))
        else:
            a, b, d = at(k, k), at(k + 1, k), at(k + 1, k + 1)
            # Divided by the element below the diagonal, as LAPACK does, since it is the largest.
            first, second = ops.div.default(a, turned(b)), ops.div.default(d, b)
            one, two = ops.div.default(rows[k], turned(b)), ops.div.default(rows[k + 1], b)
            determinant = ops.sub(ops.mul(first, second), 1)
            rows[k] = ops.div.default(ops.sub(ops.mul(second, one), two), determinant)
            rows[k + 1] = ops.div.default(ops.sub(ops.mul(first, two), one), determinant)
        k += step
    k = n - 1
    while k >= 0:
        step = 1 if pivots[k] > 0 else 2
        for j in range(k - step + 1, k + 1):
            for i in range(k + 1, n):
                rows[j] = ops.sub(rows[j], ops.mul(turned(at(i, j)), rows[i]))
        swap(k, abs(pivots[k]) - 1)
        k -= step
    return ops.stack(rows, 0)


@composite("linalg_ldl_solve")
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, hermitian: bool) -> Tensor:
    check_shapes("linalg_ldl_solve", LD, pivots, B)
    n, columns = B.shape[-2:]
    batch = tuple(ops.broadcast_shapes(tuple(LD.shape[:-2]), tuple(B.shape[:-2])))
    if not n or not columns or not math.prod(batch):
        return ops.empty((*batch, n, columns), dtype=B.dtype, device=B.device)
    many = math.prod(batch)
    factors = ops.unbind(ops.reshape(ops.expand(LD, (*batch, n, n)), (many, n, n)), 0)
    rows = ops.reshape(ops.expand(as_type(pivots, int64), (*batch, n)), (many, n))
    rights = ops.unbind(ops.reshape(ops.expand(B, (*batch, n, columns)), (many, n, columns)), 0)
    solutions = [
        _ldl_solve(factor, [int(p.item()) for p in ops.unbind(row, 0)], right, hermitian)
        for factor, row, right in zip(factors, ops.unbind(rows, 0), rights, strict=True)
    ]
    return ops.reshape(ops.stack(solutions), (*batch, n, columns))


# --- of low rank -----------------------------------------------------------------------------------------------


def _basis(apply: Product, back: Product, like: Tensor, columns: int, q: int, niter: int) -> Tensor:
    """Return an orthonormal basis of nearly all that a matrix maps to (Halko and others, 2009)."""
    drawn = ops.randn((columns, q), dtype=like.dtype, device=like.device)
    basis = ops.linalg_qr(apply(drawn))[0]
    for _ in range(niter):
        # Made orthonormal after each product, as otherwise all columns turn to the largest singular vector.
        basis = ops.linalg_qr(back(basis))[0]
        basis = ops.linalg_qr(apply(basis))[0]
    return basis


def _products(A: Tensor, M: Tensor | None) -> tuple[Product, Product]:
    """Return the products with A - M and with its adjoint.

    The difference of a sparse matrix and of one that is not would have all elements, so each is multiplied by itself.
    A row M stands for a matrix whose rows are all the same.
    """
    if M is None or A.layout is strided:
        whole = A if M is None else ops.sub(A, M)
        return (lambda x: ops.matmul(whole, x)), (lambda x: ops.matmul(adjoint(whole), x))
    offset = M

    def back(x: Tensor) -> Tensor:
        rows = ops.sum.dim(x, (-2,), True) if offset.shape[-2] < A.shape[-2] else x
        return ops.sub(ops.matmul(adjoint(A), x), ops.matmul(adjoint(offset), rows))

    return (lambda x: ops.sub(ops.matmul(A, x), ops.matmul(offset, x))), back


def _lowrank(A: Tensor, q: int, niter: int, M: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    m, n = A.shape[-2:]
    apply, back = _products(A, M)
    # The adjoint of a wide matrix, so that the random vectors are the shorter ones.
    wide = m < n
    if wide:
        apply, back, n = back, apply, m
    basis = _basis(apply, back, A, n, q, niter)
    # Of the small matrix basis^H A, whose singular values are nearly the largest of A.
    U, S, Vh = ops.linalg_svd(adjoint(back(basis)), False)
    U, V = ops.matmul(basis, U), adjoint(Vh)
    return (V, S, U) if wide else (U, S, V)


@composite("svd_lowrank")
def svd_lowrank(
    A: Tensor, q: int | None, niter: int | None, M: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    if A.ndim < 2:
        raise DimensionCountError(f"svd_lowrank(): expected at least 2 dimensions, got {A.ndim}")
    M = None if M is None else ops.expand(M, tuple(A.shape))
    return _lowrank(A, 6 if q is None else q, 2 if niter is None else niter, M)


@composite("pca_lowrank")
def pca_lowrank(A: Tensor, q: int | None, center: bool, niter: int) -> tuple[Tensor, Tensor, Tensor]:
    if A.ndim < 2:
        raise DimensionCountError(f"pca_lowrank(): expected at least 2 dimensions, got {A.ndim}")
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueRangeError(f"pca_lowrank(): q={q} must be non-negative and not greater than {min(m, n)}")
    if niter < 0:
        raise ValueRangeError(f"pca_lowrank(): niter={niter} must be non-negative")
    if not center:
        mean = None
    elif A.layout is strided:
        mean = ops.mean.dim(A, (-2,), True)
    else:  # by a product, which all layouts have
        mean = adjoint(ops.matmul(adjoint(A), ops.full((m, 1), 1 / m, dtype=A.dtype, device=A.device)))
    return _lowrank(A, q, niter, mean)


composite("orgqr", lambda self, input2: ops.linalg_householder_product(self, input2))
