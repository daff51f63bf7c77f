"""Calls in forms that PyTorch takes and schemas lack: `tt.mul(2, x)`, `x.copy_(2)`, the older `x.add_(-lr, gradient)`.

They are looked at only after an operator refused its arguments, so they cost other calls nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Number
from typing import Any, Final

import numpy as np

from tt.core.dispatch.registry.registry import ops
from tt.core.tensor.base import TensorBase
from tt.core.tensor.common_dtype import common_dtype
from tt.core.types.dtype import finfo, int64
from tt.core.types.user_warnings import warn_user

__all__ = ["call_in_further_form", "number_as_tensor"]

_SUM: Final = ("self", "alpha", "other")
_PRODUCT: Final = ("self", "value", "tensor1", "tensor2")
_FORMS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "add": (_SUM,),
    "sub": (_SUM,),
    "addcdiv": (_PRODUCT,),
    "addcmul": (_PRODUCT,),
    **dict.fromkeys(
        ("addbmm", "addmm", "addmv", "addr", "baddbmm", "sspaddmm"),
        (
            # As functions, then as methods.
            ("beta", "self", "alpha", "first", "second"),
            ("beta", "self", "first", "second"),
            ("self", "beta", "alpha", "first", "second"),
            ("self", "beta", "first", "second"),
        ),
    ),
}
"""The older orders of arguments, by operator; factors are keywords of today's order."""

_FACTORS: Final = ("alpha", "beta", "value")

_OF_NUMBERS: Final = frozenset({"add", "sub", "mul", "div", "floor_divide"})
"""The operators whose first tensor may be a number; others have an overload for it, `pow(2, x)`."""


def call_in_further_form(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None) -> Any:
    """Return the result of a call with a number for a tensor, or, with a warning, with a factor before the tensors.

    The result is NotImplemented for all other calls.

    Parameters
    ----------
    function : OpOverload
        What refused the arguments.
    args, kwargs
        Its arguments; `out` is the only keyword that the older forms know.
    """
    if function.__name__ in _OF_NUMBERS:
        options = dict(kwargs or {})
        first = args[0] if args else options.pop("input", options.pop("self", None))
        other = args[1] if len(args) > 1 else options.get("other")
        if isinstance(first, Number) and isinstance(other, TensorBase | Number):
            # `sub` refuses booleans, and this one must not become a number before it does.
            kind: type = type(first)
            keeps_bool = kind is bool and function.__name__ == "sub"
            return function(number_as_tensor(first, first if keeps_bool else other), *args[1:], **options)
        if isinstance(first, Number):
            return NotImplemented
    operator: Any = getattr(function, "operator", None)
    if operator is not None and operator.name == "copy" and len(args) == 2 and isinstance(args[1], Number):
        return operator.registry.overload("fill", function.form)(*args)
    forms = None if operator is None else _FORMS.get(operator.name.partition(".")[0])
    if forms is None or not set(kwargs or ()) <= {"out"}:
        return NotImplemented
    for names in forms:
        if len(names) == len(args) and all(
            _is_factor(value)
            if name in _FACTORS
            else isinstance(value, TensorBase) or (name == "other" and isinstance(value, Number))
            for name, value in zip(names, args, strict=True)
        ):
            break
    else:
        return NotImplemented
    arguments = dict(zip(names, args, strict=True))
    factors = {name: _number(arguments.pop(name)) for name in _FACTORS if name in arguments}
    shown = getattr(function, "__name__", operator.name)
    keywords = ", ".join(f"{name}={value}" for name, value in factors.items())
    warn_user(
        f"This overload of {shown} is deprecated: it has factors before the tensors\n"
        f"  try: {shown}(..., {keywords})"
    )
    return function(arguments.pop("self"), *arguments.values(), **factors, **(kwargs or {}))


def number_as_tensor(number: Any, like: Any) -> Any:
    """Return a number as a zero-dimensional tensor of the dtype that it has as an operand with a tensor or number."""
    number = number.item() if isinstance(number, np.generic) else number
    like = like.item() if isinstance(like, np.generic) else like
    if not isinstance(like, TensorBase):
        like = ops.scalar_tensor(like, dtype=common_dtype(like), device=None)
    dtype = common_dtype(like, number)
    if isinstance(number, int):  # which wraps around in a narrower dtype, where scalar_tensor refuses
        return ops.scalar_tensor(number, dtype=int64, device=like.device).to(dtype)
    if isinstance(number, float) and abs(number) > finfo(dtype).max:
        # `scalar_tensor` refuses a float beyond the range, where PyTorch's operand becomes infinite.
        number = math.copysign(math.inf, number)  # and a float is rounded
    return ops.scalar_tensor(number, dtype=dtype, device=like.device)


def _is_factor(value: Any) -> bool:
    if isinstance(value, TensorBase):
        return value.ndim == 0 and not getattr(value, "requires_grad", False)
    return isinstance(value, Number)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, TensorBase) else value  # type: ignore[attr-defined]
