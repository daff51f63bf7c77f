"""Special functions: SciPy's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from tt.backends.cpu.selection import select
from tt.core.library import KernelTable, errors

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")


def scipy_function(name: str) -> Callable[[Any], Any]:
    """Return a kernel that calls a function of scipy.special, which is imported only when it is needed."""

    def kernel(self: Any) -> Any:
        from scipy import special

        return getattr(special, name)(self)

    return kernel


for _op, _name in {
    "erfinv": "erfinv", "digamma": "psi", "i0": "i0",
    "special_entr": "entr", "special_i0e": "i0e", "special_i1": "i1", "special_i1e": "i1e",
    "special_bessel_j0": "j0", "special_bessel_j1": "j1", "special_bessel_y0": "y0", "special_bessel_y1": "y1",
    "special_modified_bessel_i0": "i0", "special_modified_bessel_i1": "i1",
    "special_modified_bessel_k0": "k0", "special_modified_bessel_k1": "k1",
    "special_scaled_modified_bessel_k0": "k0e", "special_scaled_modified_bessel_k1": "k1e",
    "special_ndtri": "ndtri", "special_log_ndtr": "log_ndtr", "special_erfcx": "erfcx",
}.items():  # fmt: skip
    cpu.kernel(_op, scipy_function(_name), dtypes="floating", by="SciPy")


@cpu.kernel("igamma", dtypes="floating", by="SciPy")
def igamma(self: Any, other: Any) -> Any:
    from scipy import special

    return special.gammainc(self, other)


@cpu.kernel("igammac", dtypes="floating", by="SciPy")
def igammac(self: Any, other: Any) -> Any:
    from scipy import special

    return special.gammaincc(self, other)


@cpu.kernel("special_zeta", dtypes="floating", by="SciPy")
def zeta(self: Any, other: Any) -> Any:
    from scipy import special

    return special.zeta(self, other)


@cpu.kernel("special_airy_ai", dtypes="floating", by="SciPy")
def airy_ai(self: Any) -> Any:
    from scipy import special

    found = np.where(np.isfinite(self) & (self > 1000), 0, special.airy(self)[0])  # SciPy's is NaN there
    far = np.isfinite(self) & (self < -1e6)  # and here, where two terms of the expansion have all digits
    if far.any():
        found = np.where(far, _airy_far_below(np.where(far, self, -1e6).astype(np.float64)), found)
    return found.astype(self.dtype, copy=False)


def _airy_far_below(x: Any) -> Any:
    """Return Ai of large negative numbers (NIST Handbook of Mathematical Functions, 9.7.9)."""
    far = np.minimum(-x, 1e25)  # no digit of the phase is left, and the power of larger numbers may overflow
    zeta = 2 / 3 * far * np.sqrt(far)
    wave = np.cos(zeta - np.pi / 4) + 5 / 72 * np.sin(zeta - np.pi / 4) / zeta
    return wave / (np.sqrt(np.pi) * np.sqrt(np.sqrt(-x)))


# --- error functions -------------------------------------------------------------------------------------------

ERFCX: Final = (
    1.23299512, -0.139621086, 0.0153797687, 0.0680961749, -0.101040941, 0.0937402055, -0.0663190441,
    0.0371404587, -0.016230392, 0.00508226958, -0.000709132787, -0.00024843673, 0.000114208173,
)  # fmt: skip
"""Of (1 + 2x) exp(x^2) erfc(x) for x >= 0 in powers of (x - 4) / (x + 4), to the last digit of float32."""
BLOCK: Final = 1 << 15
"""Elements that stay in a processor's cache through all steps."""


@cpu.kernel("erfc", dtypes="floating")
def erfc(self: Any) -> Any:
    if self.dtype != np.float32:
        from scipy import special

        return special.erfc(self)
    packed = np.array(self, order="K")  # an array where NumPy hands over a number
    flat = packed.ravel("K")
    for start in range(0, flat.size, BLOCK):
        tail = flat[start : start + BLOCK]
        _erfc_of_single(tail.copy(), tail)  # the signs are read at the end
    return packed


def _erfc_of_single(x: Any, tail: Any) -> None:
    """Write erfc of float32 into `tail`, ten times as fast as SciPy."""
    size = np.abs(x)
    np.minimum(size, 12, out=size)
    t, scratch = size - 4, size + 4
    t /= scratch
    np.multiply(t, ERFCX[-1], out=tail)
    for coefficient in ERFCX[-2:0:-1]:
        tail += coefficient
        tail *= t
    tail += ERFCX[0]
    np.multiply(size, 2, out=scratch)
    scratch += 1
    tail /= scratch
    # A short number has an exact square; the remainder goes into a second factor.
    short = np.floor(np.multiply(size, 16, out=t), out=t)
    short *= 1 / 16
    np.subtract(short, size, out=scratch)
    size += short
    scratch *= size
    tail *= np.exp(scratch, out=scratch)
    np.multiply(short, short, out=short)
    tail *= np.exp(np.negative(short, out=short), out=short)
    # 2 less the tail for negative numbers.
    sign = np.copysign(np.float32(1), x)
    tail *= sign
    tail += np.subtract(1, sign, out=sign)


@cpu.kernel("special_ndtr", dtypes="floating")
def ndtr(self: Any) -> Any:
    return 0.5 * erfc(self * -math.sqrt(0.5))


# --- the gamma function ----------------------------------------------------------------------------------------


@cpu.kernel("lgamma", dtypes="floating", by="SciPy")
def lgamma(self: Any) -> Any:
    from scipy import special

    result = np.asarray(special.gammaln(self))
    if self.dtype == np.float64:
        if (near := np.abs(self - 1.5) < 0.75).any():
            result[near] = _near_zeros(self[near])
        if (tiny := (np.abs(self) < 1e-300) & (self != 0)).any():  # of which SciPy takes the reciprocal
            result[tiny] = -np.log(np.abs(self[tiny]))
    return np.abs(result, out=result, where=np.isneginf(self))


@cache
def _slopes() -> Any:
    """Return the coefficients of lgamma(2 + z) / z, highest first; the one of z^n is (zeta(n + 1) - 1) / (n + 1)."""
    from scipy import special

    n = np.arange(30, 1, -1)
    return np.append((-1.0) ** n * special.zetac(n) / n, 1 - np.euler_gamma)


def _near_zeros(x: Any) -> Any:
    """Return lgamma of numbers about its zeros, 1 and 2, by its series there, as SciPy loses digits."""
    first = x < 1.5
    z = np.where(first, x - 1.0, x - 2.0)
    return z * np.polyval(_slopes(), z) - np.where(first, np.log1p(z), 0)


@cpu.kernel("polygamma", dtypes="floating", by="SciPy")
def polygamma(n: int, self: Any) -> Any:
    from scipy import special

    if n < 0:
        raise errors.ValueRangeError(f"polygamma(): polygamma(n, x) does not support negative n, got {n}")
    return special.polygamma(np.int64(n), self).astype(self.dtype, copy=False)


@cpu.kernel("logit", dtypes="floating")
def logit(self: Any, eps: float | None) -> Any:
    x = self if eps is None or eps < 0 else np.clip(self, eps, 1 - eps)
    rest = 1 - x
    # Near 1/2, where the quotient is close to 1, by its distance from 1.
    middle = np.log1p((x - 0.5) * 2 / rest)
    return select(np.abs(x - 0.5) < 0.25, middle, np.log(x) - np.log1p(-x))
