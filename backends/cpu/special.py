"""Special functions: SciPy's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from tt.core.library import KernelTable, errors

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")


def scipy_function(name: str) -> Callable[[Any], Any]:
    """Return a kernel that calls a function of scipy.special, which is imported only when it is needed."""

    def kernel(self: Any) -> Any:
        from scipy import special

        return getattr(special, name)(self)

    return kernel


for _op, _name in {
    "erfc": "erfc", "erfinv": "erfinv", "digamma": "psi", "i0": "i0",
    "special_entr": "entr", "special_i0e": "i0e", "special_i1": "i1", "special_i1e": "i1e",
    "special_ndtr": "ndtr", "special_ndtri": "ndtri", "special_log_ndtr": "log_ndtr", "special_erfcx": "erfcx",
}.items():  # fmt: skip
    cpu.kernel(_op, scipy_function(_name), dtypes="floating")


@cpu.kernel("lgamma", dtypes="floating")
def lgamma(self: Any) -> Any:
    from scipy import special

    result = np.asarray(special.gammaln(self))
    near = np.abs(self - 1.5) < 0.75
    if near.any():
        result[near] = _near_zeros(self[near]).astype(self.dtype, copy=False)
    return np.abs(result, out=result, where=np.isneginf(self))


@cache
def _slopes() -> Any:
    """Return the coefficients of lgamma(2 + z) / z, the highest first; those of z^n are (zeta(n + 1) - 1) / (n + 1)."""
    from scipy import special

    n = np.arange(30, 1, -1)
    return np.append((-1.0) ** n * special.zetac(n) / n, 1 - np.euler_gamma)


def _near_zeros(x: Any) -> Any:
    """Return lgamma of numbers about its zeros, 1 and 2, by its series there, as SciPy loses digits."""
    first = x < 1.5
    z = np.where(first, x - 1.0, x - 2.0)
    return z * np.polyval(_slopes(), z) - np.where(first, np.log1p(z), 0)


@cpu.kernel("polygamma", dtypes="floating")
def polygamma(n: int, self: Any) -> Any:
    from scipy import special

    if n < 0:
        raise errors.ValueRangeError(f"polygamma(): polygamma(n, x) does not support negative n, got {n}")
    return special.polygamma(n, self).astype(self.dtype, copy=False)


@cpu.kernel("logit", dtypes="floating")
def logit(self: Any, eps: float | None) -> Any:
    from scipy import special

    return special.logit(self if eps is None or eps < 0 else np.clip(self, eps, 1 - eps))
