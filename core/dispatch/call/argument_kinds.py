"""The words of `OpOverload.fast_path`: the values a parameter takes unconverted, and the marks for "no value"."""

from __future__ import annotations

from typing import Any, Final

from tt.core.dispatch.call.codes import (
    BOOL,
    DTYPE_OBJECT,
    FLOAT,
    IN_RANGE,
    INT,
    NONE_TAKEN,
    NUMBER,
    OPERAND,
    SIZES,
    STRING,
    TENSOR,
    TENSORS,
    UNUSUAL,
)

__all__ = [
    "ABSENT",
    "BOOL",
    "DTYPE_OBJECT",
    "FALL_THROUGH",
    "FLOAT",
    "INT",
    "IN_RANGE",
    "NONE_TAKEN",
    "NO_DEFAULT",
    "NUMBER",
    "OPERAND",
    "SIZES",
    "STRING",
    "TENSOR",
    "TENSORS",
    "UNUSUAL",
]  # fmt: skip

FALL_THROUGH: Final[Any] = object()
"""Returned by a fast path for calls that it leaves to the general path."""

ABSENT: Final[Any] = None
"""In a field that only calls of another kind have.  Any: the fields have the types that those kinds see."""

NO_DEFAULT: Final[Any] = object()
"""The default of parameters without one; no argument is identical to it."""
