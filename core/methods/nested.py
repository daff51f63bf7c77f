"""Nested data: shape, dtype and values of numbers, sequences, arrays and tensors inside one another.

The data is flattened one level at a time, so that the work for each element is done by C loops; only data with
something other than Python numbers in it is looked at element by element.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

import numpy as np

from tt.core.errors import DataTypeError, ValueRangeError
from tt.core.methods.memory.host_access import warn_of_lost_gradient
from tt.core.tensor.base import TensorBase
from tt.core.tensor.tensor import Tensor
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.dtype import from_numpy_dtype
from tt.core.types.promotion import promote_types
from tt.core.types.scalars import cast_array, number_array, numbers_dtype
from tt.core.types.user_warnings import warn_user

__all__ = ["array_from_nested"]

MAX_DIMS: Final = 64
"""The most dimensions that a tensor can have: NumPy's limit."""

_NUMBERS: Final = frozenset((bool, int, float, complex))
_CONVERSIONS: Final = ("__index__", "__float__", "__complex__")
"""Methods by which an object becomes a number; a class has them, too, and becomes none."""


def array_from_nested(data: Any, dtype: Dtype | None = None) -> np.ndarray[Any, Any]:
    """Return a new array with the values of nested data.

    Parameters
    ----------
    data : number, NumPy scalar, tensor of one element, or nested sequences of these
        The values.
    dtype : dtype, optional
        By default the promotion of the dtypes of all elements; the default dtype if there is none.

    Raises
    ------
    ValueError
        For sequences of different lengths or too many dimensions.
    TypeError
        For something that is neither a number nor a sequence.

    Examples
    --------
    >>> from tt.core.methods.nested import array_from_nested
    >>> array_from_nested([[1, 2], [3, 4.5]])
    array([[1. , 2. ],
           [3. , 4.5]], dtype=float32)
    """
    kind = type(data)
    # One number is the most frequent argument of `tensor`, and needs no list.
    if kind in _NUMBERS:
        return number_array([data], dtype or numbers_dtype((kind,))).reshape(())
    shape, leaves = _flatten(data)
    kinds = set(map(type, leaves))
    # A set of types: one pass in C, however long the data is.
    if kinds <= _NUMBERS:
        return number_array(leaves, dtype or numbers_dtype(kinds)).reshape(shape)
    values = [_plain(leaf) for leaf in leaves]
    inferred = dtype or _promote(leaves)
    # `float()` of a tensor in a list loses its history, as PyTorch warns for a single one.
    if inferred.is_floating_point or inferred.is_complex:
        warn_of_lost_gradient(*(leaf for leaf in leaves if isinstance(leaf, Tensor)))
    if {type(value) for value in values} <= _NUMBERS:
        return number_array(values, inferred).reshape(shape)
    return cast_array(np.array(values), inferred).reshape(shape)


# --- flattening --------------------------------------------------------------------------------------------------


def _is_sequence(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return True
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    if isinstance(value, str | bytes | np.generic | dict | set | frozenset):
        return False
    if isinstance(value, TensorBase):
        # A tensor of one element counts as its number, whatever its shape.
        return False
    # `keys`: a mapping has items and a length, and no order of numbers.
    return isinstance(value, Sequence) or (
        hasattr(value, "__getitem__") and hasattr(value, "__len__") and not hasattr(value, "keys")
    )


def _elements(sequences: list[Any]) -> list[Any]:
    """Return the elements of all sequences in order."""
    try:
        return list(chain.from_iterable(sequences))
    except Exception as error:  # of a class with a `__getitem__` of its own, which may raise anything
        kinds = sorted({type(sequence).__name__ for sequence in sequences})
        raise DataTypeError(
            f"no shape follows from a sequence whose elements cannot be read: {', '.join(kinds)}"
        ) from error


def _flatten(data: Any) -> tuple[tuple[int, ...], list[Any]]:
    """Return the shape and all leaves in order."""
    shape: list[int] = []
    level = [data]
    while level and _is_sequence(level[0]):
        if len(shape) == MAX_DIMS:
            raise ValueRangeError(
                f"too many dimensions '{type(level[0]).__name__}': a tensor has at most {MAX_DIMS}"
            )
        length = len(level[0])
        for item in level:
            if not _is_sequence(item):
                raise TypeError(
                    f"not a sequence: expected a sequence of length {length} at dim {len(shape)}, got "
                    f"{type(item).__name__}"
                )
            if len(item) != length:
                raise ValueRangeError(
                    f"the sequences of dimension {len(shape)} differ in length: {length} and {len(item)}"
                )
        shape.append(length)
        level = _elements(level)
    if not level:
        return tuple(shape), level
    # Nearly all lists hold nothing but Python numbers, whose types are looked at in one go.
    if not _NUMBERS.issuperset(map(type, level)):
        for leaf in level:
            _check_leaf(leaf, len(shape))
        if _holds_arrays(data):
            warn_user(
                "a tensor is made of a list of NumPy arrays, one number at a time, which is slow\n"
                "  try: tt.tensor(numpy.array(arrays))"
            )
    return tuple(shape), level


def _holds_arrays(data: Any) -> bool:
    """Return whether arrays with dimensions are among what nested data consists of."""
    level = list(data) if _is_sequence(data) else []
    while level and _is_sequence(level[0]):
        if any(isinstance(item, np.ndarray) for item in level):
            return True
        level = list(chain.from_iterable(level))
    return False


def _check_leaf(leaf: Any, dim: int) -> None:
    if isinstance(leaf, bool | int | float | complex | np.bool_ | np.number):
        return
    if isinstance(leaf, np.ndarray) and leaf.ndim == 0:
        return
    if isinstance(leaf, TensorBase):
        if leaf.shape.numel() != 1:
            raise ValueRangeError(
                f"only one element tensors can be converted to Python scalars, got one of shape {list(leaf.shape)}\n"
                f"  try: tt.stack for a sequence of tensors"
            )
        return
    if isinstance(leaf, str | bytes):
        raise TypeError(f"tensor(): invalid data type {type(leaf).__name__!r}")
    if _is_sequence(leaf):
        raise TypeError(
            f"{type(leaf).__name__!r} object cannot be interpreted as a number: the sequences at dim {dim} are of "
            f"different depth"
        )
    # Raises for a NumPy scalar of a dtype that tensors do not have.
    if isinstance(leaf, np.generic):
        from_numpy_dtype(leaf.dtype)
    if not isinstance(leaf, type) and any(hasattr(leaf, name) for name in _CONVERSIONS):
        return
    raise DataTypeError(f"no dtype follows from an object of type {type(leaf).__name__}")


# --- leaves that are not Python numbers ---------------------------------------------------------------------------


def _plain(leaf: Any) -> Any:
    """Return a leaf as a Python number where it is one, otherwise as NumPy's."""
    if type(leaf) in _NUMBERS:
        return leaf
    if isinstance(leaf, Tensor | np.ndarray | np.generic):
        return leaf.item()
    # From the narrowest: bool is an int, and float does not take complex numbers.
    kinds: tuple[Any, ...] = (bool, int, float, complex)
    for kind in kinds:
        if isinstance(leaf, kind):
            return kind(leaf)
    if hasattr(leaf, "__index__"):
        return int(leaf.__index__())
    return float(leaf) if hasattr(leaf, "__float__") else complex(leaf)


def _dtype_of(leaf: Any) -> Dtype:
    if isinstance(leaf, TensorBase):
        return leaf.dtype
    if isinstance(leaf, np.ndarray | np.generic):
        return from_numpy_dtype(leaf.dtype)
    return numbers_dtype([type(_plain(leaf))])


def _promote(leaves: list[Any]) -> Dtype:
    promoted: Dtype | None = None
    seen: set[Any] = set()
    for leaf in leaves:
        # Few dtypes and many leaves: each dtype is promoted once.
        key = leaf.dtype if hasattr(leaf, "dtype") else type(leaf)
        if key not in seen:
            seen.add(key)
            dtype = _dtype_of(leaf)
            promoted = dtype if promoted is None else promote_types(promoted, dtype)
    return promoted if promoted is not None else numbers_dtype(())
