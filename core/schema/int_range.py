"""Integers of a call: `int` of a schema has 64 bits, Python's has any number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from tt.core.errors import NumberRangeError
from tt.core.schema.model import OpDefinition, Signature

__all__ = ["of_any_width", "refuse_wide", "refuse_wide_value"]

_LIMIT: Final = 2**63


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
