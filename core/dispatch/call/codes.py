"""The codes of cached calls, overloads and plans.

Python code reads this module; compiled hot modules use the C enums of `codes.pxd` with the same names and numbers.
"""

from __future__ import annotations

from typing import Any, Final

# Kinds of cached calls.
KERNEL: Final = 0
COMPOSITE: Final = 1
LAYER: Final = 2
REROUTE: Final = 3
MUTATE: Final = 4
PYTHON: Final = 5
OUT: Final = 6

# How a kernel returns its results.
ONE: Final = 0
SEVERAL: Final = 1
LIST: Final = 2
RAW: Final = 3
MIXED: Final = 4  # several, of which some are lists

# How the form of a call is made from that of its kernel.
RETURNS: Final = 0  # the kernel returns the result, or the new values
CHANGES_FIRST: Final = 1  # the kernel changes its first argument, or those that the schema names
WRITES_OUTPUT: Final = 2  # the kernel writes into an output
CHANGES_METADATA: Final = 3  # the tensor changes, not its data
FROM_INPLACE: Final = 4  # functional, from a kernel that changes its first argument
FROM_OUT: Final = 5  # functional, from a kernel that writes into an output

# How an argument contributes to the keys and to the level-2 bits.
GROUP_TENSOR: Final = 0
GROUP_LIST: Final = 1
OTHER_TENSOR: Final = 2
OTHER_LIST: Final = 3
DTYPE: Final = 4
DEVICE: Final = 5
LAYOUT: Final = 6
SCALAR_IN_GROUP: Final = 7

# Values that a parameter takes unconverted.
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

# Masks over the kinds of a parameter.
KIND_MASK: Final = 15  # the bits of the kinds above
NONE_TAKEN: Final = 16  # a flag: None, too
IN_RANGE: Final = 32  # a flag: a number that has to be in the range of the dtype

# Whose memory the results of a view share, besides the positions of arguments.
UNSHARED: Final = -1  # results have memory of their own
FIRST_MEMORY: Final = -2  # the first argument's, although the result is not a view of it

# Marks for "no value", which Python code and compiled modules share.
FALL_THROUGH: Final[Any] = object()
"""Returned by a fast path for calls that it leaves to the general path."""

ABSENT: Final[Any] = None
"""In a field that only calls of another kind have.  Any: the fields have the types that those kinds see."""

NO_DEFAULT: Final[Any] = object()
"""The default of parameters without one; no argument is identical to it."""
