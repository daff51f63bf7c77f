"""Formulas of decompositions and of what solves equations.  g is the gradient of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import Tensor, errors, ops
from tt.plugins.autograd.formulas.helpers import any_true, conj
from tt.plugins.autograd.formulas.linalg import adjoint, pinv_A
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

# --- singular values --------------------------------------------------------------------------------------------


def svd_A(gs: Sequence[Tensor | None], A_shape: Sequence[int], U: Tensor, S: Tensor, Vh: Tensor) -> Tensor:
    """The gradient of A = U diag(S) Vh.

    With skew(X) = X - X^H and E[j, k] = S[k]^2 - S[j]^2 (1 on the diagonal):

        gA = U [skew(U^H gU) / E S + S skew(V^H gV) / E + diag(gS)] Vh + the parts of gU and gV outside of U and V

    where skew counts off the diagonal; complex vectors add i Im diag(U^H gU) / S on it.

    See J. Townsend, "Differentiating the Singular Value Decomposition" (2016).  It exists where the singular values
    differ and, for gU and gVh, are not zero; a loss must not depend on the phase of the singular vectors.
    """
    gU, gS, gVh = gs
    k = S.shape[-1]
    if not k:
        return ops.zeros(A_shape, dtype=U.dtype, device=U.device)
    # In full matrices only the first k vectors count: the others are an arbitrary basis of the complement.
    U, gU = _first(U, k, -1), None if gU is None else _first(gU, k, -1)
    Vh, gVh = _first(Vh, k, -2), None if gVh is None else _first(gVh, k, -2)
    eye = ops.eye(k, dtype=S.dtype, device=S.device)
    inner: Any = None if gS is None else ops.unsqueeze(gS, -1) * eye
    if gU is not None or gVh is not None:
        squares = S * S
        # The ones of `eye` keep the diagonal from a division by zero; the numerator is zero there.
        E = ops.unsqueeze(squares, -2) - ops.unsqueeze(squares, -1) + eye
        if gU is not None:
            product = ops.matmul(adjoint(U), gU)
            inner = _plus(inner, (product - adjoint(product)) * (1 - eye) / E * ops.unsqueeze(S, -2))
        if gVh is not None:
            product = ops.matmul(Vh, adjoint(gVh))
            inner = _plus(inner, ops.unsqueeze(S, -1) * ((product - adjoint(product)) * (1 - eye) / E))
        if U.dtype.is_complex:
            check_phase("svd", _turned(gU, U, -2), _turned(gVh, Vh, -1))
            inner = inner + ops.unsqueeze(_phase(gU, gVh, U, Vh) / S, -1) * eye * 1j
    gA = ops.matmul(ops.matmul(U, inner.to(U.dtype)), Vh)
    # A square U spans the whole space: nothing lies outside.
    if gU is not None and U.shape[-2] > k:
        outside = gU / ops.unsqueeze(S, -2).to(U.dtype)
        gA = gA + ops.matmul(outside - ops.matmul(U, ops.matmul(adjoint(U), outside)), Vh)
    if gVh is not None and Vh.shape[-1] > k:
        outside = gVh / ops.unsqueeze(S, -1).to(U.dtype)
        gA = gA + ops.matmul(U, outside - ops.matmul(ops.matmul(outside, adjoint(Vh)), Vh))
    return gA


def _phase(gU: Any, gVh: Any, U: Any, Vh: Any) -> Any:
    """Return how the loss turns with the phase of the vectors: by U as by Vh, so that the mean of both is linear."""
    parts = [part for part in (_turned(gU, U, -2), _turned(gVh, Vh, -1)) if part is not None]
    return (parts[0] + parts[1] if len(parts) == 2 else parts[0]) / 2


def _turned(g: Tensor | None, vectors: Any, dim: int) -> Any:
    """Return how the loss turns with the phase of vectors, or None if it does not look at them."""
    return None if g is None else ops.imag(ops.sum.dim(conj(vectors) * g, (dim,)))


def check_phase(name: str, *turned: Any) -> None:
    """Raise for a loss that depends on the phase of complex vectors, which is anybody's choice.

    The parts of vectors that turn together, such as those of U and Vh, may cancel.
    """
    parts = [part for part in turned if part is not None]
    if not parts:
        return
    total = parts[0]
    for part in parts[1:]:
        total = total - part
    # PyTorch's absolute tolerance: what rounding leaves stays below it.
    if any_true(ops.abs(ops.detach(total)) > 1e-2):
        raise errors.GradientError(
            f"{name}_backward: the phase of complex singular vectors or eigenvectors is not determined, and the loss "
            "depends on it; its gradient does not exist\n"
            f"  try: a loss of what does not change when a vector is multiplied by exp(i phi), such as its abs()"
        )


def _first(a: Tensor, k: int, dim: int) -> Tensor:
    return a if a.shape[dim] == k else ops.narrow(a, dim, 0, k)


def _plus(a: Tensor | None, b: Tensor) -> Tensor:
    return b if a is None else a + b


d.of("linalg_svd", A=svd_A)
# The vectors, which the gradient needs, are computed again.
d.of("linalg_svdvals", A=lambda g, A: values_A(g, A))


def values_A(g: Tensor, A: Tensor) -> Tensor:
    """U diag(g) Vh."""
    U, _, Vh = ops.linalg_svd(A, False)
    return ops.matmul(U * ops.unsqueeze(g, -2).to(U.dtype), Vh)


# --- eigenvalues -----------------------------------------------------------------------------------------------


def eigh_A(gs: Sequence[Tensor | None], eigenvalues: Tensor, eigenvectors: Tensor) -> Tensor:
    """V [diag(gL) + skew(V^H gV) / E] V^H with E[j, k] = L[k] - L[j] off the diagonal: Hermitian, as A is."""
    gL, gV = gs
    V, L = eigenvectors, eigenvalues
    eye = ops.eye(L.shape[-1], dtype=L.dtype, device=L.device)
    inner: Any = None if gL is None else ops.unsqueeze(gL, -1) * eye
    if gV is not None:
        product = ops.matmul(adjoint(V), gV)
        if V.dtype.is_complex:
            check_phase("linalg_eigh", ops.imag(ops.diagonal(product, 0, -2, -1)))
        E = ops.unsqueeze(L, -2) - ops.unsqueeze(L, -1) + eye
        # Half of the skew part: of a Hermitian A each pair of elements is one variable.
        inner = _plus(inner, (product - adjoint(product)) * 0.5 * (1 - eye) / E)
    return ops.matmul(ops.matmul(V, inner.to(V.dtype)), adjoint(V))


def eig_A(gs: Sequence[Tensor | None], eigenvalues: Tensor, eigenvectors: Tensor) -> Tensor:
    """V^-H [diag(gL) + (V^H gV - V^H V diag(Re V^H gV)) / E^*] V^H; the vectors have norm 1."""
    gL, gV = gs
    V, L = eigenvectors, eigenvalues
    eye = ops.eye(L.shape[-1], dtype=V.dtype, device=V.device)
    inner: Any = None if gL is None else ops.unsqueeze(gL, -1) * eye
    if gV is not None:
        product = ops.matmul(adjoint(V), gV)
        along = ops.diagonal(product, 0, -2, -1)
        check_phase("linalg_eig", ops.imag(along))
        across = product - ops.matmul(adjoint(V), V * ops.unsqueeze(ops.real(along), -2).to(V.dtype))
        E = ops.unsqueeze(L, -2) - ops.unsqueeze(L, -1)
        inner = _plus(inner, across * (1 - eye) / (conj(E) + eye))
    # A solution, as V is not unitary: only normal matrices have orthogonal eigenvectors.
    return ops.linalg_solve(adjoint(V), ops.matmul(inner, adjoint(V)))


d.of("linalg_eigh", A=eigh_A)
d.of("linalg_eig", A=eig_A)
d.of("linalg_eigvalsh", A=lambda g, A, UPLO: eigh_A((g, None), *ops.linalg_eigh(A, UPLO)))
d.of("linalg_eigvals", A=lambda g, A: eig_A((g, None), *ops.linalg_eig(A)))


def lobpcg_A(
    gs: Sequence[Tensor | None],
    A: Tensor,
    B: Tensor | None,
    largest: bool | None,
    eigenvalues: Tensor,
    eigenvectors: Tensor,
) -> Any:
    """V diag(gL) V^T + (pseudoinverse of l - A) gV V^T for each pair; the pseudoinverse by all eigenpairs."""
    if B is not None:
        raise errors.GradientError("lobpcg(): the gradient with B is not implemented\n  try: tt.linalg.eigh")
    gL, gV = gs
    V, k = eigenvectors, eigenvalues.shape[-1]
    grad: Any = None if gL is None else ops.matmul(V * ops.unsqueeze(gL, -2), adjoint(V))
    if gV is not None:
        # All pairs, in O(n^3): the pseudoinverse needs those that the iteration did not look for.
        L, U = ops.linalg_eigh((A + adjoint(A)) / 2)
        if largest is None or largest:
            L, U = ops.flip(L, (-1,)), ops.flip(U, (-1,))
        own = ops.eye(L.shape[-1], k, dtype=V.dtype, device=V.device)
        apart = ops.unsqueeze(L[..., :k], -2) - ops.unsqueeze(L, -1) + own
        # The eigenvectors of A may have other signs than those that were found.
        along = ops.matmul(adjoint(U), gV) * (1 - own) / apart
        grad = _plus(grad, ops.matmul(ops.matmul(U, along), adjoint(V)))
    # A is symmetric, so only the symmetric part of the gradient says something.
    return (grad + adjoint(grad)) / 2


d.of("lobpcg", A=lobpcg_A)

# --- QR, Cholesky, LU ------------------------------------------------------------------------------------------


def qr_A(gs: Sequence[Tensor | None], A: Tensor, Q: Tensor, R: Tensor, mode: str) -> Tensor:
    """[gQ + Q sym(triu(gR R^H - Q^H gQ))] R^-H for A of at least as many rows as columns.

    Of a wide A = [A1 A2], R = [R1 R2], only A1 decides Q: what R2 = Q^H A2 adds to the gradient of Q is A2 gR2^H.
    """
    gQ, gR = gs
    m, n = A.shape[-2:]
    if mode == "r":
        raise errors.GradientError(
            "linalg_qr_backward: the derivative of linalg.qr depends on Q, which is not computed when mode='r'\n"
            "  try: mode='reduced'"
        )
    if mode == "complete" and m > n:
        raise errors.GradientError(
            "linalg_qr_backward: the QR decomposition is not differentiable when mode='complete' and nrows > ncols, "
            "as the further columns of Q are any basis\n  try: mode='reduced'"
        )
    if gQ is None:
        gQ = ops.zeros_like(Q)
    if gR is None:
        gR = ops.zeros_like(R)
    if m >= n:
        return _qr_tall(gQ, gR, Q, R)
    right, gright = ops.narrow(A, -1, m, n - m), ops.narrow(gR, -1, m, n - m)
    left = _qr_tall(
        gQ + ops.matmul(right, adjoint(gright)), ops.narrow(gR, -1, 0, m), Q, ops.narrow(R, -1, 0, m)
    )
    return ops.cat([left, ops.matmul(Q, gright)], -1)


def _qr_tall(gQ: Tensor, gR: Tensor, Q: Tensor, R: Tensor) -> Tensor:
    inner = ops.triu(ops.matmul(gR, adjoint(R)) - ops.matmul(adjoint(Q), gQ))
    # The lower triangle mirrors the upper one: Q^H dQ is skew, which leaves half of the elements free.
    both = inner + adjoint(ops.triu(inner, 1))
    if both.dtype.is_complex:  # the diagonal of R is real
        eye = ops.eye(R.shape[-1], dtype=both.dtype, device=both.device)
        both = both - ops.imag(both).to(both.dtype) * eye * 1j
    return ops.linalg_solve_triangular(adjoint(R), gQ + ops.matmul(Q, both), upper=False, left=False)


def cholesky_A(g: Tensor, L: Tensor, upper: bool) -> Tensor:
    """L^-H (S + S^H) / 2 L^-1 with S = tril(L^H gL), its diagonal halved."""
    if upper:
        g, L = adjoint(g), adjoint(L)
    inner = ops.tril(ops.matmul(adjoint(L), g))
    both = (inner + adjoint(ops.tril(inner, -1))) * 0.5
    left = ops.linalg_solve_triangular(adjoint(L), both, upper=True)
    return ops.linalg_solve_triangular(L, left, upper=False, left=False)


def lu_A(g: Tensor, LU: Tensor, pivots: Tensor) -> Tensor:
    """P L^-H [tril(L^H gL, -1) + triu(gU U^H)] U^-H for a square A.

    The rows below the square of a tall A, and the columns right of that of a wide A, follow from the square; so they
    add to the gradient of the square's factors.
    """
    m, n = LU.shape[-2:]
    k = min(m, n)
    # Pivots are constant between exchanges of rows, so P is a constant of the derivative.
    P = ops.lu_unpack(LU, pivots, False, True)[0]
    gL, gU = ops.tril(ops.narrow(g, -1, 0, k), -1), ops.triu(ops.narrow(g, -2, 0, k))
    square = ops.narrow(ops.narrow(LU, -2, 0, k), -1, 0, k)
    L = ops.tril(square, -1) + ops.eye(k, dtype=LU.dtype, device=LU.device)
    U = ops.triu(square)
    gL1, gU1, more = ops.narrow(gL, -2, 0, k), ops.narrow(gU, -1, 0, k), None
    inner = ops.tril(ops.matmul(adjoint(L), gL1), -1) + ops.triu(ops.matmul(gU1, adjoint(U)))
    if m > n:
        low, glow = ops.narrow(LU, -2, k, m - k), ops.narrow(gL, -2, k, m - k)
        inner = inner - ops.triu(ops.matmul(adjoint(low), glow))
        more = ops.linalg_solve_triangular(adjoint(U), glow, upper=False, left=False)
    elif n > m:
        right, gright = ops.narrow(LU, -1, k, n - k), ops.narrow(gU, -1, k, n - k)
        inner = inner - ops.tril(ops.matmul(gright, adjoint(right)), -1)
        more = ops.linalg_solve_triangular(adjoint(L), gright, upper=True, unitriangular=True)
    inner = ops.linalg_solve_triangular(adjoint(L), inner, upper=True, unitriangular=True)
    inner = ops.linalg_solve_triangular(adjoint(U), inner, upper=False, left=False)
    if more is not None:
        inner = ops.cat([inner, more], -2 if m > n else -1)
    return ops.matmul(P, inner)


d.of("linalg_qr", A=qr_A)
d.of("linalg_cholesky_ex", A=lambda g, L, upper: cholesky_A(g, L, upper))
d.of("linalg_cholesky", A=lambda g, result, upper: cholesky_A(g, result, upper))
d.of("linalg_lu_factor_ex", A=lu_A)

# --- equations -------------------------------------------------------------------------------------------------


def solve_A(g: Tensor, A: Tensor, B_shape: Sequence[int], result: Tensor, left: bool) -> Any:
    """-(A^-H g) X^H."""
    vector = len(B_shape) == 1 or (A.ndim - 1 == len(B_shape) and tuple(B_shape) == tuple(A.shape[:-1]))
    if vector:
        return -ops.unsqueeze(ops.linalg_solve(adjoint(A), g), -1) * conj(ops.unsqueeze(result, -2))
    gB = ops.linalg_solve(adjoint(A), g, left=left)
    return -ops.matmul(gB, adjoint(result)) if left else -ops.matmul(adjoint(result), gB)


def triangular_A(
    g: Tensor, A: Tensor, result: Tensor, upper: bool, left: bool, unitriangular: bool
) -> Tensor:
    """-(A^-H g) X^H in the triangle that is read."""
    # The adjoint of an upper triangle is a lower one.
    gB = ops.linalg_solve_triangular(adjoint(A), g, upper=not upper, left=left, unitriangular=unitriangular)
    full = -ops.matmul(gB, adjoint(result)) if left else -ops.matmul(adjoint(result), gB)
    # A diagonal of ones is not read, so it gets no gradient.
    return ops.triu(full, int(unitriangular)) if upper else ops.tril(full, -int(unitriangular))


d.of("linalg_inv", A=lambda g, result: -ops.matmul(ops.matmul(adjoint(result), g), adjoint(result)))
d.of("linalg_solve", A=solve_A, B=lambda g, A, left: ops.linalg_solve(adjoint(A), g, left=left))
d.of("linalg_solve_triangular", A=triangular_A,
     B=lambda g, A, upper, left, unitriangular: ops.linalg_solve_triangular(
         adjoint(A), g, upper=not upper, left=left, unitriangular=unitriangular))  # fmt: skip


def lstsq_parts(
    gs: Sequence[Tensor | None], A: Tensor, B: Tensor, solution: Tensor
) -> tuple[Any, Any, Any, bool]:
    """Return the gradients of solution and residuals, the distance, and whether the right-hand sides are vectors."""
    vector = A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1])
    gX, gr = gs[0], gs[1]
    if vector:
        gX = None if gX is None else ops.unsqueeze(gX, -1)
        B, solution = ops.unsqueeze(B, -1), ops.unsqueeze(solution, -1)
    # Residuals are empty unless A is tall and of full rank.
    if gr is None or not gr.numel():
        return gX, None, None, vector
    distance = ops.matmul(A, solution) - B
    return gX, 2 * ops.unsqueeze(gr, -2) * distance, B, vector


def lstsq_A(gs: Sequence[Tensor | None], A: Tensor, B: Tensor, solution: Tensor) -> Any:
    """The gradient of pinv(A) B; the residuals do not depend on A through the solution, which makes them smallest."""
    gX, gD, _, vector = lstsq_parts(gs, A, B, solution)
    right, X = (ops.unsqueeze(B, -1), ops.unsqueeze(solution, -1)) if vector else (B, solution)
    grad = None
    if gX is not None:
        grad = pinv_A(ops.matmul(gX, adjoint(right)), A, ops.linalg_pinv(A))
    if gD is not None:
        grad = _plus(grad, ops.matmul(gD, adjoint(X)))
    if gs[3] is not None and gs[3].numel():
        grad = _plus(grad, values_A(gs[3], A))
    return grad


def lstsq_B(gs: Sequence[Tensor | None], A: Tensor, B: Tensor, solution: Tensor) -> Any:
    """pinv(A)^H gX, less twice the distance that is left times the gradient of the residuals."""
    gX, gD, _, vector = lstsq_parts(gs, A, B, solution)
    grad = None if gX is None else ops.matmul(adjoint(ops.linalg_pinv(A)), gX)
    if gD is not None:
        grad = _plus(grad, -gD)
    return ops.squeeze.dim(grad, -1) if vector and grad is not None else grad


d.of("linalg_lstsq", A=lstsq_A, B=lstsq_B)

# --- determinants, exponential ---------------------------------------------------------------------------------


def det_A(g: Tensor, A: Tensor, result: Tensor) -> Any:
    """g det(A)^* A^-H; for a singular matrix the conjugate of its matrix of cofactors."""
    factor = ops.unsqueeze(ops.unsqueeze(g, -1), -1)
    eye = ops.eye(A.shape[-1], dtype=A.dtype, device=A.device)
    # Without a zero there is an inverse, and a solution costs a fraction of a singular value decomposition.
    if not any_true(ops.eq(ops.detach(result), 0)):
        return factor * ops.linalg_solve(adjoint(A), conj(ops.unsqueeze(ops.unsqueeze(result, -1), -1)) * eye)
    # With A = U S Vh the cofactors are det(U) det(Vh) U C Vh; C[i, i] is the product of the other singular values.
    U, S, Vh = ops.linalg_svd(A)
    others = ops.prod.dim(ops.unsqueeze(S, -2) * (1 - ops.real(eye)) + ops.real(eye), -1)
    turn = conj(ops.unsqueeze(ops.unsqueeze(ops.linalg_det(U) * ops.linalg_det(Vh), -1), -1))
    return factor * turn * ops.matmul(U * ops.unsqueeze(others, -2).to(U.dtype), Vh)


def slogdet_A(gs: Sequence[Tensor | None], A: Tensor, sign: Tensor) -> Tensor:
    """(g_log + i Im(g_sign sign^*)) A^-H; the sign of a real determinant has no gradient."""
    gsign, glog = gs
    factor: Any = None if glog is None else glog.to(A.dtype)
    if A.dtype.is_complex and gsign is not None:
        factor = _plus(factor, ops.imag(gsign * conj(sign)).to(A.dtype) * 1j)
    if factor is None:
        return ops.zeros_like(A)
    eye = ops.eye(A.shape[-1], dtype=A.dtype, device=A.device)
    return ops.linalg_solve(adjoint(A), ops.unsqueeze(ops.unsqueeze(factor, -1), -1) * eye)


d.of("linalg_det", A=det_A)
d.of("linalg_slogdet", A=slogdet_A)
