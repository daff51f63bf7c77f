"""A few eigenpairs of a large symmetric matrix: LOBPCG with an orthonormal basis of the space that is searched.

Each step searches the space of the vectors, their preconditioned residuals, and the last step's directions
(Knyazev 2001); the basis is made orthonormal by eigenvectors of its Gram matrix, which lets dependent directions be
dropped (Stathopoulos and Wu 2002).
"""

from __future__ import annotations

from itertools import product
from typing import Any, Final

from tt.core.composites.decomposition import adjoint
from tt.core.composites.helpers import as_type, python_value
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import ArgumentError, ShapeError, ValueRangeError
from tt.core.shapes.decomposition import expect_square, expect_vectors
from tt.core.types.dtype import finfo, int64

composites: Final = CompositeTable()
composite = composites.composite

_ITERATIONS: Final = 1000


@composite("lobpcg")
def lobpcg(
    A: Any, k: int | None, B: Any, X: Any, n: int | None, iK: Any, niter: int | None, tol: float | None,
    largest: bool | None, method: str | None, tracker: Any,
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
    tol = finfo(A.dtype).eps ** 0.5 if tol is None else tol
    niter = _ITERATIONS if niter is None else niter
    start = ops.randn((*batch, m, n), dtype=A.dtype, device=A.device) if X is None else X
    values, vectors = [], []
    for place in product(*map(range, batch)):
        a, b, x, i = (_at(matrix, place) for matrix in (A, B, start, iK))
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


def _at(matrix: Any, place: tuple[int, ...]) -> Any:
    return matrix[place] if matrix is not None and place else matrix


def _check(A: Any, B: Any, X: Any, iK: Any, m: int, k: int, n: int) -> None:
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
        self, A: Any, B: Any, X: Any, iK: Any, k: int, niter: int, tol: float, largest: bool, tracker: Any
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

    def times_b(self, X: Any) -> Any:
        return X if self.B is None else ops.matmul(self.B, X)

    def orthonormal(self, S: Any, before: Any = None) -> Any:
        """Return a basis of the columns of S, B-orthonormal, and orthogonal to the columns of `before`."""
        eps = finfo(S.dtype).eps
        for _ in range(3):  # each time repairs what rounding left
            if before is not None:
                S = ops.sub(S, ops.matmul(before, ops.matmul(adjoint(before), self.times_b(S))))
            gram = ops.matmul(adjoint(S), self.times_b(S))
            scale = ops.rsqrt(ops.clamp(ops.diagonal(gram, 0, -2, -1), finfo(S.dtype).tiny, None))
            gram = ops.mul(ops.mul(gram, ops.unsqueeze(scale, -1)), ops.unsqueeze(scale, -2))
            values, vectors = ops.linalg_eigh(gram)
            kept = int(python_value(ops.sum.default(ops.gt(values, values.shape[-1] * eps))))
            if not kept:
                return S[:, :0]
            values, vectors = values[-kept:], vectors[:, -kept:]
            S = ops.matmul(ops.mul(S, ops.unsqueeze(scale, -2)), ops.mul(vectors, ops.rsqrt(values)))
        return S

    def ritz(self, S: Any) -> tuple[Any, Any]:
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
        place = ops.argmax(ops.abs(self.X), 0, True)
        self.X = ops.mul(self.X, ops.sign(ops.gather(self.X, 0, place)))

    def track(self) -> None:
        if self.tracker is not None:
            self.tracker(self)
