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
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, int) and not -_LIMIT <= item < _LIMIT:
                name = definition.signature.arguments[position].name
                raise NumberRangeError(
                    f"{definition.signature.name}(): {name}={item} is not a 64-bit integer "
                    "(from -2**63 to 2**63 - 1)"
                )


@cache
def _places(signature: Signature) -> tuple[int, ...]:
    return tuple(i for i, a in enumerate(signature.arguments) if a.type.base == "int")
