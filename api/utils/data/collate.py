"""Collation: how the elements of a batch become tensors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from copy import copy
from typing import Any, Final

import numpy as np

import tt
from tt.errors import ArgumentError, LayoutError, ShapeError
from tt.utils.data.worker_info import empty_in_batch, get_worker_info

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

CollateMap = dict[Any, Callable[..., Any]]

np_str_obj_array_pattern: Final = re.compile("[SaUO]")
"""Kinds of NumPy dtypes, as `dtype.str` has them, that no tensor can hold."""

_REFUSED: Final = "batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def rebuild_mapping(like: Any, items: dict[Any, Any]) -> Any:
    """Return a mapping of the class of another with new values; a dict if that class cannot be made so."""
    try:
        if isinstance(like, MutableMapping):
            # A copy: the class may hold more than its items.
            new = copy(like)
            # Not `update`: that of a Counter adds to the values that are there.
            for key, value in items.items():
                new[key] = value
            return new
        return type(like)(items)
    except TypeError:
        return items


def rebuild_sequence(like: Any, items: list[Any]) -> Any:
    """Return a sequence of the class of another with new elements; a list if that class cannot be made so."""
    if type(like) is list:
        return items
    try:
        if isinstance(like, MutableSequence):
            new = copy(like)
            for i, item in enumerate(items):
                new[i] = item
            return new
        return type(like)(items)
    except TypeError:
        return items


def default_convert(data: object) -> Any:
    """Make tensors of the NumPy arrays in an element, as a loader without batches does.

    Parameters
    ----------
    data : object
        An array, or sequences and mappings that hold some; everything else is returned as it is.

    Returns
    -------
    object
        The same with tensors.

    Examples
    --------
    >>> import numpy as np
    >>> import tt
    >>> tt.utils.data.default_convert({"a": np.arange(2), "b": "text"})
    {'a': tensor([0, 1]), 'b': 'text'}
    """
    if isinstance(data, tt.Tensor):
        return data
    if isinstance(data, np.ndarray | np.generic):
        if np_str_obj_array_pattern.search(data.dtype.str) is not None:
            return data
        return tt.as_tensor(data)
    if isinstance(data, Mapping):
        return rebuild_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple):
        items = [default_convert(item) for item in data]
        return type(data)(*items) if hasattr(data, "_fields") else items  # a list, as PyTorch returns
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return rebuild_sequence(data, [default_convert(item) for item in data])
    return data


def collate(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Collate the elements of a batch with a table of functions.

    Parameters
    ----------
    batch : sequence
        The elements.
    collate_fn_map : dict
        For a type, or a tuple of types, the function that collates its elements, called as
        `function(batch, collate_fn_map=...)`.  The exact type of the first element is looked up, then the first entry
        of which it is an instance.  Mappings and sequences are collated item by item.

    Returns
    -------
    object
        The batch.

    Raises
    ------
    ArgumentError
        If no function handles an element.
    ShapeError
        If sequences have different lengths.

    Examples
    --------
    >>> import tt
    >>> from tt.utils.data.collate import collate, default_collate_fn_map
    >>> longest = {list: lambda batch, *, collate_fn_map: max(map(len, batch))}
    >>> collate([[1], [2, 3]], collate_fn_map={**longest, **default_collate_fn_map})
    2
    """
    elem = batch[0]
    kind = type(elem)
    if collate_fn_map is not None:
        # The exact class first, since the order of the table must not decide between a class and its
        # base.
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for key, function in collate_fn_map.items():
            if isinstance(elem, key):
                return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(elem, Mapping):
        columns = {key: collate([item[key] for item in batch], collate_fn_map=collate_fn_map) for key in elem}
        return rebuild_mapping(elem, columns)
    if not isinstance(elem, Sequence):
        raise ArgumentError("default_collate", _REFUSED.format(kind))
    if not hasattr(elem, "_fields") and any(len(item) != len(elem) for item in batch):
        raise ShapeError("each element in list of batch should be of equal size")
    items = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=False)]
    if isinstance(elem, tuple):
        return kind(*items) if hasattr(elem, "_fields") else items
    return rebuild_sequence(elem, items)


# --- the functions of the table --------------------------------------------------------------------------------------


def collate_tensor_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Stack tensors; in a worker, in memory that the loader's process shares."""
    elem = batch[0]
    if getattr(elem, "is_nested", False) or (elem.layout is not tt.strided and not elem.is_quantized):
        kind = "nested" if getattr(elem, "is_nested", False) else "sparse"
        raise LayoutError(
            f"Batches of {kind} tensors are not currently supported by the default collate_fn; "
            "please provide a custom collate_fn to handle them appropriately."
        )
    out = None
    # Written where the loader's process reads it: the batch is not copied once more.
    if get_worker_info() is not None and stays_whole(batch):
        shared = empty_in_batch((len(batch), *elem.shape), elem.dtype.numpy)
        out = None if shared is None else tt.from_numpy(shared)
    return tt.stack(batch, 0) if out is None else tt.stack(batch, 0, out=out)


def stays_whole(batch: Sequence[Any]) -> bool:
    """Return whether tensors can be written side by side: dense, of one shape and dtype, on the CPU, no gradient."""
    shape, dtype = batch[0].shape, batch[0].dtype
    return all(
        x.shape == shape
        and x.dtype == dtype
        and x.layout is tt.strided
        and x.device.type == "cpu"
        and not x.requires_grad
        for x in batch
    )


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Stack arrays as a tensor."""
    elem = batch[0]
    if np_str_obj_array_pattern.search(elem.dtype.str) is not None:
        raise ArgumentError("default_collate", _REFUSED.format(elem.dtype))
    table = default_collate_fn_map if collate_fn_map is None else collate_fn_map
    alike = elem.dtype.isnative and all(
        isinstance(x, np.ndarray) and x.shape == elem.shape and x.dtype == elem.dtype for x in batch
    )
    # Whoever replaces the function for tensors expects to be called for arrays, too.
    if not alike or table.get(tt.Tensor) is not collate_tensor_fn:
        return collate([tt.as_tensor(x) for x in batch], collate_fn_map=collate_fn_map)
    shape = (len(batch), *elem.shape)
    out = empty_in_batch(shape, elem.dtype)
    if out is None:
        out = np.empty(shape, elem.dtype)
    if elem.ndim and elem.size:
        # The same memory as a stack, without a view of each element.
        np.concatenate(batch, out=out.reshape(-1, *elem.shape[1:]))
    else:
        out[:] = batch
    return tt.from_numpy(out)


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Make a tensor of NumPy's numbers."""
    return tt.as_tensor(batch if isinstance(batch, list) else list(batch))


def collate_float_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Make a tensor of float64."""
    return tt.tensor(batch, dtype=tt.float64)


def collate_int_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Make a tensor of int64, or of bool."""
    return tt.tensor(batch)


def collate_str_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Return texts as they are."""
    return batch


default_collate_fn_map: CollateMap = {
    tt.Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
"""The function with which `default_collate` handles elements of each type.  Add entries to extend it."""


def default_collate(batch: Sequence[Any]) -> Any:
    """Make tensors of the elements of a batch: the `collate_fn` of a loader with batches.

    Tensors, NumPy arrays and numbers become a tensor with a new first dimension; texts stay as they are; mappings and
    sequences are collated item by item and keep their class, but plain tuples become lists.

    Parameters
    ----------
    batch : sequence
        The elements.

    Returns
    -------
    object
        The batch.

    Raises
    ------
    ArgumentError
        If an element is of a type that is not in `default_collate_fn_map`.

    Examples
    --------
    >>> import tt
    >>> tt.utils.data.default_collate([(tt.zeros(2), 1, "a"), (tt.ones(2), 2, "b")])
    [tensor([[0., 0.],
            [1., 1.]]), tensor([1, 2]), ('a', 'b')]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
