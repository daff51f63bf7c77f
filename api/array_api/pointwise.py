"""Functions that work element by element.

Functions of one array that follow the standard as they are, are the operators themselves.  Functions of two arrays
are operators behind the standard's promotion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import tt
from tt.array_api._promotion import as_tensors, cast
from tt.array_api.dtypes import isdtype

Array: TypeAlias = tt.Tensor
Operand: TypeAlias = tt.Tensor | bool | int | float | complex

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]  # fmt: skip

# --- one array ---------------------------------------------------------------------------------------------------

abs = tt.abs
acos, acosh, asin, asinh, atan, atanh = tt.acos, tt.acosh, tt.asin, tt.asinh, tt.atan, tt.atanh
cos, cosh, sin, sinh, tan = tt.cos, tt.cosh, tt.sin, tt.sinh, tt.tan
exp, log, log1p, log2, log10 = tt.exp, tt.log, tt.log1p, tt.log2, tt.log10
bitwise_invert, logical_not = tt.bitwise_not, tt.logical_not
ceil, floor, trunc = tt.ceil, tt.floor, tt.trunc
conj, imag, real = tt.conj, tt.imag, tt.real
isfinite, isinf, isnan, signbit = tt.isfinite, tt.isinf, tt.isnan, tt.signbit
negative, positive, reciprocal, sqrt, square = tt.neg, tt.positive, tt.reciprocal, tt.sqrt, tt.square


def expm1(x: Array, /) -> Array:
    """Return exp(x) - 1, exact for small numbers.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.expm1(xp.asarray([0.0, 1.0]))
    tensor([0.0000, 1.7183])
    """
    if x.dtype.is_complex:
        # The operator's formula gives NaN for infinite parts, like PyTorch's; the exponential is right for them.
        return tt.where(tt.isfinite(x) & (x != 0), tt.expm1(x), tt.exp(x) - 1)
    return tt.expm1(x)


def tanh(x: Array, /) -> Array:
    """Return the hyperbolic tangent.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.tanh(xp.asarray([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """
    result = tt.tanh(x)
    if x.dtype.is_complex:
        # The sign of the zero is that of the imaginary part, for large ones too.
        limit = tt.complex(tt.sign(x.real), tt.copysign(tt.zeros_like(x.imag), x.imag))
        return tt.where(tt.isinf(x.real) & tt.isfinite(x.imag), limit, result)
    return result


def round(x: Array, /) -> Array:
    """Round to the nearest integers, halves to even; the parts of complex numbers each.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.round(xp.asarray([0.5, 1.5, 2.4]))
    tensor([0., 2., 2.])
    """
    if x.dtype.is_complex:
        return tt.complex(tt.round(x.real), tt.round(x.imag))
    return tt.round(x)


def sign(x: Array, /) -> Array:
    """Return -1, 0 or 1; for complex numbers x / abs(x).

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.sign(xp.asarray([-2.0, 0.0, 5.0]))
    tensor([-1.,  0.,  1.])
    """
    if x.dtype.is_complex:
        return tt.sgn(x)
    # A NaN has the sign NaN.
    return tt.where(tt.isnan(x), x, tt.sign(x)) if x.dtype.is_floating_point else tt.sign(x)


def clip(x: Array, /, min: Operand | None = None, max: Operand | None = None) -> Array:
    """Limit the elements to a range; where its bounds are crossed, to the upper one.

    The result has the dtype of `x`.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.clip(xp.asarray([-1, 2, 8]), 0, 5)
    tensor([0, 2, 5])
    """
    result = x
    for bound, limit in ((min, tt.maximum), (max, tt.minimum)):
        if bound is not None:
            if isinstance(bound, int) and isdtype(x.dtype, "integral"):
                # Bounds beyond the dtype limit nothing.
                numbers = tt.iinfo(x.dtype)
                bound = sorted((numbers.min, bound, numbers.max))[1]
            result = limit(*as_tensors(result, bound))
    # The standard keeps the dtype of `x`, and always returns a new array.
    return tt.clone(x) if result is x else cast(result, x.dtype)


# --- two arrays --------------------------------------------------------------------------------------------------


def _promoting(operator: Any, name: str, numbers: bool = True) -> Callable[[Operand, Operand], Array]:
    """Return a function of two arrays, or one and a Python number: an operator after the standard's promotion."""

    def function(x1: Operand, x2: Operand, /) -> Array:
        result: Array = operator(*as_tensors(x1, x2, numbers))
        return result

    function.__name__ = function.__qualname__ = name
    definition = getattr(operator, "default", operator).operator.definition
    function.__doc__ = (
        f"`tt.{operator.__name__}` with the promotion of the array API standard; one argument may be a Python number.\n"
        f"\n{definition.doc}\n\nExamples\n--------\n>>> import tt\n{definition.example}"
    )
    return function


add: Final = _promoting(tt.add, "add")
subtract: Final = _promoting(tt.sub, "subtract")
multiply: Final = _promoting(tt.mul, "multiply")
divide: Final = _promoting(tt.div, "divide")
remainder: Final = _promoting(tt.remainder, "remainder")
pow: Final = _promoting(tt.pow, "pow")
atan2: Final = _promoting(tt.atan2, "atan2", numbers=False)
copysign: Final = _promoting(tt.copysign, "copysign")
hypot: Final = _promoting(tt.hypot, "hypot", numbers=False)
logaddexp: Final = _promoting(tt.logaddexp, "logaddexp", numbers=False)
nextafter: Final = _promoting(tt.nextafter, "nextafter", numbers=False)
maximum: Final = _promoting(tt.maximum, "maximum", numbers=False)
minimum: Final = _promoting(tt.minimum, "minimum", numbers=False)
bitwise_and: Final = _promoting(tt.bitwise_and, "bitwise_and")
bitwise_or: Final = _promoting(tt.bitwise_or, "bitwise_or")
bitwise_xor: Final = _promoting(tt.bitwise_xor, "bitwise_xor")
bitwise_left_shift: Final = _promoting(tt.bitwise_left_shift, "bitwise_left_shift")
bitwise_right_shift: Final = _promoting(tt.bitwise_right_shift, "bitwise_right_shift")
logical_and: Final = _promoting(tt.logical_and, "logical_and", numbers=False)
logical_or: Final = _promoting(tt.logical_or, "logical_or", numbers=False)
logical_xor: Final = _promoting(tt.logical_xor, "logical_xor", numbers=False)
equal: Final = _promoting(tt.eq, "equal")
not_equal: Final = _promoting(tt.ne, "not_equal")
less: Final = _promoting(tt.lt, "less")
less_equal: Final = _promoting(tt.le, "less_equal")
greater: Final = _promoting(tt.gt, "greater")
greater_equal: Final = _promoting(tt.ge, "greater_equal")


def floor_divide(x1: Operand, x2: Operand, /) -> Array:
    """Divide and round down; an infinite argument gives what true division gives.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.floor_divide(xp.asarray([7, -7]), 2)
    tensor([ 3, -4])
    """
    left, right = as_tensors(x1, x2)
    result: Array = tt.floor_divide(left, right)
    if result.dtype.is_floating_point:
        # The operator gives NaN, like PyTorch's, or -1 where the standard has -0.
        return tt.where(tt.isinf(left) | tt.isinf(right), left / right, result)
    return result
