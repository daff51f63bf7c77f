"""cupyx.scipy.sparse without a GPU: SciPy's matrices over the fake's arrays, with CuPy's methods."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from tests.backends.cuda.strict_arrays import FACTS, ndarray, plain, signature_of, wrapped

__all__ = ["modules"]

DTYPES: Final = "?fdFD"
"""The characters of the dtypes of cupyx's matrices."""


class Matrix:
    """A matrix of cupyx: three arrays and a shape."""

    kind = ""

    def __init__(self, arg: Any, shape: Any = None, dtype: Any = None, copy: bool = False) -> None:
        if isinstance(arg, scipy.sparse.spmatrix):
            self._host = arg
        else:
            if not all(isinstance(part, ndarray) for part in arg):
                raise TypeError(f"{self.kind}: not arrays of CuPy")
            self._host = getattr(scipy.sparse, self.kind)(
                tuple(part.get() for part in arg), shape=shape, dtype=dtype
            )
        if self._host.dtype.char not in DTYPES:
            raise ValueError("Only bool, float32, float64, complex64 and complex128 are supported")

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._host.shape)

    @property
    def dtype(self) -> Any:
        return self._host.dtype

    @property
    def nnz(self) -> int:
        return int(self._host.nnz)

    @property
    def T(self) -> Matrix:  # noqa: N802 - SciPy's name
        return made(self._host.T)

    @property
    def has_sorted_indices(self) -> bool:
        return bool(self._host.has_sorted_indices)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Matrix):
            return made(self._host @ other._host)
        if not isinstance(other, ndarray):
            raise TypeError(f"{self.kind} @ {type(other)}")
        return wrapped(np.asarray(self._host @ other._host))

    def __add__(self, other: Matrix) -> Matrix:
        return made(self._host + other._host)

    def __sub__(self, other: Matrix) -> Matrix:
        return made(self._host - other._host)

    def __mul__(self, other: Any) -> Any:
        return made(self._host * other) if np.isscalar(other) else self @ other

    def __getattr__(self, name: str) -> Any:
        if name in ("data", "indices", "indptr", "row", "col"):
            return wrapped(getattr(self._host, name))
        text = FACTS["sparse"][self.kind].get(name)
        if text is None:
            raise AttributeError(f"cupyx.scipy.sparse.{self.kind} has no {name!r}")

        def method(*args: Any, **kwargs: Any) -> Any:
            signature_of(text).bind(self, *args, **kwargs)
            if name in ("todia", "tobsr", "todok", "tolil") and self.kind != "csr_matrix":
                raise NotImplementedError(name)
            hosts = [a._host if isinstance(a, Matrix) else plain(a, name) for a in args]
            found = getattr(self._host, name)(*hosts, **kwargs)
            return made(found) if scipy.sparse.issparse(found) else wrapped(np.asarray(found)) if isinstance(
                found, np.ndarray) else found  # fmt: skip

        return method


def made(found: Any) -> Any:
    """Return a matrix of SciPy as one of the fake."""
    return KINDS[f"{found.format}_matrix"](scipy.sparse.csr_matrix(found) if found.format not in ("csr", "csc", "coo")
                                           else found)  # fmt: skip


KINDS: Final = {name: type(name, (Matrix,), {"kind": name}) for name in FACTS["sparse"]}


def spsolve(A: Any, b: Any) -> Any:  # noqa: N803 - SciPy's name
    """Solve a system of equations."""
    if not isinstance(A, Matrix) or not isinstance(b, ndarray):
        raise TypeError("A must be a sparse matrix and b an array of CuPy")
    if A.dtype.char not in "fdFD" or A.dtype != b.dtype:
        raise TypeError("unsupported dtype")
    if b.ndim > 2:
        raise ValueError("b must be 1-dim or 2-dim array")
    return wrapped(np.asarray(scipy.sparse.linalg.spsolve(A._host.tocsc(), b._host)))


def modules() -> tuple[Any, Any]:
    """Return `cupyx.scipy.sparse` and its `linalg`."""
    sparse, linalg = ModuleType("cupyx.scipy.sparse"), ModuleType("cupyx.scipy.sparse.linalg")
    for name, kind in KINDS.items():
        setattr(sparse, name, kind)
    linalg.spsolve = spsolve  # type: ignore[attr-defined]
    return sparse, linalg
