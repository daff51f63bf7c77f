"""Numbers that PyTorch converts to the dtype of the tensors before it computes: they have to be in its range."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from tt.core.errors import NumberRangeError
from tt.core.schema.model import Signature
from tt.core.tensor.base import TensorBase
from tt.core.types.dtype import dtype as Dtype

__all__ = ["factor_places", "refuse_factors"]

_FACTORS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("add", "sub", "rsub"), ("alpha",)),
    **dict.fromkeys(("addcmul", "addcdiv"), ("value",)),
    **dict.fromkeys(("addmm", "addmv", "addr", "baddbmm", "addbmm"), ("beta", "alpha")),
    **dict.fromkeys(("elu", "celu"), ("alpha",)),
    **dict.fromkeys(("hardshrink", "softshrink"), ("lambd",)),
    "leaky_relu": ("negative_slope",),
    "hardtanh": ("min_val", "max_val"),
    "softplus": ("beta", "threshold"),
    "threshold": ("threshold", "value"),
    "lerp": ("weight",),
}
_LARGEST: Final = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}


@cache
def factor_places(signature: Signature) -> tuple[int, ...]:
    """Return the positions of the arguments of type `Scalar` that are converted to the dtype of the tensors."""
    names = _FACTORS.get(signature.name, ()) if signature.namespace == "tt" else ()
    return tuple(i for i, a in enumerate(signature.arguments) if a.name in names and a.type.base == "Scalar")


def refuse_factors(signature: Signature, dtype: Dtype | None, args: Sequence[Any]) -> None:
    """Refuse a finite factor beyond the range of a floating dtype: by default, of the one that all tensors have.

    Examples
    --------
    >>> import tt
    >>> tt.add(tt.ones(2), tt.ones(2), alpha=1e300)
    Traceback (most recent call last):
        ...
    tt.core.errors.NumberRangeError: add(): alpha=1e+300 is beyond the range of float32
    """
    if dtype is None:
        dtypes = {a.dtype for a in args if isinstance(a, TensorBase)}
        dtype = dtypes.pop() if len(dtypes) == 1 else None
    largest = None if dtype is None else _LARGEST.get(dtype.name)
    if dtype is None or largest is None:
        return
    for place in factor_places(signature):
        value = args[place]
        if (
            isinstance(value, int | float)
            and abs(value) > largest
            and (isinstance(value, int) or math.isfinite(value))
        ):
            name = signature.arguments[place].name
            raise NumberRangeError(f"{signature.name}(): {name}={value} is beyond the range of {dtype.name}")
