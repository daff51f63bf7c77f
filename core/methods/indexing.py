"""Indexing: `x[...]` and `x[...] = value`.

Integers, slices, None and Ellipsis are views, made one dimension at a time; masks and integer tensors are collected
on the way and handed, together with the view, to `index` or `index_put_`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core.dispatch.intercept.tt_function import (
    NOT_HANDLED,
    SUBCLASSES,
    call_overrides,
    flat,
    intercept,
    overrides,
)
from tt.core.dispatch.mutate.overlap import is_overwritten
from tt.core.dispatch.registry.registry import ops
from tt.core.errors import (
    ArgumentError,
    HiddenValuesError,
    IndexValueError,
    NumberRangeError,
    ValueRangeError,
)
from tt.core.methods.creation import from_array
from tt.core.methods.memory.host_access import dense_form, values_are_hidden
from tt.core.methods.nested import array_from_nested
from tt.core.tensor.base import TensorBase
from tt.core.types import dtype as dt
from tt.core.types.device import to_device
from tt.core.types.keys import KEYS
from tt.core.types.scalars import cast_array, fitted_number, number_array
from tt.core.types.state import STATE
from tt.core.types.user_warnings import warn_user

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = ["delitem", "getitem", "setitem"]

_INDEX_DTYPES: Final = frozenset((dt.int64, dt.int32, dt.uint8, dt.bool_))
_NUMBER_TYPES: Final = (bool, int, float, complex, np.number, np.bool_)
# In a list, these make it a tuple of indices; a list of numbers is one index.
_PARTS: Final = (slice, type(None), type(Ellipsis), list, tuple, range, TensorBase, np.ndarray)
_NOT_AN_INDEX: Final = (
    "only integers, slices (`:`), ellipsis (`...`), None, booleans and integer or boolean tensors, arrays and "
    "sequences are valid indices (got {})"
)


# --- the index -----------------------------------------------------------------------------------------------------


def _is_integer(item: Any) -> bool:
    # bool is an int, but True adds a dimension and selects none.
    return type(item) is int or (isinstance(item, int | np.integer) and not isinstance(item, bool))


def _nested_array(item: Sequence[Any] | np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a sequence or array inside an index as an array of int64 or bool."""
    if not isinstance(item, np.ndarray):
        try:
            item = array_from_nested(item) if len(item) else np.empty(0, np.int64)
        except (TypeError, RuntimeError) as error:
            problem = f"{_NOT_AN_INDEX.format(type(item).__name__)}: {error}"
            if any(isinstance(element, str | bytes) for element in item):
                raise ArgumentError("__getitem__", problem) from error
            raise IndexValueError(f"{problem}\n  try: a tuple, for several dimensions") from error
    if item.size == 0 and item.dtype.kind in "fc" and item.dtype.isbuiltin == 1:  # not those of ml_dtypes
        item = np.empty(item.shape, np.int64)
    # uint8 arrays are masks, as uint8 tensors are: the older form of bool.
    if item.dtype == np.bool_ or item.dtype == np.uint8:
        return item
    if item.dtype.kind in "USO":
        raise ArgumentError("__getitem__", f"an array of {item.dtype} holds no numbers")
    if item.dtype.kind not in "iu":
        raise IndexValueError(
            f"tensors used as indices must be long, int, byte or bool tensors, not {item.dtype}"
        )
    return item.astype(np.int64, copy=False)


def _expand(self: Tensor, index: Any) -> list[Any]:
    """Return the items of an index as a flat list with at most one Ellipsis, with sequences replaced by arrays."""
    items: list[Any] = []
    dims = ellipses = 0
    if isinstance(index, list) and any(isinstance(item, _PARTS) for item in index):
        warn_user(
            "an index that is a list of indices, not of numbers, is deprecated; use a tuple, x[tuple(index)]"
        )
        # As in old versions of NumPy, which PyTorch follows with a warning.
        index = tuple(index)
    for item in index if isinstance(index, tuple) else (index,):
        if type(item) is slice or _is_integer(item):
            dims += 1
        # None and bools add dimensions, and use none up.
        elif item is None or isinstance(item, bool):
            pass
        elif item is Ellipsis:
            ellipses += 1
        elif isinstance(item, TensorBase):
            if item.dtype not in _INDEX_DTYPES and item.ndim:
                raise IndexValueError(
                    f"tensors used as indices must be long, int, byte or bool tensors, not {item.dtype}"
                )
            # A mask covers as many dimensions as it has; an index of integers covers one, whatever its shape.
            dims += item.ndim if item.dtype in (dt.bool_, dt.uint8) else 1
        elif isinstance(item, np.ndarray | list | tuple | range):
            item = _nested_array(item)
            dims += item.ndim if item.dtype.kind == "b" or item.dtype == np.uint8 else 1
        else:
            if isinstance(item, str | bytes):
                raise ArgumentError("__getitem__", _NOT_AN_INDEX.format(type(item).__name__))
            try:
                item = operator.index(item)
            except TypeError:
                name = "numpy.bool" if isinstance(item, np.bool_) else type(item).__name__
                raise IndexValueError(_NOT_AN_INDEX.format(name)) from None
            dims += 1
        if isinstance(item, np.ndarray) and item.ndim == 0:
            # A zero-dimensional array is the number in it.
            item = item.item() if item.dtype != np.uint8 else bool(item)
        items.append(item)
    if dims > self.ndim:
        if self.ndim == 0 and len(items) == 1 and _is_integer(items[0]):
            raise IndexValueError("a tensor without dimensions has nothing to index; item() gives its number")
        raise IndexValueError(f"too many indices: {dims} for a tensor of {self.ndim} dimensions")
    if not ellipses:
        # Trailing dimensions without an index stay unchanged.
        return items
    # The first Ellipsis covers all dimensions without another index; a further one covers none.
    rest = [slice(None)] * (self.ndim - dims)
    expanded = [part for item in items for part in (rest if item is Ellipsis else [item])]
    over = (ellipses - 1) * len(rest)
    if over and any(type(item) is not slice or item != slice(None) for item in expanded[-over:]):
        raise IndexValueError(f"too many indices for a tensor of {self.ndim} dimensions: several '...'")
    return expanded[: len(expanded) - over]


def _bound(value: Any) -> int | None:
    if value is None or type(value) is int:
        return value
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError("slice indices must be integers or None or have an __index__ method") from None


def _step(value: Any) -> int:
    step = 1 if value is None else _bound(value)
    if not step:
        raise ValueRangeError("slice step cannot be zero")
    return step


def _select(view: Tensor, dim: int, index: int, given: int) -> Tensor:
    """Return the view at an index of a dimension; `given` is its number in the tensor that the user indexes."""
    size = view._handle.shape[dim]
    if not -size <= index < size:
        raise IndexValueError(f"index {index} is out of bounds for dimension {given} with size {size}")
    return ops.select(view, dim, index)


def _slice(view: Tensor, dim: int, bounds: slice, backward: list[int] | None) -> Tensor:
    step = _step(bounds.step)
    start, stop = _bound(bounds.start), _bound(bounds.stop)
    if start is None and stop is None and step == 1:
        return view
    # Python's own rule for bounds: clamped, negative ones from the end, and in either direction.
    start, stop, step = slice(start, stop, step).indices(view._handle.shape[dim])
    if step > 0:
        # An empty range has its stop before its start; the operator wants a size that is not negative.
        return ops.slice(view, dim, start, max(start, stop), step)
    # The same elements in ascending order: no tensor has negative strides.
    count = len(range(start, stop, step))
    view = (
        ops.slice(view, dim, start + (count - 1) * step, start + 1, -step)
        if count
        else ops.slice(view, dim, 0, 0)
    )
    if backward is None:
        return ops.flip(view, (dim,))
    backward.append(dim)
    return view


def _apply(self: Tensor, index: Any, backward: list[int] | None = None) -> tuple[Tensor, list[Tensor | None]]:
    """Return the view of the basic part of an index, and the remaining tensors, at their dimensions.

    Slices with a negative step give a copy in their order.  For writing there has to be a view: it has their elements
    in ascending order, and the dimensions are added to the list `backward`.
    """
    # `source_dim` counts the dimensions of `self` (for messages), `dim` the dimensions of the view so far.
    view, dim, source_dim = self, 0, 0
    # One entry for each dimension of the view, except that a mask of n dimensions is one entry for n of them.
    entries: list[Tensor | None] = []
    items: list[Tensor | None]
    for item in _expand(self, index):
        if isinstance(item, slice):
            view = _slice(view, dim, item, backward)
            items, width, source_dim = [None], 1, source_dim + 1
        elif item is None:
            view = ops.unsqueeze(view, dim)
            items, width = [None], 1
        elif isinstance(item, bool):
            view = ops.unsqueeze(view, dim)
            # True selects the only element of a new dimension, and False none.
            items, width = [_place(np.zeros(int(item), np.int64), self)], 1
        elif isinstance(item, np.ndarray):
            items = [_place(array, self) for array in _integer_arrays(item, view, dim)]
            width = len(items)
            source_dim += width
        elif isinstance(item, TensorBase):
            view, items, width = _apply_tensor(view, dim, item, source_dim)
            source_dim += item.ndim if item.dtype in (dt.bool_, dt.uint8) else 1
        else:
            view = _select(view, dim, int(item), source_dim)
            items, width, source_dim = [], 0, source_dim + 1
        entries += items
        dim += width
    # Trailing entries without an index change nothing.
    while entries and entries[-1] is None:
        entries.pop()
    return view, entries


def _apply_tensor(view: Tensor, dim: int, item: Any, given: int) -> tuple[Tensor, list[Tensor | None], int]:
    """Apply a tensor inside an index; return the view, the new entries, and how many dimensions they cover."""
    mask = item.dtype in (dt.bool_, dt.uint8)
    if item.dtype is dt.uint8:
        warn_user("indexing with dtype tt.uint8 is deprecated, use a dtype tt.bool instead")
        item = item.to(dt.bool_)
    if item.ndim:
        return view, [item], item.ndim if mask else 1
    if mask:
        # A zero-dimensional mask adds a dimension of size 1 or 0.
        view = ops.unsqueeze(view, dim)
        return view, [_place(np.zeros(int(bool(item.item())), np.int64), view)], 1
    if item.dtype.kind not in ("signed", "unsigned"):
        raise IndexValueError(
            f"tensors used as indices must be long, int, byte or bool tensors, not {item.dtype}"
        )
    if values_are_hidden(item) or item._keys & KEYS.mask("layer") & ~item._spec.keys:
        # Its value is unknown, or only available to a layer; as an advanced index it gives the same shape.
        return view, [item.to(dt.int64)], 1
    try:
        number = int(item.item())
    except HiddenValuesError:  # another one for each example of a layer that maps over them
        return view, [item.to(dt.int64)], 1
    return _select(view, dim, number, given), [], 0


def _integer_arrays(array: np.ndarray[Any, Any], view: Tensor, dim: int) -> list[np.ndarray[Any, Any]]:
    """Return the integer arrays for an array inside an index: one, or the positions of a mask."""
    if array.dtype == np.uint8:
        warn_user("indexing with dtype uint8 is deprecated, use a dtype bool instead")
        array = array.astype(np.bool_)
    if array.dtype != np.bool_:
        return [array]
    shape = tuple(view._handle.shape)
    for position, size in enumerate(array.shape):
        if shape[dim + position] != size:
            raise IndexValueError(
                f"a mask of shape {list(array.shape)} does not fit a tensor of shape {list(shape)}: the sizes of its "
                f"dimension {position} and of dimension {dim + position} differ"
            )
    # One array for each dimension, as `index` takes them.
    return list(np.nonzero(array))


def _place(array: np.ndarray[Any, Any], like: Tensor) -> Tensor:
    # The device of a fake tensor need not be there; its indices may be on the CPU.
    absent = like.device.type != "meta" and values_are_hidden(like)
    return from_array(array, to_device("cpu") if absent else like.device)


# --- reading -------------------------------------------------------------------------------------------------------


def getitem(self: Tensor, index: Any, function: Any) -> Tensor:
    """Return `self[index]` for any index; `function` is the called function, for modes that watch calls."""
    if STATE.modes or _overridden(self, index):
        result: Tensor = intercept(function, (self, index), None)
        if result is not NOT_HANDLED:
            return result
    try:
        view, advanced = _apply(self, index)
    except (IndexError, TypeError):
        result = _asked(function, self, index)
        if result is NOT_HANDLED:
            raise
        return result
    if advanced:
        return ops.index(view, advanced)
    # A new object, as every index gives: attributes that are set on it are not the tensor's.
    return ops.alias(self) if view is self else view


def _overridden(*args: Any) -> bool:
    """Return whether the class of an argument, or of a part of an index, has `__tt_function__`."""
    return bool(SUBCLASSES) and any(overrides(type(value)) for value in flat(args))


def _asked(function: Any, *args: Any) -> Any:
    """Let a tensor-like among an index and a value, which were refused, handle the call; else `NOT_HANDLED`."""
    return call_overrides(function, flat(args), args, {})


# --- assignment ----------------------------------------------------------------------------------------------------


def _value(target: Tensor, value: Any) -> Any:
    """Return the value of an assignment as a tensor, or as a Python number that the dtype of the target can hold."""
    if isinstance(value, TensorBase):
        return value
    if not isinstance(value, _NUMBER_TYPES):
        raise TypeError(
            f"can't assign a {type(value).__name__} to a tensor of dtype {target.dtype}\n  try: tt.as_tensor(value)"
        )
    number = value.item() if isinstance(value, np.generic) else value
    if target.dtype.kind == "bool":
        return bool(number)
    if isinstance(number, complex) and not target.dtype.is_complex:
        if number.imag:
            raise NumberRangeError(f"{number} is beyond the range of {target.dtype.name}")
        number = number.real
    if target.dtype.kind in ("signed", "unsigned"):
        number = fitted_number(number, target.dtype)
    elif target.dtype.name in ("float16", "bfloat16") and not isinstance(number, complex):
        # Too large values become infinite, in half precision only.
        if not -65504.0 <= number <= 65504.0 and math.isfinite(number):
            number = cast_array(np.asarray(float(number)), target.dtype).astype(np.float64).item()
    elif isinstance(number, complex) or not -3.4e38 <= number <= 3.4e38:
        fitted_number(number, target.dtype)  # raises where the dtype cannot hold it
    return number


def _fit(value: Tensor, ndim: int) -> Tensor:
    """Return the value without leading dimensions of size 1 that the target does not have."""
    shape = tuple(value.shape)
    extra = len(shape) - ndim
    if extra > 0 and all(size == 1 for size in shape[:extra]):
        return ops.reshape(value, shape[extra:])
    return value


def _positions(self: Tensor, index: Any) -> list[Tensor | None]:
    """Return the places that an index means, as one integer tensor for each dimension."""
    shape = tuple(self.shape)
    device = to_device("cpu") if values_are_hidden(self) and self.device.type != "meta" else self.device
    # Numbers of elements in place of the elements: indexing them says which element each place means.
    numbers = ops.reshape(ops.arange(math.prod(shape), device=device), shape)
    flat, advanced = _apply(numbers, index)
    flat = ops.index(flat, advanced)
    positions: list[Tensor | None] = []
    for size in reversed(shape):
        # From the last dimension, as numbers of elements are counted in row-major order.
        positions.insert(0, ops.remainder(flat, max(size, 1)))
        flat = ops.floor_divide(flat, max(size, 1))
    return positions


def _indexed_ndim(view: Tensor, advanced: list[Tensor | None]) -> int:
    """Return the number of dimensions of `index(view, advanced)`."""
    indices = [item for item in advanced if item is not None]
    consumed = sum(item.ndim if item.dtype is dt.bool_ else 1 for item in indices)
    # A mask becomes one dimension, whatever its own are.
    broadcast = max(1 if item.dtype is dt.bool_ else item.ndim for item in indices)
    return int(view.ndim) - consumed + broadcast


def delitem(self: Tensor, index: Any, /) -> None:
    """Refuse to delete elements: a tensor has a fixed size."""
    raise TypeError("elements of a tensor cannot be deleted\n  try: x[mask], a tensor of those that stay")


def setitem(self: Tensor, index: Any, value: Any, /) -> None:
    """Assign to `self[index]`; the value is broadcast and converted to the dtype of the tensor.

    Parameters
    ----------
    index : see `Tensor.__getitem__`
        Where.
    value : Tensor or number
        What.

    Raises
    ------
    IndexError, ValueError
        As reading does.
    TypeError
        For a value that is neither a tensor nor a number.
    RuntimeError
        For a value that does not broadcast to the shape of `self[index]`, or a number that the dtype cannot hold.

    Examples
    --------
    >>> import tt
    >>> x = tt.zeros(2, 3)
    >>> x[:, 1] = tt.tensor([1.0, 2.0])
    >>> x
    tensor([[0., 1., 0.],
            [0., 2., 0.]])
    """
    watched = STATE.modes or _overridden(self, index, value)
    if watched and intercept(setitem, (self, index, value), None) is not NOT_HANDLED:
        return
    if self.layout.name != "strided" and not self._spec.backend.strided_memory:
        raise TypeError(
            f"cannot assign to parts of a tensor of the layout {self.layout}\n"
            f"  try: x = {dense_form(self)}, and assign to that"
        )
    backward: list[int] = []
    try:
        source = _value(self, value)
        view, advanced = _apply(self, index, backward)
    except (IndexError, TypeError):
        if _asked(setitem, self, index, value) is NOT_HANDLED:
            raise
        return
    # `index_put_` knows no view that runs backward, so all places are written out as integers.
    if backward and advanced:
        view, advanced = self, _positions(self, index)
    if not isinstance(source, TensorBase):
        if not advanced:
            ops.fill_(view, source)
            return
        absent = values_are_hidden(self)
        source = (
            ops.new_full(self, (), source)
            if absent
            else _place(number_array([source], self.dtype).reshape(()), self)
        )
    if not advanced or source.ndim:
        source = _fit(source, _indexed_ndim(view, advanced) if advanced else view.ndim)
    # What is spread over the target is read before; a part of it in another place is refused, as PyTorch does.
    spread = not source.ndim if advanced else source.shape != view.shape
    if spread and is_overwritten(view, source):
        source = ops.clone(source)
    if not advanced:
        if backward:
            # The view has its elements in ascending order, so the value is reversed to match.
            source = ops.flip(ops.expand(source, tuple(view.shape)), backward)
        ops.copy_(view, source)
        return
    # A number may come from any device, as an operand of arithmetic may.
    if source.ndim == 0 and source.device != self.device and not values_are_hidden(self):
        source = source.to(self.device)
    if (
        source.dtype is not self.dtype
        and not source.ndim
        and [m.dtype for m in advanced if m is not None] == [dt.bool_]
    ):
        source = source.to(self.dtype)  # one value for the places of a mask
    ops.index_put_(view, advanced, source)
