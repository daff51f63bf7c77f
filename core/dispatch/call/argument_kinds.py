"""The words of `OpOverload.fast_path`: what a parameter takes as it is, and what stands for "not here"."""

from __future__ import annotations

from typing import Any, Final

from tt.core.dispatch.call.codes import (
    BOOL,
    DTYPE_OBJECT,
    FLOAT,
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
"""What a quick way returns for calls that it leaves to the general one."""

ABSENT: Final[Any] = None
"""In a field that only calls of another kind have.  Any: the fields have the types that those kinds see."""

NO_DEFAULT: Final[Any] = object()
"""Stands for the default of a parameter that has none: no argument is it."""
