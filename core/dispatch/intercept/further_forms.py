"""Calls in forms that PyTorch takes and schemas lack: `x.add_(-lr, gradient)` of its first versions, `x.copy_(2)`.

They are looked at only after an operator refused its arguments, so they cost other calls nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Number
from typing import Any, Final

from tt.core.tensor.base import TensorBase
from tt.core.types.user_warnings import warn_user

__all__ = ["call_in_further_form"]

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


def call_in_further_form(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None) -> Any:
    """Return the result of a call with a factor before the tensors, with a warning, or of a number that is copied.

    The result is NotImplemented for all other calls.

    Parameters
    ----------
    function : OpOverload
        What refused the arguments.
    args, kwargs
        Its arguments; `out` is the only keyword that the older forms know.
    """
    operator: Any = getattr(function, "operator", None)
    if operator is not None and operator.name == "copy" and len(args) == 2 and isinstance(args[1], Number):
        return operator.registry.overload("fill", function.form)(*args)
    forms = None if operator is None else _FORMS.get(operator.name.partition(".")[0])
    if forms is None or not set(kwargs or ()) <= {"out"}:
        return NotImplemented
    for names in forms:
        if len(names) == len(args) and all(
            _is_factor(value) if name in _FACTORS else isinstance(value, TensorBase)
            for name, value in zip(names, args, strict=True)
        ):
            break
    else:
        return NotImplemented
    given = dict(zip(names, args, strict=True))
    factors = {name: _number(given.pop(name)) for name in _FACTORS if name in given}
    shown = getattr(function, "__name__", operator.name)
    keywords = ", ".join(f"{name}={value}" for name, value in factors.items())
    warn_user(f"{shown}(): factors before the tensors are deprecated\n  try: {shown}(..., {keywords})")
    return function(given.pop("self"), *given.values(), **factors, **(kwargs or {}))


def _is_factor(value: Any) -> bool:
    if isinstance(value, TensorBase):
        return value.ndim == 0 and not getattr(value, "requires_grad", False)
    return isinstance(value, Number)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, TensorBase) else value  # type: ignore[attr-defined]
