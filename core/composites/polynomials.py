"""Composites of orthogonal polynomials, by the recurrences that define them."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any, Final

from tt.core.composites.helpers import as_type, floating, number, operand, python_value, widened
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.dispatch.resolve.dtypes import common_dtype
from tt.core.errors import ValueRangeError
from tt.core.tensor.base import TensorBase
from tt.core.types.dtype import float32

composites: Final = CompositeTable()
composite = composites.composite

Step = Callable[[int, Any, Any, Any], Any]
"""The polynomial of degree k + 1 of k, x and those of degree k and k - 1."""


HIGHEST: Final = 1 << 16
"""The highest degree: each takes a step.  PyTorch takes any number of steps, also 2**62."""


def _values(name: str, x: Any, n: Any, second: Callable[[Any], Any], step: Step) -> Any:
    """Return the polynomials of degree n at x: of a negative degree they are 0, of degree 0 they are 1."""
    before, found = ops.ones_like(x), second(x)
    result = ops.where(ops.lt(n, 0), number(0, x), ops.where(ops.eq(n, n), before, number(nan, x)))
    highest = _highest(n)
    if name.startswith("hermite"):  # they overflow, and are NaN from a degree on, as in PyTorch
        limit = 128 if x.dtype is float32 else 512
        result = ops.where(ops.gt(n, limit), number(nan, x), result)
        highest = min(highest, limit)
    if highest > HIGHEST:
        raise ValueRangeError(f"special_{name}(): the degree is {highest:g}, and the highest is {HIGHEST}")
    for k in range(1, int(highest) + 1):
        result = ops.where(ops.eq(n, k), found, result)
        before, found = found, step(k, x, found, before)
    return result


def _highest(n: Any) -> float:
    """Return the largest degree that is a number; 0 if there is none, or if the degrees are unknown."""
    found = python_value(ops.amax(ops.where(ops.eq(n, n), n, number(0, n)))) if n.numel() else None
    return max(found or 0, 0)


def _define(
    name: str, second: Callable[[Any], Any], step: Step, argument: Callable[[Any], Any] = lambda x: x
) -> None:
    """Define the operator of a family of polynomials, and its overload with a number for x."""

    def polynomial(x: Any, n: Any) -> Any:
        dtype = common_dtype(x, n)
        dtype = dtype if dtype.is_floating_point else common_dtype(dtype, 1.0)
        n = operand(n, x) if not isinstance(n, TensorBase) else n
        x = argument(widened(as_type(x, dtype)))
        x, n = ops.broadcast_tensors([x, ops.trunc(as_type(n, x.dtype))])
        return as_type(_values(name, x, n, second, step), dtype)

    composite(f"special_{name}", polynomial)
    overload = getattr(ops, f"special_{name}")
    composite(f"special_{name}.x_scalar", lambda x, n: overload.default(operand(x, floating(n)), n))


def _chebyshev(k: int, x: Any, p: Any, q: Any) -> Any:
    return ops.sub(ops.mul(ops.mul(x, 2), p), q)


def _linear(slope: float, constant: float) -> Callable[[Any], Any]:
    return lambda x: ops.add(ops.mul(x, slope), constant)


for _kind, _second in {
    "t": _linear(1, 0), "u": _linear(2, 0), "v": _linear(2, -1), "w": _linear(2, 1),
}.items():  # fmt: skip
    _define(f"chebyshev_polynomial_{_kind}", _second, _chebyshev)
    _define(f"shifted_chebyshev_polynomial_{_kind}", _second, _chebyshev, _linear(2, -1))

_define(
    "hermite_polynomial_h",
    _linear(2, 0),
    lambda k, x, p, q: ops.sub(ops.mul(ops.mul(x, 2), p), ops.mul(q, 2 * k)),
)
_define("hermite_polynomial_he", _linear(1, 0), lambda k, x, p, q: ops.sub(ops.mul(x, p), ops.mul(q, k)))
_define(
    "laguerre_polynomial_l",
    _linear(-1, 1),
    lambda k, x, p, q: ops.div.default(ops.sub(ops.mul(ops.rsub(x, 2 * k + 1), p), ops.mul(q, k)), k + 1),
)
_define(
    "legendre_polynomial_p",
    _linear(1, 0),
    lambda k, x, p, q: ops.div.default(ops.sub(ops.mul(ops.mul(x, 2 * k + 1), p), ops.mul(q, k)), k + 1),
)
