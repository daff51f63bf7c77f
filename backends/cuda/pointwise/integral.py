"""Kernels of integers that work element by element: division, powers, shifts, and what rounds nothing.

A division by zero is noted on the device, as an index out of range is, and raises where the host waits next; see
"Indices that are out of range" in docs/design/cuda.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tt.backends.array_api.pointwise import check_rounding
from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.pointwise.arithmetic import Pointwise
from tt.backends.cuda.runtime.device_asserts import kind_of
from tt.core.library import KernelTable, Scalar, errors

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["tables"]

DIVISIONS: Final = {
    "floor_divide": "IntegerFloor", "remainder": "IntegerRemainder", "remainder.Scalar": "IntegerRemainder",
    "fmod": "IntegerFmod",
}  # fmt: skip
SHIFTS: Final = {"bitwise_left_shift": "ShiftLeft", "bitwise_right_shift": "ShiftRight"}
ROUNDED: Final = ("floor", "ceil", "trunc", "round")


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family; nothing is compiled."""
    pointwise = Pointwise(backend)
    for op, functor in DIVISIONS.items():

        def divide(
            self: StridedHandle | Scalar,
            other: StridedHandle | Scalar,
            out: StridedHandle | None = None,
            functor: str = functor,
        ) -> StridedHandle:
            return _divided(pointwise, functor, self, other, out)

        pointwise.serve(op, ("self", "other"), divide, "integral")

    def div_mode(
        self: StridedHandle | Scalar,
        other: StridedHandle | Scalar,
        rounding_mode: str,
        out: StridedHandle | None = None,
    ) -> StridedHandle:
        check_rounding(rounding_mode)
        functor = "IntegerFloor" if rounding_mode == "floor" else "IntegerTrunc"
        return _divided(pointwise, functor, self, other, out)

    pointwise.serve("div.mode", ("self", "other", "rounding_mode"), div_mode, "integral")

    def power(
        self: StridedHandle, exponent: StridedHandle | int, out: StridedHandle | None = None
    ) -> StridedHandle:
        if not isinstance(exponent, StridedHandle):
            if exponent < 0:
                raise errors.DtypeError("pow(): Integers to negative integer powers are not allowed.")
            if exponent == 2:
                return pointwise.one("Square", self, (), None, out)
        return pointwise.two("IntegerPow", self, exponent, (), None, out)

    pointwise.serve("pow", ("self", "exponent"), power, "integral")
    pointwise.serve("pow.Scalar", ("self", "exponent"), power, "integral")
    pointwise.serve_two(SHIFTS, "integral")
    pointwise.serve_two({"gcd": "Gcd", "lcm": "Lcm"}, "integral")
    # Integers are already rounded.
    pointwise.serve_one(dict.fromkeys(ROUNDED, "Copy"), "integral")
    return [pointwise.table]


def _divided(
    pointwise: Pointwise,
    functor: str,
    self: Any,
    other: StridedHandle | Scalar,
    out: StridedHandle | None,
) -> StridedHandle:
    """Divide, and let the device note a divisor that is zero; a number is looked at before."""
    if not isinstance(other, StridedHandle):
        # Known before the launch, so it is refused here; inside a tensor the kernel notes it.
        if other == 0 and 0 not in self.shape:
            raise errors.DivisionByZeroError("ZeroDivisionError: an integer is divided by zero")
        return pointwise.two(functor, self, other, (), None, out)
    failures = pointwise.backend.failures
    result = pointwise.two(functor, self, other, (0, kind_of("div"), failures.address), None, out)
    failures.launched()
    return result
