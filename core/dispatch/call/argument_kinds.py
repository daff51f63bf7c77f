"""The words of `OpOverload.fast_path`: what a parameter takes as it is, and what stands for "not here"."""

from __future__ import annotations

from typing import Any, Final

__all__ = [
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

NO_DEFAULT: Final[Any] = object()
"""Stands for the default of a parameter that has none: no argument is it."""

# --- what a parameter takes as it is -----------------------------------------------------------------------------

UNUSUAL: Final = 0  # only its default, or None
TENSOR: Final = 1
OPERAND: Final = 2  # a tensor or a number
TENSORS: Final = 3  # a list or tuple of tensors
INT: Final = 4
SIZES: Final = 5  # a list or tuple of ints
BOOL: Final = 6
NUMBER: Final = 7
FLOAT: Final = 8
DTYPE_OBJECT: Final = 9
STRING: Final = 10
NONE_TAKEN: Final = 16  # a flag
