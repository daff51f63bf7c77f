"""Special functions, element by element: which functor of `special.cuh` serves an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.pointwise.arithmetic import FLOATING, Pointwise
from tt.backends.cuda.runtime.device_asserts import POLYNOMIALS, kind_of
from tt.core.library import KernelTable, Scalar

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["FAMILIES", "ONE", "TWO", "tables"]

ONE: Final = {
    "erfinv": "Erfinv", "special_erfcx": "Erfcx", "special_ndtr": "Ndtr", "special_ndtri": "Ndtri",
    "special_log_ndtr": "LogNdtr", "digamma": "Digamma", "i0": "I0", "special_i0e": "I0e", "special_i1": "I1",
    "special_i1e": "I1e", "special_bessel_j0": "BesselJ0", "special_bessel_j1": "BesselJ1",
    "special_bessel_y0": "BesselY0", "special_bessel_y1": "BesselY1", "special_spherical_bessel_j0": "SphericalJ0",
    "special_modified_bessel_i0": "I0", "special_modified_bessel_i1": "I1", "special_modified_bessel_k0": "K0",
    "special_modified_bessel_k1": "K1", "special_scaled_modified_bessel_k0": "ScaledK0",
    "special_scaled_modified_bessel_k1": "ScaledK1", "special_airy_ai": "AiryAi", "special_entr": "Entropy",
}  # fmt: skip
TWO: Final = {"special_zeta": "Zeta", "igamma": "Igamma", "igammac": "Igammac"}
FAMILIES: Final = {
    "chebyshev_polynomial_t": "PolynomialT", "chebyshev_polynomial_u": "PolynomialU",
    "chebyshev_polynomial_v": "PolynomialV", "chebyshev_polynomial_w": "PolynomialW",
    "shifted_chebyshev_polynomial_t": "ShiftedT", "shifted_chebyshev_polynomial_u": "ShiftedU",
    "shifted_chebyshev_polynomial_v": "ShiftedV", "shifted_chebyshev_polynomial_w": "ShiftedW",
    "hermite_polynomial_h": "PolynomialH", "hermite_polynomial_he": "PolynomialHe",
    "laguerre_polynomial_l": "PolynomialL", "legendre_polynomial_p": "PolynomialP",
}  # fmt: skip
"""Polynomials, whose degree is the second operand."""


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family; nothing is compiled."""
    pointwise = Pointwise(backend)
    pointwise.serve_one({op: f"special::{name}" for op, name in ONE.items()}, FLOATING)
    pointwise.serve_two({op: f"special::{name}" for op, name in TWO.items()}, FLOATING)
    for name in POLYNOMIALS:
        pointwise.serve(name, ("x", "n"), _polynomial(pointwise, name), FLOATING)

    def polygamma(n: int, self: StridedHandle, out: StridedHandle | None = None) -> StridedHandle:
        if n < 0:
            raise ValueError("a negative order, which the shape rule refuses")
        if n == 0:
            return pointwise.one("special::Digamma", self, out=out)
        return pointwise.one("special::Polygamma", self, (float(n),), out=out)

    def logit(self: StridedHandle, eps: float | None, out: StridedHandle | None = None) -> StridedHandle:
        # As in PyTorch, a negative eps means none.
        if eps is None or eps < 0:
            return pointwise.one("special::Logit", self, out=out)
        return pointwise.one("special::LogitWithin", self, (float(eps), 1.0 - eps), out=out)

    pointwise.serve("polygamma", ("n", "self"), polygamma, FLOATING)
    pointwise.serve("logit", ("self", "eps"), logit, FLOATING)
    return [pointwise.table]


def _polynomial(pointwise: Pointwise, op: str) -> Any:
    functor, failures = f"special::{FAMILIES[op.removeprefix('special_')]}", pointwise.backend.failures

    def function(
        x: StridedHandle | Scalar, n: StridedHandle | Scalar, out: StridedHandle | None = None
    ) -> StridedHandle:
        result = pointwise.two(functor, x, n, (0, kind_of(op), failures.address), out=out)
        failures.launched()
        return result

    return function
