"""The ranges of numbers in a call: of `int`, which has 64 bits in a schema and any number in Python, and of dtypes.

Note [Numbers in range]
-----------------------
A number that is converted to the dtype of the tensors before the computation has to be in its range.  PyTorch refuses
it otherwise (`value cannot be converted to type float without overflow`); NumPy makes it infinite,
or wraps it.  ops.yaml lists them under `in_range` (the range of the result's dtype) and `in_compute_range` (float32
for half precision, in which these operators compute).  `OpOverload.fast_path` compares the largest magnitude with
`CachedCall.limit`, and comes here where it is above.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from tt.core.errors import NumberRangeError
from tt.core.schema.model import OpDefinition, Signature
from tt.core.tensor.base import TensorBase
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.promotion import get_default_dtype, result_type

__all__ = ["SMALL", "of_any_width", "range_places", "refuse_out_of_range", "refuse_wide", "refuse_wide_value"]

SMALL: Final = 127.0
"""A magnitude that every dtype has."""

_FLOAT: Final = 3.4028234663852886e38
_LARGEST: Final[Mapping[str, float]] = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": _FLOAT,
    "complex64": _FLOAT,
}

_LIMIT: Final = 2**63

# --- integers -----------------------------------------------------------------------------------------------------


def refuse_wide(definition: OpDefinition, args: Sequence[Any]) -> None:
    """Refuse an argument of the type `int` that 64 bits do not hold.

    Examples
    --------
    >>> import tt
    >>> tt.ones(3, device="meta").roll(2**63)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    tt.core.errors.NumberRangeError: roll(): shifts=9223372036854775808 is not a 64-bit integer ...
    """
    for position in _places(definition.signature):
        value = args[position] if position < len(args) else None
        refuse_wide_value(definition.signature.name, definition.signature.arguments[position].name, value)


def refuse_wide_value(operator: str, argument: str, value: Any) -> None:
    """Refuse an integer or a sequence with an integer that 64 bits do not hold."""
    for item in value if isinstance(value, list | tuple) else (value,):
        if isinstance(item, int) and not -_LIMIT <= item < _LIMIT:
            raise NumberRangeError(
                f"{operator}(): {argument}={item} is not a 64-bit integer (from -2**63 to 2**63 - 1)"
            )


def of_any_width(signature: Signature) -> bool:
    """Return whether the integers of an operator are bounds of values, which uint64 makes larger."""
    return signature.namespace == "tt" and signature.name in ("randint", "randint_like", "random")


@cache
def _places(signature: Signature) -> tuple[int, ...]:
    return tuple(i for i, a in enumerate(signature.arguments) if a.type.base == "int")


# --- numbers of dtypes ---------------------------------------------------------------------------------------------


def range_places(definition: OpDefinition) -> tuple[tuple[int, bool], ...]:
    """Return the positions of the numbers that have to be in range, and whether of the dtype of the computation."""
    # Few operators have any, and finding a definition in the cache takes longer than all else that is done here.
    return _range_places(definition) if definition.in_range or definition.in_compute_range else ()


@cache
def _range_places(definition: OpDefinition) -> tuple[tuple[int, bool], ...]:
    return tuple(
        (position, argument.name in definition.in_compute_range)
        for position, argument in enumerate(definition.signature.arguments)
        if argument.name in definition.in_range or argument.name in definition.in_compute_range
    )


def refuse_out_of_range(definition: OpDefinition, dtype: Dtype | None, args: Sequence[Any]) -> float:
    """Refuse a number beyond the range of the dtype, and return the largest magnitude that need not be looked at.

    Parameters
    ----------
    definition : OpDefinition
        Of the called operator.
    dtype : dtype or None
        Of the result; None: of the argument `dtype`, or the one to which the arguments promote.
    args : sequence
        All arguments.

    Examples
    --------
    >>> import tt
    >>> tt.add(tt.ones(2), tt.ones(2), alpha=1e300)
    Traceback (most recent call last):
        ...
    tt.core.errors.NumberRangeError: add(): alpha=1e+300 is beyond the range of float32
    """
    limit = math.inf
    requested = dtype
    if dtype is None:
        dtype = _dtype_of(definition, args)
        if dtype is None:
            return SMALL
    for position, computed in range_places(definition):
        lowest, highest = _range(dtype, computed)
        # The smallest range of all numbers: one comparison in the fast path covers them.
        limit = min(limit, -lowest, highest)
        value = args[position]
        if isinstance(value, complex) and dtype.is_complex:
            value = _larger_part(value)
        # True and False fit into every dtype.
        if not isinstance(value, int | float) or isinstance(value, bool) or lowest <= value <= highest:
            continue
        # Infinities and NaN are numbers of every floating dtype, but of no integer one.
        if isinstance(value, int) or math.isfinite(value) or dtype.kind in ("signed", "unsigned"):
            name = definition.signature.arguments[position].name
            raise NumberRangeError(
                f"{definition.signature.name}(): {name}={args[position]} is beyond the range of {dtype.name}"
            )
    # The dtype was found from the arguments, so the limit would not hold for the next call.
    if requested is None:
        return SMALL
    # Rounded towards zero: a limit that is a little too large would let a number pass.
    return float(limit) if float(limit) <= limit else math.nextafter(float(limit), 0.0)


def _larger_part(value: complex) -> float:
    """Return the part of a complex number that leaves the range of a dtype first."""
    return max((part for part in (value.real, value.imag) if math.isfinite(part)), key=abs, default=0.0)


def _dtype_of(definition: OpDefinition, args: Sequence[Any]) -> Dtype | None:
    passed = [a for a in args if isinstance(a, Dtype)]
    if passed:
        return passed[0]
    arguments = definition.signature.arguments
    promoted = [
        a for a, argument in zip(args, arguments, strict=False) if argument.name in definition.promote
    ]
    if any(isinstance(a, TensorBase) and a.dtype.kind == "quantized" for a in args):
        return None  # the numbers that fit depend on the scale
    if promoted:
        return result_type(*(a for a in promoted if a is not None))
    dtypes = {a.dtype for a in args if isinstance(a, TensorBase)}
    if not dtypes:
        return get_default_dtype()
    return dtypes.pop() if len(dtypes) == 1 else None


@cache
def _range(dtype: Dtype, computed: bool) -> tuple[float, float]:
    """Return the lowest and highest number; negative ones wrap into unsigned dtypes, as in PyTorch."""
    if dtype.kind in ("signed", "unsigned"):
        bits = 8 * dtype.itemsize
        highest = 2 ** (bits - (dtype.kind == "signed")) - 1
        return (-highest - (dtype.kind == "signed"), highest)
    if dtype.kind == "bool":
        return (-math.inf, math.inf)
    largest = _FLOAT if computed and dtype.itemsize == 2 else _LARGEST.get(dtype.name, sys.float_info.max)
    return (-largest, largest)
